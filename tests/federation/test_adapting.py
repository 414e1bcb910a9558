# SPDX-License-Identifier: Apache-2.0
"""Noise, clip, step and rounds follow releases, and never leave what was agreed on."""

import math
import random
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.tower_steering import Adaptation
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
)
from lexfed.federation.site.data_holder import Site
from lexfed.models import towers
from lexfed.privacy.filters import dominates
from lexfed.privacy.releases import Release
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import (
    EngineName,
    Played,
    World,
    play,
    seeded,
    with_slots,
    world,
)

Choice = dict[str, Any]

PLAIN: Choice = {"learning_rate": 1.0, "rounds": 6}
CLIENT: Choice = {"unit": "client", "local_steps": 2, "rounds": 6}
SAMPLED: Choice = {**PLAIN, "sampling_rate": 0.3, "accountant": "rdp"}
GROUPED: Choice = {**PLAIN, "mechanism": "grouped"}
WORLDS = {"plain": PLAIN, "client": CLIENT, "sampled": SAMPLED, "grouped": GROUPED}
NOISES = ("convergence", "linear", "feedback")
EVERYTHING = Adaptation(
    "feedback", clip="feedback", learning_rate="feedback", patience=3
)


def adapted(adapting: Adaptation, **choices: Any) -> World:
    return world(sizes=(20, 15), adapting=adapting, **choices)


def steered(of: World, seen: Played) -> list[Query]:
    kinds = ("gradient", "update")
    return [query for query in seen.queries if query.kind in kinds]


def planned(of: World, query: Query) -> Release:
    releases = of.programme.stages[query.stage].releases
    release = releases[min(query.step, len(releases) - 1)]
    assert release is not None
    return release


@pytest.mark.no_cover
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("choices", WORLDS)
def test_an_envelope_never_has_less_noise_than_planned(
    choices: str, noise: Any
) -> None:
    of = adapted(Adaptation(noise), **WORLDS[choices])
    seen = play(of)
    assert len(seen.queries) == of.programme.rounds
    moved = set()
    for query in seen.queries:
        assert query.release is not None
        assert dominates(planned(of, query), query.release)
        moved.add(query.release == planned(of, query))
    assert moved == {True, False}


@pytest.mark.no_cover
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("choices", WORLDS)
def test_a_filter_ends_each_stage_at_the_first_round_that_would_exceed(
    choices: str, noise: Any
) -> None:
    of = adapted(Adaptation(noise, "filter"), **WORLDS[choices])
    seen = play(of)
    ledger = of.ledger()
    assert ledger is not None
    learner = Learner(of.programme)
    for index, stage in enumerate(of.programme.stages):
        queries = [query for query in seen.queries if query.stage == index]
        assert [query.step for query in queries] == list(range(len(queries)))
        part = sums(ledger, [r for r in stage.releases if r is not None])
        used = sums(ledger, [q.release for q in queries if q.release is not None])
        assert all(one <= whole for one, whole in zip(used, part, strict=True))
        if stage.kind not in ("gradient", "update"):
            continue
        assert len(queries) <= 2 * len(stage.releases)
        if len(queries) < 2 * len(stage.releases):
            after = states(of, seen)[queries[-1].round]
            further = learner.release(after, most_noise=True)
            assert further is not None
            more = sums(ledger, [*(q.release for q in queries if q.release), further])
            assert any(one > whole for one, whole in zip(more, part, strict=True))


def test_a_rest_of_the_budget_buys_a_round_with_the_most_noise() -> None:
    """Near the end of a stage a round may not fit as chosen, but with more noise."""
    of = adapted(Adaptation("convergence", "filter"), **PLAIN)
    seen = play(of)
    learner = Learner(of.programme)
    noisier = 0
    for query in steered(of, seen):
        if query.step == 0:
            continue
        before = states(of, seen)[query.round - 1]
        if learner.release(before) != query.release:
            assert learner.release(before, most_noise=True) == query.release
            noisier += 1
    assert noisier > 0


def sums(ledger: Any, releases: list[Release]) -> list[Fraction]:
    rows = [[Fraction(cost) for cost in ledger.costs(each)] for each in releases]
    return [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]


