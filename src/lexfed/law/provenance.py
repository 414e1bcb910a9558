# SPDX-License-Identifier: Apache-2.0
"""The origin of a decision about a column, as far as software can tell.

Kept beside the tags and, with them, in the log: the proposal before a person decided,
the evidence for it, and the digests of the files by which it can be computed again.

    asked      {"catalogues": [{"jurisdiction", "digest"}, ...],
                "tagger": {"lexicon", "packs", "model": digests}}
    proposal   {"tier", "category", "by", "reason", "review", "evidence": [...]}

What is here was made from names alone: evidence that rests on values never leaves the
machine that holds them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lexfed.data.strict_fields import fields, items, mapping, text, truth
from lexfed.errors import ConfigError, Problem
from lexfed.law.catalogue import LawCatalogue
from lexfed.law.explanations import PUBLIC_KINDS, reason_of
from lexfed.law.tagger.fingerprint import fingerprint
from lexfed.law.tagger.suggestions import Suggestion
from lexfed.tiers import Tier

_MOST_EVIDENCE = 5
"""Items kept with a proposal, the strongest first."""

Proposer = Literal["rule", "generator"]


@dataclass(frozen=True)
class Ground:
    """One reason for a proposal.

    Attributes:
        kind: its source, such as `name` or `pack`.
        category: the category it speaks for; empty if for none in particular.
        weight: in log-odds, as text, so that every reader writes it alike.
        text: the reason in a sentence.
    """

    kind: str
    category: str
    weight: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain data."""
        return {
            "kind": self.kind,
            "category": self.category,
            "weight": self.weight,
            "text": self.text,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Ground":
        """Return the reason of plain data; an unknown field is an error."""
        known = {"kind": text, "category": text, "weight": text, "text": text}
        return cls(**fields(plain, known, tuple(known), "evidence"))


@dataclass(frozen=True)
class Proposal:
    """The tier and category proposed for a column before a person decided.

    Attributes:
        by: `rule` for the tagger, `generator` for a source that knows its columns.
        reason: the first reason, in a sentence.
        review: whether the tagger asked for a person.
        evidence: the reasons, the strongest first.

    Raises:
        ConfigError: if the author is unknown.
    """

    tier: Tier
    category: str
    by: Proposer
    reason: str
    review: bool = False
    evidence: tuple[Ground, ...] = ()

    def __post_init__(self) -> None:
        if self.by not in ("rule", "generator"):
            raise ConfigError([Problem("proposal", f"unknown author `{self.by}`")])

    @classmethod
    def of(cls, found: Suggestion) -> "Proposal":
        """Return the proposal that a suggestion of the tagger makes.

        Guarantees:
            Evidence from values and statistics is left out.
        """
        public = [item for item in found.evidence if item.kind in PUBLIC_KINDS]
        grounds = tuple(
            Ground(item.kind, item.category or "", f"{item.weight:.2f}", item.text)
            for item in public[:_MOST_EVIDENCE]
        )
        reason = reason_of(found, PUBLIC_KINDS)
        tier = Tier.parse(found.tier)
        return cls(tier, found.category, "rule", reason, found.review, grounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as plain data."""
        return {
            "tier": self.tier.label,
            "category": self.category,
            "by": self.by,
            "reason": self.reason,
            "review": self.review,
            "evidence": [ground.to_dict() for ground in self.evidence],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Proposal":
        """Return the proposal of plain data; an unknown field is an error."""
        known = {
            "tier": Tier.parse, "category": text, "by": text, "reason": text,
            "review": truth, "evidence": items,
        }  # fmt: skip
        given = fields(plain, known, tuple(known), "proposal")
        listed = given.pop("evidence")
        return cls(evidence=tuple(map(Ground.from_dict, listed)), **given)


@dataclass(frozen=True)
class Consultation:
    """The catalogues and the tagger that were asked, by digest; false if none was.

    Attributes:
        catalogues: jurisdiction and digest of every catalogue.
        tagger: digests of the parts of the tagger; empty if it was not asked.
    """

    catalogues: tuple[tuple[str, str], ...] = ()
    tagger: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.catalogues or self.tagger)

    @classmethod
    def of(cls, catalogues: Sequence[LawCatalogue], tagger: bool) -> "Consultation":
        """Return the consultation of these, with the digests of their files."""
        named = tuple((each.jurisdiction, each.digest) for each in catalogues)
        return cls(named, dict(fingerprint()) if tagger else {})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "catalogues": [
                {"jurisdiction": name, "digest": digest}
                for name, digest in self.catalogues
            ],
            "tagger": dict(self.tagger),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Consultation":
        """Return it from plain data; an unknown field is an error."""
        known = {"catalogues": items, "tagger": mapping}
        given = fields(plain, known, tuple(known), "asked")
        of_law = {"jurisdiction": text, "digest": text}
        laws = [
            fields(each, of_law, tuple(of_law), "catalogue")
            for each in given["catalogues"]
        ]
        digests = dict.fromkeys(given["tagger"], text)
        tagger = fields(given["tagger"], digests, (), "tagger")
        return cls(tuple((law["jurisdiction"], law["digest"]) for law in laws), tagger)
