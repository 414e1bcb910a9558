# SPDX-License-Identifier: Apache-2.0
"""The population of a profile: persons and sites as in training, with raw values.

Persons, their sites and the test rows are chosen as for training. What differs is the
content of a unit: values as they were read, since a profile looks for the very ranges
and lists that training scales by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lexfed.arrays import Integers
from lexfed.config.declarations import records_per_person_of, tagged_schema_of
from lexfed.config.open_decisions import OpenConfig
from lexfed.data.builtin.registry import is_builtin, load_builtin
from lexfed.data.encoding import Encoding, build_encoding
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.unit_blocks import (
    PersonRows,
    cap_records,
    check_sites_per_person,
    group_units,
    keys_of_rows,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import raw_frames, read_frames
from lexfed.data.reading.conversion import raw_slots
from lexfed.data.reading.frames import Frame
from lexfed.data.schema import Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError, Problem
from lexfed.federation.site.unit_batch import SiteData
from lexfed.law.tags import TaggedSchema
from lexfed.run.intake.population import Population, new_coins, partition_of
from lexfed.run.intake.public_facts import check_delta, public_units
from lexfed.sketch.profile.federation_profile import ProfiledColumn, ProfiledKind

_RAW = "raw values"
"""Their key in a table, row by row, so that dropped rows drop theirs as well."""


@dataclass(frozen=True)
class ProfilePopulation:
    """Sites with raw units, and the columns that their slots belong to."""

    population: Population
    columns: tuple[ProfiledColumn, ...]


@dataclass(frozen=True)
class _Source:
    frames: list[Frame]
    tagged: TaggedSchema
    encoding: Encoding
    records_per_person: int
    own_size: bool
    sites: tuple[str, ...] = ()


def load_profile_population(
    opened: OpenConfig, base: Path, coins: LotKeys | None = None
) -> ProfilePopulation:
    """Read the data of a configuration as a profile counts them.

    Ranges and lists of columns may be open; `coins` are new by default.

    Raises:
        ConfigError: if a column has no tag, or declarations contradict each other.
        DataError: with every problem of the data; nothing is spent.
    """
    config = opened.config
    coins = new_coins(config) if coins is None else coins
    problems = Problems()
    source = _read(opened, base, problems)
    columns = profiled_columns(opened, source.encoding)
    table = raw_table(opened, source.frames, source.tagged.schema, columns, problems)
    cap = source.records_per_person
    everywhere = partition_of(config, table, coins, source.sites)
    codes = everywhere.codes(len(table))
    capped = cap_records(table, codes, cap, config.data.excess_records)
    table, partition = capped.table, everywhere.of(capped.sites)
    check_sites_per_person(table, capped.sites, config.data.sites_per_person)
    split = split_by_person(table, config.data.test_size, coins)
    train = partition.keep(split.train)
    sites = tuple(
        raw_site(name, table, rows, cap)
        for name, rows in zip(train.names, train.rows, strict=True)
    )
    counted = sum(len(site.train) for site in sites)
    persons = table.person_count()
    declared = persons if source.own_size else None
    check_delta(config, len(sites), persons, declared)
    population = Population(
        tagged=source.tagged,
        encoding=source.encoding,
        sites=sites,
        units=public_units(config, len(sites), counted, declared),
        records_per_person=cap,
        clamped={},
        undeclared={},
        dropped=capped.dropped,
        strangers=capped.elsewhere,
        ignored=table.ignored,
        coins=coins,
    )
    return ProfilePopulation(population, columns)


def raw_site(name: str, table: Table, train: Integers, cap: int) -> SiteData:
    """Return a site's units with raw values.

    The table comes from `raw_table`, `train` are its rows for training; those for tests
    are not looked at. A person may have `cap` rows.
    """
    nothing = np.zeros(len(table))
    own = PersonRows(
        table.numbers(_RAW), nothing, table.persons, keys=keys_of_rows(table)
    )
    empty = np.zeros(0, dtype=np.int64)
    return SiteData(
        name, group_units(own.take(train), cap), group_units(own.take(empty), cap)
    )


def profiled_columns(
    opened: OpenConfig, encoding: Encoding
) -> tuple[ProfiledColumn, ...]:
    """Return the profiled columns: all that a model may read, and the target."""
    return tuple(
        _profiled(opened, encoding, name)
        for name in (*encoding.columns, encoding.schema.target)
    )


def _profiled(opened: OpenConfig, encoding: Encoding, name: str) -> ProfiledColumn:
    column, tier = encoding.schema.by_name(name), encoding.tiers[name]
    kind: ProfiledKind
    if column.kind == "number":
        kind = "number"
    elif column.kind == "category":
        kind = "category"
    else:
        kind = "flag"
    if name in opened.columns:
        return ProfiledColumn(name, kind, tier)
    return ProfiledColumn(name, kind, tier, column.range, column.values)


def _read(opened: OpenConfig, base: Path, problems: Problems) -> _Source:
    config = opened.config
    data = config.data
    if data.source is not None and is_builtin(data.source):
        made = load_builtin(data.source, **data.generator.model_dump(exclude_none=True))
        tagged = tagged_schema_of(config, made, base)
        encoding = build_encoding(tagged.schema, tagged.tiers())
        cap = records_per_person_of(config, made)
        return _Source([made.frame], tagged, encoding, cap, True, made.sites)
    tagged = tagged_schema_of(config, base=base)
    encoding = build_encoding(tagged.schema, tagged.tiers())
    files = data.sites.files if data.sites else None
    paths = [base / file for file in files or (data.source or "",)]
    frames = raw_frames(paths, columns_to_read(encoding), problems)
    cap = records_per_person_of(config)
    return _Source(frames, tagged, encoding, cap, own_size=False)


def columns_to_read(encoding: Encoding) -> list[str]:
    """Return the columns of a file that a profile reads: no other is looked at."""
    schema = encoding.schema
    return [*sorted(schema.keys), *encoding.columns, schema.target]


def raw_table(
    opened: OpenConfig,
    frames: Sequence[Frame],
    schema: Schema,
    columns: tuple[ProfiledColumn, ...],
    problems: Problems,
) -> Table:
    """Return the persons of the rows and their sites, with raw values."""
    problems.raise_if_any()
    raw = [raw_slots(columns, frame, problems) for frame in frames]
    problems.raise_if_any()
    sites = opened.config.data.sites
    by_target = sites is not None and sites.partition == "dirichlet"
    if by_target and schema.target in opened.columns:
        what = '`partition = "dirichlet"` spreads rows by the target, which is open'
        hint = f"declare `{schema.target}`, or use another partition"
        raise ConfigError([Problem("`data.sites`", what, hint)])
    table = read_frames(frames, schema, target=by_target, columns=())
    return replace(table, columns={**table.columns, _RAW: np.concatenate(raw)})
