# SPDX-License-Identifier: Apache-2.0
"""Persons, caps, units, sites and splits: nobody counts twice, nobody is split."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.arrays import Integers
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.site_partition import (
    Partition,
    partition_by_column,
    partition_by_files,
    partition_dirichlet,
    partition_iid,
)
from lexfed.data.people.unit_blocks import (
    PersonRows,
    cap_records,
    check_sites_per_person,
    earlier_rows,
    group_units,
)
from lexfed.data.problems import DataProblem
from lexfed.data.reading.checked_tables import read_files, read_frames
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column, Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError, DataError

PERSONS = st.lists(st.integers(0, 12), min_size=2, max_size=60)
SCHEMA = Schema((Column("x", "number", range=(0, 99)), Column("y", "flag")), "y", "p")


def table_of(persons: list[int]) -> Table:
    count = len(persons)
    columns = {
        "p": np.array([f"key {person}" for person in persons], dtype=object),
        "x": np.arange(count, dtype=np.float64),
        "y": np.arange(count) % 2,
    }
    return read_frames([frame_of_arrays("f", columns)], SCHEMA)


def one_site(table: Table) -> Integers:
    return np.zeros(len(table), dtype=np.int64)


@settings(max_examples=60, deadline=None)
@given(PERSONS, st.integers(1, 4))
def test_the_cap_keeps_everybodys_first_rows(persons: list[int], cap: int) -> None:
    table = table_of(persons)
    capped = cap_records(table, one_site(table), cap, "drop")
    expected = [
        row for row, who in enumerate(persons) if persons[:row].count(who) < cap
    ]
    assert (capped.table.rows - 1).tolist() == expected
    assert len(capped.table) + capped.dropped == len(persons)
    assert len(capped.sites) == len(capped.table)


def test_the_cap_counts_at_each_site() -> None:
    """Whoever has rows at a site is there, however many there are elsewhere."""
    table = table_of([1, 1, 1, 1, 2])
    sites = np.array([0, 0, 1, -1, 1])
    capped = cap_records(table, sites, 1, "drop")
    assert (capped.table.rows - 1).tolist() == [0, 2, 4]
    assert capped.sites.tolist() == [0, 1, 1]
    assert (capped.dropped, capped.elsewhere) == (1, 1)
    assert cap_records(table, np.full(5, -1), 1).elsewhere == 5


def test_rows_beyond_the_cap_are_named_by_row() -> None:
    table = table_of([1, 2, 1, 1])
    with pytest.raises(DataError) as caught:
        cap_records(table, one_site(table), 1)
    found = [p for p in caught.value.problems if isinstance(p, DataProblem)]
    assert [(p.row, p.column) for p in found] == [(3, "p"), (4, "p")]
    assert "key" not in str(caught.value)
    assert 'excess_records = "drop"' in caught.value.hint


def test_nobody_beyond_the_cap_changes_nothing() -> None:
    table = table_of([1, 2, 1])
    capped = cap_records(table, one_site(table), 2)
    assert capped.table is table
    assert (capped.dropped, capped.elsewhere) == (0, 0)
    assert earlier_rows(np.array([], dtype=np.int64)).tolist() == []


@settings(max_examples=60, deadline=None)
@given(PERSONS)
def test_units_average_a_persons_rows(persons: list[int]) -> None:
    codes = np.array(persons, dtype=np.int64)
    inputs = np.arange(3.0 * len(codes)).reshape(-1, 3) + 1
    targets = np.arange(1.0, len(codes) + 1)
    most = int(np.bincount(codes).max())
    units = group_units(PersonRows(inputs, targets, codes), most + 1)
    assert units.persons.tolist() == list(dict.fromkeys(persons))
    np.testing.assert_allclose(units.weights.sum(axis=1), 1)
    assert (units.inputs[units.weights == 0] == 0).all()
    assert (units.targets[units.weights == 0] == 0).all()
    for unit, person in enumerate(units.persons):
        real = units.weights[unit] > 0
        np.testing.assert_array_equal(units.inputs[unit, real], inputs[codes == person])
        np.testing.assert_array_equal(
            units.targets[unit, real], targets[codes == person]
        )
    assert len(units) == len(set(persons))


def test_units_refuse_more_rows_than_places() -> None:
    with pytest.raises(DataError, match="1 person"):
        group_units(
            PersonRows(np.ones((2, 1)), np.ones(2), np.zeros(2, dtype=np.int64)), 1
        )


def test_no_rows_make_no_units() -> None:
    nobody = PersonRows(np.ones((0, 2)), np.ones(0), np.zeros(0, dtype=np.int64))
    units = group_units(nobody, 3)
    assert units.inputs.shape == (0, 3, 2)


def covers(partition: Partition, table: Table) -> None:
    """Every row is at one site, and every person at one site."""
    assert sorted(np.concatenate(partition.rows).tolist()) == list(range(len(table)))
    assert check_sites_per_person(table, partition.codes(len(table))) == 0


@settings(max_examples=60, deadline=None)
@given(PERSONS, st.integers(1, 13), st.floats(0.01, 50), st.integers(0, 9))
def test_simulated_sites_keep_persons_whole(
    persons: list[int], count: int, alpha: float, seed: int
) -> None:
    table, coins = table_of(persons), LotKeys.seeded(seed)

    def make() -> list[Partition]:
        rng = np.random.default_rng(seed)
        return [
            partition_iid(table, count, coins),
            partition_dirichlet(table, count, alpha, coins, rng),
        ]

    for partition, again in zip(make(), make(), strict=True):
        covers(partition, table)
        assert all(map(np.array_equal, partition.rows, again.rows))


def test_iid_sites_are_about_even() -> None:
    # Each size is binomial(8000, 1/4): se = 38.7; 6.11 se for p = 1e-9.
    partition = partition_iid(table_of(list(range(8000))), 4, LotKeys.seeded(0))
    sizes = np.array([len(rows) for rows in partition.rows])
    assert (np.abs(sizes - 2000) < 6.11 * 38.8).all()
    assert not (np.abs(sizes - 1700) < 6.11 * 38.8).any()
    assert partition.names == ("site-1", "site-2", "site-3", "site-4")


def test_one_person_less_leaves_everybody_else_at_their_site() -> None:
    people = [n // 2 for n in range(800)]
    # Without a pair of rows the labels of all the others stay as they were.
    fewer = [person for person in people if person != 7]

    def sites(persons: list[int]) -> list[dict[str, int]]:
        table = table_of(persons)
        keys = [table.person_keys[person] for person in table.persons]
        parts = (
            partition_iid(table, 4, LotKeys.seeded(1)),
            partition_dirichlet(
                table, 4, 0.5, LotKeys.seeded(1), np.random.default_rng(1)
            ),
        )
        return [
            dict(zip(keys, part.codes(len(table)).tolist(), strict=True))
            for part in parts
        ]

    for before, after in zip(sites(people), sites(fewer), strict=True):
        assert before.pop("key 7") in range(4)
        assert before == after


def test_small_alpha_makes_sites_differ_and_large_alpha_does_not() -> None:
    table = table_of(list(range(4000)))
    labels = table.numbers("y")

    def spread(alpha: float) -> float:
        parts = partition_dirichlet(
            table, 5, alpha, LotKeys.seeded(2), np.random.default_rng(2)
        ).rows
        return float(np.std([labels[rows].mean() for rows in parts]))

    assert spread(0.1) > 0.15 > 0.02 > spread(1e4)


def test_numbers_are_dealt_by_quarters_of_their_range() -> None:
    target = Column("y", "number", range=(0, 1))
    frame = frame_of_arrays("f", {"y": np.linspace(0, 1, 400)})
    table = read_frames([frame], Schema((target,), "y"))
    covers(
        partition_dirichlet(table, 4, 0.2, LotKeys.seeded(0), np.random.default_rng(0)),
        table,
    )


def test_wrong_settings_of_a_partition() -> None:
    table = table_of([0, 1])
    with pytest.raises(ConfigError, match="alpha"):
        partition_dirichlet(table, 2, 0.0, LotKeys.seeded(0), np.random.default_rng(0))
    with pytest.raises(ConfigError, match="count"):
        partition_iid(table, 0, LotKeys.seeded(0))


def test_sites_by_column_and_by_file(
    tmp_path: Path, register: Path, rows: list[str], schema: Schema
) -> None:
    table = read_files([register], schema)
    natural = partition_by_column(table, ("north", "south"))
    assert natural.names == ("north", "south")
    assert [part.tolist() for part in natural.rows] == [[0, 1, 2], [3, 4, 5, 6]]
    declared = partition_by_column(table, ("west", "south"))
    assert [part.tolist() for part in declared.rows] == [[], [3, 4, 5, 6]]
    assert declared.codes(len(table)).tolist() == [-1, -1, -1, 1, 1, 1, 1]
    other = tmp_path / "sub" / "other.csv"
    other.parent.mkdir()
    renamed = [line.replace("p", "q", 1) for line in rows[1:]]
    other.write_text("\n".join([rows[0], *renamed]), encoding="utf-8")
    assert partition_by_files(read_files([register, other], schema)).names == (
        "register", "other",
    )  # fmt: skip
    twin = other.rename(other.with_name("register.csv"))
    both = partition_by_files(read_files([register, twin], schema))
    assert both.names == (str(register), str(twin))
    assert [len(part) for part in both.rows] == [7, 7]


def test_people_at_several_sites_are_refused_unless_declared(
    tmp_path: Path, register: Path, schema: Schema
) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(register.read_bytes())
    table = read_files([register, copy], schema)
    files = partition_by_files(table).codes(len(table))
    with pytest.raises(DataError, match="more than 1 site") as caught:
        check_sites_per_person(table, files)
    assert len(caught.value.problems) == 5
    assert "put the site's name" in caught.value.hint
    assert check_sites_per_person(table, files, limit=2) == 5


def test_a_site_may_have_no_rows_left() -> None:
    partition = Partition(("a", "b"), (np.array([0, 2]), np.array([1])))
    kept = partition.keep(np.array([1, 2]))
    assert [part.tolist() for part in kept.rows] == [[2], [1]]
    assert kept.codes(3).tolist() == [-1, 1, 0]
    assert [len(part) for part in partition.keep(np.array([0])).rows] == [1, 0]


def test_nobody_is_moved_to_a_site_that_would_be_empty() -> None:
    table, coins = table_of([0, 1, 2]), LotKeys.seeded(0)
    many = partition_iid(table, 50, coins)
    assert sorted(len(rows) for rows in many.rows)[-3:] == [1, 1, 1]
    alone = partition_iid(table.take(np.array([1])), 50, coins)
    assert alone.codes(1)[0] == many.codes(3)[1]


@settings(max_examples=40, deadline=None)
@given(PERSONS, st.floats(0.2, 0.8), st.integers(0, 10**9))
def test_a_split_keeps_persons_whole(
    persons: list[int], share: float, seed: int
) -> None:
    table = table_of(persons)
    split = split_by_person(table, share, LotKeys.seeded(seed))
    everything = np.concatenate([split.train, split.test])
    assert sorted(everything.tolist()) == list(range(len(table)))
    trained, tested = (set(table.persons[part]) for part in (split.train, split.test))
    assert not trained & tested


def test_the_share_held_back_is_as_asked() -> None:
    # 10,000 fair-ish coins: se = sqrt(.2 * .8 / 1e4) = .004; 6.11 se for p = 1e-9.
    table = table_of(list(range(10_000)))
    share = len(split_by_person(table, 0.2, LotKeys.seeded(1)).test) / 10_000
    assert abs(share - 0.2) < 6.11 * 0.004
    assert not abs(share - 0.25) < 6.11 * 0.004
    other = split_by_person(table, 0.2, LotKeys.seeded(2)).test
    assert set(other) != set(split_by_person(table, 0.2, LotKeys.seeded(1)).test)
    assert set(other) < set(split_by_person(table, 0.3, LotKeys.seeded(2)).test)


def test_a_side_of_a_split_may_be_empty() -> None:
    table, coins = table_of([0, 1]), LotKeys.seeded(0)
    sizes = {share: len(split_by_person(table, share, coins).test) for share in (0, 1)}
    assert sizes == {0: 0, 1: 2}
    assert len(split_by_person(table, 1e-9, coins).train) == 2
    with pytest.raises(ValueError, match="test_size"):
        split_by_person(table, 1.5, coins)


def test_a_unit_is_in_a_class_if_one_of_its_rows_is() -> None:
    persons = np.array([7, 5, 7, 5, 9])
    rows = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [0, 0]], dtype=np.bool_)
    plain = PersonRows(np.zeros((5, 1)), np.zeros(5), persons)
    units = group_units(replace(plain, members=rows), 2)
    assert units.persons.tolist() == [7, 5, 9]
    assert units.members is not None
    assert units.members.tolist() == [[True, False], [False, True], [False, False]]
    assert group_units(plain, 2).members is None
