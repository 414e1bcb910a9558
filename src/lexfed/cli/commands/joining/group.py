# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed joining ...`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli.options import AsJson

PeopleArgument = Annotated[
    Path, typer.Argument(help="A CSV or Parquet file of people.", readable=False)
]
KeyColumnOption = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column of their keys.")
]
Size = Annotated[
    int, typer.Option(help="Neither side has more people; the same on both sides.")
]
PersonEpsilonOption = Annotated[
    float, typer.Option(metavar="E", help="What it may cost one of your people.")
]
Ledgers = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the ledger that pays, as in runs."),
]
LedgerSiteOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Whose ledger, as runs name the site."),
]

joining = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Learn how many people two organisations share, before they join.",
)


@joining.command()
def sketch(
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    seed: Annotated[int, typer.Option(help="Any number; the same on both sides.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sketch to hand over.")],
    delta: Annotated[
        float | None, typer.Option(help="Gaussian noise; without it ε is pure.")
    ] = None,
    ledgers: Ledgers = None,
    site: LedgerSiteOption = None,
) -> None:
    """Write a noised sketch of your people that may be handed over."""
    from lexfed.cli.commands.joining.sketches import sketch as command

    command(people, key, (size, seed, epsilon, delta), out, (ledgers, site))


@joining.command()
def compare(
    left: Annotated[Path, typer.Argument(help="One sketch.", readable=False)],
    right: Annotated[Path, typer.Argument(help="The other one.", readable=False)],
    as_json: AsJson = False,
) -> None:
    """Say how many people two sketches share, with intervals, and what it cost."""
    from lexfed.cli.commands.joining.sketches import compare as command

    command(left, right, as_json)


@joining.command()
def ask(
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The question to hand over.")
    ],
    secret: Annotated[
        Path, typer.Option(metavar="FILE", help="What opens the answer; keep it.")
    ],
) -> None:
    """Ask exactly how many people are shared, by private set intersection."""
    from lexfed.cli.commands.joining.exact_counts import ask as command

    command(people, key, (size, epsilon), out, secret)


@joining.command()
def answer(
    question: Annotated[Path, typer.Argument(help="Their question.", readable=False)],
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The answer to hand over.")],
    ledgers: Ledgers = None,
    site: LedgerSiteOption = None,
) -> None:
    """Answer such a question, with noise, for a side that follows the protocol.

    One that does not learns which of its keys you have. Sketches need no such trust.
    """
    from lexfed.cli.commands.joining.exact_counts import answer as command

    command(question, people, key, (size, epsilon), out, (ledgers, site))


@joining.command("open")
def open_(
    answer: Annotated[Path, typer.Argument(help="Their answer.", readable=False)],
    secret: Annotated[
        Path, typer.Option(metavar="FILE", help="What was kept of the question.")
    ],
    tell: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the number for the other side; it is charged."
        ),
    ] = None,
    ledgers: Ledgers = None,
    site: LedgerSiteOption = None,
    as_json: AsJson = False,
) -> None:
    """Open the answer to a question: how many people are shared."""
    from lexfed.cli.commands.joining.exact_counts import show_answer as command

    command(answer, secret, tell, (ledgers, site), as_json)