def states(of: World, seen: Played) -> dict[int, Progress]:
    """Return the state after each round, learnt again from what was released."""
    learner = Learner(of.programme)
    progress, found = learner.start(), {}
    for query, released in zip(seen.queries, seen.released, strict=True):
        progress = replace(progress, stage=query.stage, step=query.step)
        progress = learner.learn(progress, query.release, released)
        found[query.round] = progress
    return found


CASES: dict[str, tuple[Adaptation, Choice]] = {
    "convergence": (Adaptation("convergence"), PLAIN),
    "filter": (Adaptation("convergence", "filter"), PLAIN),
    "sampled filter": (Adaptation("linear", "filter"), SAMPLED),
    "quantile": (Adaptation(clip="quantile"), PLAIN),
    "quantile, persons": (Adaptation(clip="quantile"), {**PLAIN, "places": 3}),
    "quantile, client": (Adaptation("convergence", clip="quantile"), CLIENT),
    "everything": (EVERYTHING, PLAIN),
    "everything, client": (EVERYTHING, CLIENT),
    "local trust": (Adaptation("feedback", "filter"), {**PLAIN, "trust": "local"}),
}


@pytest.mark.parametrize("case", CASES)
def test_engines_ask_the_same(case: str) -> None:
    adapting, choices = CASES[case]
    of = adapted(adapting, **choices)
    one, other = play(of, "inprocess"), play(of, "simulation")
    assert [q.release for q in one.queries] == [q.release for q in other.queries]
    for query, same in zip(one.queries, other.queries, strict=True):
        assert (query.stage, query.step) == (same.stage, same.step)
        for name in query.arrays.keys() & {"radius", "learning_rate"}:
            assert np.array_equal(query.arrays[name], same.arrays[name])


@pytest.mark.parametrize("case", CASES)
def test_adaptation_goes_on_from_what_was_written(case: str) -> None:
    """Model, memory and place are all there is: bytes in between change nothing."""
    adapting, choices = CASES[case]
    of = adapted(adapting, **choices)
    seen = play(of)
    learner = Learner(of.programme)
    progress = learner.start()
    for query, released in zip(seen.queries, seen.released, strict=True):
        content = towers.to_bytes(progress.model, {}, progress.memory)
        model, _, memory = towers.from_bytes(content)
        progress = Progress(query.round - 1, model, memory, query.stage, query.step)
        assert query.release in (
            learner.release(progress),
            learner.release(progress, most_noise=True),
        )
        _, arrays = learner.question(progress)
        assert {k: v.tolist() for k, v in arrays.items()} == {
            k: v.tolist() for k, v in query.arrays.items()
        }
        progress = learner.learn(progress, query.release, released)


@pytest.mark.no_cover
@checks.TIERS_AND_ENGINES
@pytest.mark.parametrize("case", CASES)
def test_lower_towers_adapt_without_seeing_a_tier(
    case: str, tier: Tier, engine: EngineName
) -> None:
    adapting, choices = CASES[case]
    of = adapted(replace(adapting, patience=2), **choices)
    slots = [int(place) for place in of.encoding.slots_of(tier)]
    tower = [shape.tier for shape in of.programme.shapes].index(tier)
    before = play(of, engine).below(of.programme, tower)
    for name in ("random", "huge", "nan"):
        changed = with_slots(of, slots, checks.edits()[name])
        with np.errstate(all="ignore"):
            after = play(changed, engine)
        assert before == after.below(of.programme, tower), name


def test_the_tower_itself_does_see_its_tier() -> None:
    """Negative control of the isolation above."""
    of = adapted(Adaptation("convergence", clip="quantile"), **PLAIN)
    slots = [int(place) for place in of.encoding.slots_of(Tier.SPECIAL)]
    changed = with_slots(of, slots, checks.edits()["random"])
    one, other = play(of), play(changed)
    assert one.below(of.programme, 3) != other.below(of.programme, 3)


# What sites admit


def louder(query: Query, factor: float) -> Query:
    assert query.release is not None
    groups = tuple(replace(g, sigma=g.sigma * factor) for g in query.release.groups)
    return replace(query, release=replace(query.release, groups=groups))


