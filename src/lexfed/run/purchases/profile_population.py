# SPDX-License-Identifier: Apache-2.0
"""The population of a profile: persons and sites as in training, with raw values.

What differs from training is the content of a unit: values as they were read, since a
profile looks for the very ranges and lists that training scales by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lexfed.arrays import Integers
from lexfed.config.open_decisions import OpenConfig
from lexfed.data.encoding import Encoding, build_encoding
from lexfed.data.file_format import PLAIN
from lexfed.data.people.lots import LotKeys
from lexfed.data.people.unit_blocks import (
    PersonRows,
    SiteData,
    group_units,
    keys_of_rows,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import raw_frames, read_frames
from lexfed.data.reading.conversion import plain_column, raw_slots
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.raw_columns import with_dates
from lexfed.data.schema import Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError, Problem
from lexfed.run.intake.population import (
    DeclaredSource,
    Population,
    data_sources,
    new_coins,
    placed_persons,
)
from lexfed.run.intake.public_facts import check_delta, public_units
from lexfed.sketch.profile.federation_profile import ProfiledColumn, ProfiledKind

_RAW = "raw values"
"""Their key in a table, row by row, so that dropped rows drop theirs as well."""


@dataclass(frozen=True)
class ProfilePopulation:
    """Sites with raw units, and the columns that their slots belong to."""

    population: Population
    columns: tuple[ProfiledColumn, ...]


def load_profile_population(
    opened: OpenConfig, base: Path, coins: LotKeys | None = None
) -> ProfilePopulation:
    """Read the data of a configuration as a profile counts them."""
    config = opened.config
    coins = new_coins(config) if coins is None else coins
    source = DeclaredSource.of(config, base)
    schema, cap = source.tagged.schema, source.records_per_person
    encoding = build_encoding(schema, source.tagged.tiers())
    columns, problems = profiled_columns(opened, encoding), Problems()
    if source.built_in is not None:
        frames = [source.built_in.frame]
    else:
        files = data_sources(config, base)
        frames = raw_frames(files, schema, columns_to_read(encoding), problems)
    table = raw_table(opened, frames, schema, columns, problems)
    capped, partition, split = placed_persons(config, table, coins, source)
    table = capped.table
    train = partition.keep(split.train)
    sites = tuple(
        raw_site(name, table, rows, cap)
        for name, rows in zip(train.names, train.rows, strict=True)
    )
    counted = sum(len(site.train) for site in sites)
    persons = table.person_count()
    declared = None if source.built_in is None else persons
    check_delta(config, len(sites), persons, declared)
    population = Population(
        tagged=source.tagged,
        encoding=encoding,
        sites=sites,
        units=public_units(config, len(sites), counted, declared),
        records_per_person=cap,
        dropped=capped.dropped,
        strangers=capped.elsewhere,
        ignored=table.ignored,
        coins=coins,
    )
    return ProfilePopulation(population, columns)


def raw_site(name: str, table: Table, train: Integers, cap: int) -> SiteData:
    """Return a site's units with the raw values of its training rows.

    Those for tests are not looked at; a person may have `cap` rows.
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
    kind: ProfiledKind = "flag"
    if column.kind == "number" or column.kind == "category":
        kind = column.kind
    if name in opened.columns:
        return ProfiledColumn(name, kind, tier)
    return ProfiledColumn(name, kind, tier, column.range, column.values)


def columns_to_read(encoding: Encoding) -> list[str]:
    """Return the columns of a file that a profile reads: no other is looked at."""
    schema = encoding.schema
    return [*sorted(schema.keys), *encoding.columns, schema.target]


def _plain(
    frame: Frame,
    schema: Schema,
    columns: Sequence[ProfiledColumn],
    problems: Problems,
) -> Frame:
    """Return the profiled columns of a frame in plain format, spelled as declared."""
    plain = {
        each.name: plain_column(
            schema.by_name(each.name), frame, problems, listed=each.values is not None
        )
        for each in columns
    }
    return replace(frame, columns=plain, written=PLAIN)


def raw_table(
    opened: OpenConfig,
    frames: Sequence[Frame],
    schema: Schema,
    columns: tuple[ProfiledColumn, ...],
    problems: Problems,
) -> Table:
    """Return the persons of the rows and their sites, with raw values."""
    problems.raise_if_any()
    frames = [with_dates(frame, schema, problems) for frame in frames]
    plain = [_plain(frame, schema, columns, problems) for frame in frames]
    raw = [raw_slots(columns, frame, problems) for frame in plain]
    problems.raise_if_any()
    sites = opened.config.data.sites
    by_target = sites is not None and sites.partition == "dirichlet"
    if by_target and schema.target in opened.columns:
        what = '`partition = "dirichlet"` spreads rows by the target, which is open'
        hint = f"declare `{schema.target}`, or use another partition"
        raise ConfigError([Problem("`data.sites`", what, hint)])
    table = read_frames(frames, schema, target=by_target, columns=())
    return replace(table, columns={**table.columns, _RAW: np.concatenate(raw)})
