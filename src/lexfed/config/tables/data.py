# SPDX-License-Identifier: Apache-2.0
"""The shape of `[data]`: sources, sites, and the public declarations of columns."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from lexfed.config.tables.field_types import (
    ConfigTable,
    NonEmptyText,
    Positive,
    PositiveCount,
    Real,
    Seed,
)
from lexfed.data.schema import ColumnKind, NumberScale
from lexfed.terms import ExcessHandling


class SitesTable(ConfigTable):
    """`data.sites`: by a column, by a partition into `count` parts, or by files."""

    column: NonEmptyText | None = None
    names: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)] | None = None
    count: PositiveCount | None = None
    partition: Literal["iid", "dirichlet"] = "iid"
    alpha: Positive | None = None
    files: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)] | None = None


class GeneratorTable(ConfigTable):
    """`[data.generator]`: sizes of a synthetic source; omitted ones are its own."""

    patients: PositiveCount | None = None
    clients: PositiveCount | None = None
    sites: PositiveCount | None = None
    seed: Seed | None = None


class ColumnTable(ConfigTable):
    """`[data.columns]`: the public declaration of one column."""

    kind: ColumnKind
    range: tuple[Real, Real] | None = None
    values: tuple[str, ...] | None = None
    scale: NumberScale = "auto"
    sources: tuple[NonEmptyText, ...] = ()
    missing: bool = True
    public_stats: tuple[Real, Positive] | None = None


class DataTable(ConfigTable):
    """`[data]`: where the rows are, whom they are about, how they are spread."""

    source: NonEmptyText | None = None
    target: NonEmptyText | None = None
    person: NonEmptyText | None = None
    records_per_person: PositiveCount | None = None
    excess_records: ExcessHandling = "error"
    sites_per_person: PositiveCount = 1
    units: PositiveCount | None = None
    test_size: Annotated[Real, Field(ge=0, lt=1)] = 0.2
    strict: bool = False
    profile: NonEmptyText | None = None
    sites: SitesTable | None = None
    generator: GeneratorTable = GeneratorTable()
    columns: Mapping[NonEmptyText, ColumnTable] = Field(default_factory=dict)

    @property
    def built_in(self) -> bool:
        """True if schema, tags and number of persons come with the source."""
        return (self.source or "").startswith(("synthetic:", "sklearn:"))
