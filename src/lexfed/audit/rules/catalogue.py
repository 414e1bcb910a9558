# SPDX-License-Identifier: Apache-2.0
"""The catalogue of rules: which obligation, where it is written, what may be claimed.

`catalogue.toml` is data: an obligation in our own words, the reference, what is looked
for, and a ceiling, the most that software may ever say of it.

    full            the log itself decides what the rule asks
    partial         the log decides a technical part of it
    presence        a signed document exists at the right time; nobody judges it
    none            only people can judge it
    not-applicable  the rule is for other systems; only that can be said

The digest of the file's bytes is in entry 0 of every log and in every certificate. The
check of a rule answers with the most that it found; `evaluate` lowers it to what the
rule may claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from lexfed.audit.entries.fields import CodeWord, malformed
from lexfed.audit.entries.lifecycle import RuleOutcome
from lexfed.errors import AuditError
from lexfed.toml_text import parse_toml

_Value = TypeVar("_Value")

RuleCeiling = Literal["full", "partial", "presence", "none", "not-applicable"]
LawName = Literal[
    "gdpr", "edpb", "cnil", "ico", "hipaa", "ccpa", "aiact", "nist", "iso"
]
Sentence = Annotated[str, Field(min_length=1, max_length=600)]


class Rule(BaseModel, extra="forbid", frozen=True):
    """One obligation and how far the log can show it.

    Attributes:
        looks_for: what must hold for the ceiling.
        ceiling: the most that may be claimed.
        scope: what a result at the ceiling is limited to; empty if to nothing more
            than the ceiling says.
        applies: conditions; each may say that the rule does not apply.
        supply: what would supply evidence that is missing.
    """

    id: CodeWord
    law: LawName
    reference: Sentence
    obligation: Sentence
    evidence: Sentence
    looks_for: Sentence
    ceiling: RuleCeiling
    scope: str = ""
    applies: tuple[CodeWord, ...] = ()
    check: CodeWord
    parameters: Mapping[str, Any] = {}
    supply: Sentence


class _File(BaseModel, extra="forbid", frozen=True):
    version: Literal[1]
    rule: tuple[Rule, ...] = Field(min_length=1, max_length=400)


@dataclass(frozen=True)
class RuleCatalogue:
    """Rules in the order of the file, and the digest of its bytes."""

    rules: tuple[Rule, ...]
    digest: str

    def rule(self, name: str) -> Rule:
        """Return the rule of that name."""
        for rule in self.rules:
            if rule.id == name:
                return rule
        raise AuditError(f"the catalogue has no rule `{name[:96]}`")


def parse_catalogue(data: bytes) -> RuleCatalogue:
    """Read a catalogue."""
    try:
        rules = _File.model_validate(parse_toml(data.decode())).rule
    except ValidationError as error:
        raise malformed("catalogue", error) from error
    except (ValueError, RecursionError) as error:
        raise AuditError(f"catalogue: not a TOML file: {error}") from error
    names = [rule.id for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise AuditError(f"catalogue: rule `{twice[0]}` is there twice")
    return RuleCatalogue(rules, sha256(data).hexdigest())


def catalogue_bytes() -> bytes:
    """Return the bytes of the catalogue of this version."""
    return files("lexfed.audit.rules").joinpath("catalogue.toml").read_bytes()


@cache
def catalogue() -> RuleCatalogue:
    """Return the catalogue of this version."""
    return parse_catalogue(catalogue_bytes())


@dataclass(frozen=True)
class CheckAnswer:
    """An outcome, the indices of the entries that prove it, and a reason in words."""

    outcome: RuleOutcome
    evidence: tuple[int, ...]
    why: str


def answer(outcome: RuleOutcome, why: str, *evidence: int) -> CheckAnswer:
    """Return an answer that cites each entry once, in order."""
    return CheckAnswer(outcome, tuple(sorted(set(evidence))), why)


def met(why: str, *evidence: int) -> CheckAnswer:
    """Everything that was looked for is there."""
    return answer("EVIDENCED", why, *evidence)


class Missing(Exception):
    """Ends a check: something that it looks for is not there, or contradicts it."""

    def __init__(self, why: str, *evidence: int) -> None:
        super().__init__(why)
        self.answer = answer("NOT_EVIDENCED", why, *evidence)


def require(holds: object, why: str, *evidence: int) -> None:
    """End the check as `Missing` unless something holds."""
    if not holds:
        raise Missing(why, *evidence)


def need(value: _Value | None, why: str, *evidence: int) -> _Value:
    """Return a value, or end the check as `Missing` if there is none."""
    if value is None:
        raise Missing(why, *evidence)
    return value


def left_out(why: str, *evidence: int) -> CheckAnswer:
    """Somebody stated a fact by which the rule does not apply."""
    return answer("NOT_APPLICABLE", why, *evidence)
