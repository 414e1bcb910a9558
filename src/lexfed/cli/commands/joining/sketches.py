# SPDX-License-Identifier: Apache-2.0
"""`lexfed joining sketch` and `compare`: shared people, by sketches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexfed.cli import talk
from lexfed.cli.commands.joining.exchanged_files import new_file, read_bytes
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json
from lexfed.errors import ConfigError, Problem

if TYPE_CHECKING:
    from lexfed.ledger.purse import LedgerPlace
    from lexfed.sketch.joining.keys import PersonKeys

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
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import make_offer
    from lexfed.sketch.joining.terms import JoiningTerms

    try:
        terms = JoiningTerms(size, seed, epsilon, delta)
    except ValueError as error:
        raise out_of_range(error) from error
    found = announced_people(people, key)
    ledger = paying_ledger(ledgers, site, people)
    with new_file(out) as written:
        written.write(make_offer(terms, found, ledger, SecureSource()).to_bytes())
    noise = "pure" if terms.delta is None else f"δ = {terms.delta:g}"
    talk.say(
        f"It costs each of your people ε = {terms.epsilon:g} ({noise}), once. "
        f"With a sketch like it, shared people are known to about "
        f"±{terms.reach:.0f}. A second sketch of the same people costs again."
    )


def compare(
    left: Annotated[Path, typer.Argument(help="One sketch.", readable=False)],
    right: Annotated[Path, typer.Argument(help="The other one.", readable=False)],
    as_json: AsJson = False,
) -> None:
    """Say how many people two sketches share, with intervals, and what it cost."""
    from lexfed.cli.display.overlaps import lines, plain
    from lexfed.sketch.joining.comparison import compare as compared
    from lexfed.sketch.joining.offered_sketch import MOST_BYTES, OfferedSketch

    sides = [
        OfferedSketch.from_bytes(read_bytes(path, MOST_BYTES), str(path))
        for path in (left, right)
    ]
    found = compared(sides[0], sides[1], str(right))
    if as_json:
        print_json(plain(found, sides[0], sides[1]))
        return
    for line in lines(found, (left.name, right.name), sides[0], sides[1]):
        print(line)


def announced_people(file: Path, key: str) -> "PersonKeys":
    """Read people, and say to their owner how many keys were blank or repeated."""
    from lexfed.run.joining import read_people

    people = read_people(file, key)
    talk.say(
        f"{file}: {people.rows} rows, {people.blank} without a key, "
        f"{len(people)} different people"
    )
    return people


def paying_ledger(
    ledgers: Path | None, site: str | None, file: Path
) -> "LedgerPlace | None":
    """Return the ledger that pays; say so where there is none."""
    from lexfed.run.joining import ledger_of

    ledger = ledger_of(ledgers, site, file)
    if ledger is None:
        talk.warn(
            "no ledger pays for this: what was spent on these people is not remembered",
            "name the folder of your runs' ledgers with `--ledgers`",
        )
    return ledger


def out_of_range(error: ValueError) -> ConfigError:
    """Return the error of an option that is out of range."""
    hint = "`lexfed joining --help` lists what it takes"
    return ConfigError([Problem("joining", str(error), hint)])
