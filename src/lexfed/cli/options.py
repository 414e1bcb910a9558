# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share, declared once."""

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
KitFolder = Annotated[Path, typer.Argument(metavar="KIT", help="Folder of the kit.")]
ProfileFlag = Annotated[
    bool, typer.Option("--profile", help="A profile of the data, no training.")
]
ProfileEpsilonOption = Annotated[
    float | None,
    typer.Option(
        metavar="E",
        help="With `--profile`: what it may cost; else a quarter of the budget.",
    ),
]
