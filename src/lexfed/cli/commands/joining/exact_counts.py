# SPDX-License-Identifier: Apache-2.0
"""`lexfed joining ask`, `answer` and `open`: shared people, by set intersection."""

from pathlib import Path

from lexfed.canonical import canonical_bytes
from lexfed.cli import talk
from lexfed.cli.commands.joining.exchanged_files import SECRET, new_file, read_bytes
from lexfed.cli.commands.joining.sketches import (
    Payer,
    announced_people,
    out_of_range,
    paying_ledger,
)
from lexfed.cli.output import print_json
from lexfed.randomness import SecureSource
from lexfed.run.joining.exact_count import (
    CommonCount,
    make_answer,
    make_question,
    open_answer,
    tell_count,
)
from lexfed.run.joining.set_intersection import library
from lexfed.sketch.joining.exact_count import Agreement
from lexfed.sketch.joining.exact_messages import MOST_BYTES, read_message

QuestionNumbers = tuple[int, float]
"""Size and epsilon as given."""


def ask(
    file: Path, key: str, numbers: QuestionNumbers, out: Path, secret: Path
) -> None:
    """Write a question, and the secret that opens its answer."""
    agreement = _agreement(numbers)
    people = announced_people(file, key)
    with new_file(secret, SECRET) as kept, new_file(out) as written:
        question, own = make_question(agreement, people, file.name, SecureSource())
        kept.write(own.to_bytes())
        written.write(question.to_bytes())
    talk.say("Nothing is spent: whoever has not the secret sees random numbers")


def answer(
    question: Path,
    file: Path,
    key: str,
    numbers: QuestionNumbers,
    out: Path,
    payer: Payer,
) -> None:
    """Write the answer to a question."""
    agreement = _agreement(numbers)
    asked = read_message(read_bytes(question, MOST_BYTES), "question", parts=1)
    people = announced_people(file, key)
    ledger = paying_ledger(payer, file)
    with new_file(out) as written:
        made = make_answer(agreement, asked, people, ledger, SecureSource())
        written.write(made.to_bytes())
    talk.say(
        f"It costs each of your people ε = {agreement.epsilon:g} (pure), once, towards "
        "a side that follows the protocol; one that does not learns which of the keys "
        "it asked for are yours. A second answer costs again."
    )


def show_answer(
    path: Path, secret: Path, told: Path | None, payer: Payer, as_json: bool
) -> None:
    """Print how many people are shared, and write what the other side may know."""
    library()
    kept = read_message(read_bytes(secret, MOST_BYTES), "secret", parts=1)
    found = open_answer(
        kept, read_message(read_bytes(path, MOST_BYTES), "answer", parts=2)
    )
    if told is not None:
        ledger = paying_ledger(payer, Path(kept.data_set))
        with new_file(told) as written:
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


def _agreement(numbers: QuestionNumbers) -> Agreement:
    library()
    try:
        return Agreement(*numbers)
    except ValueError as error:
        raise out_of_range(error) from error


def _plain(found: CommonCount) -> dict[str, int]:
    return {"in_both": found.value, "low": found.low, "high": found.high}
