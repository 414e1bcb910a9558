# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed evaluate`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

evaluate = typer.Typer(
    help="Compare methods, attack them, and write tables and figures.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@evaluate.callback()
def tables(
    context: typer.Context,
    small: Annotated[
        bool,
        typer.Option("--quick", help="One data set, every method, two splits."),
    ] = False,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A table to run; repeatable. Else all."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path(
        "runs/evaluation"
    ),
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page there too, with figures."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the results that are there.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at once, one core each; else one per core."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON to stdout.")
    ] = False,
) -> None:
    """Compare methods, attack them, and write tables and figures."""
    if context.invoked_subcommand is not None:
        return
    from lexfed.cli.evaluate import evaluate as command

    command(small, table or [], out, page, resume, jobs, as_json)


@evaluate.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A public data set.")],
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of data sets; else LEXFED_DATA."),
    ] = None,
    archive: Annotated[
        str | None, typer.Option(metavar="URL", help="A mirror of the UCI archive.")
    ] = None,
) -> None:
    """Download a public data set, where there is internet."""
    from lexfed.cli.evaluate_fetch import fetch as command

    command(name, into, archive)
