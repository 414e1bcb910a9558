# SPDX-License-Identifier: Apache-2.0
"""One game: a programme runs on canaries alone, and an attacker scores every coin.

Canaries are persons who might exist; a coin decides the rows a site holds of each
(docs/theory/empirical.md has the two sides of every claim). They are made from public
declarations alone: ends of the declared ranges and single levels of categories, drawn
at random, so that no contribution is longer and few lie in the same direction. The
label is the same on both sides: turning it over would turn the gradient back.

`Site` and `Coordinator` are the product's. All other persons are left out; an attacker
may know them and subtract them, so that makes the attack no weaker.

The attacker sees every release and every query, as the claim allows. For the
contribution of canary i to a release, a_i on heads and b_i on tails, it asks the
product's own code (`contributions`); a release is then

    Y = sum_i (a_i + b_i)/2 + sum_i S_i (a_i - b_i)/2 + noise,   S_i = ±1 by the coins,

and with W = (a_i - b_i)/(2 sigma) as rows over all releases, the best linear guess of
the S_i is (W Wᵀ + I)^-1 W (Y - sum_i (a_i + b_i)/2)/sigma. Where sites sample, a
contribution is expected times the rate.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from lexfed.arrays import Bools, Floats, Indices, Integers
from lexfed.data.encoding import Encoding, scaled_values
from lexfed.data.people.unit_blocks import SiteData, UnitBlock
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query, Refusal
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site import contributions as at_sites
from lexfed.federation.site.contributions import sum_weights
from lexfed.federation.site.data_holder import Site, Sources
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.run import PricedRun
from lexfed.tiers import Tier

LABEL = 1.0
"""Yes, the second class, or the top of a range: far from every first guess."""


@dataclass(frozen=True)
class Canaries:
    """Persons on two sides of a coin, as rows [persons, slots]; no tails: nobody."""

    heads: Floats
    tails: Floats | None

    def __len__(self) -> int:
        return len(self.heads)

    def chosen(self, coins: Bools) -> Floats:
        """Return the rows that a site holds, from one coin for every person."""
        if self.tails is None:
            return self.heads[coins]
        return np.where(coins[:, None], self.heads, self.tails)


@dataclass(frozen=True)
class CanaryStock:
    """The public declarations that canaries are made from.

    A person may have rows at several places, and canaries have one; they are in no
    class.
    """

    encoding: Encoding
    places: int = 1
    classes: int = 0

    def in_or_out(self, count: int, generator: np.random.Generator) -> Canaries:
        """Return persons who are there or not."""
        rows, others = self._ends(self.encoding.columns, count, generator)
        # A third of the numbers is at the middle of the range: squares differ too.
        between = self._numbers & (generator.random(rows.shape) < 1.0 / 3.0)
        return Canaries(np.where(between, (rows + others) / 2.0, rows), None)

    def replaced(
        self, count: int, generator: np.random.Generator, tier: Tier | None = None
    ) -> Canaries:
        """Return persons with one of two sets of values, in one tier or in all.

        All other columns are at the middle of their range, or missing, so that a value
        that leaks into the tower of another tier stands alone there.
        """
        code = self.encoding
        columns = code.columns if tier is None else code.columns_of(tier)
        return Canaries(*self._ends(columns, count, generator))

    def units(self, rows: Floats) -> UnitBlock:
        """Return persons with one row each, as a site holds them."""
        count = len(rows)
        inputs = np.zeros((count, self.places, self.encoding.width))
        inputs[:, 0] = rows
        weights = np.zeros((count, self.places))
        weights[:, 0] = 1.0
        return UnitBlock(
            inputs=inputs,
            targets=LABEL * weights,
            weights=weights,
            persons=np.arange(count, dtype=np.int64),
            members=np.zeros((count, self.classes), dtype=np.bool_),
            keys=np.arange(count, dtype=np.int64),
        )

    @cached_property
    def _slots(self) -> dict[str, Indices]:
        code = self.encoding
        return {name: code.slots_of_column(name) for name in code.columns}

    @cached_property
    def _numbers(self) -> Bools:
        return np.array([slot.kind == "number" for slot in self.encoding.slots])

    def _ends(
        self, columns: Collection[str], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return rows at random ends in some columns, and those at the other ends."""
        rows = np.zeros((count, self.encoding.width))
        others = np.zeros_like(rows)
        everyone = np.arange(count)
        for name in columns:
            slots = self._slots[name]
            column = self.encoding.schema.by_name(name)
            if column.values is not None:
                levels = len(column.values)
                first = generator.integers(levels, size=count)
                rows[everyone, slots[first]] = 1.0
                others[everyone, slots[(first + 1) % levels]] = 1.0
                continue
            ends = scaled_values(column, np.array(column.range or (0.0, 1.0)))
            side = generator.integers(2, size=count)
            rows[:, slots[0]], others[:, slots[0]] = ends[side], ends[1 - side]
        return rows, others


_FRESH = 8
"""For so many rounds of a stage directions are those of the first of them: gradients
turn slowly, and an attack may be a little blunt."""

_UNSEEN = ("metrics", "sketch")
"""Metrics are about test rows, where no canary is; tables have an attack of their own
(docs/guide/sketches.md)."""


