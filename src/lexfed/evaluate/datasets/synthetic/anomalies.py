# SPDX-License-Identifier: Apache-2.0
"""Four kinds of anomaly in series of readings, equally likely."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexfed.arrays import Bools, Singles

KINDS = ("shift", "stuck", "ramp", "burst")


def with_anomalies(
    rng: np.random.Generator,
    levels: Singles,
    settings: Mapping[str, Any],
    rate: float,
) -> Bools:
    """Put anomalies into series, in place, and return where they are.

    Args:
        rng: the stream of the zone.
        levels: one row for each sensor.
        settings: lengths, sizes, and the mean number of readings between two starts.
        rate: how much more often they start.
    """
    where = np.zeros(levels.shape, dtype=bool)
    gap = settings["mean_gap"] / rate
    low, high = settings["length"]
    for series, marked in zip(levels, where, strict=True):
        start = int(rng.exponential(gap))
        while start < len(series):
            length = int(rng.integers(low, high + 1))
            piece = slice(start, start + length)
            series[piece] = _bent(rng, series[piece], settings)
            marked[piece] = True
            start += 1 + int(rng.exponential(gap))
    return where


def _bent(
    rng: np.random.Generator, piece: Singles, settings: Mapping[str, Any]
) -> Singles:
    kind = KINDS[rng.integers(len(KINDS))]
    if kind == "stuck":
        return np.full_like(piece, piece[0])
    if kind == "burst":
        change = rng.normal(0.0, settings["burst"], len(piece))
    elif kind == "shift":
        change = rng.uniform(*settings["shift"]) * rng.choice((-1.0, 1.0))
    else:
        change = np.linspace(0.0, rng.uniform(*settings["ramp"]), len(piece))
    return np.asarray(piece + change, dtype=np.float32)
