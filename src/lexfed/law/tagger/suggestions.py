# SPDX-License-Identifier: Apache-2.0
"""The nouns of the tagger: columns go in, suggestions with their evidence come out.

Four tiers and 27 categories; a category belongs to one tier. The names are those of
`lexfed.tiers`, so a suggestion that a person accepts becomes a tag as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from lexfed.errors import ConfigError, Problem

TIERS = ("special", "identifier", "personal", "non_personal")
"""The tiers in the order of precedence of the labelling rule R2."""

CATEGORIES_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "special": (
            "health", "genetic", "biometric", "religion", "ethnicity", "political",
            "union", "sex_life", "criminal", "precise_geolocation",
            "citizenship_immigration", "communication_content",
        ),
        "identifier": (
            "direct_identifier", "person_key", "contact", "online_identifier",
            "account_credential",
        ),
        "personal": (
            "demographic", "location", "financial", "employment_education",
            "behavioural", "other_personal",
        ),
        "non_personal": ("technical", "business", "environment", "reference"),
    }
)  # fmt: skip
"""The categories of every tier."""

CATEGORIES = tuple(c for tier in TIERS for c in CATEGORIES_OF[tier])
"""All 27 categories, tier by tier: the order of every score vector."""
TIER_OF: Mapping[str, str] = MappingProxyType(
    {category: tier for tier in TIERS for category in CATEGORIES_OF[tier]}
)
EvidenceKind = Literal[
    "name", "description", "pack", "values", "statistics", "semantics", "table",
    "person",
]  # fmt: skip
KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)


@dataclass(frozen=True)
class DescribedColumn:
    """A column as its schema or its file describes it; often with a name alone.

    `values` is a sample read on this machine; it is never logged, printed or sent.
    """

    table: str
    name: str
    description: str = ""
    dtype: str = ""
    values: tuple[str, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TagEvidence:
    """One reason for or against a reading of a column.

    Attributes:
        tier, category: its subject, or None if it speaks for no single one.
        weight: in units of log-odds; negative if it speaks against.
        text: a sentence a data-protection officer can check; never a value.
        outright: whether it names the meaning of the column literally, or looked it up,
            so that a network that guesses by likeness must not talk over it.
    """

    kind: EvidenceKind
    tier: str | None
    category: str | None
    weight: float
    text: str
    outright: bool = False


def evidence_for(
    kind: EvidenceKind, category: str, weight: float, text: str, outright: bool = False
) -> TagEvidence:
    """Return evidence for a category, and so for its tier."""
    return TagEvidence(kind, TIER_OF[category], category, weight, text, outright)


_STRENGTHS = ((0.9, "almost fully"), (0.6, "strongly"), (0.0, "in part"))
"""Least strengths of proxies, each in words."""


@dataclass(frozen=True)
class Proxy:
    """A column that gives away another one although it is not that kind of data.

    Attributes:
        measure: `cramers_v`, `correlation_ratio` or `pearson`.
        strength: from 0 (independent) to 1 (one determines the other). It was counted
            in the data, so it is nowhere printed or written: people read `words`.
    """

    column: str
    category: str
    measure: str
    strength: float = field(repr=False)

    @property
    def words(self) -> str:
        """The proxy in a sentence, its strength in one of three coarse words."""
        how = next(word for least, word in _STRENGTHS if self.strength >= least)
        return f"it gives away `{self.column}` ({self.category}) {how}"


@dataclass(frozen=True)
class Suggestion:
    """The tagger's reading of a column; a person may overrule all of it.

    Attributes:
        score: expected sensitivity, from 0 (about no one) to 1.
        review: whether a person must look, as evidence is weak or in conflict.
        evidence: the reasons, the strongest first.
        language: the language of its table's names, such as `de`.
        proxies: tagged columns that it gives away.
    """

    column: DescribedColumn
    tier: str
    category: str
    score: float
    review: bool
    evidence: tuple[TagEvidence, ...]
    language: str
    proxies: tuple[Proxy, ...] = ()


@dataclass(frozen=True)
class TaggerSettings:
    """Settings of a tagging; the defaults were chosen on the development columns.

    Attributes:
        alpha: share of metadata (names, descriptions, packs) against semantics.
        statistics: share of values and statistics against the semantic network.
        low: the chance of being special or identifying from which on a person looks.
        high: the chance from which on no person needs to look any more.
        tiers: number of tiers; of three, identifiers count as special.
        without: names of packs that are not used, to measure on unseen schemas.
    """

    alpha: float = 0.4
    statistics: float = 0.6
    low: float = 0.3
    high: float = 0.7
    tiers: int = 4
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        shares = ("alpha", "statistics", "low", "high")
        problems = [
            Problem(f"`{name}`", f"expected a number from 0 to 1, got: {value}")
            for name in shares
            if not 0.0 <= (value := getattr(self, name)) <= 1.0
        ]
        if self.low >= self.high:
            problems.append(
                Problem("`low`", f"must be below `high` ({self.high}), got: {self.low}")
            )
        if self.tiers not in (3, 4):
            problems.append(Problem("`tiers`", f"expected 3 or 4, got: {self.tiers}"))
        if problems:
            raise ConfigError(problems)
