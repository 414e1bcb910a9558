# SPDX-License-Identifier: Apache-2.0
"""A site's own file: read under the agreed declaration, and nothing of it is told."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lexfed.config.declare import records_per_person_of
from lexfed.config.model import Config
from lexfed.data.encode import encode, encode_target
from lexfed.data.person_keys import keys_of_rows
from lexfed.data.persons import cap_records
from lexfed.data.sources import read_files
from lexfed.data.split import Split, split_by_person
from lexfed.data.table import Ints, Table
from lexfed.data.units import UnitBlock, group_units
from lexfed.federation.cohort import SiteData
from lexfed.law.tags import TaggedSchema
from lexfed.run.population import Population, members_of, used_columns


@dataclass(frozen=True)
class OwnData:
    """The rows of one site, checked against the declaration."""

    table: Table
    split: Split

    @property
    def units(self) -> tuple[int, int]:
        """Persons for training and for testing."""
        persons = self.table.persons
        train, test = persons[self.split.train], persons[self.split.test]
        return len(np.unique(train)), len(np.unique(test))


def read_own(
    config: Config, base: Path, tagged: TaggedSchema, data: Path, place: int
) -> OwnData:
    """Read a site's file.

    Args:
        config: the configuration.
        base: folder of the files that it names.
        tagged: the declared columns with their tags.
        data: the site's file.
        place: of the site in the programme; numbers of rows are keys of persons only
            together with it.

    Raises:
        DataError: with every problem of the file.
    """
    _, columns = used_columns(config, tagged, base)
    table = read_files(
        [data], tagged.schema, strict=config.data.strict, columns=columns, whole=False
    )
    if tagged.schema.person is None:
        keys = tuple(f"{place}:{row}" for row in table.rows)
        table = replace(table, person_keys=keys)
    cap = records_per_person_of(config)
    table, _ = cap_records(table, cap, config.data.excess_records)
    split = split_by_person(table, config.data.test_size, config.run.seed)
    return OwnData(table, split)


def site_data(name: str, own: OwnData, population: Population) -> SiteData:
    """Return a site's units, encoded as everybody agreed.

    Args:
        name: of the site.
        own: its rows.
        population: what all agreed on.
    """
    table = own.table
    inputs, targets = encode(population.encoding, table), encode_target(table)
    members = members_of(population.classes, table)
    keys = keys_of_rows(table)

    def block(rows: Ints) -> UnitBlock:
        return group_units(
            inputs[rows],
            targets[rows],
            table.persons[rows],
            population.records_per_person,
            None if members is None else members[rows],
            None if keys is None else keys[rows],
        )

    return SiteData(name, block(own.split.train), block(own.split.test))
