# SPDX-License-Identifier: Apache-2.0
"""Every table of the suite: one factor at a time around the centre, then corners.

A name is `suite-FACTOR-VALUE`; corners and other outcomes have names of their own.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from lexfed.evaluate.datasets.synthetic.suite.factors import Factors

_PREFIX = "suite"
CENTRE = Factors()

_ONE_AT_A_TIME: Mapping[str, Mapping[str, Any]] = {
    "rows": {str(n): n for n in (150, 400, 1000, 10_000, 30_000)},
    "columns": {str(n): n for n in (6, 40)},
    "shape": {
        each: each for each in ("linear", "u-shaped", "threshold", "periodic", "mixed")
    },
    "tail": {each: each for each in ("log-normal", "heavy")},
    "width": {str(n): float(n) for n in (10, 30, 100)},
    "collinearity": {"50": 0.5, "80": 0.8, "95": 0.95},
    "positives": {"50": 0.5, "05": 0.05, "02": 0.02},
    "proxy": {"50": 0.5, "90": 0.9},
    "sensitive": {"20": 0.2, "80": 0.8},
    "signal": {each: each for each in ("sensitive", "others")},
    "missing": {"10": 0.1, "30": 0.3},
    "categories": {"none": 0.0, "all": 1.0},
    "levels": {"20": 20},
    "interactions": {"3": 3, "6": 6},
    "strength": {"weak": 0.7, "strong": 3.0},
}

_CORNERS: Mapping[str, Factors] = {
    "tiny-plain": Factors(rows=150, columns=6, shape="linear", positives=0.5),
    "small-many-columns": Factors(rows=400, columns=40),
    "small-collinear": Factors(rows=1000, columns=40, collinearity=0.8),
    "small-rare": Factors(rows=1000, positives=0.05),
    "laboratory": Factors(
        rows=1000, columns=40, shape="mixed", tail="log-normal", width=30.0,
        collinearity=0.5, missing=0.1, sensitive=0.8,
    ),
    "bank": Factors(
        rows=10_000, shape="threshold", tail="heavy", width=100.0, categories=0.5,
        levels=10, sensitive=0.2,
    ),
    "registry": Factors(
        rows=10_000, columns=40, shape="mixed", positives=0.05, missing=0.1,
        categories=0.6, levels=20,
    ),
    "large-wavy": Factors(rows=30_000, shape="periodic", interactions=3),
    "told-by-proxies": Factors(shape="mixed", proxy=0.9, signal="sensitive"),
    "told-without": Factors(sensitive=0.8, signal="others"),
}  # fmt: skip

_OUTCOMES: Mapping[str, Factors] = {
    "classes-small": Factors(rows=1000, columns=6, outcome="three classes"),
    "classes": Factors(outcome="three classes"),
    "classes-curved": Factors(shape="mixed", missing=0.1, outcome="three classes"),
    "number-small": Factors(rows=400, outcome="number"),
    "number": Factors(outcome="number"),
    "number-curved": Factors(
        shape="mixed", tail="log-normal", width=30.0, outcome="number"
    ),
}


def _tables() -> dict[str, Factors]:
    found = {f"{_PREFIX}-centre": CENTRE}
    for factor, values in _ONE_AT_A_TIME.items():
        for word, value in values.items():
            found[f"{_PREFIX}-{factor}-{word}"] = replace(CENTRE, **{factor: value})
    for name, factors in {**_CORNERS, **_OUTCOMES}.items():
        found[f"{_PREFIX}-{name}"] = factors
    return found


TABLES: Mapping[str, Factors] = MappingProxyType(_tables())
"""The factors of every table, by name."""


def group_of(name: str) -> str:
    """Return the factor that a table varies, or that it is a corner or an outcome."""
    own = name.removeprefix(f"{_PREFIX}-")
    if own in _CORNERS:
        return "corners"
    if own in _OUTCOMES:
        return "other outcomes"
    return own.partition("-")[0]
