# SPDX-License-Identifier: Apache-2.0
"""What several commands take alike, declared once."""

from pathlib import Path
from typing import Annotated

import typer

# Files are opened by the commands, whose messages say what to do about them.
ConfigFile = Annotated[Path, typer.Argument(help="Configuration file.", readable=False)]
DEFAULT = Path("lexfed.toml")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]
OutFolderOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where to write; else beside the run folder."),
]
