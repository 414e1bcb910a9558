# SPDX-License-Identifier: Apache-2.0
"""Argument checks whose message carries the caller's own names.

>>> positive(clip=0.0)
Traceback (most recent call last):
    ...
ValueError: expected `clip` > 0, got: 0.0
"""

import math


def positive(**values: float) -> None:
    """Raise unless every value is finite or infinite but above zero."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"expected `{name}` > 0, got: {value}")


def finite_positive(**values: float) -> None:
    """Raise unless every value is above zero and finite."""
    positive(**values)
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"expected `{name}` to be finite, got: {value}")


def in_range(low: float, high: float, **values: float) -> None:
    """Raise unless every value lies in [low, high]."""
    for name, value in values.items():
        if not low <= value <= high:
            raise ValueError(f"expected {low} <= `{name}` <= {high}, got: {value}")
