# SPDX-License-Identifier: Apache-2.0
"""Baselines that descend on one tower, which reads every column: DP-FedAvg and DP-FTRL.

Architectures, losses and clipped sums are the product's; only who adds which noise
when is a baseline's own.

**DP-FedAvg for records.** Every site takes noisy steps of its own, then models average.
This is what federations do that trust nobody with a sum without noise, and what most
published figures come from: each site adds all the noise itself, so K sites of n/K
units each have K times the noise of one sum over all, in units of their gradient.

*Charge.* A person is at one site, whose T rounds of E local steps are T E releases of
one clipped sum each; the other sites' releases do not depend on that person at all.
Weights of the average are the numbers of units at the sites, taken as public.

**DP-FTRL with banded noise**: descent whose noise cancels later what it adds now.
Units are dealt into b batches by lot, and E passes are made over the batches in the
same order: n = bE steps, with gradient sums g_1 .. g_n of clipped contributions.
Descent uses the prefix sums A g. Instead of noise on every g_t, release C g + z
with z ~ N(0, sigma^2 I), from which A g + A C^-1 z follows by post-processing
[DMR+22]. C is the lower triangular Toeplitz matrix with the first b numbers of

    c_0 = 1,   c_k = c_{k-1} (2k - 1) / (2k)

below each other, zero after them: the square root of A, cut to b bands [KL24].

*Charge.* A unit takes part in steps t, t + b, t + 2b, ..., once in a pass. Columns of
C that are b apart share no row, so its E contributions, each at most the clip R long,
move C g by at most R sqrt(E (c_0^2 + ... + c_{b-1}^2)) [CGM+23]: E Gaussian
releases of sensitivity R |c|. The lots depend on a person's key alone, so that nobody's
presence moves another person, and sums are divided by public numbers. For b = 1 this is
noisy gradient descent. Steps are adaptive; for Gaussian noise that costs nothing
[DMR+22].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from time import perf_counter

import numpy as np
import torch

from lexfed.arrays import Bools, Floats
from lexfed.data.people.lots import draw_lots
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.evaluate.comparison.case import Case, claimed, model_of, sensitive_tier
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import SplitRows, rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import Loss
from lexfed.models.towers import Tower
from lexfed.run.intake.public_facts import LOSSES

FEDAVG, FTRL = "fedavg", "dp-ftrl"
CLIP = 1.0
"""Norm that a unit's gradient is clipped to, as in the product's plain descent."""


@dataclass(frozen=True)
class OneTower:
    """A tower and its loss; parameters are a flat vector."""

    tower: Tower
    loss: Loss

    @classmethod
    def of(cls, dataset: Dataset, case: Case, rows: SplitRows) -> "OneTower":
        """Return the untrained tower of a cell."""
        encoding = rows.population.encoding
        model = model_of(dataset, case)
        shape = tower_shapes(encoding, "uniform", model, 1, case.seed)[0]
        return cls(Tower.untrained(shape), Loss(LOSSES[encoding.schema.task]))

    @property
    def start(self) -> Floats:
        """The first weights."""
        return self.tower.parameters

    def clipped_gradients(self, parameters: Floats, units: Batch) -> Floats:
        """Return the sum over units of gradients clipped to `CLIP`."""
        module = replace(self.tower, parameters=parameters).module()
        return clipped_sum(module, self.loss, units, [CLIP]).numpy()

    def predict(self, parameters: Floats, slots: Floats) -> Floats:
        """Return the probability, or the number, of every row."""
        trained = replace(self.tower, parameters=parameters)
        logits = trained.logits(torch.from_numpy(slots))
        return np.asarray(self.loss.predict(logits).numpy()[:, 0])


def unit_batch(blocks: Sequence[UnitBlock]) -> Batch:
    """Return the units of some sites as one batch."""
    cohort = UnitBatch.of(blocks)
    offset = torch.zeros(*cohort.targets.shape, 1, dtype=torch.float64)
    return Batch(cohort.inputs, cohort.targets, offset, cohort.weights, cohort.sites)


def some_units(batch: Batch, chosen: Bools) -> Batch:
    """Return the chosen units of a batch, as those of one site."""
    kept = torch.from_numpy(np.flatnonzero(chosen))
    return Batch(
        batch.inputs[kept], batch.targets[kept], batch.offset[kept], batch.weights[kept]
    )


def train_fedavg(dataset: Dataset, case: Case) -> Scores:
    """Train one tower by noisy local steps and averages."""
    settings = {"learning_rate": 1.0, "rounds": 8, "local_steps": 5, **case.settings}
    rounds, local = int(settings["rounds"]), int(settings["local_steps"])
    rate = float(settings["learning_rate"])
    rows = rows_of(dataset, case)
    start = perf_counter()
    model = OneTower.of(dataset, case, rows)
    sites = [unit_batch([site.train]) for site in rows.population.sites]
    sizes = np.array([site.units for site in sites], dtype=np.float64)
    sigma = CLIP * sqrt(rounds * local) / affordable_mu(dataset, case)
    generator = np.random.default_rng()
    weights, models = model.start, []
    for _ in range(rounds):
        trained = []
        for site, size in zip(sites, sizes, strict=True):
            own = weights
            for _ in range(local):
                total = model.clipped_gradients(own, site)
                noise = sigma * generator.normal(size=len(own))
                own = own - rate * (total + noise) / size
            trained.append(own)
        weights = np.average(trained, axis=0, weights=sizes)
        models.append(weights)
    seconds = perf_counter() - start
    path = [model.predict(after, rows.test.slots) for after in models]
    release = gaussian("local step", CLIP / sigma, sensitive_tier(dataset, case))
    paid, note = (
        [(release, rounds * local)],
        "noise at every site, whose size is public",
    )
    scores = scored(
        FEDAVG, dataset, case, rows, path[-1], paid, rounds, seconds, note, path
    )
    return claimed(scores, dataset, case, by_site=True)


def bands(count: int) -> Floats:
    """Return c_0 .. c_{count-1} of the square root of the prefix sum."""
    k = np.arange(1, count)
    return np.concatenate([[1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))])


def correlated(
    coefficients: Floats, steps: int, width: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Give C^-1 z step by step: noise for each gradient, z standard normal.

    Row t of C x = z says z_t = x_t + c_1 x_{t-1} + ..., so x_t follows from the ones
    before it.
    """
    drawn: list[Floats] = []
    for _ in range(steps):
        noise = generator.normal(size=width)
        for coefficient, earlier in zip(
            coefficients[1:], reversed(drawn), strict=False
        ):
            noise -= coefficient * earlier
        drawn = [*drawn, noise][-len(coefficients) :]
        yield noise


