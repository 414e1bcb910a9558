# SPDX-License-Identifier: Apache-2.0
"""Small federations for tests: three tiers, a few sites, everything seeded.

`World` is a population with a priced programme; `play` runs the programme through an
engine and writes down everything that left a site or was released, so that a test can
compare two worlds bit by bit.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexfed.budget.noise_plan import Budget
from lexfed.budget.sites import BudgetProfile
from lexfed.data.encoding import Encoding, build_encoding
from lexfed.data.people.unit_blocks import SiteData, UnitBlock
from lexfed.data.schema import Column, Schema
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Engine, InProcess, Simulation
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.site_shares import budget_of
from lexfed.federation.planning.training_programme import plan_training
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Site, Sources
from lexfed.models.losses import LossName
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.randomness import RandomSource, SeededSource
from lexfed.tiers import Tier

Floats = NDArray[np.float64]
EngineName = Literal["inprocess", "simulation"]

TIERS = {
    "dose": Tier.NON_PERSONAL,
    "ward": Tier.NON_PERSONAL,
    "age": Tier.PERSONAL,
    "sex": Tier.PERSONAL,
    "hba1c": Tier.SPECIAL,
    "ill": Tier.SPECIAL,
    "gene": Tier.SPECIAL,
    "y": Tier.SPECIAL,
}
TARGETS: Mapping[LossName, Column] = {
    "logistic": Column("y", "flag", missing=False),
    "softmax": Column("y", "category", values=("a", "b", "c"), missing=False),
    "squared": Column("y", "number", range=(0.0, 1.0), missing=False),
}


def encoding(loss: LossName = "logistic") -> Encoding:
    """Return the encoding of a register with columns of three tiers."""
    columns = (
        Column("dose", "number", range=(0.0, 10.0), missing=False, scale="linear"),
        Column("ward", "category", values=("a", "b", "c"), missing=False),
        Column("age", "number", range=(18.0, 98.0), scale="linear"),
        Column("sex", "category", values=("f", "m")),
        Column("hba1c", "number", range=(3.0, 15.0), scale="linear"),
        Column("ill", "flag"),
        Column("gene", "number", range=(-1.0, 1.0), missing=False, scale="linear"),
        TARGETS[loss],
    )
    return build_encoding(Schema(columns, target="y"), TIERS)


def rows_of(code: Encoding, rows: int, generator: np.random.Generator) -> Floats:
    """Return encoded rows: numbers, one-hot categories, flags, missing values."""
    matrix = np.zeros((rows, code.width))
    for name in code.columns:
        slots = code.slots_of_column(name)
        if code.slots[slots[0]].kind == "onehot":
            matrix[np.arange(rows), generator.choice(slots, rows)] = 1.0
            continue
        numbers = code.slots[slots[0]].kind == "number"
        values = generator.uniform(-1, 1, rows) if numbers else generator.random(rows)
        matrix[:, slots[0]] = values if numbers else values < 0.4
        if len(slots) == 2:
            gone = generator.random(rows) < 0.15
            matrix[gone, slots[0]] = 0.0
            matrix[:, slots[1]] = gone
    return matrix


def targets_of(
    loss: LossName, inputs: Floats, generator: np.random.Generator, strength: float
) -> Floats:
    """Return targets that depend on every slot, the more the larger `strength`."""
    weights = np.random.default_rng(99).normal(size=inputs.shape[-1:])
    score = strength * (inputs @ weights) / math.sqrt(inputs.shape[-1])
    noise = generator.logistic(size=score.shape)
    if loss == "logistic":
        return np.asarray(score + noise > 0, dtype=np.float64)
    if loss == "softmax":
        classes = np.digitize(score + 0.3 * noise, [-0.7, 0.7])
        return np.asarray(classes, dtype=np.float64)
    return np.asarray(np.clip(0.3 * (score + 0.3 * noise), -1.0, 1.0))


def site_data(
    name: str,
    units: int,
    *,
    loss: LossName = "logistic",
    places: int = 1,
    seed: int = 0,
    strength: float = 4.0,
) -> SiteData:
    """Return one site with that many training units, and a third of it for testing."""
    code = encoding(loss)

    def block(count: int, part: int) -> UnitBlock:
        generator = np.random.default_rng([seed, part])
        inputs = rows_of(code, count * places, generator)
        targets = targets_of(loss, inputs, generator, strength)
        rows = generator.integers(1, places + 1, count)
        there = np.arange(places)[None, :] < rows[:, None]
        weights = there / rows[:, None]
        return UnitBlock(
            inputs.reshape(count, places, code.width) * there[..., None],
            targets.reshape(count, places) * there,
            weights,
            np.arange(count, dtype=np.int64),
        )

    return SiteData(name, block(units, 0), block(max(1, units // 3), 1))


@dataclass(frozen=True)
class World:
    """A population, its priced programme and the budget."""

    programme: Programme
    sites: tuple[SiteData, ...]
    budget: Budget
    choices: Choices
    facts: PopulationFacts
    encoding: Encoding

    def ledger(self, site: int | None = None) -> Ledger | None:
        """Return an empty ledger that admits the programme, or a site's part of it."""
        if self.choices.mechanism == "none":
            return None
        budget = self.budget
        if site is not None:
            name = self.programme.sites[site]
            budget = budget_of(name, self.facts.profiles, self.budget)
        limits = Limits(
            budget.epsilon,
            budget.delta,
            budget.neighbours,
            tuple(sorted(budget.caps.items())),
        )
        charges = self.programme.charges(*(() if site is None else (site,)))
        sites = self.budget.sites_per_person
        filtered = self.programme.guarantee == "filter"
        opened = Ledger.filtered if filtered else Ledger.planned
        return opened(limits, charges, self.choices.accountant, sites)


