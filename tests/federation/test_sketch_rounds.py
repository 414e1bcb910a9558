# SPDX-License-Identifier: Apache-2.0
"""Rounds that count: what is asked next, what is remembered, what is refused."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.budget.plan import Budget
from lexfed.data.letters import PAIRS, pairs_of
from lexfed.federation.channel import Doors
from lexfed.federation.coordinator import Coordinator
from lexfed.federation.engines import OverChannel
from lexfed.federation.follow_ups import (
    ANY_ENDS,
    are_follow_ups,
    follow_up_lengths,
    next_question,
)
from lexfed.federation.learner import Learner
from lexfed.federation.messages import Query, Refusal, Reply
from lexfed.federation.site import Site
from lexfed.federation.told import told_before, told_tables
from lexfed.federation.well_formed import is_well_formed
from lexfed.sketch.asked import AskedTable, ToldTable
from lexfed.sketch.cells import DOUBLES, MOST_PREFIXES
from lexfed.sketch.following import standing_out
from support.sketch_worlds import TABLES, TOWNS, cohort_of_all, plain_sum, sketch_world
from support.worlds import World, engine_of, play, seeded, with_slots

Floats = NDArray[np.float64]

RICH = Budget(20.0, 1e-5, "add-remove", {})
"""Little noise: follow-ups then find what is there."""

SECOND_LOOKS = ("doubles", "letters"), ("bins",), ("letters 2",)


def second_looks(**options: Any) -> World:
    stages = [tuple(TABLES[name] for name in names) for names in SECOND_LOOKS]
    return sketch_world(
        *stages, **{"sizes": (400, 300, 350), "budget": RICH, **options}
    )


def test_second_looks_follow_what_was_found() -> None:
    of = second_looks(places=2)
    played = play(of)
    assert played.progress is not None
    told = told_tables(of.programme, played.progress.memory)
    assert [one.table.domain for one in told] == ["doubles", "letters", "bins",
                                                  "letters"]  # fmt: skip
    low, high = told[2].asked.tolist()
    ages = np.concatenate([site.train.inputs[..., 0].ravel() for site in of.sites])
    there = np.concatenate([site.train.weights.ravel() for site in of.sites]) > 0
    known = ages[there & np.isfinite(ages)]
    assert low <= known.min() < known.max() <= high
    # Nobody is left below and above; 7 deviations: one in 1e11.
    outside = told[2].counts[0, 0, [0, -2]]
    assert np.abs(outside).max() < 7 * math.sqrt(told[2].variance)
    found = {prefix for prefix, _ in standing_out(told[3])}
    # A person in eight is at each of these; noise is a few persons.
    assert {pairs_of(town)[:2] for town in ("Ulm", "Aarau", "Aalen")} <= found
    assert found <= {pairs_of(town)[:2] for town in TOWNS}


def test_counts_are_those_of_the_plain_loop() -> None:
    """Persons count one, though contributions leave room for rounding in the clip."""
    of = second_looks(places=3, sizes=(80, 60, 70))
    played = play(of)
    assert played.progress is not None
    told = iter(told_tables(of.programme, played.progress.memory))
    cohort = cohort_of_all(of)
    for stage, query in zip(of.programme.stages, played.queries, strict=True):
        exact = plain_sum(stage, query.arrays, cohort)
        for table, block in zip(stage.tables, stage.blocks, strict=True):
            one = next(told)
            assert one.table == table
            wanted = exact[block.start : block.stop].reshape(table.shape)
            # Normal noise on some 300,000 cells: beyond 7 deviations with
            # probability below 1e-6 in all.
            assert (
                np.abs(one.counts - wanted).max() < 7 * math.sqrt(one.variance) + 1e-3
            )


@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_variance_is_that_of_the_noise(trust: str) -> None:
    """Over some 9,200 cells it is known to 1.5 %; 8 % are 5 deviations: 1e-6."""
    of = sketch_world((TABLES["letters"],), trust=trust)
    played = play(of)
    assert played.progress is not None
    [told] = told_tables(of.programme, played.progress.memory)
    assert told.counts.shape == (1, 1, PAIRS + 2)
    stage = of.programme.stages[0]
    exact = plain_sum(stage, {}, cohort_of_all(of))
    spread = float(np.mean((told.counts.ravel() - exact) ** 2))
    assert spread == pytest.approx(told.variance, rel=0.08)
    sites = 3 if trust == "local" else 1
    [release] = stage.releases
    assert release is not None
    assert told.variance == pytest.approx(
        sites * release.groups[0].sigma ** 2, rel=0.01
    )


def test_the_variance_without_privacy_is_none() -> None:
    of = sketch_world((TABLES["codes"],), mechanism="none")
    played = play(of)
    assert played.progress is not None
    [told] = told_tables(of.programme, played.progress.memory)
    assert told.variance == 0.0
    stage = of.programme.stages[0]
    exact = plain_sum(stage, {}, cohort_of_all(of))
    assert (
        np.abs(told.counts.ravel() - exact).max() <= stage.blocks[0].grid.release_step
    )


def test_missing_sites_are_not_counted_as_noise() -> None:
    of = sketch_world((TABLES["codes"],), trust="local")
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    two = engine_of(of, "inprocess", seeded(1)).ask(asked.query, asked.participants[:2])
    after = coordinator.receive(asked.query, two, {"site2"}).progress
    [told] = told_tables(of.programme, after.memory)
    assert asked.query.release is not None
    sigma = asked.query.release.groups[0].sigma
    assert told.variance == pytest.approx(2 * sigma**2, rel=0.01)


def empty_of(of: World) -> World:
    """Return a world in which every value is missing."""
    sites = tuple(
        replace(site, train=replace(site.train, inputs=site.train.inputs * np.nan))
        for site in of.sites
    )
    return replace(of, sites=sites)


def test_nothing_to_look_at_is_neither_asked_nor_charged() -> None:
    """Noise alone asks for more with probability .05 per column; not with this seed."""
    of = empty_of(second_looks(budget=Budget(8.0, 1e-6, "add-remove", {})))
    learner, ledger = Learner(of.programme), of.ledger()
    assert ledger is not None
    coordinator = Coordinator(of.programme, learner, ledger, seeded(2), learner.start())
    engine = engine_of(of, "inprocess", seeded(2))
    asked = coordinator.next()
    assert asked is not None
    coordinator.receive(asked.query, engine.ask(asked.query, asked.participants))
    assert coordinator.is_over()
    assert coordinator.next() is None
    assert len(ledger.events()) == 1
    told = told_tables(of.programme, coordinator.progress.memory)
    assert len(told) == 2
    # Control: with values, all three stages are asked.
    full = play(second_looks(budget=RICH))
    assert len(full.queries) == 3


def test_a_lost_first_look_has_no_second() -> None:
    of = second_looks()
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    coordinator.lost(asked.query)
    assert coordinator.is_over()
    assert told_tables(of.programme, coordinator.progress.memory) == ()


def told_of(
    table: AskedTable, counts: Floats, asked: Floats | None = None
) -> ToldTable:
    given = np.zeros(0) if asked is None else asked
    return ToldTable(table, given, counts.reshape(table.shape), 1.0)


def test_columns_of_which_nothing_was_found_go_along_with_others() -> None:
    loud = np.zeros(DOUBLES + 1)
    loud[200:210] = 1000.0
    silent = replace(TABLES["doubles"], column="height", slots=(2,))
    told = (
        told_of(TABLES["doubles"], loud),
        told_of(silent, np.zeros(DOUBLES + 1)),
        told_of(TABLES["letters"], np.zeros(PAIRS + 2)),
    )
    asked = (TABLES["bins"], replace(TABLES["bins"], column="height"),
             TABLES["letters 2"])  # fmt: skip
    found = next_question(asked, told)
    assert found is not None
    assert found.keys() == {"ends.0", "ends.1", "prefixes.2"}
    assert tuple(found["ends.1"]) == ANY_ENDS
    assert not np.array_equal(found["ends.0"], found["ends.1"])
    assert (found["prefixes.2"] == -1).all()
    assert are_follow_ups(asked, found)
    assert next_question(asked[1:], told) is None
    assert next_question((), told) is None
    # A first look is always asked, whatever was found of others.
    assert next_question((TABLES["codes"], *asked[1:]), told) is not None


def test_letters_go_on_from_the_level_before() -> None:
    third = replace(TABLES["letters 2"], slots=(3, 4, 5))
    first = np.zeros(PAIRS + 2)
    first[pairs_of("Ulm")[0]] = 1000.0
    told = (told_of(TABLES["letters"], first),)
    assert next_question((third,), told) is None
    second = next_question((TABLES["letters 2"],), told)
    assert second is not None
    assert second["prefixes.0"][0] == pairs_of("Ulm")[0]
    other = replace(TABLES["letters 2"], column="street")
    assert next_question((other,), told) is None
    bins_of_a_text = replace(TABLES["bins"], column="town")
    assert next_question((bins_of_a_text,), told) is None


# What a site refuses


def spoil(name: str, value: Callable[[Floats], Floats]) -> Callable[[Query], Query]:
    def apply(query: Query) -> Query:
        return replace(
            query, arrays={**query.arrays, name: value(query.arrays[name].copy())}
        )

    return apply


def with_first(number: float) -> Callable[[Floats], Floats]:
    def change(array: Floats) -> Floats:
        array[0] = number
        return array

    return change


LIES: dict[str, tuple[int, Callable[[Query], Query]]] = {
    "too many ends": (1, spoil("ends.0", lambda a: np.append(a, 1.0))),
    "one end": (1, spoil("ends.0", lambda a: a[:1])),
    "ends of nothing": (1, spoil("ends.0", lambda a: a * math.nan)),
    "endless ends": (1, spoil("ends.0", with_first(-math.inf))),
    "ends that are one": (1, spoil("ends.0", lambda a: a * 0)),
    "ends that fall": (1, spoil("ends.0", lambda a: a[::-1].copy())),
    "ends too far apart": (1, spoil("ends.0", lambda _: np.array([-1.7e308, 1.7e308]))),
    "ends with an axis": (1, spoil("ends.0", lambda a: a.reshape(1, 2))),
    "single precision": (1, spoil("ends.0", lambda a: a.astype(np.float32))),
    "ends of a table that has none": (
        1,
        lambda q: replace(q, arrays={**q.arrays, "ends.1": q.arrays["ends.0"]}),
    ),
    "no ends": (1, lambda q: replace(q, arrays={})),
    "too few prefixes": (2, spoil("prefixes.0", lambda a: a[:-1])),
    "a pair that is none": (2, spoil("prefixes.0", with_first(PAIRS))),
    "less than nothing": (2, spoil("prefixes.0", with_first(-2.0))),
    "half a pair": (2, spoil("prefixes.0", with_first(0.5))),
    "no pair": (2, spoil("prefixes.0", with_first(math.nan))),
}


@pytest.fixture(scope="module")
def asked() -> tuple[World, list[Query]]:
    of = second_looks()
    return of, play(of).queries


@pytest.mark.parametrize("lie", LIES)
def test_a_site_looks_at_ends_and_prefixes_before_its_data(
    lie: str, asked: tuple[World, list[Query]]
) -> None:
    of, queries = asked
    stage, change = LIES[lie]
    ledger = of.ledger(0)
    assert ledger is not None
    site = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    answer = site.answer(change(queries[stage]).to_bytes())
    assert isinstance(answer, Refusal)
    assert "not the one that was agreed on" in answer.reason
    assert ledger.events() == ()
    assert not is_well_formed(change(queries[stage]), of.programme)


def test_honest_questions_are_answered(asked: tuple[World, list[Query]]) -> None:
    of, queries = asked
    site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1), every_answer=True)
    for query in queries:
        assert is_well_formed(query, of.programme)
        assert not isinstance(site.answer(query.to_bytes()), Refusal)
    assert follow_up_lengths(of.programme.stages[2].tables) == {
        "prefixes.0": MOST_PREFIXES
    }


def test_declared_ends_need_no_array() -> None:
    of = sketch_world((TABLES["declared"],))
    played = play(of)
    assert played.queries[0].arrays == {}
    assert played.progress is not None
    [told] = told_before(of.programme, played.progress.memory, 1)
    assert told.asked.tolist() == [40.0, 250.0]
    assert told_before(of.programme, played.progress.memory, 0) == ()


def doors(of: World) -> dict[str, Callable[[bytes], bytes]]:
    """Return the doors of sites that have not answered yet."""
    return {
        data.name: Site(of.programme, data, of.ledger(place), seeded(1)).handle
        for place, data in enumerate(of.sites)
    }


def test_sites_elsewhere_count_the_same_and_may_be_missing() -> None:
    of = second_looks(sizes=(40, 25, 31))
    names = of.programme.sites
    query = play(of, rounds=1).queries[0]
    here = engine_of(of, "inprocess", seeded(1)).ask(query, names)
    everybody = Doors(doors(of))
    there = OverChannel(of.programme, everybody, 1, lambda *_: None).ask(query, names)
    assert len(here) == len(there) == 3
    for mine, theirs in zip(here, there, strict=True):
        assert isinstance(mine, Reply)
        assert isinstance(theirs, Reply)
        assert np.array_equal(mine.total, theirs.total)
    without = Doors({**doors(of), "site1": lambda _: b""})
    some = OverChannel(of.programme, without, 1, lambda *_: None).ask(query, names)
    assert [answer.site for answer in some] == ["site0", "site2"]


def test_what_is_asked_of_a_column_follows_from_that_column_alone() -> None:
    """Nothing of a lower tier may depend on what a higher one released."""
    loud = np.zeros(DOUBLES + 1)
    loud[200:210] = 1000.0
    own = told_of(TABLES["doubles"], loud)
    found = next_question((TABLES["bins"],), (own,))
    assert found is not None
    for value in (0.0, 1e9):
        column = replace(TABLES["doubles"], column="illness")
        others = told_of(column, np.full(DOUBLES + 1, value))
        text = told_of(TABLES["letters"], np.full(PAIRS + 2, value))
        again = next_question((TABLES["bins"],), (others, own, text, others))
        assert again is not None
        assert np.array_equal(again["ends.0"], found["ends.0"])


def test_other_values_of_a_column_leave_rounds_of_others_as_they_are() -> None:
    """Queries, sums and releases of one column, to the bit; those of the other move."""
    age, town = (TABLES["doubles"],), (TABLES["letters"],)
    of = sketch_world(age, (TABLES["bins"],), town, sizes=(400, 300, 350))
    towns = list(range(3, of.sites[0].train.inputs.shape[-1]))
    before = play(of)
    for change in (np.zeros_like, lambda values: np.full_like(values, np.nan)):
        after = play(with_slots(of, towns, change))
        for at in range(2):
            assert before.queries[at].to_bytes() == after.queries[at].to_bytes()
            assert np.array_equal(before.totals[at], after.totals[at])
            assert np.array_equal(before.released[at], after.released[at])
        assert not np.array_equal(before.totals[2], after.totals[2])