def train_ftrl(dataset: Dataset, case: Case) -> Scores:
    """Train one tower by DP-FTRL."""
    settings = {"learning_rate": 1.0, "passes": 10, "batches": 4, **case.settings}
    passes, batches = int(settings["passes"]), int(settings["batches"])
    rows = rows_of(dataset, case)
    start = perf_counter()
    model = OneTower.of(dataset, case, rows)
    blocks = [site.train for site in rows.population.sites]
    persons = np.concatenate([block.persons for block in blocks])
    lots = draw_lots(f"batches {case.seed}".encode(), rows.table.person_keys)[persons]
    whole = unit_batch(blocks)
    parts = [
        some_units(whole, np.floor(lots * batches) == number)
        for number in range(batches)
    ]
    coefficients = bands(batches)
    sensitivity = CLIP * float(np.linalg.norm(coefficients))
    mu = affordable_mu(dataset, case)
    sigma = sensitivity * sqrt(passes) / mu
    scale = float(settings["learning_rate"]) * batches / rows.population.units
    weights, models = model.start, []
    noises = correlated(
        coefficients, passes * batches, len(weights), np.random.default_rng()
    )
    for step, noise in enumerate(noises):
        total = model.clipped_gradients(weights, parts[step % batches])
        weights = weights - scale * (total + sigma * noise)
        models.append(weights)
    seconds = perf_counter() - start
    path = [model.predict(after, rows.test.slots) for after in models]
    tier = sensitive_tier(dataset, case)
    release = gaussian("banded sums", sensitivity / sigma, tier)
    steps, note = passes * batches, f"{passes} passes over {batches} batches"
    paid = [(release, passes)]
    return scored(FTRL, dataset, case, rows, path[-1], paid, steps, seconds, note, path)
