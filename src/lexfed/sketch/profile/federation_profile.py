# SPDX-License-Identifier: Apache-2.0
"""The profile of a federation and its columns, from released tables, and its bytes.

Bytes are read strictly: the profile that is read must be written as the same bytes,
which leaves no room for unknown keys, keys given twice or numbers written otherwise.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, NoReturn

from pydantic import TypeAdapter, ValidationError

from lexfed import checks
from lexfed.canonical import canonical_bytes
from lexfed.errors import DataError, Problem
from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.profile import (
    answers,
    number_summaries,
    site_comparisons,
    value_lists,
)
from lexfed.sketch.profile.cell_spread import PersonTotal, Spread
from lexfed.sketch.profile.site_comparisons import elsewhere, overlaps
from lexfed.sketch.queries.refinements import asked_prefixes
from lexfed.sketch.queries.requested_tables import MOST_PREFIXES, ReleasedTable
from lexfed.tiers import Tier

VERSION: Final = 1
"""Of the file; any change that an older reader would misunderstand raises it."""

MOST_BYTES = 64 * 2**20
"""No profile is larger."""


ProfiledKind = Literal["number", "category", "flag"]


@dataclass(frozen=True)
class ProfiledColumn:
    """One column as declared; a range or a list of values that is None is sought."""

    name: str
    kind: ProfiledKind
    tier: Tier
    range: tuple[float, float] | None = None
    values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.range is not None and self.kind != "number":
            raise ValueError(f"expected no `range` of a {self.kind}")
        if self.values is not None and self.kind != "category":
            raise ValueError(f"expected no `values` of a {self.kind}")

    @property
    def codes(self) -> tuple[str, ...] | None:
        """Labels of cells of exact codes: the list, or no and yes of a flag."""
        return ("no", "yes") if self.kind == "flag" else self.values


ColumnNote = Literal[
    "nothing-seen", "no-range", "no-values", "long-values", "many-values"
]
"""Reasons for something missing or incomplete:

    nothing-seen  no cell stands out of the noise
    no-range      the column has numbers, but their range was not found
    no-values     no value stands out of the noise
    long-values   some are too long to be found, only their beginnings are known
    many-values   more beginnings stood out than can be followed
"""


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of a column; a part that was not requested or not found is empty.

    `other` are persons with a value that is not listed. `found` says that range or
    values come from the data, the most frequent first, and not from a declaration.
    """

    name: str
    kind: ProfiledKind
    tier: str
    missing: answers.ProfiledNumber | None = None
    range: tuple[float, float] | None = None
    quantiles: tuple[answers.ProfiledQuantile, ...] = ()
    histogram: answers.ProfiledHistogram | None = None
    values: tuple[answers.ValueCount, ...] = ()
    other: answers.ProfiledNumber | None = None
    distances: tuple[answers.SiteDistance, ...] = ()
    notes: tuple[ColumnNote, ...] = ()
    found: bool = False

    def __post_init__(self) -> None:
        Tier.parse(self.tier)
        shares = tuple(each.share for each in self.quantiles)
        answers.check(shares in ((), number_summaries.SHARES), "all quantiles, or none")
        if self.range is not None:
            low, high = self.range
            rises = math.isfinite(high - low) and low < high
            answers.check(rises, "a range that rises")

    @property
    def words(self) -> tuple[str, ...]:
        """The values that are known whole: what a declaration can list."""
        return tuple(each.value for each in self.values if each.whole)


@dataclass(frozen=True)
class FederationProfile:
    """A federation's profile: public `people`, columns, and sites compared by keys."""

    people: float
    sites: tuple[str, ...]
    columns: tuple[ColumnProfile, ...]
    overlaps: tuple[answers.SiteOverlap, ...] = ()
    elsewhere: tuple[answers.SiteDuplicates, ...] = ()
    lexfed_profile: Literal[1] = VERSION

    def __post_init__(self) -> None:
        checks.finite_positive(people=self.people)
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError("expected every column once")

    def column(self, name: str) -> ColumnProfile | None:
        """Return the profile of a column, if it is in the profile."""
        return next((each for each in self.columns if each.name == name), None)

    def to_bytes(self) -> bytes:
        """Return the canonical bytes (RFC 8785)."""
        return canonical_bytes(asdict(self))

    @classmethod
    def from_bytes(
        cls, data: bytes, where: str = "profile.json"
    ) -> "FederationProfile":
        """Read a profile; `where` names the file in messages.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
            No bytes raise anything but `DataError`.
        """
        if len(data) > MOST_BYTES:
            _refuse(where, f"{len(data)} bytes are more than any profile has")
        try:
            profile = _ADAPTER.validate_json(data, strict=True)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            _refuse(where, f"no profile of version {VERSION}: {place}: {first['msg']}")
        if profile.to_bytes() != data:
            _refuse(where, "not the canonical bytes of the profile that they hold")
        return profile


_ADAPTER = TypeAdapter(FederationProfile)


def _refuse(where: str, what: str) -> NoReturn:
    hint = "take the file as `lexfed profile` wrote it"
    raise DataError([Problem(where, what, hint)])


