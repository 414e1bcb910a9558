# SPDX-License-Identifier: Apache-2.0
"""`lexfed joining sketch` and `compare`: shared people, by sketches."""

from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.joining.exchanged_files import new_file, read_bytes
from lexfed.cli.display.overlaps import lines, plain
from lexfed.cli.output import print_json
from lexfed.errors import ConfigError, Problem
from lexfed.ledger.purse import LedgerPlace
from lexfed.randomness import SecureSource
from lexfed.run.joining.payment import ledger_of, make_offer, read_people
from lexfed.sketch.joining.comparison import compare as compared
from lexfed.sketch.joining.keys import PersonKeys
from lexfed.sketch.joining.offered_sketch import MOST_BYTES, OfferedSketch
from lexfed.sketch.joining.terms import JoiningTerms

SketchNumbers = tuple[int, int, float, float | None]
"""Size, seed, epsilon and delta as given."""

Payer = tuple[Path | None, str | None]
"""Folder of ledgers and name of the site, as given."""


def sketch(
    file: Path, key: str, numbers: SketchNumbers, out: Path, payer: Payer
) -> None:
    """Write a noised sketch of people."""
    try:
        terms = JoiningTerms(*numbers)
    except ValueError as error:
        raise out_of_range(error) from error
    people = announced_people(file, key)
    ledger = paying_ledger(payer, file)
    with new_file(out) as written:
        written.write(make_offer(terms, people, ledger, SecureSource()).to_bytes())
    noise = "pure" if terms.delta is None else f"δ = {terms.delta:g}"
    talk.say(
        f"It costs each of your people ε = {terms.epsilon:g} ({noise}), once. "
        f"With a sketch like it, shared people are known to about "
        f"±{terms.reach:.0f}. A second sketch of the same people costs again."
    )


def compare(left: Path, right: Path, as_json: bool) -> None:
    """Print what two sketches share."""
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


def announced_people(file: Path, key: str) -> PersonKeys:
    """Read people, and say to their owner how many keys were blank or repeated."""
    people = read_people(file, key)
    talk.say(
        f"{file}: {people.rows} rows, {people.blank} without a key, "
        f"{len(people)} different people"
    )
    return people


def paying_ledger(payer: Payer, file: Path) -> LedgerPlace | None:
    """Return the ledger that pays; say so where there is none."""
    ledger = ledger_of(*payer, file)
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
