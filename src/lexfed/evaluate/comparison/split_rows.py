# SPDX-License-Identifier: Apache-2.0
"""Who is who on both sides of a split: the rows behind the units of a population.

A population has slots and targets but, on purpose, no row numbers. A comparison needs
them: for groups by sex or age, which need not be inputs, and for methods that read
columns instead of slots. So row numbers are sent down the very path that targets take.
"""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from lexfed.arrays import Bools, Floats, Indices, Integers, Texts
from lexfed.config import Config, from_mapping
from lexfed.config.declarations import records_per_person_of, tagged_schema_of
from lexfed.config.tables.root import SitesTable
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.unit_blocks import PersonRows, cap_records, group_units
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.table import Table
from lexfed.errors import DataError, Problem
from lexfed.evaluate.comparison.case import (
    CONFIGURED,
    Case,
    own_methods,
    plain_configuration,
)
from lexfed.evaluate.comparison.simulated_sites import dealt, spread
from lexfed.evaluate.datasets import Dataset
from lexfed.run.intake.population import Population, partition_of, seeded_population


@dataclass(frozen=True)
class SplitSide:
    """Training rows or test rows, site after site.

    Attributes:
        slots: encoded inputs, [rows, slots].
        targets: 0 or 1, or numbers on the encoded scale.
        sites: place of each row's site.
        persons: code of each row's person.
        rows: position of each row in the table.
    """

    slots: Floats
    targets: Floats
    sites: Integers
    persons: Integers
    rows: Integers

    def at(self, site: int) -> "SplitSide":
        """Return the rows of one site."""
        return self.where(self.sites == site)

    def where(self, chosen: Bools) -> "SplitSide":
        """Return some of the rows, in the same order."""
        return SplitSide(
            self.slots[chosen],
            self.targets[chosen],
            self.sites[chosen],
            self.persons[chosen],
            self.rows[chosen],
        )


@dataclass(frozen=True)
class SplitRows:
    """A split of a table, for the product and for methods outside it.

    Attributes:
        population: as the product knows it.
        table: every row that is used, checked and clamped.
        train: what methods learn from.
        test: what they are scored on.
        groups: fairness attributes of the test rows.
    """

    population: Population
    table: Table
    train: SplitSide
    test: SplitSide
    groups: dict[str, Texts]


def rows_of(dataset: Dataset, case: Case) -> SplitRows:
    """Return the rows of a cell; the last few are kept, as methods share them.

    Guarantees:
        Test rows are those of `Population.test_rows`, in the same order.

    Raises:
        DataError: if the table does not match its declaration, a site has no rows
            for training, or the target has more than two classes.
    """
    # Which rows there are depends on neither budget nor model, unless a policy of the
    # table's own leaves columns out or has classes of records.
    usual = replace(case, record_epsilon=1.0, attribute_epsilon=1.0, model="logistic")
    policy = own_methods(dataset).get(CONFIGURED, {})
    tables = plain_configuration(dataset, usual, policy)
    file = dataset.folder / str(tables["data"]["source"])
    groups = tuple(dataset.groups.items())
    return _load(file, file.stat().st_mtime_ns, json.dumps(tables), groups)


@lru_cache(maxsize=3)
def _load(
    file: Path,
    written: int,  # noqa: ARG001 (another file of the same name is read again)
    tables: str,
    groups: tuple[tuple[str, str], ...],
) -> SplitRows:
    config = from_mapping(json.loads(tables))
    coins = LotKeys.seeded(config.run.seed)
    schema = tagged_schema_of(config, base=file.parent).schema
    if len(schema.classes) > 2:
        what = f"`{schema.target}` has {len(schema.classes)} classes"
        hint = "methods are compared on two classes or on a number; merge some"
        raise DataError([Problem(file.name, what, hint)])
    whole = read_files([file], schema, strict=config.data.strict)
    cap = records_per_person_of(config)
    everywhere = partition_of(config, whole, coins)
    codes = everywhere.codes(len(whole))
    capped = cap_records(whole, codes, cap, config.data.excess_records)
    table, partition = capped.table, everywhere.of(capped.sites)
    if config.data.sites is not None and config.data.sites.count is not None:
        site_of_row = spread(config, table, coins)
        together = seeded_population(_one_site(config), file.parent)
        population = dealt(together, table, site_of_row, partition.names)
    else:
        site_of_row = partition.codes(len(table))
        population = seeded_population(config, file.parent)
    _require_somebody(population, file)
    split = split_by_person(table, config.data.test_size, coins)
    places = range(len(partition.names))
    train, test = (
        _side(population, table, [part[site_of_row[part] == k] for k in places], name)
        for name, part in (("train", split.train), ("test", split.test))
    )
    in_file = np.searchsorted(whole.rows, table.rows[test.rows])
    return SplitRows(population, table, train, test, _groups(file, groups, in_file))


def _require_somebody(population: Population, file: Path) -> None:
    """Refuse a table on which a site could not train alone: methods are compared so."""
    empty = [site.name for site in population.sites if not len(site.train)]
    if empty:
        what = f"site `{empty[0]}` has no rows for training"
        raise DataError([Problem(file.name, what, "take more rows or fewer sites")])


def _one_site(config: Config) -> Config:
    one = SitesTable(count=1, partition="iid")
    return config.model_copy(
        update={"data": config.data.model_copy(update={"sites": one})}
    )


def _side(
    population: Population, table: Table, sites: list[Integers], side: str
) -> SplitSide:
    parts = []
    for place, (rows, site) in enumerate(zip(sites, population.sites, strict=True)):
        nothing = np.zeros((len(rows), 0))
        persons, cap = table.persons[rows], population.records_per_person
        own = PersonRows(nothing, rows.astype(np.float64), persons)
        numbers = group_units(own, cap)
        block = site.train if side == "train" else site.test
        there = block.weights > 0
        order = numbers.targets[there].astype(np.int64)
        codes = np.full(len(order), place, dtype=np.int64)
        slots, targets = block.inputs[there], block.targets[there]
        parts.append((slots, targets, codes, table.persons[order], order))
    return SplitSide(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _groups(
    file: Path, groups: tuple[tuple[str, str], ...], rows: Indices
) -> dict[str, Texts]:
    """Return the attributes of rows, as the file has them."""
    if not groups:
        return {}
    names = list(dict.fromkeys(column for _, column in groups))
    frame = pd.read_csv(file, usecols=names, dtype=str, keep_default_na=False)
    read = frame.iloc[rows]
    return {name: read[column].to_numpy(dtype=np.str_) for name, column in groups}