def build_profile(
    tables: Sequence[ReleasedTable],
    columns: Sequence[ProfiledColumn],
    sites: tuple[str, ...],
    people: float,
) -> FederationProfile:
    """Return a federation's profile; nothing is computed from its public `people`."""
    keys = [table for table in tables if table.table.domain == "keys"]
    counts = tuple(table for table in tables if table.table.domain != "keys")
    everybody = PersonTotal(counts)
    # A sketch of one site alone has nobody to be compared with.
    shared = [table for table in keys if table.table.sites > 1]
    profiles = []
    for column in columns:
        own = [table for table in counts if table.table.column == column.name]
        profiles.append(profile_of(column, own, everybody, sites))
    return FederationProfile(
        people=float(people),
        sites=sites,
        columns=tuple(profiles),
        overlaps=tuple(pair for table in shared for pair in overlaps(table, sites)),
        elsewhere=tuple(each for table in shared for each in elsewhere(table, sites)),
    )


def profile_of(
    column: ProfiledColumn,
    tables: Sequence[ReleasedTable],
    people: PersonTotal,
    names: Sequence[str],
) -> ColumnProfile:
    """Return a column's profile; `people` are from all tables, `names` of sites."""
    blank = ColumnProfile(column.name, column.kind, column.tier.label)
    if not tables:
        return replace(blank, notes=("nothing-seen",))
    common = replace(
        blank,
        missing=_missing(tables, people),
        distances=_distances(tables, names),
        found=column.range is None and column.codes is None,
    )
    if column.kind == "number":
        return _number(common, column.range, tables, people)
    if column.codes is not None:
        return _listed(common, column.codes, tables, people)
    return _sought(common, tables, people)


def _missing(
    tables: Sequence[ReleasedTable], people: PersonTotal
) -> answers.ProfiledNumber | None:
    """Share of persons without a value, from every table, by the delta method."""
    counted = people.counted
    if counted.low <= 0:
        return None
    cells = [Spread.of(table, people.without(table)) for table in tables]
    absent = best([spread.of_cell(len(spread.noised) - 1) for spread in cells])
    share = min(max(absent.value / counted.value, 0.0), 1.0)
    variance = (absent.variance + share**2 * counted.variance) / counted.value**2
    ratio = from_variance(absent.value / counted.value, variance)
    return answers.ProfiledNumber.of(ratio.within(0, 1))


def best(estimates: Sequence[Estimate]) -> Estimate:
    """The best mean of independent estimates of one number."""
    if not all(each.variance for each in estimates):
        return min(estimates, key=lambda each: each.variance)
    precision = [1 / each.variance for each in estimates]
    weighted = zip(estimates, precision, strict=True)
    value = sum(each.value * weight for each, weight in weighted)
    return from_variance(value / sum(precision), 1 / sum(precision))


def _distances(
    tables: Sequence[ReleasedTable], names: Sequence[str]
) -> tuple[answers.SiteDistance, ...]:
    apart = [table for table in tables if table.table.sites > 1]
    for domain in ("bins", "codes", "doubles"):
        for table in apart:
            if table.table.domain == domain:
                people = site_comparisons.people_by_site(apart)
                return site_comparisons.distances(table, people, names)
    return ()


def _number(
    common: ColumnProfile,
    declared: tuple[float, float] | None,
    tables: Sequence[ReleasedTable],
    people: PersonTotal,
) -> ColumnProfile:
    bins, sizes = (
        [table for table in tables if table.table.domain == domain]
        for domain in ("bins", "doubles")
    )
    if not bins:
        return replace(common, notes=("no-range",))
    cells = number_summaries.CellScale.of
    scales = [cells(table, people.without(table)) for table in (*bins, *sizes)]
    quantiles = number_summaries.quantiles(scales)
    found_range = number_summaries.range_of(quantiles, scales[0]) if quantiles else None
    return replace(
        common,
        range=declared or found_range,
        quantiles=quantiles,
        histogram=number_summaries.histogram(scales[0], scales[-1] if sizes else None),
        notes=() if quantiles else ("nothing-seen",),
    )


def _listed(
    common: ColumnProfile,
    values: Sequence[str],
    tables: Sequence[ReleasedTable],
    people: PersonTotal,
) -> ColumnProfile:
    everybody = people.without(tables[0])
    listed = value_lists.declared_values(tables[0], values, everybody)
    visible = any(each.count.low for each in listed)
    return replace(
        common,
        values=tuple(listed),
        other=value_lists.other_count(tables[0], everybody),
        notes=() if visible else ("nothing-seen",),
    )


def _sought(
    common: ColumnProfile, tables: Sequence[ReleasedTable], people: PersonTotal
) -> ColumnProfile:
    values = value_lists.found_values(tables)
    full = any(len(asked_prefixes(table)) == MOST_PREFIXES for table in tables)
    notes: dict[ColumnNote, bool] = {
        "no-values": not values,
        "long-values": not all(each.whole for each in values),
        "many-values": full,
    }
    return replace(
        common,
        values=tuple(values),
        other=value_lists.unlisted_count(tables, values, people.without(tables[0])),
        notes=tuple(note for note, holds in notes.items() if holds),
    )
