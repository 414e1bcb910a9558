# SPDX-License-Identifier: Apache-2.0
"""The arguments of `lexfed tag`; what it does is in `tag.py`."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli.options import AsJson


def tag(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|NAME",
            help="A CSV, Parquet or SQL file, or a configuration, which is the "
            "default; with --accept the columns to accept.",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A list: table,column,description,dtype (CSV), SQL."
        ),
    ] = None,
    as_json: AsJson = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write a page to check line by line."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write the same as a table.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Show all evidence and every obligation."),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Write suggestions into the configuration; those for review by NAME.",
        ),
    ] = False,
    jurisdictions: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Of gdpr,hipaa,ccpa; else as configured."),
    ] = None,
    catalogue: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A law of your own; may be repeated."),
    ] = None,
) -> None:
    """Say what the law says about columns: tier, category, articles, and why."""
    from lexfed.cli.commands.setup import tag as command

    laws = tuple(catalogue or ())
    names = tuple(arguments or ())
    command.tag(
        command.TagRequest(
            names, schema, as_json, html, csv, explain, accept, jurisdictions, laws
        )
    )
