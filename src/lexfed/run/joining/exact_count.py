# SPDX-License-Identifier: Apache-2.0
"""The exact way of a joining: a question, an answer that is paid for, a told number.

Who asks pays nothing until it tells the other side what it found. Who answers pays
before its noise is drawn. The steps are files, so that they travel as people like.
"""

from dataclasses import dataclass

from lexfed.ledger.purse import LedgerPlace
from lexfed.randomness import RandomSource
from lexfed.run.joining import set_intersection
from lexfed.run.joining.payment import charge_joining
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement, ExactMessage
from lexfed.sketch.joining.keys import PersonKeys
from lexfed.sketch.joining.offered_sketch import require_within


def make_question(
    agreement: Agreement, people: PersonKeys, data_set: str, source: RandomSource
) -> tuple[ExactMessage, ExactMessage]:
    """Return the question of the exact way, and the secret that stays.

    Nothing is paid: what leaves looks random to whoever has not the secret.

    Raises:
        DataError: if there is nobody, or more people than agreed.
        ConfigError: if the library is not installed.
    """
    keys = exact_count.asking_keys(agreement, people, source)
    secret, request = set_intersection.ask(keys)
    size, epsilon = agreement.size, agreement.epsilon
    question = ExactMessage("question", size, epsilon, "", (request,))
    kept = ExactMessage(
        *("secret", size, epsilon, question.hash, (secret,)),
        people=len(people),
        data_set=data_set,
    )
    return question, kept


def make_answer(
    agreement: Agreement,
    question: ExactMessage,
    people: PersonKeys,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> ExactMessage:
    """Check a question, pay for the answer, then answer with noise.

    Guarantees:
        Nothing is paid for a question that is not as agreed, or for people that are
        not.
        Nothing is drawn or computed before it is paid.

    Raises:
        DataError: if question or people are not as agreed.
        Refused: if a ceiling of the ledger leaves no room.
        LedgerError: if the ledger cannot be used.
        ConfigError: if the library is not installed.
    """
    question.check_agreed(agreement)
    require_within(people, agreement.size)
    (request,) = question.parts
    set_intersection.check_question(request, agreement)
    charge_joining(ledger, agreement.event())
    keys = exact_count.answering_keys(agreement, people, source)
    parts = tuple(set_intersection.answer(request, agreement, keys))
    size, epsilon = agreement.size, agreement.epsilon
    return ExactMessage("answer", size, epsilon, question.hash, parts)


@dataclass(frozen=True)
class CommonCount:
    """A count of people in both, with noise.

    Attributes:
        value: the count, as it is known.
        low: lower end of the 95 % interval.
        high: upper end.
    """

    value: int
    low: int
    high: int


def open_answer(secret: ExactMessage, answer: ExactMessage) -> CommonCount:
    """Return the count that an answer gives to whoever asked.

    Raises:
        DataError: if it answers another question, or is not as agreed.
        ConfigError: if the library is not installed.
    """
    if answer.question != secret.question:
        raise exact_count.disagreement("answer", "it answers another question")
    answer.check_agreed(secret.agreement)
    (own,) = secret.parts
    found = set_intersection.count(own, list(answer.parts), secret.agreement)
    return _shared(secret.agreement, found, noises=1)


def tell_count(
    secret: ExactMessage,
    found: CommonCount,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> CommonCount:
    """Pay for telling the count to the answering side, then add noise of one's own.

    Raises:
        Refused: if a ceiling of the ledger leaves no room.
        LedgerError: if the ledger cannot be used.
    """
    agreement = secret.agreement
    charge_joining(ledger, agreement.event())
    return _shared(
        agreement, found.value + exact_count.drawn_noise(agreement, source), noises=2
    )


def _shared(agreement: Agreement, value: int, noises: int) -> CommonCount:
    reach = agreement.reach(noises)
    low, high = (
        max(0, min(agreement.size, end)) for end in (value - reach, value + reach)
    )
    return CommonCount(value, low, high)
