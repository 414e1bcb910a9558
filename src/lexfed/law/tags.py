# SPDX-License-Identifier: Apache-2.0
"""Tags: the legal classification of each column, with its author.

A tag gives a column its tier, and says by which articles and for which reason. No
column is used without one: an untagged column is refused, not guessed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from lexfed.data.encoding import effective_tiers
from lexfed.data.schema import Column, Schema
from lexfed.data.strict_fields import fields, items, mapping, text
from lexfed.errors import ConfigError, Problem
from lexfed.law.explanations import Consultation, Proposal
from lexfed.law.tagger.suggestions import TIER_OF
from lexfed.tiers import Tier

Author = Literal["rule", "person", "generator"]


@dataclass(frozen=True)
class Obligation:
    """An article that applies to a column, such as `gdpr`, `GDPR Art. 9(1)`.

    `rule` names the rule of a catalogue; it is empty if the source named the article.
    """

    jurisdiction: str
    reference: str
    rule: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the obligation as plain data."""
        return {
            key: value for key, value in vars(self).items() if value or key != "rule"
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Obligation":
        """Return the obligation of plain data; an unknown field is an error."""
        known = {"jurisdiction": text, "reference": text, "rule": text}
        return cls(**fields(plain, known, ("jurisdiction", "reference"), "obligation"))


@dataclass(frozen=True)
class Tag:
    """The legal classification of a column, with its reason.

    Attributes:
        category: the kind of data, such as `health` or `operational`.
        obligations: the articles that apply.
        reason: one sentence a data-protection officer can agree or disagree with.
        by: its author: a rule, a person or the generator of synthetic data.
        proposal: the tag of the tagger or the source that a person decided about.
    """

    tier: Tier
    category: str
    obligations: tuple[Obligation, ...]
    reason: str
    by: Author
    proposal: Proposal | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ConfigError([Problem("tag", "a tag needs a reason")])
        if self.by not in get_args(Author):
            raise ConfigError([Problem("tag", f"unknown author `{self.by}`")])

    @property
    def overrules(self) -> bool:
        """True if a person decided otherwise than was proposed.

        A person who names no category, or one of their own, disagrees about the tier
        only.
        """
        found = self.proposal
        if found is None:
            return False
        other = self.category in TIER_OF and self.category != found.category
        return other or self.tier != found.tier

    def to_dict(self) -> dict[str, Any]:
        """Return the tag as plain data."""
        plain: dict[str, Any] = {
            "tier": self.tier.label,
            "category": self.category,
            "obligations": [o.to_dict() for o in self.obligations],
            "reason": self.reason,
            "by": self.by,
        }
        if self.proposal is not None:
            plain["proposal"] = self.proposal.to_dict()
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Tag":
        """Return the tag of plain data; an unknown field is an error."""
        known: dict[str, Callable[[Any], Any]] = {
            "tier": Tier.parse, "category": text, "obligations": items,
            "reason": text, "by": text, "proposal": Proposal.from_dict,
        }  # fmt: skip
        needed = ("tier", "category", "obligations", "reason", "by")
        given = fields(plain, known, needed, "tag")
        listed = given.pop("obligations")
        return cls(obligations=tuple(map(Obligation.from_dict, listed)), **given)


@dataclass(frozen=True)
class TaggedSchema:
    """A schema in which every column, the target included, has a tag.

    `tags` are by column, and by source of an engineered column; `asked` is empty if all
    tags came with the source. An untagged column, and a tag of no column, raise
    `ConfigError`.

    Guarantees:
        Every column has a tag, and so has every source of an engineered column.
        An engineered column is at least as sensitive as everything it is made from.
        Features contain no identifier, no target, no key and no text.
    """

    schema: Schema
    tags: Mapping[str, Tag]
    asked: Consultation = field(default_factory=Consultation)

    def __post_init__(self) -> None:
        sources = {s for column in self.schema.columns for s in column.sources}
        known = {*self.schema.names, *self.schema.keys, *sources}
        strangers = [name for name in self.tags if name not in known]
        if strangers:
            what = "has a tag but is not declared"
            hint = "declare it under `[data.columns]` or remove its tag"
            raise ConfigError([Problem(f"column `{n}`", what, hint) for n in strangers])
        self.tiers()

    def tiers(self) -> dict[str, Tier]:
        """Return the tier of every column, inherited ones included."""
        own = {name: tag.tier for name, tag in self.tags.items()}
        return effective_tiers(self.schema, own)

    def tier_of(self, column: str) -> Tier:
        """Return a column's tier; an engineered one takes its sources' maximum."""
        return self.tiers()[self.schema.by_name(column).name]

    def features(self) -> tuple[Column, ...]:
        """Return the columns for a model: no identifier, target, key or text."""
        tiers = self.tiers()
        features = self.schema.features()
        return tuple(c for c in features if tiers[c.name] < Tier.IDENTIFIER)

    def columns_in(self, tier: Tier) -> tuple[str, ...]:
        """Return the names of the columns of a tier, the target and keys included."""
        tiers = self.tiers()
        return tuple(name for name in self.schema.names if tiers[name] == tier)

    def to_dict(self) -> dict[str, Any]:
        """Return schema and tags as plain data."""
        plain = {
            "schema": self.schema.to_dict(),
            "tags": {name: tag.to_dict() for name, tag in self.tags.items()},
        }
        return {**plain, "asked": self.asked.to_dict()} if self.asked else plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "TaggedSchema":
        """Return the tagged schema of plain data; an unknown field is an error."""
        known: dict[str, Callable[[Any], Any]] = {
            "schema": mapping, "tags": mapping, "asked": Consultation.from_dict,
        }  # fmt: skip
        given = fields(plain, known, ("schema", "tags"), "tagged schema")
        tags = {name: Tag.from_dict(tag) for name, tag in given["tags"].items()}
        schema = Schema.from_dict(given["schema"])
        return cls(schema, tags, given.get("asked", Consultation()))
