# SPDX-License-Identifier: Apache-2.0
"""The rows behind the units of a population, on both sides of a split.

A population has slots and targets but, on purpose, no row numbers. A comparison needs
them: for groups by sex or age, which need not be inputs, and for methods that read
columns instead of slots. So row numbers are sent down the very path that targets take.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from lexfed.arrays import Bools, Floats, Indices, Integers, Texts
from lexfed.config import Config, from_mapping
from lexfed.config.declarations import records_per_person_of, tagged_schema_of
from lexfed.config.tables.root import SitesTable
from lexfed.counted_words import counted
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.unit_blocks import (
    PersonRows,
    SiteData,
    cap_records,
    group_units,
)
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.schema import Column
from lexfed.data.table import Table
from lexfed.errors import DataError, Problem
from lexfed.evaluate.comparison.case import (
    CONFIGURED,
    Case,
    own_methods,
    plain_configuration,
)
from lexfed.evaluate.datasets import Dataset
from lexfed.run.intake.population import Population, partition_of, seeded_population


@dataclass(frozen=True)
class SplitSide:
    """Training rows or test rows, site after site, as encoded inputs and targets.

    Sites and persons are codes; `rows` are the positions in the table.
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
        return SplitSide(*(getattr(self, one.name)[chosen] for one in fields(self)))


@dataclass(frozen=True)
class SplitRows:
    """A split of a table as it is used, for the product and for methods outside it."""

    population: Population
    table: Table
    train: SplitSide
    test: SplitSide
    groups: dict[str, Texts]


def rows_of(dataset: Dataset, case: Case, most_classes: int = 2) -> SplitRows:
    """Return the rows of a cell; the last few are kept, as methods share them.

    Methods that are compared know two classes; others may ask for more.

    Guarantees:
        Test rows are those of `Population.test_rows`, in the same order.

    Raises:
        DataError: if the table does not match its declaration, a site has no rows
            for training, or the target has more classes.
    """
    # Which rows there are depends on neither budget nor model, unless a policy of the
    # table's own leaves columns out or has classes of records.
    usual = replace(
        case,
        record_epsilon=1.0,
        attribute_epsilon=1.0,
        personal_epsilon=None,
        model="logistic",
    )
    policy = own_methods(dataset).get(CONFIGURED, {})
    tables = plain_configuration(dataset, usual, policy)
    file = dataset.folder / str(tables["data"]["source"])
    groups = tuple(dataset.groups.items())
    written = file.stat().st_mtime_ns
    return _load(file, written, json.dumps(tables), groups, most_classes)


@lru_cache(maxsize=3)
def _load(
    file: Path,
    written: int,  # noqa: ARG001 (another file of the same name is read again)
    tables: str,
    groups: tuple[tuple[str, str], ...],
    most_classes: int,
) -> SplitRows:
    config = from_mapping(json.loads(tables))
    coins = LotKeys.seeded(config.run.seed)
    schema = tagged_schema_of(config, base=file.parent).schema
    if len(schema.classes) > most_classes:
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
        one = SitesTable(count=1, partition="iid")
        data = config.data.model_copy(update={"sites": one})
        whole_site = config.model_copy(update={"data": data})
        together = seeded_population(whole_site, file.parent)
        population = dealt(together, table, site_of_row, partition.names)
    else:
        site_of_row = partition.codes(len(table))
        population = seeded_population(config, file.parent)
    # Methods are also compared site by site, so each must have rows to learn from.
    for site in population.sites:
        if not len(site.train):
            what = f"site `{site.name}` has no rows for training"
            raise DataError([Problem(file.name, what, "take more rows or fewer sites")])
    split = split_by_person(table, config.data.test_size, coins)
    places = range(len(partition.names))
    train, test = (
        _side(population, table, [part[site_of_row[part] == k] for k in places], name)
        for name, part in (("train", split.train), ("test", split.test))
    )
    in_file = np.searchsorted(whole.rows, table.rows[test.rows])
    return SplitRows(population, table, train, test, _groups(file, groups, in_file))


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
        used = block.weights > 0
        order = numbers.targets[used].astype(np.int64)
        codes = np.full(len(order), place, dtype=np.int64)
        slots, targets = block.inputs[used], block.targets[used]
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


def spread(config: Config, table: Table, coins: LotKeys) -> Integers:
    """Return the place of each row's site, where sites are made up for a sweep.

    With a hundred sites and Dirichlet shares of .01 most sites would have no training
    rows, which methods outside the product need. So such a site takes one training
    person from the largest, and everything else is the product's own partition. It
    looks at labels and at the split, so it is for simulations.

    Guarantees:
        Every site has a person for training.
        All rows of a person are at one site.
        A partition that has training rows everywhere already stays as it is.
    """
    partition = partition_of(config, table, coins)
    site_of_row = partition.codes(len(table))
    split = split_by_person(table, config.data.test_size, coins)
    persons, first = np.unique(table.persons[split.train], return_index=True)
    count = len(partition.names)
    if len(persons) < count:
        people = counted(len(persons), "person", "people")
        what = f"{counted(count, 'site')}, and {people} to train on"
        raise DataError([Problem("sites", what, "lower the number of sites")])
    site_of = site_of_row[split.train][first]
    for site in range(count):
        sizes = np.bincount(site_of, minlength=count)
        if sizes[site] == 0:
            moved = np.flatnonzero(site_of == sizes.argmax())[0]
            site_of[moved] = site
            site_of_row[table.persons == persons[moved]] = site
    return site_of_row


def dealt(
    population: Population, table: Table, site_of_row: Integers, names: Sequence[str]
) -> Population:
    """Return a population of one site with its persons dealt out to several.

    Guarantees:
        Where `spread` moved nobody it is the population that the product itself makes.
    """
    (whole,) = population.sites
    site_of = np.zeros(len(table.person_keys), dtype=np.int64)
    site_of[table.persons] = site_of_row
    sites = tuple(
        SiteData(
            name,
            whole.train.where(site_of[whole.train.persons] == place),
            whole.test.where(site_of[whole.test.persons] == place),
        )
        for place, name in enumerate(names)
    )
    return replace(population, sites=sites)


@dataclass(frozen=True)
class CodedColumns:
    """Features as they are declared, [rows, columns].

    A category is its place in the declared list; what is missing is not a number.
    """

    columns: tuple[Column, ...]
    values: Floats


def columns_of(rows: SplitRows, side: SplitSide) -> CodedColumns:
    """Return the columns that the model may read, of the rows of one side."""
    schema, names = rows.table.schema, rows.population.encoding.columns
    declared = tuple(schema.by_name(name) for name in names)
    values = np.empty((len(side.rows), len(names)))
    for place, column in enumerate(declared):
        read = rows.table.columns[column.name][side.rows].astype(np.float64)
        # Categories mark what is missing by -1.
        missing = (read < 0) & (column.kind == "category")
        values[:, place] = np.where(missing, np.nan, read)
    return CodedColumns(declared, values)
