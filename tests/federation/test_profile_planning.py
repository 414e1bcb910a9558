# SPDX-License-Identifier: Apache-2.0
"""Programmes of profiles: what is asked, in which order, and what it costs."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from lexfed.data.letter_pairs import LEVELS, text_of
from lexfed.data.reading.conversion import raw_places
from lexfed.federation.coordinator.progress import tables_so_far
from lexfed.federation.planning.purchase_programmes import (
    KEY_DEPTH,
    KEY_WIDTHS,
    PERSONS,
    USEFUL,
    USEFUL_OVERLAP,
    hidden_shares,
    plan_profile,
)
from lexfed.federation.programme.sequence import Programme
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.sketch.profile.federation_profile import ProfiledColumn
from lexfed.sketch.queries.refinements import ERROR, ends_after, standing_out, threshold
from lexfed.sketch.queries.requested_tables import RequestedTable
from lexfed.tiers import Tier
from support.federation.profile_worlds import (
    BUDGET,
    COLUMNS,
    WARDS,
    profile_world,
    slots_of,
)
from support.federation.worlds import play, with_slots


def tables_of(programme: Programme) -> list[RequestedTable]:
    return [table for stage in programme.stages for table in stage.tables]


def looks_at(programme: Programme) -> list[tuple[str, str, int]]:
    return [(table.column, table.domain, table.level) for table in tables_of(programme)]


def test_every_column_is_asked_first_and_open_ones_again() -> None:
    asked = looks_at(profile_world().programme)
    letters = [("ward", "letters", level) for level in range(2, LEVELS + 1)]
    assert asked == [
        ("", "keys", 0),
        ("y", "codes", 1),
        ("dose", "doubles", 1),
        ("ward", "letters", 1),
        ("dose", "bins", 1),
        *letters,
        ("age", "bins", 1),
        ("sex", "codes", 1),
        ("hba1c", "doubles", 1),
        ("ill", "codes", 1),
        ("gene", "bins", 1),
        ("hba1c", "bins", 1),
    ]


def test_lower_tiers_come_first_and_read_no_more_than_their_own() -> None:
    programme = profile_world().programme
    reads = [stage.releases[0].reads for stage in programme.stages if stage.releases[0]]
    order = [-1 if read is None else int(read) for read in reads]
    assert order == sorted(order)
    tiers = {column.name: column.tier for column in COLUMNS}
    for stage, read in zip(programme.stages, reads, strict=True):
        name = stage.tables[0].column
        assert read == (None if name in ("", "y") else tiers[name])


@pytest.mark.parametrize("tier", [Tier.PERSONAL, Tier.SPECIAL])
def test_a_table_moves_with_no_tier_above_the_one_it_reads(tier: Tier) -> None:
    of = profile_world()
    slots = slots_of(COLUMNS, tier)
    before, after = play(of), play(with_slots(of, slots, np.zeros_like))
    moved = 0
    for one, two, query in zip(
        before.totals, after.totals, before.queries, strict=False
    ):
        assert query.release is not None
        below = query.release.reads is None or query.release.reads < tier
        assert not below or np.array_equal(one, two), query.release.name
        moved += not np.array_equal(one, two)
    assert moved


@pytest.mark.parametrize("accountant", ["pld", "gdp", "rdp"])
@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_budget_is_kept_and_used(accountant: str, trust: str) -> None:
    programme = profile_world(accountant=accountant, trust=trust).programme
    charges = programme.charges()
    record = record_epsilon(charges, 1e-6, "add-remove", accountant)  # type: ignore[arg-type]
    special = tier_epsilon(charges, Tier.SPECIAL, 1e-6, accountant)  # type: ignore[arg-type]
    assert 0.97 * BUDGET.epsilon <= record <= BUDGET.epsilon
    assert special <= BUDGET.caps[Tier.SPECIAL]


def test_tables_of_a_tier_have_the_same_noise_for_their_clip() -> None:
    programme = profile_world().programme
    for tower, stages in itertools.groupby(programme.stages, lambda s: s.tower):
        ratios = {
            round(group.sigma / group.clip, 9)
            for stage in stages
            for group in (stage.releases[0].groups if stage.releases[0] else ())
        }
        assert len(ratios) == 1, tower


def test_keys_are_asked_where_persons_have_them_at_several_sites() -> None:
    keys = tables_of(profile_world().programme)[0]
    assert (keys.domain, keys.sites, keys.depth) == ("keys", 2, KEY_DEPTH)
    assert keys.width == KEY_WIDTHS[0]
    for other in (profile_world(person=None), profile_world(sizes=(500,))):
        assert "keys" not in [table.domain for table in tables_of(other.programme)]


@pytest.mark.parametrize("units", [10**5, 3 * 10**5, 10**6])
def test_a_table_of_keys_has_about_the_best_size(units: int) -> None:
    of = profile_world()
    facts = replace(of.facts, units=units)
    programme = plan_profile(facts, BUDGET, of.choices, COLUMNS)
    keys, release = tables_of(programme)[0], programme.stages[0].releases[0]
    assert release is not None
    rho = (release.groups[0].clip / release.groups[0].sigma) ** 2 / 2
    best = 2 * rho * units / 2
    cells = KEY_DEPTH * keys.width
    if keys.width < KEY_WIDTHS[1]:
        assert best / math.sqrt(2.1) <= cells <= best * math.sqrt(2.1)
    else:
        assert best > cells / math.sqrt(2.1)


def test_columns_left_out_are_not_asked_and_others_keep_their_slots() -> None:
    of = profile_world(left_out=("dose", "hba1c", "ill", "gene"))
    assert {t.column for t in tables_of(of.programme)} == {
        "",
        "y",
        "ward",
        "age",
        "sex",
    }
    assert [shape.tier for shape in of.programme.shapes] == [
        Tier.NON_PERSONAL,
        Tier.PERSONAL,
    ]
    places = raw_places(COLUMNS)
    for table in tables_of(of.programme)[1:]:
        assert table.slots == places[table.column][: table.level]


def test_the_label_alone_can_be_asked() -> None:
    others = [column.name for column in COLUMNS if column.name != "y"]
    of = profile_world(left_out=others)
    assert looks_at(of.programme) == [("", "keys", 0), ("y", "codes", 1)]


def test_names_fit_the_log_and_differ() -> None:
    long = ProfiledColumn("ward" * 100, "category", Tier.NON_PERSONAL)
    of = profile_world(columns=(*COLUMNS, long))
    names = [release.name for release, _ in of.programme.charges()]
    assert len(set(names)) == len(names) == len(of.programme.stages)
    assert max(map(len, names)) <= 128


def test_a_profile_finds_ranges_and_words_whatever_the_engine() -> None:
    """Each look errs with probability ERROR at most, here at noise far below it."""
    of = profile_world(sizes=(3000, 2000), budget=replace(BUDGET, caps={}))
    for engine in ("inprocess", "simulation"):
        seen = play(of, engine)
        assert seen.progress is not None
        told = tables_so_far(of.programme, seen.progress.memory)
        by_look = {(t.table.column, t.table.domain, t.table.level): t for t in told}
        ends = ends_after(by_look["dose", "doubles", 1])
        assert ends is not None
        assert ends[0] <= 5.0
        assert ends[1] >= 11.0
        found = standing_out(by_look["ward", "letters", 3])
        assert {text_of(prefix) for prefix, _ in found} == set(WARDS)
        # Both words have ended, so nothing further was asked or spent.
        assert ("ward", "letters", 4) not in by_look
        assert len(seen.queries) == len(of.programme.stages) - (LEVELS - 3)


def test_what_noise_hides_follows_from_the_plan() -> None:
    of = profile_world()
    shares = hidden_shares(of.programme, of.facts.units)
    assert [one.column for one in shares].count("ward") == LEVELS
    stage = next(s for s in of.programme.stages if s.tables[0].column == "gene")
    release = stage.releases[0]
    assert release is not None
    least = threshold(stage.tables[0].cells, release.groups[0].sigma ** 2, ERROR)
    gene = next(one for one in shares if one.column == "gene")
    assert gene.share == pytest.approx(least / of.facts.units)
    assert gene.useful == (gene.share <= USEFUL)
    # Noise of every site is on the sum where nobody is trusted with less.
    local = profile_world(trust="local")
    louder = hidden_shares(local.programme, local.facts.units)
    assert louder[0].share > 1.4 * shares[0].share
    none = replace(of.programme, stages=(replace(stage, releases=(None,)),))
    assert hidden_shares(none, 10)[0].share == 0.0


def test_an_overlap_is_hidden_where_its_interval_says_nothing() -> None:
    """Keys of 2000 trials by the law of sums: the root mean square error is within
    7 / sqrt(2 x 2000) = 11 % of the formula's but for a probability below 1e-9.
    """
    of = profile_world()
    shares = hidden_shares(of.programme, of.facts.units)
    assert shares[0].column == PERSONS
    table, release = (
        of.programme.stages[0].tables[0],
        of.programme.stages[0].releases[0],
    )
    assert release is not None
    generator = np.random.default_rng(0)
    persons, sigma, trials = 250, release.groups[0].sigma, 2000
    signs = generator.choice([-1.0, 1.0], (trials, 2, table.depth, persons))
    cells = generator.integers(0, table.width, (trials, 2, table.depth, persons))
    counts = generator.normal(0.0, sigma, (trials, 2, table.depth, table.width))
    at = np.indices((trials, 2, table.depth, persons))[:3]
    np.add.at(counts, (*at, cells), signs)
    found = np.einsum("tdw,tdw->td", counts[:, 0], counts[:, 1]).mean(axis=1)
    error = math.sqrt(np.mean(found**2))
    assert 1.96 * error / persons == pytest.approx(shares[0].share, rel=0.11)
    assert shares[0].useful == (shares[0].share <= USEFUL_OVERLAP)
    without = profile_world(left_out=(PERSONS,))
    assert "keys" not in [table.domain for table in tables_of(without.programme)]
