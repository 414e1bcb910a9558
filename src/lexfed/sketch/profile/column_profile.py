# SPDX-License-Identifier: Apache-2.0
"""The profile of one column: whatever its tables can say, and what they cannot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.profile import number_summaries, site_comparisons, value_lists
from lexfed.sketch.profile.answers import (
    ProfiledHistogram,
    ProfiledNumber,
    ProfiledQuantile,
    SiteDistance,
    ValueCount,
    check,
)
from lexfed.sketch.profile.cell_spread import PersonTotal, Spread
from lexfed.sketch.profile.profiled_columns import ProfiledColumn, ProfiledKind
from lexfed.sketch.queries.refinements import asked_prefixes
from lexfed.sketch.queries.requested_tables import ReleasedTable
from lexfed.sketch.queries.value_cells import MOST_PREFIXES
from lexfed.tiers import Tier

ColumnNote = Literal[
    "nothing-seen", "no-range", "no-values", "long-values", "many-values"
]
"""Reasons for something missing or incomplete:

    nothing-seen  no cell stands out of the noise
    no-range      the column has numbers, but their range was not found
    no-values     no value stands out of the noise
    long-values   some are longer than can be told, only their beginnings are known
    many-values   more beginnings stood out than can be followed
"""


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of a column.

    Attributes:
        name: as in the configuration.
        kind: number, category or flag.
        tier: label of how sensitive it is.
        missing: share of persons without a value; None if it was not asked.
        range: of a number: what to declare, declared or found.
        quantiles: of a number.
        histogram: of a number.
        values: of a category or a flag, with counts; as declared, or as found, the
            most frequent first.
        other: persons with a value that is not listed.
        distances: between sites, where each has tables of its own.
        notes: why something is missing.
        found: whether range or values come from the data and not from a declaration.
    """

    name: str
    kind: ProfiledKind
    tier: str
    missing: ProfiledNumber | None = None
    range: tuple[float, float] | None = None
    quantiles: tuple[ProfiledQuantile, ...] = ()
    histogram: ProfiledHistogram | None = None
    values: tuple[ValueCount, ...] = ()
    other: ProfiledNumber | None = None
    distances: tuple[SiteDistance, ...] = ()
    notes: tuple[ColumnNote, ...] = ()
    found: bool = False

    def __post_init__(self) -> None:
        Tier.parse(self.tier)
        told = tuple(each.share for each in self.quantiles)
        check(told in ((), number_summaries.SHARES), "all quantiles, or none")
        if self.range is not None:
            low, high = self.range
            check(math.isfinite(high - low) and low < high, "a range that rises")

    @property
    def words(self) -> tuple[str, ...]:
        """The values that are known whole: what a declaration can list."""
        return tuple(each.value for each in self.values if each.whole)


def profile_of(
    column: ProfiledColumn,
    told: Sequence[ReleasedTable],
    people: PersonTotal,
    names: Sequence[str],
) -> ColumnProfile:
    """Return the profile of a column from its tables.

    Args:
        column: as declared.
        told: its tables.
        people: how many persons there are, from all tables of the profile.
        names: of the sites, in the order of tables that each of them has.
    """
    blank = ColumnProfile(column.name, column.kind, column.tier.label)
    if not told:
        return replace(blank, notes=("nothing-seen",))
    common = replace(
        blank,
        missing=_missing(told, people),
        distances=_distances(told, names),
        found=column.range is None and column.codes is None,
    )
    if column.kind == "number":
        return _number(common, column.range, told, people)
    if column.codes is not None:
        return _listed(common, column.codes, told, people)
    return _sought(common, told, people)


def _missing(
    told: Sequence[ReleasedTable], people: PersonTotal
) -> ProfiledNumber | None:
    """Share of persons without a value, which every table of the column tells.

    The variance of the ratio is that of the delta method; nothing is told where the
    number of persons is lost in the noise.
    """
    counted = people.counted
    if counted.low <= 0:
        return None
    cells = [Spread.of(table, people.without(table)) for table in told]
    absent = best([spread.of_cell(len(spread.noised) - 1) for spread in cells])
    share = min(max(absent.value / counted.value, 0.0), 1.0)
    variance = (absent.variance + share**2 * counted.variance) / counted.value**2
    return ProfiledNumber.of(
        from_variance(absent.value / counted.value, variance).within(0, 1)
    )


def best(estimates: Sequence[Estimate]) -> Estimate:
    """The best mean of independent estimates of one number."""
    if not all(each.variance for each in estimates):
        return min(estimates, key=lambda each: each.variance)
    precision = [1 / each.variance for each in estimates]
    value = sum(
        each.value * weight for each, weight in zip(estimates, precision, strict=True)
    )
    return from_variance(value / sum(precision), 1 / sum(precision))


def _distances(
    told: Sequence[ReleasedTable], names: Sequence[str]
) -> tuple[SiteDistance, ...]:
    apart = [table for table in told if table.table.sites > 1]
    for domain in ("bins", "codes", "doubles"):
        for table in apart:
            if table.table.domain == domain:
                people = site_comparisons.people_by_site(apart)
                return site_comparisons.distances(table, people, names)
    return ()


def _number(
    common: ColumnProfile,
    declared: tuple[float, float] | None,
    told: Sequence[ReleasedTable],
    people: PersonTotal,
) -> ColumnProfile:
    bins, sizes = (
        [table for table in told if table.table.domain == domain]
        for domain in ("bins", "doubles")
    )
    if not bins:
        return replace(common, notes=("no-range",))
    scales = [
        number_summaries.CellScale.of(table, people.without(table))
        for table in (*bins, *sizes)
    ]
    quantiles = number_summaries.quantiles(scales)
    found = number_summaries.range_of(quantiles, scales[0]) if quantiles else None
    return replace(
        common,
        range=declared or found,
        quantiles=quantiles,
        histogram=number_summaries.histogram(scales[0], scales[-1] if sizes else None),
        notes=() if quantiles else ("nothing-seen",),
    )


def _listed(
    common: ColumnProfile,
    values: Sequence[str],
    told: Sequence[ReleasedTable],
    people: PersonTotal,
) -> ColumnProfile:
    everybody = people.without(told[0])
    listed = value_lists.declared_values(told[0], values, everybody)
    seen = any(each.count.low for each in listed)
    return replace(
        common,
        values=tuple(listed),
        other=value_lists.other_count(told[0], everybody),
        notes=() if seen else ("nothing-seen",),
    )


def _sought(
    common: ColumnProfile, told: Sequence[ReleasedTable], people: PersonTotal
) -> ColumnProfile:
    found = value_lists.found_values(told)
    full = any(len(asked_prefixes(table)) == MOST_PREFIXES for table in told)
    notes: dict[ColumnNote, bool] = {
        "no-values": not found,
        "long-values": not all(each.whole for each in found),
        "many-values": full,
    }
    return replace(
        common,
        values=tuple(found),
        other=value_lists.unlisted_count(told, found, people.without(told[0])),
        notes=tuple(note for note, holds in notes.items() if holds),
    )
