# SPDX-License-Identifier: Apache-2.0
"""Statistics of a column's values, each from 0 to 1: they confirm, they do not decide.

    entropy       Shannon's, of discrete values, over the largest that so many values
                  can have: 0 if all are the same, 1 if all are different
    spread        of numbers: their differential entropy by a Gaussian kernel density,
                  as the ratio of its entropy power to that of a normal distribution of
                  the same variance: 1 if normal, near 0 if in a few clumps
    uniqueness    different values over values
    missingness   missing values over all values
    length        the mean length, over 64 characters
    divergence    Kullback-Leibler's, from a stated reference or else the uniform
                  distribution over the values seen, as 1 - exp(-KL)

High uniqueness alone says nothing: row numbers and measurements have it too. The
figures are computed from people's data and stay on this machine; evidence carries
words only.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log2, pi

import numpy as np

from lexfed.arrays import Floats
from lexfed.law.tagger.recognise.recogniser import Sample
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
"""A number; a diagnosis such as E11.9 is none."""
LONGEST = 64
FEW = 12
"""Different numbers up to which they are codes rather than measurements."""
_MOST = 128
"""Numbers of which the density is estimated; their kernel takes the square of it."""
_CONFIRMS = 0.3
_GAUSS = 0.5 * log(2.0 * pi * 2.718281828459045)


@dataclass(frozen=True)
class Statistics:
    """The figures of one column; `spread` is None unless it holds numbers."""

    entropy: float
    spread: float | None
    uniqueness: float
    missingness: float
    length: float
    divergence: float


def statistics_of(
    sample: Sample, reference: Mapping[str, float] | None = None
) -> Statistics:
    """Return the figures of a sample.

    The divergence is measured from the `reference`, probabilities of values; values
    seen and not stated there get a millionth.
    """
    counts = Counter(sample.values)
    numbers = numbers_of(sample)
    present = max(1, len(sample.values))
    return Statistics(
        entropy=shannon(counts),
        spread=None if numbers is None else kernel_entropy(numbers),
        uniqueness=len(counts) / present,
        missingness=1.0 - len(sample.values) / max(1, sample.total),
        length=min(1.0, sum(map(len, sample.values)) / present / LONGEST),
        divergence=divergence(counts, reference),
    )


def numbers_of(sample: Sample) -> Sequence[float] | None:
    """Return the values as numbers if all of them are, or None."""
    if not sample.values or not all(map(NUMBER.fullmatch, sample.distinct)):
        return None
    return [float(value) for value in sample.values]


def shannon(counts: Mapping[str, int]) -> float:
    """Return the entropy of discrete values over the largest possible one."""
    total = sum(counts.values())
    if total < 2:
        return 0.0
    shares = [count / total for count in counts.values()]
    return min(1.0, max(0.0, -sum(s * log2(s) for s in shares) / log2(total)))


def standardised(numbers: Floats) -> Floats | None:
    """Return numbers less their mean, over their deviation; None if that is zero."""
    scale = float(np.abs(numbers).max()) if numbers.size else 0.0
    if scale == 0.0:
        return None
    scaled = numbers / scale  # so that no square overflows
    deviation = float(scaled.std())
    return None if deviation < 1e-12 else (scaled - scaled.mean()) / deviation


def kernel_entropy(numbers: Sequence[float]) -> float:
    """Return exp(2 (h - h_normal)), h by kernel density estimation.

    A Gaussian kernel with Silverman's bandwidth on standardised numbers; h is minus
    the mean log density at the numbers themselves, each of which counts for its own
    density, so that one far from all others stays finite. The normal distribution
    has the largest h of its variance, so the ratio is at most 1 but for chance, which
    is cut off.
    """
    step = max(1, -(-len(numbers) // _MOST))
    known = np.asarray(numbers[::step], dtype=np.float64)
    known = known[np.isfinite(known)]
    x = standardised(known) if known.size >= 5 else None
    if x is None:
        return 0.0
    width = 1.06 * x.size**-0.2
    kernel = np.exp(-0.5 * ((x[:, None] - x[None, :]) / width) ** 2)
    density = kernel.sum(axis=1) / (x.size * width * np.sqrt(2.0 * pi))
    h = -float(np.log(density).mean())
    return min(1.0, exp(2.0 * min(0.0, h - _GAUSS)))


def divergence(
    counts: Mapping[str, int], reference: Mapping[str, float] | None = None
) -> float:
    """Return 1 - exp(-KL) of the values from a reference, by default uniform."""
    total = sum(counts.values())
    if not total:
        return 0.0
    even = 1.0 / len(counts)
    kl = 0.0
    for value, count in counts.items():
        stated = even if reference is None else max(reference.get(value, 0.0), 1e-6)
        kl += count / total * log(count / total / stated)
    return min(1.0, max(0.0, 1.0 - exp(-kl)))


def evidence_of_statistics(sample: Sample) -> Iterator[TagEvidence]:
    """Yield confirmations by the figures, in words; their weight decides nothing."""
    figures = statistics_of(sample)
    fractions = sum("." in value for value in sample.values) / len(sample.values)
    lengths = {len(value) for value in sample.distinct}
    if figures.spread is not None and fractions > 0.3:
        if figures.spread > 0.2 and len(sample.distinct) > FEW:
            for category in ("health", "financial", "environment"):
                text = "the values are measured numbers"
                yield evidence_for("statistics", category, _CONFIRMS, text)
    elif figures.uniqueness > 0.98 and len(lengths) <= 2 and len(sample.values) > 20:
        text = "nearly every value is different and of the same length, as keys are"
        for category in ("person_key", "technical"):
            yield evidence_for("statistics", category, _CONFIRMS, text)
