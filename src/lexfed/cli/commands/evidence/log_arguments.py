# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed log ...`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.audit.vocabulary import KeyRole
from lexfed.cli.options import AsJson

RunArgument = Annotated[Path, typer.Argument(help="Folder of a run.", readable=False)]
KeysFolderOption = Annotated[
    Path | None,
    typer.Option(help="Folder with the keys; by default where the run left them."),
]

log = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Look at a run's log, prove an entry, append what people state.",
)


@log.command()
def show(
    run: RunArgument,
    index: Annotated[int | None, typer.Argument(min=0, help="One entry.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the entries, or print one whole."""
    from lexfed.cli.commands.evidence.log import show as command

    command(run, index, as_json)


@log.command()
def prove(
    run: RunArgument,
    index: Annotated[int, typer.Argument(min=0, help="Number of the entry.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write; `entry-N.tlog-proof`.")
    ] = None,
) -> None:
    """Write an entry and the proof that it is in the log."""
    from lexfed.cli.commands.evidence.log import prove as command

    command(run, index, out)


@log.command()
def add(
    run: RunArgument,
    kind: Annotated[str, typer.Argument(help="Such as document, incident, change.")],
    stated: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...", help="The value @FILE stands for a file."
        ),
    ],
    keys: KeysFolderOption = None,
) -> None:
    """Append what a person states: a document, a test, a change, a mishap."""
    from lexfed.cli.commands.evidence.log import add as command

    command(run, kind, stated, keys)


@log.command()
def certify(run: RunArgument, keys: KeysFolderOption = None) -> None:
    """Evaluate the catalogue on the log as it is now, and append what it gave."""
    from lexfed.cli.commands.evidence.log import certify as command

    command(run, keys)


@log.command()
def key(
    run: RunArgument,
    project: Annotated[
        bool, typer.Option("--project", help="One key line for all runs under it.")
    ] = False,
) -> None:
    """Print the key that signs the log's checkpoints, as a line of a trust file."""
    from lexfed.cli.commands.evidence.log import key as command

    command(run, project)


@log.command()
def cosign(run: RunArgument, keys: KeysFolderOption = None) -> None:
    """Ask the witnesses, and the time-stamp authority, about the last checkpoint."""
    from lexfed.cli.commands.evidence.log import cosign as command

    command(run, keys)


@log.command()
def drill(
    run: RunArgument,
    copy: Annotated[
        Path, typer.Argument(help="A restored copy of the run folder.", readable=False)
    ],
    keys: KeysFolderOption = None,
) -> None:
    """Log that a backup was restored and compared: the drill of GDPR Art. 32(1)(c)."""
    from lexfed.cli.commands.evidence.log import drill as command

    command(run, copy, keys)


@log.command()
def erase(
    run: RunArgument,
    digest: Annotated[str, typer.Argument(help="SHA-256 of the blob.")],
    keys: KeysFolderOption = None,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Even if the log cannot be verified without it."),
    ] = False,
) -> None:
    """Erase a blob, and say so in the log."""
    from lexfed.cli.commands.evidence.log import erase as command

    command(run, digest, keys, anyway)


@log.command()
def rotate(
    run: RunArgument,
    role: Annotated[KeyRole, typer.Argument(help="Whose key to replace.")],
    keys: KeysFolderOption = None,
) -> None:
    """Hand a job to a new key."""
    from lexfed.cli.commands.evidence.log import rotate as command

    command(run, role, keys)
