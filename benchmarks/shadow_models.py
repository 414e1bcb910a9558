# SPDX-License-Identifier: Apache-2.0
"""Many logistic models at once, in one tensor: shadows for an attack.

All models share the people's inputs X and differ in who counts. A step of all of them
is then a product of [models, people] slopes with X, and there is nothing to repeat:
seventeen models on 10,000 people take a second.

    FittedLogistic   the minimum of the loss plus a small ridge, by Newton's method; no
                     guarantee, the most that such a model can remember
    NoisyLogistic    full-batch noisy gradient descent: every gradient clipped to 1,
                     N(0, sigma^2 I) on the sum of each step. T steps are mu-GDP with
                     mu = sqrt(T)/sigma under add/remove, so the bound on it is exact

The gradient of one person is (p - y) x, so its norm is |p - y| |x| and clipping needs
no gradient to be formed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from lexfed import checks
from lexfed.arrays import Bools, Floats
from lexfed.evaluate.attacks.bounds import TradeOff, of_gaussian

_CHUNK = 2048
"""People per slice of the Hessians: bounds memory."""


@dataclass(frozen=True)
class ShadowPopulation:
    """Inputs [people, slots] and labels 0 or 1 [people]; the intercept is added here.

    Raises:
        ValueError: if they do not fit together, or a label is something else.
    """

    inputs: Floats
    labels: Floats

    def __post_init__(self) -> None:
        if self.inputs.ndim != 2 or self.labels.shape != self.inputs.shape[:1]:
            raise ValueError("expected inputs [people, slots] and labels [people]")
        if not bool(np.isin(self.labels, (0.0, 1.0)).all()):
            raise ValueError("expected labels of 0 and 1, got another one")

    @cached_property
    def with_intercept(self) -> Tensor:
        """Inputs with a column of ones behind them."""
        ones = np.ones((len(self.inputs), 1))
        return torch.from_numpy(np.concatenate([self.inputs, ones], axis=1))

    @cached_property
    def signs(self) -> Tensor:
        """1 for a label of 1, else -1."""
        return torch.from_numpy(2.0 * self.labels - 1.0)

    def margins_of(self, weights: Tensor) -> Tensor:
        """Return the margin of every person's own label, [models, people]."""
        return (weights @ self.with_intercept.T) * self.signs


@dataclass(frozen=True)
class FittedLogistic:
    """Logistic regression without protection.

    Guarantees:
        Every model is what it would be if it were fitted alone.

    Attributes:
        of: the people.
        ridge: weight of |w|^2/2 beside the sum of losses.
        steps: of Newton's method.
    """

    of: ShadowPopulation
    ridge: float = 1e-2
    steps: int = 12

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.of.labels)

    def margins(self, members: Bools) -> Floats:
        """Fit one model for each row of members; see `membership.Trainer`."""
        return self.of.margins_of(self.weights(members)).numpy()

    def weights(self, members: Bools) -> Tensor:
        """Return the weights of each model, intercept last: [models, slots + 1]."""
        inputs, there = self.of.with_intercept, torch.from_numpy(members).double()
        size = inputs.shape[1]
        weights = torch.zeros(len(members), size, dtype=torch.float64)
        floor = self.ridge * torch.eye(size, dtype=torch.float64)
        for _ in range(self.steps):
            wrong = torch.sigmoid(-self.of.margins_of(weights))
            slope = self.ridge * weights - (there * wrong * self.of.signs) @ inputs
            bend = floor.repeat(len(members), 1, 1)
            weight = there * wrong * (1.0 - wrong)
            for start in range(0, len(inputs), _CHUNK):
                part = inputs[start : start + _CHUNK]
                weighed = part.T * weight[:, None, start : start + _CHUNK]
                bend += weighed @ part
            step = torch.linalg.solve(bend, slope.unsqueeze(-1)).squeeze(-1)
            # On the logistic loss full Newton steps can leap; a bounded one returns.
            longest = step.norm(dim=1, keepdim=True).clamp(min=1e-300)
            weights = weights - step * (10.0 / longest).clamp(max=1.0)
        return weights


@dataclass(frozen=True)
class NoisyLogistic:
    """Logistic regression by noisy gradient descent, with its exact guarantee.

    Guarantees:
        The models of all rows have noise of their own.
        One person moves the sum of a step by at most 1, so `trade_off` holds.

    Attributes:
        of: the people.
        sigma: deviation of the noise on each coordinate of a step's sum.
        steps: how many.
        rate: length of a step on the mean of the clipped gradients.
        seed: of the noise: attacks are tried on public data, and are repeatable.
    """

    of: ShadowPopulation
    sigma: float
    steps: int = 20
    rate: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        checks.finite_positive(sigma=self.sigma, rate=self.rate)
        checks.in_range(1, 10_000, steps=self.steps)

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.of.labels)

    @property
    def trade_off(self) -> TradeOff:
        """What one model allows about whether a person is there."""
        return of_gaussian(math.sqrt(self.steps) / self.sigma)

    def margins(self, members: Bools) -> Floats:
        """Train one model for each row of members; see `membership.Trainer`."""
        inputs, there = self.of.with_intercept, torch.from_numpy(members).double()
        norms = inputs.norm(dim=1)
        generator = torch.Generator().manual_seed(self.seed)
        weights = torch.zeros(len(members), inputs.shape[1], dtype=torch.float64)
        # Half of all people are expected to be members, whoever they are.
        divisor = max(1.0, 0.5 * self.people)
        for _ in range(self.steps):
            wrong = torch.sigmoid(-self.of.margins_of(weights))
            clipped = wrong * (1.0 / (wrong * norms).clamp(min=1.0))
            total = (there * clipped * self.of.signs) @ inputs
            noise = torch.randn(total.shape, generator=generator, dtype=torch.float64)
            weights = weights + self.rate * (total + self.sigma * noise) / divisor
        return self.of.margins_of(weights).numpy()
