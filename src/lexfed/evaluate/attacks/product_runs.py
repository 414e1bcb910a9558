# SPDX-License-Identifier: Apache-2.0
"""Runs of the product to attack: models that it trains, and every round of a run.

A priced run is trained again and again on some of its people, each time with fresh
noise. The plan is made once, for the number of people that are expected to be there: it
is public, and the same whoever is. All sums are divided by its constants, so the proof
of the releases under add/remove holds for the presence of one person.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from lexfed.arrays import Bools, Floats
from lexfed.config import Config
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.evaluate.attacks.bounds import TradeOff, of_record, of_tier
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Sources
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.models.losses import Loss
from lexfed.models.towers import Model
from lexfed.randomness import SecureSource
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.intake.population import Population
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.tiers import Tier


@dataclass(frozen=True)
class ProductTrainer:
    """Trains through the product on some of a population (`membership.Trainer`).

    Guarantees:
        The members of a model change nothing of its plan and its price.
    """

    config: Config
    population: Population

    @property
    def people(self) -> int:
        """Number of people."""
        return sum(len(site.train) for site in self.population.sites)

    @cached_property
    def priced(self) -> PricedRun:
        """The plan of every model: for half of the people."""
        expected = max(1, self.population.units // 2)
        return price(self.config, replace(self.population, units=expected))

    def margins(self, members: Bools) -> Floats:
        """Train one model for each row of members; see `membership.Trainer`."""
        blocks = [site.train for site in self.population.sites]
        loss = Loss(self.priced.programme.loss)
        return np.stack(
            [unit_margins(loss, self.trained(row), blocks) for row in members]
        )

    def trained(self, members: Bools) -> Model:
        """Return a model of these people, trained with fresh noise."""
        chosen = restrict_population(self.population, members)
        return rehearse(replace(self.priced, population=chosen))


def trade_off_of(priced: PricedRun, tier: Tier | None = None) -> TradeOff | None:
    """Return what is proven about a person's presence, or about values of a tier.

    There is none without privacy.
    """
    if not priced.private:
        return None
    charges, config = priced.programme.charges(), priced.config
    by, sites = config.privacy.accountant, config.data.sites_per_person
    if tier is None:
        return of_record(charges, "add-remove", by, sites)
    return of_tier(charges, tier, by, sites)


def restrict_population(population: Population, members: Bools) -> Population:
    """Return the population with the training units of a mask, site after site."""
    sites, start = [], 0
    for site in population.sites:
        chosen = members[start : start + len(site.train)]
        sites.append(replace(site, train=site.train.where(chosen)))
        start += len(site.train)
    return replace(population, sites=tuple(sites))


def unit_margins(loss: Loss, model: Model, blocks: Sequence[UnitBlock]) -> Floats:
    """Return the margin of every unit's own label, averaged over its rows.

    ln p/(1 - p) of the probability p of the label; for numbers the negative loss.
    """
    cohort = UnitBatch.of(blocks)
    rows = row_margins(loss, model.logits(cohort.inputs), cohort.targets)
    return (
        torch.where(cohort.weights > 0, rows * cohort.weights, 0.0).sum(dim=1).numpy()
    )


def row_margins(loss: Loss, logits: Tensor, targets: Tensor) -> Tensor:
    """Return the margin of each row's own label; logits are [..., outputs]."""
    if loss.name == "squared":
        return -loss.value(logits, targets)
    if loss.name == "logistic":
        return (2.0 * targets - 1.0) * logits[..., 0]
    shares = torch.log_softmax(logits, dim=-1)
    own = shares.gather(-1, targets.long().unsqueeze(-1))[..., 0]
    # ln(1 - p) from the other classes, without the cancellation of 1 - p.
    hidden = shares.scatter(-1, targets.long().unsqueeze(-1), -torch.inf)
    return own - torch.logsumexp(hidden, dim=-1)


Observer = Literal["round", "central"]


@dataclass(frozen=True)
class ObservedRound:
    """One round: its query, its exact sum, and its release."""

    query: Query
    exact: Floats
    released: Floats


def observe_run(
    priced: PricedRun, sources: Sources | None = None
) -> list[ObservedRound]:
    """Train once in memory and write down every round; no ledger is charged.

    Raises:
        ValueError: if units are sampled, or sites add the noise themselves: then the
            sums that an informed observer takes off are not those that were added.
    """
    programme = priced.programme
    if programme.trust != "central" or any(
        s.sampling_rate < 1 for s in programme.stages
    ):
        raise ValueError("expected central trust and no sampling")
    learner, secure = Learner(programme), SecureSource()
    drawn: Sources = sources or (lambda _: secure)
    coordinator = Coordinator(
        programme, learner, priced.ledger(), drawn, learner.start()
    )
    engine = Simulation(programme, priced.population.sites, drawn)
    rounds = []
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        stage = programme.stages[asked.query.stage]
        totals = [answer.total for answer in answers if isinstance(answer, Reply)]
        exact = integer_sums.descale(integer_sums.exact_sum(totals), stage)
        released = coordinator.receive(asked.query, answers).update
        rounds.append(
            ObservedRound(asked.query, exact, integer_sums.descale(released, stage))
        )
    return rounds


def deviations(programme: Programme, query: Query) -> Floats:
    """Return the planned deviation of the noise on each number; 1 without noise."""
    stage = programme.stages[query.stage].at(query.step)
    deviation = np.ones(stage.dimension)
    if query.release is not None:
        for block, group in zip(stage.blocks, query.release.groups, strict=True):
            deviation[block.start : block.stop] = group.sigma
    return deviation


def noise_of(programme: Programme, rounds: Sequence[ObservedRound]) -> Floats:
    """Return the noise that was added, in planned deviations: standard normal."""
    added = [
        (one.released - one.exact) / deviations(programme, one.query) for one in rounds
    ]
    return np.concatenate(added)