BUDGET = Budget(8.0, 1e-6, "add-remove", {Tier.SPECIAL: 4.0})


def world(
    *,
    loss: LossName = "logistic",
    sizes: Sequence[int] = (40, 25, 31),
    places: int = 1,
    seed: int = 0,
    weights: Sequence[float] | None = None,
    budget: Budget = BUDGET,
    declared: int | None = None,
    by_rule: bool = False,
    profiles: Sequence[BudgetProfile] = (),
    **choices: Any,
) -> World:
    """Return a small world; everything not given is the default of `Choices`.

    Networks descend plainly unless they are trained `by_rule`: in a world this small
    the rule would leave them out, and nothing of them would be tested.
    """
    code = encoding(loss)
    chosen = Choices(**choices)
    if chosen.wants_networks and not by_rule:
        chosen = replace(chosen, learning_rate=1.0)
    sites = tuple(
        site_data(f"site{k}", size, loss=loss, places=places, seed=seed + 1000 * k)
        for k, size in enumerate(sizes)
    )
    shares = tuple(weights or (1.0,) * len(sites))
    client = chosen.unit == "client"
    units = len(sites) if client else (declared or sum(sizes))
    facts = PopulationFacts(
        encoding=code,
        loss=loss,
        outputs=3 if loss == "softmax" else 1,
        units=units,
        divisor=sum(shares) if client else float(units),
        sites=tuple(site.name for site in sites),
        site_weights=shares,
        places=places,
        site_units=(units / len(sites),) * len(sites),
        profiles=tuple(profiles),
    )
    return World(
        plan_training(facts, budget, chosen), sites, budget, chosen, facts, code
    )


def with_slots(
    before: World, slots: Sequence[int], change: Callable[[Floats], Floats]
) -> World:
    """Return the world with the values of some slots changed, in train and test."""

    def changed(block: UnitBlock) -> UnitBlock:
        inputs = block.inputs.copy()
        chosen = np.asarray(slots, dtype=np.intp)
        inputs[..., chosen] = change(inputs[..., chosen])
        return replace(block, inputs=inputs)

    sites = tuple(
        replace(site, train=changed(site.train), test=changed(site.test))
        for site in before.sites
    )
    return replace(before, sites=sites)