def answer_after(of: World, seen: Played, done: int, query: Query) -> Reply | Refusal:
    site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1))
    for earlier in seen.queries[:done]:
        assert isinstance(answer_from_bytes(site.handle(earlier.to_bytes())), Reply)
    return answer_from_bytes(site.handle(query.to_bytes()))


@pytest.mark.parametrize("guarantee", ["envelope", "filter"])
def test_a_site_admits_the_agreed_range_of_noise_and_no_other(guarantee: Any) -> None:
    of = adapted(Adaptation("convergence", guarantee), **PLAIN)
    seen = play(of)
    query = replace(seen.queries[1], release=planned(of, seen.queries[1]))
    low, high = of.programme.stages[query.stage].noise_range
    for factor in (low, high):
        assert isinstance(answer_after(of, seen, 1, louder(query, factor)), Reply)
    for factor in (low * (1 - 1e-9), high * (1 + 1e-9)):
        answer = answer_after(of, seen, 1, louder(query, factor))
        assert isinstance(answer, Refusal)
        assert "not the one that was agreed on" in answer.reason


def test_without_adaptation_only_the_planned_noise_is_admitted() -> None:
    of = world(sizes=(20, 15), **PLAIN)
    seen = play(of)
    for factor in (1 - 1e-9, 1 + 1e-9):
        answer = answer_after(of, seen, 1, louder(seen.queries[1], factor))
        assert isinstance(answer, Refusal)


def changed_release(query: Query, **fields: Any) -> Query:
    assert query.release is not None
    return replace(query, release=replace(query.release, **fields))


def test_nothing_but_the_noise_may_differ() -> None:
    of = adapted(Adaptation("convergence", "filter"), **PLAIN)
    seen = play(of)
    query = seen.queries[2]
    assert query.release is not None
    [group] = query.release.groups
    for other in (
        changed_release(query, name="another"),
        changed_release(query, sampling_rate=0.5),
        changed_release(query, reads=None),
        changed_release(query, samples=1),
        changed_release(query, groups=(replace(group, clip=0.5),)),
        changed_release(query, groups=(replace(group, name="x"),)),
        changed_release(query, groups=(group, group)),
    ):
        assert isinstance(answer_after(of, seen, 2, other), Refusal)


def test_places_only_grow() -> None:
    of = adapted(Adaptation("convergence", "filter"), **PLAIN)
    seen = play(of)
    first = next(query for query in seen.queries if query.stage == 2)
    skipped = replace(seen, queries=[*seen.queries[:2], replace(first, round=3)])
    again = replace(seen.queries[1], round=4, step=5)
    answer = answer_after(of, skipped, 3, again)
    assert isinstance(answer, Refusal)
    assert "goes back" in answer.reason
    for step in (-1, 12, 10**6):
        beyond = answer_after(of, seen, 3, replace(seen.queries[3], step=step))
        assert isinstance(beyond, Refusal)


def test_a_stage_may_end_before_its_last_round() -> None:
    of = adapted(Adaptation(patience=1), **PLAIN)
    seen = play(of)
    rounds = Counter(query.stage for query in seen.queries)
    assert min(rounds[index] for index in (1, 2, 3)) < 6
    assert set(rounds) == {0, 1, 2, 3}
    assert [query.round for query in seen.queries] == list(
        range(1, len(seen.queries) + 1)
    )


def test_a_ledger_refuses_what_a_lying_coordinator_asks_for() -> None:
    """Every round at the least noise a filter allows: the ledger ends it, not trust."""
    of = adapted(Adaptation("convergence", "filter"), **PLAIN)
    seen = play(of)
    site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1))
    site.handle(seen.queries[0].to_bytes())
    special = next(q for q in seen.queries if q.stage == 3)
    low, _ = of.programme.stages[3].noise_range
    greedy = louder(replace(special, release=planned(of, special)), low)
    answers = [
        answer_from_bytes(
            site.handle(replace(greedy, round=step + 2, step=step).to_bytes())
        )
        for step in range(12)
    ]
    kinds = [type(answer) for answer in answers]
    assert Reply in kinds
    first = kinds.index(Refusal)
    # What is left after it is less than one such round.
    fits = int(6 * low**2 + 1e-9)
    assert first == fits
    assert set(kinds[first:]) == {Refusal}


