# SPDX-License-Identifier: Apache-2.0
"""`lexfed overlap`: how many people two organisations share, before they join.

`sketch` and `compare` need no trust in the other side; `ask`, `answer` and `open` count
by private set intersection, for a side that follows the protocol. An output file is
claimed before anything is charged, so that nothing is paid for a result that cannot be
written; secrets are for their owner alone.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.groups import command_group
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json
from lexfed.errors import ConfigError, DataError, Problem, RunFolderError, system_reason
from lexfed.plain_files import plain_or_link

if TYPE_CHECKING:
    from lexfed.ledger.purse import LedgerPlace
    from lexfed.run.joining import CommonCount
    from lexfed.sketch.estimates.intervals import Estimate
    from lexfed.sketch.joining.comparison import PeopleOverlap
    from lexfed.sketch.joining.exact_count import Agreement
    from lexfed.sketch.joining.keys import PersonKeys
    from lexfed.sketch.joining.offered_sketch import OfferedSketch

PeopleArgument = Annotated[Path, Argument(help="A table of people.", readable=False)]
KeyColumnOption = Annotated[str, Option(metavar="COLUMN", help="Column of their keys.")]
Size = Annotated[
    int, Option(help="Neither side has more people; the same on both sides.")
]
PersonEpsilonOption = Annotated[
    float, Option(metavar="E", help="What it may cost one of your people.")
]
Ledgers = Annotated[
    Path | None,
    Option(metavar="DIR", help="Folder of the ledger that pays, as in runs."),
]
LedgerSiteOption = Annotated[
    str | None, Option(metavar="NAME", help="Whose ledger, as runs name the site.")
]

OPEN, SECRET = 0o666, 0o600
"""Permissions of a file: for those whom the user's mask allows, or the owner only."""

overlap = command_group("Count the people that two organisations share.")


@overlap.command()
def sketch(
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    seed: Annotated[int, Option(help="Any number; the same on both sides.")],
    out: Annotated[Path, Option(metavar="FILE", help="The sketch to hand over.")],
    delta: Annotated[
        float | None, Option(help="Gaussian noise; without it ε is pure.")
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
        raise _out_of_range(error) from error
    found = _announced_people(people, key)
    ledger = _paying_ledger(ledgers, site, people)
    with new_file(out) as written:
        written.write(make_offer(terms, found, ledger, SecureSource()).to_bytes())
    noise = "pure" if terms.delta is None else f"δ = {terms.delta:g}"
    talk.say(
        f"It costs each of your people ε = {terms.epsilon:g} ({noise}), once. "
        f"With a sketch like it, shared people are known to about "
        f"±{terms.reach:.0f}. A second sketch of the same people costs again."
    )


@overlap.command()
def compare(
    left: Annotated[Path, Argument(help="One sketch.", readable=False)],
    right: Annotated[Path, Argument(help="The other one.", readable=False)],
    as_json: AsJson = False,
) -> None:
    """Estimate how many people two sketches share."""
    from lexfed.sketch.joining.comparison import compare as compared
    from lexfed.sketch.joining.offered_sketch import MOST_BYTES, OfferedSketch

    sides = [
        OfferedSketch.from_bytes(read_bytes(path, MOST_BYTES), str(path))
        for path in (left, right)
    ]
    found = compared(sides[0], sides[1], str(right))
    if as_json:
        print_json(_overlap_json(found, sides[0], sides[1]))
        return
    for line in _overlap_lines(found, (left.name, right.name), sides[0], sides[1]):
        print(line)


@overlap.command()
def ask(
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    out: Annotated[Path, Option(metavar="FILE", help="The question to hand over.")],
    secret: Annotated[
        Path, Option(metavar="FILE", help="What opens the answer; keep it.")
    ],
) -> None:
    """Ask how many people are shared, by private set intersection."""
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import make_question

    agreement = _agreement(size, epsilon)
    found = _announced_people(people, key)
    with new_file(secret, SECRET) as kept, new_file(out) as written:
        question, own = make_question(agreement, found, people.name, SecureSource())
        kept.write(own.to_bytes())
        written.write(question.to_bytes())
    talk.say("Nothing is spent: whoever has not the secret sees random numbers")


@overlap.command()
def answer(
    question: Annotated[Path, Argument(help="Their question.", readable=False)],
    people: PeopleArgument,
    key: KeyColumnOption,
    size: Size,
    epsilon: PersonEpsilonOption,
    out: Annotated[Path, Option(metavar="FILE", help="The answer to hand over.")],
    ledgers: Ledgers = None,
    site: LedgerSiteOption = None,
) -> None:
    """Answer a question of another organisation, with noise.

    Only for a side that follows the protocol: one that does not learns which of its
    keys you have. Sketches need no such trust.
    """
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import make_answer
    from lexfed.sketch.joining.exact_count import MOST_BYTES, read_message

    agreement = _agreement(size, epsilon)
    asked = read_message(read_bytes(question, MOST_BYTES), "question", parts=1)
    found = _announced_people(people, key)
    ledger = _paying_ledger(ledgers, site, people)
    with new_file(out) as written:
        made = make_answer(agreement, asked, found, ledger, SecureSource())
        written.write(made.to_bytes())
    talk.say(
        f"It costs each of your people ε = {agreement.epsilon:g} (pure), once, towards "
        "a side that follows the protocol; one that does not learns which of the keys "
        "it asked for are yours. A second answer costs again."
    )


@overlap.command("open")
def open_(
    answer: Annotated[Path, Argument(help="Their answer.", readable=False)],
    secret: Annotated[
        Path, Option(metavar="FILE", help="What was kept of the question.")
    ],
    tell: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Write the number for the other side; it is charged."
        ),
    ] = None,
    ledgers: Ledgers = None,
    site: LedgerSiteOption = None,
    as_json: AsJson = False,
) -> None:
    """Open the answer to a question: how many people are shared."""
    from lexfed.canonical import canonical_bytes
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import library, open_answer, tell_count
    from lexfed.sketch.joining.exact_count import MOST_BYTES, read_message

    library()
    kept = read_message(read_bytes(secret, MOST_BYTES), "secret", parts=1)
    found = open_answer(
        kept, read_message(read_bytes(answer, MOST_BYTES), "answer", parts=2)
    )
    if tell is not None:
        ledger = _paying_ledger(ledgers, site, Path(kept.data_set))
        with new_file(tell) as written:
            number = tell_count(kept, found, ledger, SecureSource())
            written.write(canonical_bytes(_count_json(number)) + b"\n")
    if as_json:
        print_json({**_count_json(found), "your_people": kept.people})
        return
    share = 100 / kept.people
    print(
        f"in both: {found.value:,} (95 %: {found.low:,} to {found.high:,}), "
        f"{found.value * share:.1f} % of your {kept.people:,} people"
    )


