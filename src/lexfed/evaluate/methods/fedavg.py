# SPDX-License-Identifier: Apache-2.0
"""DP-FedAvg for records: every site takes noisy steps of its own, then models average.

This is what federations do that trust nobody with a sum without noise, and what most
published figures come from: each site adds all the noise itself, so K sites of n/K
units each have K times the noise of one sum over all, in units of their gradient.

**Charge.** A person is at one site, whose T rounds of E local steps are T E releases of
one clipped sum each; the other sites' releases do not depend on that person at all.
Weights of the average are the numbers of units at the sites, taken as public.
"""

from math import sqrt
from time import perf_counter

import numpy as np

from lexfed.evaluate.comparison.case import Case, sensitive_tier
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.comparison.site_columns import released_by_site
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.evaluate.methods.single_tower import CLIP, OneTower, unit_batch

NAME = "fedavg"
DEFAULTS = {"learning_rate": 1.0, "rounds": 8, "local_steps": 5}
"""Settings that may be tuned."""


def train(dataset: Dataset, case: Case) -> Scores:
    """Train one tower by noisy local steps and averages."""
    settings = {**DEFAULTS, **case.settings}
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
    scores = scored(
        NAME,
        dataset,
        case,
        rows,
        path[-1],
        [(release, rounds * local)],
        rounds,
        seconds,
        "noise at every site, whose size is public",
        path,
    )
    return released_by_site(scores, dataset, case)