def test_a_client_that_coins_left_out_pays_for_the_planned_rounds() -> None:
    choices = {**CLIENT, "sampling_rate": 0.5, "accountant": "rdp"}
    of = adapted(Adaptation("convergence"), **choices)
    seen = play(of)
    query = seen.queries[4]
    ledger = of.ledger(0)
    assert ledger is not None
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    assert isinstance(answer_from_bytes(site.handle(query.to_bytes())), Reply)
    plan = [
        release
        for stage in of.programme.stages
        for release in stage.releases
        if release is not None
    ]
    assert ledger.events() == (*plan[:4], query.release)
    skipping = replace(seen.queries[5], step=seen.queries[5].step + 1)
    answer = answer_from_bytes(site.handle(skipping.to_bytes()))
    assert isinstance(answer, Refusal)
    assert "not the next one" in answer.reason


# Whatever is released


class Attacked(Learner):
    """Learns from what an attacker puts in the place of each release."""

    def __init__(self, programme: Any, numbers: list[float]) -> None:
        super().__init__(programme)
        self._numbers = numbers
        self.rounds = 0

    def learn(
        self,
        progress: Progress,
        release: Release | None,
        released: Any,
        missing: Collection[str] = (),
    ) -> Progress:
        number = self._numbers[self.rounds % len(self._numbers)]
        self.rounds += 1
        wave = np.cos(np.arange(len(released)) * self.rounds)
        with np.errstate(all="ignore"):
            return super().learn(progress, release, number * wave, missing)


NUMBERS = st.one_of(
    st.floats(-50.0, 50.0),
    st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e300, 1e-300, 1e6]),
)
ATTACKED = {
    name: adapted(
        Adaptation(noise, guarantee, clip="quantile", learning_rate="feedback"), **PLAIN
    )
    for noise in ("convergence", "linear", "feedback")
    for guarantee in ("envelope", "filter")
    for name in (f"{noise}, {guarantee}",)
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ATTACKED)
@given(numbers=st.lists(NUMBERS, min_size=1, max_size=30))
def test_no_history_overspends(name: str, numbers: list[float]) -> None:
    keeps_inside(ATTACKED[name], numbers)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ATTACKED)
def test_ten_thousand_histories_do_not_overspend(name: str) -> None:
    generator = random.Random(name)
    odd = [0.0, math.nan, math.inf, -math.inf, 1e300, 1e-300, 1e6]
    for _ in range(math.ceil(10_000 / len(ATTACKED))):
        keeps_inside(
            ATTACKED[name],
            [
                generator.choice([*odd, *[generator.uniform(-50, 50)] * 14])
                for _ in range(generator.randint(1, 30))
            ],
        )


def keeps_inside(of: World, numbers: list[float]) -> None:
    """The ledger refuses nothing that is asked for: adaptation keeps inside by itself.

    And what it asked for never sums up to more than the plan, by exact sums.
    """
    ledger = of.ledger()
    assert ledger is not None
    learner = Attacked(of.programme, numbers)
    coordinator = Coordinator(of.programme, learner, ledger, seeded(2), learner.start())
    while (asked := coordinator.next()) is not None:
        query = asked.query
        stage = of.programme.stages[query.stage]
        low, high = stage.noise_range
        assert query.release is not None
        for group, least in zip(
            query.release.groups, planned(of, query).groups, strict=True
        ):
            assert low * least.sigma <= group.sigma <= high * least.sigma
        empty = np.zeros(stage.dimension, dtype=np.int64)
        replies = [Reply(n, query.round, empty, False) for n in asked.participants]
        coordinator.receive(query, replies)
    plan = [r for stage in of.programme.stages for r in stage.releases if r is not None]
    used, whole = sums(ledger, list(ledger.events())), sums(ledger, plan)
    assert all(one <= other for one, other in zip(used, whole, strict=True))
    assert len(ledger.events()) >= 1 + 3 * 4


