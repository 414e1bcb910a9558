# SPDX-License-Identifier: Apache-2.0
"""The product with one idea taken out, to see its worth, and with noise that moves.

    dynamic               tiers from semantics; noise, clip and step follow the progress
    without-semantics     every column counts as special: nobody knew which is which
    without-convergence   the noise of the plan; clip and step still follow the progress
    without-adapting      nothing follows anything
    static-tiers          fixed factors on the noise of each tier, one model, no towers
    dropped               one noise, no sensitive columns, and the whole budget

All but the last descend by noisy gradients with the same step: steering acts on nothing
else.

Courses move noise over rounds, by schedule or by what was released, under uniform
noise; only what the noise, the clip or the step follows differs. `constant-30` is there
because filters end a training sooner when they lower the noise: the gain may be that of
fewer rounds alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from lexfed.evaluate.comparison.case import (
    PERSONAL,
    Case,
    Method,
    law_table,
    sensitive_tier,
)
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.product import MethodKeys, through_the_product, train

_STEP = {"learning_rate": 1.0}
_CASCADE = {"privacy": {"mechanism": "cascade"}}
_GROUPED = {"privacy": {"mechanism": "grouped"}}
_ADAPT = {"noise": "convergence", "guarantee": "filter"}
_ALL = {**_ADAPT, "clip": "quantile", "learning_rate": "feedback"}

_DYNAMIC: MethodKeys = {**_CASCADE, "federation": _STEP, "adapt": _ALL}
_KEYS: Mapping[str, MethodKeys] = {
    "dynamic": _DYNAMIC,
    "without-convergence": {
        **_CASCADE,
        "federation": _STEP,
        "adapt": {"clip": "quantile", "learning_rate": "feedback"},
    },
    "without-adapting": {**_CASCADE, "federation": _STEP},
    "static-tiers": {**_GROUPED, "budget": {"allocation": "multiplier"}},
}


def _without_semantics(dataset: Dataset, case: Case) -> Scores:
    tags = {
        name: {**tag, "tier": "special", "reason": "nobody looked at what it means"}
        if tag["tier"] != "identifier"
        else tag
        for name, tag in dataset.tables["law"]["columns"].items()
    }
    blind = dataset.with_columns("law", tags)
    return through_the_product("without-semantics", _DYNAMIC)(blind, case)


def without_sensitive(dataset: Dataset, case: Case) -> Scores:
    """Train one tower on all columns but the sensitive ones.

    Guarantees:
        No value of the most sensitive tier has an influence, hence its epsilon is 0.
    """
    tier = sensitive_tier(dataset, case).label
    tags = {
        name: {**tag, "tier": "identifier"}
        if tag["tier"] == tier and name != dataset.target
        else tag
        for name, tag in law_table(dataset, case)["columns"].items()
    }
    without = dataset.with_columns("law", tags)
    # The cap of the sensitive tier would now be one of the tier below, which this
    # method need not keep; it keeps that tier's own.
    own = case.personal_epsilon
    caps = {} if own is None or tier == PERSONAL else {PERSONAL: own}
    keys: MethodKeys = {"privacy": {"mechanism": "uniform"}, "budget": {"caps": caps}}
    scores = train(without, case, "dropped", keys, f"no column is {tier}")
    return replace(scores, attribute_epsilon=0.0)


def _methods(keys: Mapping[str, MethodKeys]) -> dict[str, Method]:
    return {name: through_the_product(name, own) for name, own in keys.items()}


ABLATIONS: Mapping[str, Method] = MappingProxyType(
    {**_methods(_KEYS), "without-semantics": _without_semantics}
)

_SHARED: Mapping[str, Mapping[str, Any]] = {
    **{
        f"multiplier-{factor:g}": {
            "allocation": "multiplier",
            "multipliers": {
                "non_personal": 1.0,
                "personal": factor**-0.5,
                "special": 1.0 / factor,
            },
        }
        for factor in (1.0, 2.0, 4.0, 8.0)
    },
    **{
        f"inverse-{alpha:g}": {"allocation": "inverse", "alpha": alpha}
        for alpha in (1.5, 2.0, 4.0, 8.0)
    },
}
MULTIPLIERS: Mapping[str, Method] = MappingProxyType(
    _methods({name: {**_GROUPED, "budget": own} for name, own in _SHARED.items()})
)
"""Rules that share noise between tiers more and more unevenly."""

DROPPED: Mapping[str, Method] = MappingProxyType({"dropped": without_sensitive})
"""The baseline without sensitive columns: better where they are not worth reading."""


ROUNDS = 40
"""Planned rounds of every course but one."""
_UNIFORM = {"privacy": {"mechanism": "uniform"}}
_FILTER = {"guarantee": "filter"}
_COURSES: Mapping[str, MethodKeys] = {
    "constant": {},
    "constant-30": {},
    **{
        name: {"budget": {"schedule": name}}
        for name in ("geometric", "cosine", "step", "time-adaptive")
    },
    "convergence-envelope": {"adapt": {"noise": "convergence"}},
    "convergence-filter": {"adapt": {"noise": "convergence", **_FILTER}},
    "linear-filter": {"adapt": {"noise": "linear", **_FILTER}},
    "feedback-filter": {"adapt": {"noise": "feedback", **_FILTER}},
    "feedback-step": {"adapt": {"learning_rate": "feedback"}},
    "quantile-clip": {"adapt": {"clip": "quantile"}},
}

PLANNED: Mapping[str, int] = {
    f"course-{name}": 30 if name == "constant-30" else ROUNDS for name in _COURSES
}
"""Planned rounds of each course."""

COURSES: Mapping[str, Method] = MappingProxyType(
    _methods({f"course-{n}": {**_UNIFORM, **own} for n, own in _COURSES.items()})
)
"""Every course, by name."""
