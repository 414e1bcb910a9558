# SPDX-License-Identifier: Apache-2.0
"""Noise that moves over rounds, by schedule or by what was released: keys of a run.

All descend by noisy gradients with the same step and clip under uniform noise; only
what the noise, the clip or the step follows differs. `constant-30` is there because
filters end a training sooner when they lower the noise: fewer rounds alone may be what
is gained.
"""

from collections.abc import Mapping
from types import MappingProxyType

from lexfed.evaluate.comparison.case import Method
from lexfed.evaluate.methods.product import MethodKeys, through_the_product

ROUNDS = 40
"""Planned rounds of every course but one."""
_UNIFORM = {"mechanism": "uniform"}
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
    {
        f"course-{name}": through_the_product(
            f"course-{name}", {"privacy": _UNIFORM, **keys}
        )
        for name, keys in _COURSES.items()
    }
)
"""Every course, by name."""