def test_what_honest_sums_cannot_be_freezes_a_tower() -> None:
    of = ATTACKED["convergence, filter"]
    learner = Attacked(of.programme, [0.1, 0.1, 0.1, np.nan])
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(2), learner.start()
    )
    frozen: dict[int, list[float]] = {}
    radii: dict[int, list[float]] = {}
    for asked in iter(coordinator.next, None):
        query = asked.query
        stage = of.programme.stages[query.stage]
        empty = np.zeros(stage.dimension, dtype=np.int64)
        coordinator.receive(
            query, [Reply(n, query.round, empty, False) for n in asked.participants]
        )
        state = coordinator.progress.memory.get(f"{stage.tower}.steer")
        if state is not None and state[5]:
            frozen.setdefault(stage.tower, []).append(float(state[0]))
            radii.setdefault(stage.tower, []).append(float(state[1]))
    assert set(frozen) == {0, 1, 2}
    for tower, factors in frozen.items():
        assert set(factors) == {of.programme.stages[tower + 1].noise_range[1]}
        assert len(set(radii[tower])) == 1


# The bits


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("model", ["logistic", "mlp:5"])
def test_bits_say_how_many_gradients_were_cut(places: int, model: str) -> None:
    of = adapted(
        Adaptation(clip="quantile"), **{**PLAIN, "model": model}, places=places
    )
    seen = play(of)
    for query, total in zip(seen.queries, seen.totals, strict=True):
        if query.kind != "gradient":
            continue
        stage = of.programme.stages[query.stage]
        *_, block = stage.blocks
        bits = total[-1] * block.grid.step / block.grid.clip_to
        # The sum of 35 bits of +1 or -1: an odd number.
        assert abs(bits) <= 35 + 1e-3
        assert bits == pytest.approx(2 * round((bits - 1) / 2) + 1, abs=0.02)


def test_a_smaller_radius_cuts_more() -> None:
    of = adapted(Adaptation(clip="quantile"), **PLAIN)
    query = play(of).queries[1]
    counts = []
    for radius in (1e-6, 0.5, 1.0, 1e6):
        arrays = {**query.arrays, "radius": np.array([radius])}
        site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1))
        site.handle(play(of, rounds=1).queries[0].to_bytes())
        asked = replace(query, arrays=arrays)
        answer = answer_from_bytes(site.handle(asked.to_bytes()))
        assert isinstance(answer, Reply)
        counts.append(int(answer.total[-1]))
    assert counts == sorted(counts)
    assert counts[0] == -counts[-1] < 0


def test_a_learner_multiplies_by_the_radius() -> None:
    """A step is the released mean times the radius, whatever the radius."""
    of = adapted(Adaptation(clip="quantile"), **PLAIN)
    seen = play(of)
    found = states(of, seen)
    for query, released in zip(seen.queries, seen.released, strict=True):
        if query.kind != "gradient":
            continue
        before = found[query.round - 1].model.towers[query.tower].parameters
        after = found[query.round].model.towers[query.tower].parameters
        stage = of.programme.stages[query.stage]
        mean = released[:-1] / stage.divisor_of(query.release)
        step = mean * float(query.arrays["radius"][0])
        np.testing.assert_allclose(before - after, step, atol=1e-12)


def test_bits_are_paid_in_the_joint_sum_of_squares() -> None:
    plain = adapted(Adaptation(), **PLAIN)
    bits = adapted(Adaptation(clip="quantile"), **PLAIN)
    for one, other in zip(plain.programme.stages, bits.programme.stages, strict=True):
        assert one.releases[0] is not None
        assert other.releases[0] is not None
        assert one.releases[0].noise_multiplier == pytest.approx(
            other.releases[0].noise_multiplier
        )
        if other.kind == "gradient":
            tower, bit = other.releases[0].groups
            assert (bit.name, bit.clip) == ("clip bit", 0.5)
            part = (bit.clip / bit.sigma) ** 2
            assert part * other.releases[0].noise_multiplier ** 2 == pytest.approx(0.05)
            assert tower.sigma > one.releases[0].groups[0].sigma