class Arena:
    """The place of games on one priced programme."""

    def __init__(self, priced: PricedRun) -> None:
        """Take a priced programme; nothing of it is spent."""
        self._priced = priced
        self.programme = priced.programme
        population = priced.population
        self.stock = CanaryStock(
            population.encoding, population.records_per_person, len(population.classes)
        )

    @cached_property
    def hosts(self) -> tuple[int, ...]:
        """The sites of canaries: as many as a person may be at, the loudest of all."""

        def loudness(place: int) -> float:
            return sum(
                stage.at(step).weights[place] * stage.at(step).rates[place]
                for stage in self.programme.stages
                for step in range(len(stage.releases))
            )

        places = range(len(self.programme.sites))
        found = sorted(places, key=loudness, reverse=True)
        return tuple(found[: self._priced.budget.sites_per_person])

    @cached_property
    def _present(self) -> tuple[int, ...]:
        """The sites that answer; with noise in shares as few as are honest for sure."""
        cohort = self.programme.cohort
        if cohort is None:
            return self.hosts
        others = set(range(len(self.programme.sites))).difference(self.hosts)
        return (*self.hosts, *sorted(others))[: max(cohort.honest, len(self.hosts))]

    def play(self, canaries: Canaries, coins: Bools, sources: Sources) -> Floats:
        """Run the programme once and return every person's expected coin: 1 for heads.

        `sources` gives random bits by purpose, for noise and for sampling.

        Raises:
            Refused: if a site refuses; a programme that is sound is never refused.
        """
        attack = _Attack(self, canaries)
        learner = Learner(self.programme)
        coordinator = Coordinator(
            self.programme, learner, self._priced.ledger(), sources, learner.start()
        )
        held = canaries.chosen(coins)
        sites = [self._site(place, held, sources) for place in self._present]
        names = {site.name for site in sites}
        missing = [name for name in self.programme.sites if name not in names]
        while (asked := coordinator.next()) is not None:
            content = asked.query.to_bytes()
            answers = [site.answer(content) for site in sites]
            for answer in answers:
                if isinstance(answer, Refusal):
                    raise Refused(f"site `{answer.site}` refused: {answer.reason}")
            released = coordinator.receive(asked.query, answers, missing)
            attack.see(asked.query, released.update)
        return attack.scores()

    def _site(self, place: int, held: Floats, sources: Sources) -> Site:
        name = self.programme.sites[place]
        train = self.stock.units(held if place in self.hosts else held[:0])
        data = SiteData(name, train, self.stock.units(held[:0]))
        ledger = self._priced.site_ledger(name)
        return Site(self.programme, data, ledger, sources)

    def added(self, query: Query, rows: Floats) -> Floats:
        """Return each person's contribution to a release, [persons, dimension]."""
        programme = self.programme
        stage = programme.stages[query.stage].at(query.step)
        block = self.stock.units(rows)
        cohort = UnitBatch.of([block], programme.precision, programme.class_scales)
        found = np.zeros((len(rows), stage.dimension))
        for place in self.hosts:
            rate = stage.rate_for(query.release, place)
            found += rate * contributions(query, programme, cohort, place)
        return found


class _Attack:
    """Adds up the evidence of releases about the coins."""

    def __init__(self, arena: Arena, canaries: Canaries) -> None:
        self._arena = arena
        self._canaries = canaries
        count = len(canaries)
        self._gram = np.zeros((count, count))
        self._seen = np.zeros(count)
        self._directions: tuple[tuple[int, int], Floats, Floats] | None = None

    def see(self, query: Query, update: Integers) -> None:
        """Take a release."""
        stage = self._arena.programme.stages[query.stage]
        if query.release is None or query.kind in _UNSEEN:
            return
        middle, half = self._at(query)
        lengths = [block.stop - block.start for block in stage.blocks]
        sigma = np.repeat([group.sigma for group in query.release.groups], lengths)
        rest = (integer_sums.descale(update, stage) - middle.sum(axis=0)) / sigma
        half = half / sigma
        self._gram += half @ half.T
        self._seen += half @ rest

    def _at(self, query: Query) -> tuple[Floats, Floats]:
        """Return each person's mean contribution, and half of the coin's effect."""
        place = (query.stage, query.step // _FRESH)
        if self._directions is None or self._directions[0] != place:
            heads = self._arena.added(query, self._canaries.heads)
            tails = np.zeros_like(heads)
            if self._canaries.tails is not None:
                tails = self._arena.added(query, self._canaries.tails)
            self._directions = place, (heads + tails) / 2.0, (heads - tails) / 2.0
        return self._directions[1:]

    def scores(self) -> Floats:
        """Return the expected coin of each person."""
        prior = np.eye(len(self._seen))
        return np.asarray(np.linalg.solve(self._gram + prior, self._seen))


def contributions(
    query: Query, programme: Programme, cohort: UnitBatch, place: int
) -> Floats:
    """Return each unit's contribution at a site: the sum of `contribute`, unsummed.

    The functions are those of the site, looked up when they are needed, so that an
    audit of broken code attacks what the broken code does. Gradients of networks are
    never formed one by one: there `contribute` is asked once for each unit.

    Guarantees:
        The sum over units is that of `contribute`, up to rounding.
    """
    stage = programme.stages[query.stage].at(query.step)
    weight = torch.tensor([stage.factors[place]], dtype=torch.float64)
    summed = stage.kind in ("sketch", "gradient", "update")
    if summed or cohort.shares is not None:
        alone = [cohort.between(i, i + 1) for i in range(len(cohort))]
        rows = [
            at_sites.contribute(query, programme, one, weight, (place,)).numpy()
            for one in alone
        ]
        return np.array(rows).reshape(len(cohort), stage.dimension)
    formed = at_sites._per_unit(at_sites._vectors(query, programme, cohort), cohort)
    factor = sum_weights(query, weight, (place,))
    return np.asarray((factor * at_sites._clip(formed, stage)).numpy())
