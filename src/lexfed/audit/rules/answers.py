# SPDX-License-Identifier: Apache-2.0
"""Answers of checks: an outcome, the entries that prove it, and a reason in words.

A check says the most that it found; `evaluate` lowers it to what the rule may claim. So
`met` is the answer of every check that found all it looks for, whatever its rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lexfed.audit.entries.lifecycle import RuleOutcome


@dataclass(frozen=True)
class CheckAnswer:
    """The answer of a check.

    Attributes:
        outcome: before it is lowered to the ceiling of the rule.
        evidence: indices of the entries that prove it, in order.
        why: in words; for what is missing, what is missing.
    """

    outcome: RuleOutcome
    evidence: tuple[int, ...]
    why: str


def _indices(evidence: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(evidence)))


def met(why: str, *evidence: int) -> CheckAnswer:
    """Everything that was looked for is there."""
    return CheckAnswer("EVIDENCED", _indices(evidence), why)


def written(why: str, *evidence: int) -> CheckAnswer:
    """A document says so, and nothing else does."""
    return CheckAnswer("DOCUMENT_PRESENT", _indices(evidence), why)


def missing(why: str, *evidence: int) -> CheckAnswer:
    """Something that was looked for is not there, or contradicts it."""
    return CheckAnswer("NOT_EVIDENCED", _indices(evidence), why)


def left_out(why: str, *evidence: int) -> CheckAnswer:
    """Somebody stated a fact by which the rule does not apply."""
    return CheckAnswer("NOT_APPLICABLE", _indices(evidence), why)


def for_people(why: str, *evidence: int) -> CheckAnswer:
    """Only people can judge it."""
    return CheckAnswer("NOT_MACHINE_CHECKABLE", _indices(evidence), why)