def _announced_people(file: Path, key: str) -> "PersonKeys":
    """Read people, and say to their owner how many keys were blank or repeated."""
    from lexfed.run.joining import read_people

    people = read_people(file, key)
    talk.say(
        f"{file}: {people.rows} rows, {people.blank} without a key, "
        f"{len(people)} different people"
    )
    return people


def _paying_ledger(
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


def _out_of_range(error: ValueError) -> ConfigError:
    hint = "`lexfed overlap --help` shows the options"
    return ConfigError([Problem("overlap", str(error), hint)])


def _agreement(size: int, epsilon: float) -> "Agreement":
    from lexfed.run.joining import library
    from lexfed.sketch.joining.exact_count import Agreement

    library()
    try:
        return Agreement(size, epsilon)
    except ValueError as error:
        raise _out_of_range(error) from error


def _count_json(found: "CommonCount") -> dict[str, int]:
    return {"in_both": found.value, "low": found.low, "high": found.high}


@contextmanager
def new_file(path: Path, mode: int = OPEN) -> Iterator[BinaryIO]:
    """Make a file that is not there yet, for somebody to fill.

    Guarantees:
        What cannot be written is refused before anything happens inside.
        If anything fails inside, the file is gone again; else it is on disk.
    """
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise RunFolderError(
            f"`{path}` exists already", "remove it, or write to another file"
        ) from error
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{path}`: {system_reason(error)}",
            "write to another file or folder",
        ) from error
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    talk.say(f"wrote {path}")


def read_bytes(path: Path, most: int) -> bytes:
    """Read a file from somebody else, and no more than it may have."""
    try:
        with open(path, "rb", opener=plain_or_link) as file:
            data = file.read(most + 1)
    except OSError as error:
        what = (error.strerror or "cannot be read").lower()
        raise DataError([Problem(str(path), what, "check its name")]) from error
    if len(data) > most:
        what = "the file is longer than any such file may be"
        raise DataError([Problem(str(path), what, "take it again from who made it")])
    return data


def _overlap_lines(
    found: "PeopleOverlap",
    names: tuple[str, str],
    left: "OfferedSketch",
    right: "OfferedSketch",
) -> list[str]:
    from lexfed.privacy.scopes import up
    from lexfed.sketch.joining.comparison import combined_price

    one, two = names
    rows = [
        (f"people in {one}", _count(found.left)),
        (f"people in {two}", _count(found.right)),
        ("in both", _count(found.both)),
        ("in either", _count(found.either)),
        ("Jaccard (both / either)", _share(found.jaccard)),
        (f"of {one} in {two}", _share(found.left_share)),
        (f"of {two} in {one}", _share(found.right_share)),
    ]
    label = max(len(name) for name, _ in rows)
    width = max(len(value) for _, (value, _) in rows)
    table = [
        f"{name:<{label}}  {value:>{width}}   {interval}"
        for name, (value, interval) in rows
    ]
    epsilon, delta = combined_price(left, right)
    return [
        f"{'':<{label}}  {'':>{width}}   95 % interval",
        *table,
        "",
        f"cost  {one}: {_price(left.epsilon, left.delta)}; "
        f"{two}: {_price(right.epsilon, right.delta)}",
        f"      a person in both: {_price(up(epsilon, 4), delta or None)}",
        *(
            f"NOT PRIVATE: the noise of {name} can be repeated"
            for name, side in ((one, left), (two, right))
            if not side.private
        ),
    ]


def _overlap_json(
    found: "PeopleOverlap", left: "OfferedSketch", right: "OfferedSketch"
) -> dict[str, Any]:
    from lexfed.privacy.scopes import up
    from lexfed.sketch.joining.comparison import combined_price

    epsilon, delta = combined_price(left, right)
    return {
        **asdict(found),
        "cost": {
            "left": {"epsilon": left.epsilon, "delta": left.delta},
            "right": {"epsilon": right.epsilon, "delta": right.delta},
            "person_in_both": {"epsilon": up(epsilon), "delta": delta or None},
        },
        "private": left.private and right.private,
    }


def _price(epsilon: float, delta: float | None) -> str:
    return f"ε = {epsilon:g}, " + ("pure" if delta is None else f"δ = {delta:g}")


def _count(found: "Estimate") -> tuple[str, str]:
    return f"{found.value:,.0f}", f"{found.low:,.0f} to {found.high:,.0f}"


def _share(found: "Estimate") -> tuple[str, str]:
    return f"{found.value:.1%}", f"{found.low:.1%} to {found.high:.1%}"
