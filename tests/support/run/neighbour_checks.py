# SPDX-License-Identifier: Apache-2.0
"""Chosen neighbours whose whole runs must stay within their claim."""

import tempfile
from dataclasses import replace
from pathlib import Path

from lexfed.config import load
from lexfed.data.people.lots import LotKeys
from lexfed.run import load_population
from support.run.neighbour_runs import base_of, share_of
from support.run.neighbour_tables import Neighbour, Row, Setting, Table

PLAIN = Setting(
    mechanism="uniform",
    trust="central",
    unit="record",
    neighbours="add-remove",
    loss="logistic",
    layout="files",
    person=False,
    cap=1,
    spread=1,
    test_size=0.3,
    epsilon=6.0,
    units=12,
    parts={
        "federation": "rounds = 2\nlearning_rate = 5.0",
        "privacy": "clip = { default = 0.05 }",
    },
    programme="training",
    engine="simulation",
)
"""Rows without a key, some of them held back."""

LOUD = {"u": "8", "v": "k", "w": "1", "z": "1", "y": "1"}
QUIET = {"u": "0", "v": "m", "w": "-1", "z": "0", "y": "1"}


def rows_of(count: int, sites: str = "abc") -> tuple[Row, ...]:
    """Return rows that say the opposite of each other by turns."""
    return tuple(
        Row(person, sites[person % len(sites)], LOUD if person % 2 else QUIET)
        for person in range(count)
    )


def differing(table: Table, rows: tuple[Row, ...], *persons: int) -> Neighbour:
    """Return the neighbour with other rows of these persons."""
    sites = {row.site for row in (*table.rows, *rows) if row.person in persons}
    other = Table(table.setting, rows)
    return Neighbour(other, "record", None, frozenset(persons), frozenset(sites), False)


def shares(setting: Setting, rows: tuple[Row, ...], *gone: int) -> list[float]:
    """Return the shares of the claim of tables without each of these persons."""
    table = Table(setting, rows)
    with tempfile.TemporaryDirectory() as place:
        base = base_of(setting, table, Path(place), LotKeys.seeded(1))
        return [
            share_of(
                base,
                differing(table, tuple(row for row in rows if row.person != who), who),
            )
            for who in gone
        ]


def a_row_less_moves_nobody_else() -> None:
    """Taking a row away costs one contribution, wherever the row stands."""
    found = shares(PLAIN, rows_of(12), *range(12))
    assert max(found) <= 1.0
    assert max(found) > 0.3  # somebody of them was for training, and is seen


def a_row_less_leaves_simulated_sites() -> None:
    """The last row of a site leaves it empty, and moves nobody there."""
    setting = replace(PLAIN, layout="iid", trust="local", engine="inprocess")
    found = shares(replace(setting, test_size=0.0), rows_of(5), *range(5))
    assert max(found) <= 1.0


def a_row_of_a_new_site_is_no_site_more() -> None:
    """The programme has the declared sites, whoever is where."""
    setting = replace(PLAIN, layout="column")
    found = shares(setting, (*rows_of(6, sites="ab"), Row(6, "c", LOUD)), 6)
    assert max(found) <= 1.0


def a_person_is_at_a_site_with_any_row_there() -> None:
    """Rows at one site decide nothing about another, also beyond the cap."""
    setting = replace(
        PLAIN, neighbours="replace-one", person=True, spread=2, test_size=0.0
    )
    others = rows_of(6)
    table = Table(setting, (Row(9, "a", LOUD), Row(9, "b", LOUD), *others))
    crowded = (Row(9, "a", QUIET), Row(9, "a", QUIET), Row(9, "b", LOUD), *others)
    with tempfile.TemporaryDirectory() as place:
        base = base_of(setting, table, Path(place), LotKeys.seeded(1))
        assert share_of(base, differing(table, crowded, 9)) <= 1.0


def coins_are_of_one_run_alone() -> None:
    """Every loading draws coins that nobody knows and no other has."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "lexfed.toml").write_text(PLAIN.text())
        Table(PLAIN, rows_of(12)).write(place)
        config = load(place / "lexfed.toml")
        one, other = (load_population(config, place).coins for _ in range(2))
        assert one is not None
        assert one.private
        assert one != other
