# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share, declared once."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

# Files are opened by the commands, whose messages say what to do about them.
ConfigFile = Annotated[Path, Argument(help="Configuration file.", readable=False)]
DEFAULT = Path("lexfed.toml")
AsJson = Annotated[bool, Option("--json", help="Print JSON to stdout.")]
OutFolderOption = Annotated[
    Path | None,
    Option(metavar="DIR", help="Where to write; else beside the run folder."),
]
SetOption = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a value of the configuration, as in federation.rounds=20; "
        "repeatable.",
    ),
]
ResumeFlag = Annotated[bool, Option("--resume", help="Continue an interrupted run.")]
EvidenceFolder = Annotated[
    Path,
    Argument(
        help="Folder of a run, or of an unpacked evidence bundle.", readable=False
    ),
]
TrustFileOption = Annotated[
    Path | None,
    Option(
        metavar="FILE", help="Trust file: whose log, which witnesses (tlog-policy)."
    ),
]
PinOption = Annotated[
    Path | None, Option(metavar="CHECKPOINT", help="A checkpoint of it that you kept.")
]
KitFolder = Annotated[Path, Argument(metavar="KIT", help="Folder of the kit.")]
ProfileFlag = Annotated[
    bool, Option("--profile", help="A profile of the data, no training.")
]
ProfileEpsilonOption = Annotated[
    float | None,
    Option(
        metavar="E",
        help="With `--profile`: what it may cost; else a quarter of the budget.",
    ),
]
