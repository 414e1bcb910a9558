# SPDX-License-Identifier: Apache-2.0
"""A site's own file: read under the agreed declaration, and nothing of it is told."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lexfed.arrays import Integers
from lexfed.config.declarations import records_per_person_of
from lexfed.data.encoding import build_encoding
from lexfed.data.people.lots import LotKeys, Split, split_by_person
from lexfed.data.people.unit_blocks import SiteData, UnitBlock, cap_records, group_units
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import raw_frames, read_files
from lexfed.data.reading.table_sources import table_source
from lexfed.data.table import Table
from lexfed.law.tags import TaggedSchema
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.intake.population import Population, person_rows, used_columns
from lexfed.run.purchases.profile_population import (
    columns_to_read,
    profiled_columns,
    raw_site,
    raw_table,
)


@dataclass(frozen=True)
class OwnData:
    """The rows of one site, checked against the declaration; `raw` for a profile."""

    table: Table
    split: Split
    raw: bool = False

    @property
    def units(self) -> tuple[int, int]:
        """Persons for training and for testing."""
        persons = self.table.persons
        train, test = persons[self.split.train], persons[self.split.test]
        return len(np.unique(train)), len(np.unique(test))


def read_own_data(
    bundle: Bundle, base: Path, tagged: TaggedSchema, data: Path, coins: LotKeys
) -> OwnData:
    """Read a site's file or table; `base` has files that the configuration names.

    Where a database is, the site says itself: nobody else may make it connect.
    """
    config, raw = bundle.config, bundle.profile is not None
    source = table_source(data)
    if raw:
        encoding, problems = build_encoding(tagged.schema, tagged.tiers()), Problems()
        columns = profiled_columns(bundle.opened, encoding)
        frames = raw_frames(
            [source], tagged.schema, columns_to_read(encoding), problems
        )
        table = raw_table(bundle.opened, frames, tagged.schema, columns, problems)
    else:
        _, names = used_columns(config, tagged, base)
        strict = config.data.strict
        table = read_files([source], tagged.schema, strict=strict, columns=names)
    cap = records_per_person_of(config)
    here = np.zeros(len(table), dtype=np.int64)
    table = cap_records(table, here, cap, config.data.excess_records).table
    split = split_by_person(table, config.data.test_size, coins)
    return OwnData(table, split, raw)


def site_data(name: str, own: OwnData, population: Population) -> SiteData:
    """Return a site's units: encoded as everybody agreed, or raw for a profile."""
    table = own.table
    if own.raw:
        return raw_site(name, table, own.split.train, population.records_per_person)
    encoded = person_rows(population.encoding, population.classes, table)

    def block(rows: Integers) -> UnitBlock:
        return group_units(encoded.take(rows), population.records_per_person)

    return SiteData(name, block(own.split.train), block(own.split.test))
