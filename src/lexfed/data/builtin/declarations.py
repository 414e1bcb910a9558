# SPDX-License-Identifier: Apache-2.0
"""Built-in sources: the declaration of each column, and draws that generators share.

The references name the definition a column meets. Whether an exemption applies (the
CCPA leaves out much of what HIPAA and the GLBA already govern, Cal. Civ. Code
1798.145(c) and (e)) depends on who holds the data and is not decided here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.checks import in_range
from lexfed.data.reading.frames import Frame
from lexfed.data.schema import Column, Schema
from lexfed.tiers import Tier

ArticleReference = tuple[str, str]
"""Jurisdiction and reference, such as `("gdpr", "GDPR Art. 9(1)")`."""

PERSONAL_DATA: ArticleReference = ("gdpr", "GDPR Art. 4(1)")
SPECIAL_DATA: ArticleReference = ("gdpr", "GDPR Art. 9(1)")
HEALTH_DATA: ArticleReference = ("gdpr", "GDPR Art. 4(15)")
PSEUDONYM: ArticleReference = ("gdpr", "GDPR Art. 4(5)")
HIPAA_PHI: ArticleReference = ("hipaa", "HIPAA 45 CFR 160.103")
HIPAA_RECORD_NUMBER: ArticleReference = ("hipaa", "HIPAA 45 CFR 164.514(b)(2)(i)(H)")
HIPAA_AREA: ArticleReference = ("hipaa", "HIPAA 45 CFR 164.514(b)(2)(i)(B)")
CCPA_PERSONAL: ArticleReference = ("ccpa", "CCPA 1798.140(v)")
CCPA_SENSITIVE: ArticleReference = ("ccpa", "CCPA 1798.140(ae)")


@dataclass(frozen=True)
class DeclaredTag:
    """Tier, category, articles and reason of a column, in the source's own words."""

    tier: Tier
    category: str
    articles: tuple[ArticleReference, ...]
    reason: str


DeclaredColumn = tuple[Column, DeclaredTag]


@dataclass(frozen=True)
class BuiltinSource:
    """A built-in source: its rows, its public schema, and the tag of every column.

    `records_per_person` is the cap that the source itself respects; `sites` lists the
    sites of its site column.
    """

    frame: Frame
    schema: Schema
    tags: Mapping[str, DeclaredTag]
    records_per_person: int = 1
    sites: tuple[str, ...] = ()


def declared(
    column: Column, tier: Tier, category: str, reason: str, *articles: ArticleReference
) -> DeclaredColumn:
    """Return a column with its tag."""
    return column, DeclaredTag(tier, category, articles, reason)


def operational(column: Column, reason: str) -> DeclaredColumn:
    """Return a column that concerns no person, with its tag."""
    return declared(column, Tier.NON_PERSONAL, "operational", reason)


def about_patient(
    column: Column, category: str, reason: str, *articles: ArticleReference
) -> DeclaredColumn:
    """Return a personal column of a patient, with its tag."""
    articles = (PERSONAL_DATA, HIPAA_PHI, *articles)
    return declared(column, Tier.PERSONAL, category, reason, *articles)


def health_data(column: Column, reason: str) -> DeclaredColumn:
    """Return a column about a patient's health, with its tag."""
    articles = (SPECIAL_DATA, HEALTH_DATA, HIPAA_PHI)
    return declared(column, Tier.SPECIAL, "health", reason, *articles)


def builtin_source(
    frame: Frame,
    declared: Sequence[DeclaredColumn],
    *,
    target: str,
    person: str | None = None,
    site: str | None = None,
    records_per_person: int = 1,
    sites: tuple[str, ...] = (),
) -> BuiltinSource:
    """Return a built-in source of a frame and its declarations."""
    columns = tuple(column for column, _ in declared)
    schema = Schema(columns, target, person=person, site=site)
    tags = {column.name: tag for column, tag in declared}
    return BuiltinSource(frame, schema, tags, records_per_person, sites)


SiteDraw = Callable[[np.random.Generator, int, int, int], dict[str, NDArray[Any]]]
"""From generator, site, number of its people and of the first, the site's columns."""


def drawn_columns(
    draw_site: SiteDraw, names: Sequence[str], seed: int, sites: int, people: int
) -> dict[str, NDArray[Any]]:
    """Return the named columns of all sites, each from a random stream of its own."""
    in_range(1, people, sites=sites)
    streams = np.random.SeedSequence(seed).spawn(sites)
    first, parts = 0, []
    for site, size in enumerate(draw_site_sizes(people, sites)):
        parts.append(draw_site(np.random.default_rng(streams[site]), site, size, first))
        first += size
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def draw_site_sizes(total: int, sites: int) -> list[int]:
    """Return uneven site sizes that sum to the total, each at least 1.

    The largest site is about three times the smallest, as among real consortia.
    """
    shares = np.linspace(1.5, 0.5, sites) if sites > 1 else np.ones(1)
    counts = 1 + np.floor(shares / shares.sum() * (total - sites)).astype(np.int64)
    counts[: total - int(counts.sum())] += 1
    return [int(count) for count in counts]


def softmax(scores: Floats) -> Floats:
    """Return probabilities by row."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def draw_categories(rng: np.random.Generator, probabilities: Floats) -> Integers:
    """Return one category for each row of probabilities."""
    cumulated = np.cumsum(probabilities, axis=1)
    # The last step is left out so that rounding cannot pass the last category.
    thresholds = rng.random(len(probabilities))[:, None]
    return np.asarray((thresholds > cumulated[:, :-1]).sum(axis=1), dtype=np.int64)


def draw_alike(
    rng: np.random.Generator, probabilities: Floats | list[float], rows: int
) -> Integers:
    """Return one category for each row, all of the same probabilities."""
    return draw_categories(rng, np.tile(probabilities, (rows, 1)))


def category_names(values: tuple[str, ...], codes: Integers) -> NDArray[Any]:
    """Return the names behind category codes."""
    return np.array(values, dtype=object)[codes]


def with_gaps(
    rng: np.random.Generator, values: NDArray[Any], rate: float
) -> NDArray[Any]:
    """Return the values with some missing at a rate."""
    gapped = values.copy()
    gapped[rng.random(len(values)) < rate] = None
    return gapped
