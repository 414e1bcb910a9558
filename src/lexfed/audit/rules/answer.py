# SPDX-License-Identifier: Apache-2.0
"""What a check answers: an outcome, the entries that prove it, and why.

A check says the most that it found; `evaluate` lowers it to what the rule may claim. So
`met` is the answer of every check that found all it looks for, whatever its rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lexfed.audit.entries.later import Outcome


@dataclass(frozen=True)
class Answer:
    """What a check found.

    Attributes:
        outcome: before it is lowered to the ceiling of the rule.
        evidence: indices of the entries that prove it, in order.
        why: in words; for what is missing, what is missing.
    """

    outcome: Outcome
    evidence: tuple[int, ...]
    why: str


def _indices(evidence: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(evidence)))


def met(why: str, *evidence: int) -> Answer:
    """Everything that was looked for is there."""
    return Answer("EVIDENCED", _indices(evidence), why)


def written(why: str, *evidence: int) -> Answer:
    """A document says so, and nothing else does."""
    return Answer("DOCUMENT_PRESENT", _indices(evidence), why)


def missing(why: str, *evidence: int) -> Answer:
    """Something that was looked for is not there, or contradicts it."""
    return Answer("NOT_EVIDENCED", _indices(evidence), why)


def left_out(why: str, *evidence: int) -> Answer:
    """Somebody stated a fact by which the rule does not apply."""
    return Answer("NOT_APPLICABLE", _indices(evidence), why)


def for_people(why: str, *evidence: int) -> Answer:
    """Only people can judge it."""
    return Answer("NOT_MACHINE_CHECKABLE", _indices(evidence), why)
