# SPDX-License-Identifier: Apache-2.0
"""Models to attack that the product itself trains: same sites, same noise, same plan.

A priced run is trained again and again on some of its people, each time with fresh
noise. The plan is made once, for the number of people that are expected to be there:
it is public, and the same whoever is. All sums are divided by its constants, so the
proof of the releases under add/remove holds for the presence of one person.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from lexfed.arrays import Bools, Floats
from lexfed.config import Config
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.evaluate.attacks.bounds import TradeOff, of_record
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.models.losses import Loss
from lexfed.models.towers.cascade import Model
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.intake.population import Population
from lexfed.run.pricing.priced_run import PricedRun, price


@dataclass(frozen=True)
class ProductTrainer:
    """Trains through the product, for `membership.attack_membership`.

    Guarantees:
        The members of a model change nothing of its plan and its price.

    Attributes:
        population: everybody: training units that may be members.
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

    @property
    def trade_off(self) -> TradeOff | None:
        """The trade-off of one model for a person's presence; None: no privacy."""
        if not self.priced.private:
            return None
        return of_record(
            self.priced.programme.charges(),
            "add-remove",
            self.config.privacy.accountant,
            self.config.data.sites_per_person,
        )

    def margins(self, members: Bools) -> Floats:
        """Train one model for each row of members; see `membership.Trainer`."""
        return np.stack([self._margins(self.trained(row)) for row in members])

    def trained(self, members: Bools) -> Model:
        """Return a model of these people, trained with fresh noise."""
        there = restrict_population(self.population, members)
        return rehearse(replace(self.priced, population=there))

    def _margins(self, model: Model) -> Floats:
        blocks = [site.train for site in self.population.sites]
        return unit_margins(Loss(self.priced.programme.loss), model, blocks)


def restrict_population(population: Population, members: Bools) -> Population:
    """Return the population in which these training units are left.

    `members` is a mask of the training units of all sites, one site after the
    other.
    """
    sites, start = [], 0
    for site in population.sites:
        chosen = members[start : start + len(site.train)]
        sites.append(replace(site, train=_chosen(site.train, chosen)))
        start += len(site.train)
    return replace(population, sites=tuple(sites))


def unit_margins(loss: Loss, model: Model, blocks: Sequence[UnitBlock]) -> Floats:
    """Return the margin of every unit's own label, averaged over its rows.

    ln p/(1 - p) of the probability p of the label; for numbers the negative loss.
    """
    cohort = UnitBatch.of(blocks)
    rows = row_margins(loss, model.logits(cohort.inputs), cohort.targets)
    there = cohort.weights > 0
    return torch.where(there, rows * cohort.weights, 0.0).sum(dim=1).numpy()


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


def _chosen(block: UnitBlock, chosen: Bools) -> UnitBlock:
    return UnitBlock(
        block.inputs[chosen],
        block.targets[chosen],
        block.weights[chosen],
        block.persons[chosen],
        None if block.members is None else block.members[chosen],
        None if block.keys is None else block.keys[chosen],
    )
