# SPDX-License-Identifier: Apache-2.0
"""From a configuration to sites with units: reading, tagging, partition, encoding.

The coins of a run choose the persons for training and their sites. The guarantee
averages over them, so nobody else may know them, and no other run may have them. They
are a file of the run folder that its owner alone can read, so that a continued run has
the same; a seeded run, which is stamped as not private, needs none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lexfed.arrays import Integers
from lexfed.budget.record_classes import RecordClass, record_class
from lexfed.config.declarations import records_per_person_of, tagged_schema_of
from lexfed.config.tables.root import Config
from lexfed.counted_words import counted
from lexfed.data.builtin.declarations import BuiltinSource
from lexfed.data.builtin.registry import is_builtin, load_builtin
from lexfed.data.conditions import matching_rows, parse_condition
from lexfed.data.encoding import Encoding, build_encoding, encode, encode_target
from lexfed.data.people.lots import LotKeys, Split, split_by_person
from lexfed.data.people.site_partition import (
    Partition,
    partition_by_column,
    partition_by_files,
    partition_dirichlet,
    partition_iid,
)
from lexfed.data.people.unit_blocks import (
    CappedTable,
    PersonRows,
    SiteData,
    UnitBlock,
    cap_records,
    check_sites_per_person,
    group_units,
    keys_of_rows,
)
from lexfed.data.reading.checked_tables import read_files, read_frames
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.data.reading.table_sources import TableSource, table_source
from lexfed.data.table import BentValues, Table
from lexfed.durable import write_privately
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.law.tags import TaggedSchema
from lexfed.plain_files import read_plain
from lexfed.run.folder import COINS, never_began
from lexfed.run.intake.column_importance import Importance, importance_of
from lexfed.run.intake.public_facts import check_delta, public_units
from lexfed.terms import FRAME

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RemoteSites:
    """Sites whose data are not in this process, as far as they are known here.

    `sizes` are the training units of each, None where they are private, `keys` the
    public keys that check receipts. Names are in the order of the programme.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...] | None
    keys: Mapping[str, bytes]


@dataclass(frozen=True)
class Population:
    """Everything a run knows about its data: public facts, and the sites' units.

    Attributes:
        sites: each site's units; empty where they are elsewhere.
        units: public number of training units.
        records_per_person: rows that one person may have; `dropped` are beyond it.
        clamped, undeclared: values outside their declared range or list, by column.
        strangers, ignored: rows of sites, and columns, that nobody declared.
        classes: records with a stricter budget, by public rule. The units alone know
            their classes; members are counted nowhere.
        elsewhere: sites of a deployment, of which no row is here.
        coins: chose the persons for training and, where one table is dealt out, their
            sites; None where the rows are elsewhere. Secret.
    """

    tagged: TaggedSchema
    encoding: Encoding
    sites: tuple[SiteData, ...]
    units: int
    records_per_person: int
    clamped: Mapping[str, int] = field(default_factory=dict)
    undeclared: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0
    strangers: int = 0
    ignored: tuple[str, ...] = ()
    classes: tuple[RecordClass, ...] = ()
    importance: Importance = field(default_factory=Importance)
    elsewhere: RemoteSites | None = None
    coins: LotKeys | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The sites, in the order of the programme."""
        if self.elsewhere is not None:
            return self.elsewhere.names
        return tuple(site.name for site in self.sites)

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Training units of each site, where the sites may tell."""
        if self.elsewhere is not None:
            return self.elsewhere.sizes
        return tuple(len(site.train) for site in self.sites)

    @cached_property
    def test_rows(self) -> "tuple[Tensor, Tensor]":
        """Slots and targets of all test rows that are here; padding left out."""
        import torch

        from lexfed.federation.site.unit_batch import UnitBatch

        if not self.sites:
            return torch.zeros(0, self.encoding.width), torch.zeros(0)
        cohort = UnitBatch.of([site.test for site in self.sites])
        present = cohort.weights > 0
        return cohort.inputs[present], cohort.targets[present]

    def remarks(self) -> tuple[str, ...]:
        """Return the numbers of values bent to fit the declarations, in words.

        They are exact and private: for the data's holders, and never in a run folder.
        """
        lines = BentValues(self.clamped, self.undeclared).lines()
        if self.dropped:
            lines.append(
                f"{counted(self.dropped, 'row')} beyond `records_per_person` dropped"
            )
        if self.strangers:
            lines.append(
                f"{counted(self.strangers, 'row')} left out: `data.sites.names` does "
                "not list their sites"
            )
        if self.ignored:
            names = ", ".join(f"`{name}`" for name in self.ignored)
            lines.append(f"not declared, so not read: {names}")
        return tuple(lines)


