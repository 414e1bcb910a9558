# SPDX-License-Identifier: Apache-2.0
"""DP-FTRL with banded noise: descent whose noise cancels later what it adds now.

Units are dealt into b batches by lot, and E passes are made over the batches in the
same order: n = bE steps, with gradient sums g_1 .. g_n of clipped contributions. What
descent uses are the prefix sums A g. Instead of noise on every g_t, release C g + z
with z ~ N(0, sigma^2 I), from which A g + A C^-1 z follows by post-processing
[DMR+22]. C is the lower triangular Toeplitz matrix with the first b numbers of

    c_0 = 1,   c_k = c_{k-1} (2k - 1) / (2k)

below each other, zero after them: the square root of A, cut to b bands [KL24].

**Charge.** A unit takes part in steps t, t + b, t + 2b, ..., once in a pass. Columns of
C that are b apart share no row, so its E contributions, each at most the clip R long,
move C g by at most R sqrt(E (c_0^2 + ... + c_{b-1}^2)) [CGM+23]: E Gaussian
releases of sensitivity R |c|. The lots depend on a person's key alone, so that nobody's
presence moves another person, and sums are divided by public numbers. For b = 1 this is
noisy gradient descent. Steps are adaptive; for Gaussian noise that costs nothing
[DMR+22].
"""

from collections.abc import Iterator
from math import sqrt
from time import perf_counter

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.people.lots import draw_lots
from lexfed.evaluate.comparison.case import Case, sensitive_tier
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.evaluate.methods.single_tower import CLIP, OneTower, some_units, unit_batch

NAME = "dp-ftrl"
DEFAULTS = {"learning_rate": 1.0, "passes": 10, "batches": 4}
"""Settings that may be tuned."""


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


def train(dataset: Dataset, case: Case) -> Scores:
    """Train one tower by DP-FTRL."""
    settings = {**DEFAULTS, **case.settings}
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
    release = gaussian(
        "banded sums", sensitivity / sigma, sensitive_tier(dataset, case)
    )
    return scored(
        NAME,
        dataset,
        case,
        rows,
        path[-1],
        [(release, passes)],
        passes * batches,
        seconds,
        f"{passes} passes over {batches} batches",
        path,
    )
