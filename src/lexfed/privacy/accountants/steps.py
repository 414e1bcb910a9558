# SPDX-License-Identifier: Apache-2.0
"""Steps: what an accountant composes, stripped of names and units.

A step is a (Poisson-sampled) Gaussian of sensitivity 1 under add/remove, repeated
`count` times with fresh coins. The neighbouring relation is an argument of the
accountant, not of the step: the noise multiplier is always sigma/clip, and it is the
accountant that knows that replacing a unit moves the sum by 2 clip.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lexfed import checks
from lexfed.terms import Neighbours


@dataclass(frozen=True, order=True)
class Step:
    """The same Gaussian release, `count` times.

    Attributes:
        noise_multiplier: sigma/clip; infinite for a release that says nothing.
        sampling_rate: probability that a unit takes part, an independent coin each
            time; 0 and 1 are allowed.
        count: of repetitions.
    """

    noise_multiplier: float
    sampling_rate: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        checks.positive(noise_multiplier=self.noise_multiplier)
        checks.in_range(0.0, 1.0, sampling_rate=self.sampling_rate)
        checks.in_range(0, 2**53, count=self.count)


def merged_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that cost something, equal ones counted together, sorted.

    Guarantees:
        Composes to the same guarantee as the input, in any order of the input.
    """
    counts: dict[tuple[float, float], int] = {}
    for step in steps:
        if step.noise_multiplier < math.inf and step.sampling_rate > 0.0:
            # float(): dp-accounting takes an integer multiplier for something else.
            key = (float(step.noise_multiplier), float(step.sampling_rate))
            counts[key] = counts.get(key, 0) + step.count
    return tuple(Step(*key, count) for key, count in sorted(counts.items()) if count)


def gaussian_mu(steps: Sequence[Step], neighbours: Neighbours) -> float:
    """Return mu of the composition of the steps, none of which is sampled.

    Raises:
        ValueError: if a step is sampled: it is not exactly Gaussian.
    """
    for step in steps:
        if step.sampling_rate < 1.0:
            raise ValueError(
                f"expected `sampling_rate` = 1 for exact Gaussian accounting, "
                f"got: {step.sampling_rate}"
            )
    square = math.fsum(step.count / step.noise_multiplier**2 for step in steps)
    return sensitivity(neighbours) * math.sqrt(square)


def sensitivity(neighbours: Neighbours) -> float:
    """Return the distance by which one unit moves the sum, in clips.

    Raises:
        ValueError: for a relation that is not known here.
    """
    if neighbours == "add-remove":
        return 1.0
    if neighbours == "replace-one":
        return 2.0
    raise ValueError(f"unknown `neighbours`, got: {neighbours!r}")


def without_sampling(steps: Iterable[Step]) -> bool:
    """Return True if exact Gaussian accounting applies."""
    return all(step.sampling_rate == 1.0 for step in steps)
