# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed ledger ...`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli.options import AsJson
from lexfed.terms import CostMeasure

LedgerArgument = Annotated[
    Path, typer.Argument(help="A site's ledger.", readable=False)
]
PinsFolderOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of pins; by default this user's."),
]
Reason = Annotated[str, typer.Option(help="Why, for whoever reads the ledger.")]

ledger = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Look at what was ever spent on a site's data, and bound it.",
)


@ledger.command()
def show(
    ledger: Annotated[
        Path,
        typer.Argument(help="A site's ledger, or a folder of them.", readable=False),
    ],
    delta: Annotated[
        float,
        typer.Option(min=1e-15, max=0.5, help="Delta of epsilons without a ceiling."),
    ] = 1e-6,
    check: Annotated[
        bool, typer.Option("--check", help="Compute everything again from the rows.")
    ] = False,
    state: PinsFolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what is spent and reserved, and what the ceilings leave."""
    from lexfed.cli.commands.evidence.ledger import show as command

    command(ledger, delta, check, state, as_json)


@ledger.command()
def history(
    ledger: LedgerArgument, state: PinsFolderOption = None, as_json: AsJson = False
) -> None:
    """List every row: what was reserved, committed, decided, and when."""
    from lexfed.cli.commands.evidence.ledger import history as command

    command(ledger, state, as_json)


@ledger.command()
def export(
    ledger: LedgerArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; else stdout.")
    ] = None,
    state: PinsFolderOption = None,
) -> None:
    """Write all rows with their hashes as JSON lines that anybody can check."""
    from lexfed.cli.commands.evidence.ledger import export as command

    command(ledger, out, state)


@ledger.command("set-ceiling")
def set_ceiling(
    ledger: LedgerArgument,
    scope: Annotated[
        str, typer.Argument(help="record, label, or a tier such as special.")
    ],
    reason: Reason,
    epsilon: Annotated[
        float | None, typer.Option(help="The most that the scope may ever cost.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta.")] = None,
    kind: Annotated[
        CostMeasure,
        typer.Option(
            help="How costs add up; gdp has more room for unsampled rounds, and no "
            "price for noise in shares."
        ),
    ] = "rdp",
    order: Annotated[
        int | None, typer.Option(help="Of the Rényi divergence, for rdp.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Length of a period; each begins at zero.")
    ] = None,
    none: Annotated[
        bool, typer.Option("--none", help="Take the ceiling away.")
    ] = False,
    raising: Annotated[
        bool, typer.Option("--raise", help="Let more pass than before.")
    ] = False,
    state: PinsFolderOption = None,
) -> None:
    """Set the most that a scope may cost, over all runs, or in every period."""
    from lexfed.cli.commands.evidence.ledger import CeilingChange
    from lexfed.cli.commands.evidence.ledger import set_ceiling as command

    numbers = None if none else (epsilon, delta, kind, days, order)
    command(ledger, CeilingChange(scope, reason, numbers, raising), state)


@ledger.command()
def verify(
    ledger: LedgerArgument, state: PinsFolderOption = None, as_json: AsJson = False
) -> None:
    """Compute everything again from the rows. Exit code 1 if anything is wrong."""
    from lexfed.cli.commands.evidence.ledger import verify as command

    command(ledger, state, as_json)


@ledger.command()
def release(
    ledger: LedgerArgument,
    run: Annotated[str, typer.Argument(help="Name of the run, as `show` lists it.")],
    state: PinsFolderOption = None,
) -> None:
    """Free what a run reserved that will not come to its end."""
    from lexfed.cli.commands.evidence.ledger import release as command

    command(ledger, run, state)


@ledger.command()
def restore(
    ledger: LedgerArgument, reason: Reason, state: PinsFolderOption = None
) -> None:
    """Go on after a file was lost or put back: what is missing is charged."""
    from lexfed.cli.commands.evidence.ledger import restore as command

    command(ledger, reason, state)
