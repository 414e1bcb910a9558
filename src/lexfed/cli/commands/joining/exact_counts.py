# SPDX-License-Identifier: Apache-2.0
"""`lexfed joining ask`, `answer` and `open`: shared people, by set intersection."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexfed.cli import talk
from lexfed.cli.commands.joining.exchanged_files import SECRET, new_file, read_bytes
from lexfed.cli.commands.joining.sketches import (
    KeyColumnOption,
    Ledgers,
    LedgerSiteOption,
    PeopleArgument,
    PersonEpsilonOption,
    Size,
    announced_people,
    out_of_range,
    paying_ledger,
)
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json

if TYPE_CHECKING:
    from lexfed.run.joining import CommonCount
    from lexfed.sketch.joining.exact_count import Agreement


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
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import make_question

    agreement = _agreement(size, epsilon)
    found = announced_people(people, key)
    with new_file(secret, SECRET) as kept, new_file(out) as written:
        question, own = make_question(agreement, found, people.name, SecureSource())
        kept.write(own.to_bytes())
        written.write(question.to_bytes())
    talk.say("Nothing is spent: whoever has not the secret sees random numbers")


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
    from lexfed.randomness import SecureSource
    from lexfed.run.joining import make_answer
    from lexfed.sketch.joining.exact_count import MOST_BYTES, read_message

    agreement = _agreement(size, epsilon)
    asked = read_message(read_bytes(question, MOST_BYTES), "question", parts=1)
    found = announced_people(people, key)
    ledger = paying_ledger(ledgers, site, people)
    with new_file(out) as written:
        made = make_answer(agreement, asked, found, ledger, SecureSource())
        written.write(made.to_bytes())
    talk.say(
        f"It costs each of your people ε = {agreement.epsilon:g} (pure), once, towards "
        "a side that follows the protocol; one that does not learns which of the keys "
        "it asked for are yours. A second answer costs again."
    )


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
        ledger = paying_ledger(ledgers, site, Path(kept.data_set))
        with new_file(tell) as written:
            number = tell_count(kept, found, ledger, SecureSource())
            written.write(canonical_bytes(_plain(number)) + b"\n")
    if as_json:
        print_json({**_plain(found), "your_people": kept.people})
        return
    share = 100 / kept.people
    print(
        f"in both: {found.value:,} (95 %: {found.low:,} to {found.high:,}), "
        f"{found.value * share:.1f} % of your {kept.people:,} people"
    )


def _agreement(size: int, epsilon: float) -> "Agreement":
    from lexfed.run.joining import library
    from lexfed.sketch.joining.exact_count import Agreement

    library()
    try:
        return Agreement(size, epsilon)
    except ValueError as error:
        raise out_of_range(error) from error


def _plain(found: "CommonCount") -> dict[str, int]:
    return {"in_both": found.value, "low": found.low, "high": found.high}
