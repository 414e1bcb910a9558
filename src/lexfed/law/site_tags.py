# SPDX-License-Identifier: Apache-2.0
"""Tags of several sites, joined by the strictest; who disagreed stays visible.

Every site tags its own copy of the schema, with its own values at hand. Only a tier, a
category and the review mark of each column leave it (`SiteTag`): evidence may rest on
statistics of the values, and those would have to be paid for. The order of the tiers is
that of the protection they ask for: an identifier at one site is an identifier for all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lexfed.errors import DataError, Problem
from lexfed.law.tagger.suggestions import TIER_OF, Suggestion
from lexfed.tiers import Tier


@dataclass(frozen=True)
class SiteTag:
    """A site's whole statement about one of its columns, of known tier and category."""

    table: str
    column: str
    tier: str
    category: str
    review: bool

    def __post_init__(self) -> None:
        if self.category not in TIER_OF:
            what = f"unknown category `{self.category[:60]}`"
            raise DataError([Problem("tag of a site", what)])
        try:
            Tier.parse(self.tier)
        except ValueError as error:
            raise DataError([Problem("tag of a site", str(error))]) from error

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SiteTag":
        """Return the part that may leave the site: no evidence, no score, no value."""
        column, tier = suggestion.column, suggestion.tier
        category, review = suggestion.category, suggestion.review
        return cls(column.table, column.name, tier, category, review)


@dataclass(frozen=True)
class MergedTag:
    """The tag of a column that all sites together give.

    `tier` is the strictest of all, `category` the one that most sites of that tier
    named; `review` tells that a site asked for a person, or that the sites disagree.
    """

    table: str
    column: str
    tier: str
    category: str
    review: bool
    by_site: Mapping[str, SiteTag]
    missing: tuple[str, ...]

    @property
    def disagree(self) -> bool:
        """True if two sites name different tiers or categories."""
        return len({(tag.tier, tag.category) for tag in self.by_site.values()}) > 1


def merge_site_tags(sites: Mapping[str, Sequence[SiteTag]]) -> tuple[MergedTag, ...]:
    """Return one tag for every column that any site has.

    Columns come in the order of the sites' names and of their own lists; a column that
    a site names twice raises `DataError`.

    Guarantees:
        No site's tier is above the merged one.
        Sites that disagree make a column that a person must look at.
        The order in which sites answer changes nothing.
    """
    columns: dict[tuple[str, str], dict[str, SiteTag]] = {}
    problems = []
    for site in sorted(sites):
        for tag in sites[site]:
            by_site = columns.setdefault((tag.table, tag.column), {})
            if site in by_site:
                what = f"column `{tag.column[:60]}` is there twice"
                problems.append(Problem(f"site `{site}`", what))
            by_site[site] = tag
    if problems:
        raise DataError(problems)
    return tuple(_merged(key, by_site, sites) for key, by_site in columns.items())


def _merged(
    key: tuple[str, str], by_site: Mapping[str, SiteTag], sites: Mapping[str, object]
) -> MergedTag:
    tier = max((tag.tier for tag in by_site.values()), key=Tier.parse)
    named = Counter(tag.category for tag in by_site.values() if tag.tier == tier)
    category = min(named, key=lambda name: (-named[name], name))
    agree = len({(tag.tier, tag.category) for tag in by_site.values()}) == 1
    review = not agree or any(tag.review for tag in by_site.values())
    missing = tuple(site for site in sorted(sites) if site not in by_site)
    return MergedTag(*key, tier, category, review, by_site, missing)