@dataclass(frozen=True)
class DeclaredSource:
    """The declared columns of a source; a built-in one comes with its rows."""

    tagged: TaggedSchema
    records_per_person: int
    built_in: BuiltinSource | None

    @classmethod
    def of(cls, config: Config, base: Path) -> "DeclaredSource":
        """Return the source that a configuration names; nothing of it is read."""
        data, made = config.data, None
        if data.source is not None and is_builtin(data.source):
            settings = data.generator.model_dump(exclude_none=True)
            made = load_builtin(data.source, **settings)
        tagged = tagged_schema_of(config, made, base)
        return cls(tagged, records_per_person_of(config, made), made)

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that a built-in source has of its own."""
        return () if self.built_in is None else self.built_in.sites


def load_population(
    config: Config,
    base: Path,
    coins: LotKeys | None = None,
    tables: Sequence[MemoryTable] = (),
) -> Population:
    """Read the data of a configuration and give every person a place.

    `coins` give persons their places; by default they are new, as every run needs.
    `tables` are the data frames that the configuration names. A `DataError` has every
    problem of the data; nothing is spent.
    """
    coins = new_coins(config) if coins is None else coins
    source = DeclaredSource.of(config, base)
    tagged, cap = source.tagged, source.records_per_person
    importance, columns = used_columns(config, tagged, base)
    strict, declared = config.data.strict, None
    if source.built_in is not None:
        frames = [source.built_in.frame]
        table = read_frames(frames, tagged.schema, strict=strict, columns=columns)
        declared = table.person_count()
    else:
        files = data_sources(config, base, tables)
        table = read_files(files, tagged.schema, strict=strict, columns=columns)
    capped, partition, split = placed_persons(config, table, coins, source)
    table, unused = capped.table, importance.left_out
    encoding = build_encoding(table.schema, tagged.tiers(), exclude=unused)
    classes = classes_of(config, encoding)
    encoded = person_rows(encoding, classes, table)

    def block(rows: Integers) -> UnitBlock:
        return group_units(encoded.take(rows), cap)

    train = partition.keep(split.train)
    sites = tuple(
        SiteData(name, block(rows), block(every[np.isin(every, split.test)]))
        for name, rows, every in zip(
            train.names, train.rows, partition.rows, strict=True
        )
    )
    counted = sum(len(site.train) for site in sites)
    persons = counted + sum(len(site.test) for site in sites)
    check_delta(config, len(sites), persons, declared)
    return Population(
        tagged=tagged,
        encoding=encoding,
        sites=sites,
        units=public_units(config, len(sites), counted, declared),
        records_per_person=cap,
        clamped=table.clamped,
        undeclared=table.undeclared,
        dropped=capped.dropped,
        strangers=capped.elsewhere,
        ignored=table.ignored,
        classes=classes,
        importance=importance,
        coins=coins,
    )


def seeded_population(config: Config, base: Path) -> Population:
    """Return the same population for the same seed: NOT PRIVATE, for experiments."""
    return load_population(config, base, LotKeys.seeded(config.run.seed))


def new_coins(config: Config) -> LotKeys:
    """Return coins for a new run; seeded for one that is stamped as not private."""
    return LotKeys.seeded(config.run.seed) if config.run.test else LotKeys.fresh()


def write_coins(folder: Path, coins: LotKeys, config: Config) -> None:
    """Put the coins of a run on disk; a seeded run needs no file."""
    if not config.run.test:
        if not coins.private:
            raise ValueError("seeded coins are for runs with `test = true` only")
        write_privately(folder / COINS, coins.to_bytes())


def read_coins(folder: Path, config: Config) -> LotKeys | None:
    """Return the coins of a run that is to be continued; None if it never began.

    Coins that are gone or damaged are a `RunFolderError`: with others the same person
    could be on both sides of the split.
    """
    if config.run.test:
        return LotKeys.seeded(config.run.seed)
    if not folder.exists() or never_began(folder):
        return None
    path = folder / COINS
    try:
        return LotKeys.from_bytes(read_plain(path, 1 << 10))
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"`{path}` is missing or damaged: it says who is for training",
            "a run cannot be continued without it; start another",
        ) from error


def classes_of(config: Config, encoding: Encoding) -> tuple[RecordClass, ...]:
    """Return the records with a stricter budget, by public rule."""
    return tuple(
        record_class(one.name, parse_condition(one.where), one.epsilon, encoding)
        for one in config.budget.classes
    )


def person_rows(
    encoding: Encoding, classes: Sequence[RecordClass], table: Table
) -> PersonRows:
    """Return the rows of a table encoded, with their persons, classes and keys."""
    members = [matching_rows(one.condition, table) for one in classes]
    return PersonRows(
        encode(encoding, table),
        encode_target(table),
        table.persons,
        np.stack(members, axis=1) if members else None,
        keys_of_rows(table),
    )


def data_sources(
    config: Config, base: Path, tables: Sequence[MemoryTable] = ()
) -> list[TableSource]:
    """Return the sources of the rows: one of each site, or one for all.

    `ConfigError` tells that one is a data frame that is not among `tables`.
    """
    data = config.data
    files = (data.sites.files if data.sites else None) or (data.source or "",)
    given = {table.name: table for table in tables}
    problems = [
        Problem(
            "`data.source`" if data.source else "`data.sites.files`",
            f"`{file}` is a data frame in the memory of a program",
            "hand it over, `lexfed.train(frame, CONFIG)`, or name a file",
        )
        for file in files
        if file.startswith(FRAME) and file not in given
    ]
    if problems:
        raise ConfigError(problems)
    return [
        given.get(file) or table_source(file, base, data.database) for file in files
    ]


def used_columns(
    config: Config, tagged: TaggedSchema, base: Path
) -> tuple[Importance, list[str] | None]:
    """Return the importances, and the features to read; None for all of them.

    Columns that are left out are not read, unless the rule of a class looks at them.
    """
    importance = importance_of(
        config, base, build_encoding(tagged.schema, tagged.tiers())
    )
    if not importance.left_out:
        return importance, None
    by_rule = {
        name
        for one in config.budget.classes
        for name in parse_condition(one.where).columns
    }
    unused = set(importance.left_out) - by_rule
    features = [column.name for column in tagged.schema.features()]
    return importance, [name for name in features if name not in unused]


def placed_persons(
    config: Config, table: Table, coins: LotKeys, source: DeclaredSource
) -> tuple[CappedTable, Partition, Split]:
    """Return the rows within the caps, those of each site, and those for training."""
    everywhere = partition_of(config, table, coins, source.sites)
    codes, cap = everywhere.codes(len(table)), source.records_per_person
    capped = cap_records(table, codes, cap, config.data.excess_records)
    most_sites = config.data.sites_per_person
    check_sites_per_person(capped.table, capped.sites, most_sites)
    split = split_by_person(capped.table, config.data.test_size, coins)
    return capped, everywhere.of(capped.sites), split


def partition_of(
    config: Config, table: Table, coins: LotKeys, own: Sequence[str] = ()
) -> Partition:
    """Return the division of rows among sites; `own` are those of a built-in source."""
    sites = config.data.sites
    if sites is None or sites.column is not None:
        names = own if sites is None or sites.names is None else sites.names
        if not names or table.schema.site is None:
            hint = 'list them: `sites = { column = "...", names = ["...", "..."] }`'
            what = "nobody says which sites there are"
            raise ConfigError([Problem("`data.sites.names`", what, hint)])
        return partition_by_column(table, names)
    if sites.files is not None:
        return partition_by_files(table)
    count = sites.count or 1
    if sites.partition == "dirichlet":
        shares = np.random.default_rng([config.run.seed, 0x517E5])
        return partition_dirichlet(table, count, sites.alpha or 1.0, coins, shares)
    return partition_iid(table, count, coins)