@dataclass
class Played:
    """Everything that left a site or was released, round by round."""

    queries: list[Query] = field(default_factory=list)
    participants: list[tuple[str, ...]] = field(default_factory=list)
    totals: list[NDArray[np.int64]] = field(default_factory=list)
    released: list[Floats] = field(default_factory=list)
    words: dict[str, list[NDArray[np.uint64]]] = field(default_factory=dict)
    progress: Progress | None = None

    def below(self, programme: Programme, tower: int) -> dict[str, bytes]:
        """Return as bytes all that the rounds of the towers below this one showed."""
        seen: dict[str, bytes] = {}
        for place, query in enumerate(self.queries):
            if programme.stages[query.stage].tower >= tower:
                continue
            number = query.round
            seen[f"{number} query"] = query.to_bytes()
            seen[f"{number} participants"] = repr(self.participants[place]).encode()
            seen[f"{number} total"] = self.totals[place].tobytes()
            seen[f"{number} released"] = self.released[place].tobytes()
        rounds = len(seen) // 4
        for purpose, requests in self.words.items():
            # Requests are what coins and noise were drawn with, and how many.
            if int(purpose.rsplit("/", 1)[1]) <= rounds:
                seen[purpose] = b"".join(words.tobytes() for words in requests)
        return seen


class _Recorded:
    def __init__(self, source: RandomSource, log: list[NDArray[np.uint64]]) -> None:
        self._source = source
        self._log = log
        self.private = source.private

    def words(self, count: int) -> NDArray[np.uint64]:
        words = self._source.words(count)
        self._log.append(words)
        return words


class _Watched(Learner):
    def __init__(self, programme: Programme, log: list[Floats]) -> None:
        super().__init__(programme)
        self._log = log

    def learn(
        self,
        progress: Progress,
        release: Release | None,
        released: Floats,
        missing: Collection[str] = (),
    ) -> Progress:
        self._log.append(released.copy())
        return super().learn(progress, release, released, missing)


def seeded(seed: int) -> Sources:
    """Return sources whose words depend on the seed and the purpose."""
    return lambda purpose: SeededSource(seed, purpose)


def engine_of(of: World, name: EngineName, sources: Sources) -> Engine:
    """Return an engine over the world's sites, each with a ledger of its own."""
    if name == "simulation":
        return Simulation(of.programme, of.sites, sources)
    return InProcess(
        [
            Site(of.programme, site, of.ledger(place), sources)
            for place, site in enumerate(of.sites)
        ]
    )


def play(
    of: World,
    engine: EngineName = "inprocess",
    seed: int = 1,
    rounds: int | None = None,
) -> Played:
    """Run the programme and write down everything."""
    seen = Played()

    def sources(purpose: str) -> RandomSource:
        log = seen.words.setdefault(purpose, [])
        return _Recorded(SeededSource(seed, purpose), log)

    learner = _Watched(of.programme, seen.released)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), sources, learner.start()
    )
    asked_of = engine_of(of, engine, sources)
    while rounds is None or len(seen.queries) < rounds:
        asked = coordinator.next()
        if asked is None:
            break
        answers = asked_of.ask(asked.query, asked.participants)
        coordinator.receive(asked.query, answers)
        seen.queries.append(asked.query)
        seen.participants.append(asked.participants)
        stage = of.programme.stages[asked.query.stage]
        empty = np.zeros(stage.dimension, dtype=np.int64)
        totals = [answer.total for answer in answers if isinstance(answer, Reply)]
        seen.totals.append(np.sum([empty, *totals], axis=0))
    seen.progress = coordinator.progress
    return seen
