# SPDX-License-Identifier: Apache-2.0
"""Sketches between towers: paid for, isolated, clipped, and acted upon."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.budget.sites import LEAST_OVERLAP_WEIGHT
from lexfed.data.people.unit_blocks import SiteData
from lexfed.errors import ConfigError
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.sketch_learner import column_drifts, leading_columns
from lexfed.federation.planning.tower_sketches import refuse_every_round
from lexfed.federation.programme import json_form
from lexfed.federation.programme.messages import Refusal, answer_from_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.sketch.queries.drift import WatchedColumn
from lexfed.sketch.queries.duplicates import duplicate_shares
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.sketched_worlds import BUDGET, sketched, sketching, told_in
from support.federation.sketching_checks import drifted
from support.federation.worlds import (
    EngineName,
    Floats,
    play,
    seeded,
    with_slots,
    world,
)

UNCAPPED = replace(BUDGET, caps={})
CASES: dict[str, dict[str, Any]] = {
    "rule": {},
    "persons with several rows": {"places": 3},
    "classes of the target": {"loss": "softmax"},
    "local trust": {"trust": "local"},
    "distributed trust": {"trust": "distributed", "accountant": "rdp"},
    "rdp": {"accountant": "rdp"},
    "descent": {"learning_rate": 0.5, "rounds": 3},
    "network": {"model": "mlp:4", "rounds": 3},
    "sampled": {"sampling_rate": 0.5, "rounds": 3, "learning_rate": 0.5,
                "accountant": "rdp"},
    "uniform": {"mechanism": "uniform", "budget": UNCAPPED},
    "grouped": {"mechanism": "grouped", "rounds": 3, "budget": UNCAPPED},
}  # fmt: skip


def kinds(programme: Programme) -> list[tuple[str, str | None]]:
    return [
        (
            stage.name,
            None if (reads := stage.releases[0].reads) is None else reads.label,
        )
        for stage in programme.stages
        if stage.kind == "sketch" and stage.releases[0] is not None
    ]


def test_where_sketches_stand_and_what_they_read() -> None:
    assert kinds(sketched().programme) == [
        ("persons at sites", None),
        ("columns up to non_personal", "non_personal"),
        ("columns up to personal", "personal"),
    ]
    every = sketching(every=2)
    assert kinds(sketched(sketching=every).programme) == [
        ("persons at sites", None),
        ("columns up to personal", "personal"),
    ]
    assert kinds(sketched(sketching=sketching(share=0.0)).programme) == []
    assert (
        kinds(sketched(sketching=sketching(columns=0, persons=False)).programme) == []
    )


@pytest.mark.parametrize("case", CASES)
def test_sketches_are_paid_from_the_same_budget(case: str) -> None:
    of = sketched(**CASES[case])
    charges, budget, how = of.programme.charges(), of.budget, of.choices.accountant
    cost = record_epsilon(charges, budget.delta, budget.neighbours, how)
    assert 0.9 * budget.epsilon <= cost <= budget.epsilon
    cap = tier_epsilon(charges, Tier.SPECIAL, budget.delta, how)
    if of.choices.mechanism == "cascade":
        assert cap <= 20.0


def test_a_tower_gives_the_stated_part() -> None:
    of, part = sketched(), 0.3
    for tower in range(2):
        squares = {"sketch": 0.0, "training": 0.0}
        for stage in of.programme.stages:
            if stage.tower == tower:
                kind = "sketch" if stage.kind == "sketch" else "training"
                for release in stage.releases:
                    assert release is not None
                    squares[kind] += release.noise_multiplier**-2
        assert squares["sketch"] / sum(squares.values()) == pytest.approx(part)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "case", [name for name in CASES if name != "distributed trust"]
)
def test_nobody_moves_a_sum_further_than_the_clip(case: str) -> None:
    checks.check_sensitivity(sketched(**CASES[case]))


@checks.TIERS_AND_ENGINES
def test_lower_tiers_are_isolated(tier: Tier, engine: EngineName) -> None:
    """Three columns: the second look is never the first again."""
    of = sketched(places=2)
    checks.check_isolation(of, tier, engine, ("nan", "random", "missing"))


def test_a_look_at_a_tier_reads_it() -> None:
    """Negative control for isolation."""
    of = sketched()
    before = play(of)
    slots = [int(place) for place in of.encoding.slots_of(Tier.PERSONAL)]
    after = play(with_slots(of, slots, np.zeros_like))
    at = next(k for k, q in enumerate(before.queries) if q.kind == "sketch" and q.tower)
    assert not np.array_equal(before.totals[at], after.totals[at])


@pytest.mark.parametrize(
    "case", ["rule", "persons with several rows", "classes of the target"]
)
def test_both_engines_release_the_same(case: str) -> None:
    of = sketched(**CASES[case])
    one, other = play(of, "inprocess"), play(of, "simulation")
    for query, mine, theirs in zip(one.queries, one.totals, other.totals, strict=True):
        apart = np.abs(mine - theirs).max()
        assert apart <= (0 if query.kind == "sketch" else len(of.sites))


def test_cells_are_those_of_the_chosen_columns() -> None:
    """Against a plain loop over persons; what sites send has no noise yet."""
    of = sketched(places=2)
    played = play(of)
    compared = 0
    for query, total in zip(played.queries, played.totals, strict=True):
        stage = of.programme.stages[query.stage]
        for at, (table, block) in enumerate(
            zip(stage.tables, stage.blocks, strict=query.kind == "sketch")
        ):
            if table.domain != "chosen":
                continue
            scale = block.grid.step / stage.shrinking[at]
            cells = total[block.start : block.stop].reshape(table.shape)[:, 0] * scale
            column = of.programme.sketching.watched[
                int(query.arrays[f"chosen.{at}"][0])
            ]
            for site, sent in zip(of.sites, cells, strict=True):
                np.testing.assert_allclose(
                    sent, plain(column, site, table.width), atol=1e-2
                )
                compared += 1
    assert compared == 15


def plain(column: WatchedColumn, site: SiteData, width: int) -> Floats:
    expected = np.zeros(width)
    for unit, weights in zip(site.train.inputs, site.train.weights, strict=True):
        for row, weight in zip(unit, weights, strict=True):
            expected[int(column.cells_of(row))] += weight
    return expected


def test_overlap_lowers_weights_in_every_later_query_alike() -> None:
    """A site without common persons is found to have some with one seed in forty."""
    of = sketched()
    played = play(of, seed=2)
    first, *later = played.queries
    assert first.kind == "sketch"
    assert "site_weights" not in first.arrays
    found = np.array([one.at_least for one in duplicate_shares(told_in(of, played)[0])])
    assert min(found[:2]) > 0.1
    assert found[2] == 0.0
    expected = (1.0 - found / 2) / (1.0 - found / 2).max()
    for query in later:
        assert of.programme.is_weighed(query.stage) == (query.kind != "sketch")
        if query.kind != "sketch":
            np.testing.assert_allclose(query.arrays["site_weights"], expected)


def test_without_overlap_nobody_counts_less() -> None:
    of = sketched(common=0)
    for query in play(of).queries[1:]:
        if query.kind != "sketch":
            np.testing.assert_array_equal(query.arrays["site_weights"], np.ones(3))


def test_weights_multiply_what_a_site_sends_and_what_it_is_divided_by() -> None:
    of = sketched()
    query = play(of, rounds=2).queries[-1]
    assert query.kind == "labels"
    for place, site in enumerate(of.sites):
        sent = {}
        for weight in (1.0, 0.5):
            weights = np.ones(3)
            weights[place] = weight
            arrays = {**query.arrays, "site_weights": weights}
            opened = Site(of.programme, site, of.ledger(place), seeded(1))
            reply = opened.answer(replace(query, round=1, arrays=arrays).to_bytes())
            assert not isinstance(reply, Refusal)
            sent[weight] = reply.total
        assert np.abs(sent[1.0] - 2.0 * sent[0.5]).max() <= 2
    stage = of.programme.stages[query.stage]
    less = of.programme.weighted(stage, np.array([0.5, 1.0, 0.75]))
    assert less.divisor == pytest.approx(stage.divisor * 2.25 / 3.0)
    gone = of.programme.without(less, {"site2"})
    assert gone.divisor == pytest.approx(stage.divisor * 1.5 / 3.0)


BAD_WEIGHTS = (
    [1.0, 1.0, 1.0 + 1e-12],
    [2.0, 1.0, 1.0],
    [LEAST_OVERLAP_WEIGHT - 1e-9, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
    [np.nan, 1.0, 1.0],
    [np.inf, 1.0, 1.0],
    [1.0, 1.0],
    [1.0] * 4,
    None,
)


@pytest.mark.parametrize("weights", BAD_WEIGHTS)
def test_a_site_refuses_weights_that_are_none(weights: list[float] | None) -> None:
    of = sketched()
    query = play(of, rounds=2).queries[-1]
    arrays = {k: v for k, v in query.arrays.items() if k != "site_weights"}
    if weights is not None:
        arrays["site_weights"] = np.array(weights)
    ledger = of.ledger(0)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    answer = answer_from_bytes(site.handle(replace(query, arrays=arrays).to_bytes()))
    assert isinstance(answer, Refusal)
    assert ledger is not None
    assert not ledger.events()


@pytest.mark.parametrize("chosen", [2.0, 4.0, 0.5, -1.0, 7.0, np.nan, 1e300])
def test_a_site_refuses_columns_of_a_tier_above(chosen: float) -> None:
    """The first look reads the lowest tier: dose and ward, the columns 0 and 1."""
    of = sketched()
    query = next(q for q in play(of).queries if "chosen.0" in q.arrays)
    arrays = {**query.arrays, "chosen.0": np.array([chosen])}
    ledger = of.ledger(0)
    site = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    answer = answer_from_bytes(site.handle(replace(query, arrays=arrays).to_bytes()))
    assert isinstance(answer, Refusal)
    assert ledger is not None
    assert not ledger.events()
    honest = answer_from_bytes(site.handle(query.to_bytes()))
    assert not isinstance(honest, Refusal)


def test_columns_are_those_with_the_longest_weights() -> None:
    of = sketched()
    model = Learner(of.programme).start().model
    tower = model.towers[1]
    parameters = np.zeros_like(tower.parameters)
    parameters[tower.shape.columns.index(1)] = 5.0
    model = model.with_tower(1, replace(tower, parameters=parameters))
    assert leading_columns(sketching(columns=1), model, 1) == (3,)
    assert leading_columns(sketching(columns=1), model, 0) in ((0,), (1,))
    assert leading_columns(sketching(columns=9), model, 1) == (0, 1, 2, 3)


def test_a_lost_round_leaves_every_site_its_weight() -> None:
    of = sketched()
    learner = Learner(of.programme)
    progress = replace(learner.start().after_round(0, 0), stage=1, step=0)
    _, arrays = learner.question(progress)
    np.testing.assert_array_equal(arrays["site_weights"], np.ones(3))


def test_a_tower_without_weights_of_single_slots_is_not_leaned_on() -> None:
    of = sketched(model="cnn", rounds=2)
    model = Learner(of.programme).start().model
    assert leading_columns(of.programme.sketching, model, 0) == ()
    assert all(
        "chosen.0" not in query.arrays for query in play(of, "simulation").queries
    )


def test_a_drift_is_told() -> None:
    for amount, warned in ((1e3, True), (1.0, False)):
        of = drifted(amount)
        progress = play(of, "simulation").progress
        assert progress is not None
        found = column_drifts(of.programme, progress.memory)
        assert {column.name for column, _ in found} == {"dose", "ward"}
        assert any(one.warns for _, one in found) == warned


def test_sketches_that_could_say_nothing_are_refused_with_the_least_share() -> None:
    small = Budget(1.0, 1e-6, "add-remove", {})
    with pytest.raises(ConfigError, match="lost in its noise") as caught:
        sketched(sizes=(70, 50, 60), common=0, budget=small)
    assert "raise `budget.epsilon`" in caught.value.problems[0].hint
    with pytest.raises(ConfigError, match="lost in its noise") as caught:
        sketched(sketching=sketching(share=0.01))
    least = float(caught.value.problems[0].hint.split()[3])
    sketched(sketching=sketching(share=least * 1.001))
    with pytest.raises(ConfigError):
        sketched(sketching=sketching(share=least * 0.97))


def test_every_round_is_refused_with_its_cost() -> None:
    of = sketched()
    with pytest.raises(ConfigError, match=r"in each of \d+ rounds would cost ε = \d+"):
        refuse_every_round(of.programme, of.budget, "gdp")
    plain = world()
    refuse_every_round(plain.programme, plain.budget, "gdp")
    refuse_every_round(world(mechanism="none").programme, plain.budget, "gdp")


def test_without_privacy_nothing_is_sketched() -> None:
    of = world(mechanism="none", sketching=sketching())
    assert all(stage.kind != "sketch" for stage in of.programme.stages)
    assert of.programme.sketching.share == 0.0
    play(of)


def test_the_programme_says_all_of_it() -> None:
    programme = drifted(2.0).programme
    again = json_form.from_bytes(json_form.to_bytes(programme))
    assert again == programme
    assert again.digest == programme.digest
    other = replace(programme.sketching, weights="none")
    assert replace(programme, sketching=other).digest != programme.digest
