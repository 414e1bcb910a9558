# SPDX-License-Identifier: Apache-2.0
"""Sources that come with lexfed or scikit-learn, by name.

They bring their own schema and tags, so a run on them needs no declarations. Those of
scikit-learn are declared here. Their ranges are constants, rounded outwards from the
documentation of the sets and from clinical reference ranges, and never computed from
the rows: a range that follows the data would change when a person is removed, and so
tell of that person.
"""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.data.builtin.bank import bank
from lexfed.data.builtin.declarations import (
    BuiltinSource,
    DeclaredColumn,
    about_patient,
    builtin_source,
    health_data,
)
from lexfed.data.builtin.hospital import hospital
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column, NumberScale
from lexfed.errors import ConfigError, Problem

# Wisconsin diagnostic breast cancer: mean, standard error and worst of ten measures
# of the cell nuclei in an image (units of the image).
_NUCLEI: dict[str, tuple[tuple[float, float], ...]] = {
    "radius": ((5.0, 30.0), (0.0, 3.0), (5.0, 40.0)),
    "texture": ((5.0, 40.0), (0.0, 5.0), (10.0, 50.0)),
    "perimeter": ((40.0, 200.0), (0.0, 25.0), (50.0, 260.0)),
    "area": ((100.0, 2600.0), (5.0, 600.0), (150.0, 4500.0)),
    "smoothness": ((0.05, 0.17), (0.0, 0.035), (0.05, 0.25)),
    "compactness": ((0.0, 0.35), (0.0, 0.15), (0.0, 1.1)),
    "concavity": ((0.0, 0.45), (0.0, 0.4), (0.0, 1.3)),
    "concave_points": ((0.0, 0.21), (0.0, 0.06), (0.0, 0.3)),
    "symmetry": ((0.1, 0.31), (0.0, 0.08), (0.15, 0.7)),
    "fractal_dimension": ((0.045, 0.1), (0.0, 0.03), (0.05, 0.21)),
}
_WIDE = ("area",)
_STATISTICS = ("mean", "error", "worst")

# Diabetes progression: ten measurements at the start, one outcome a year later.
_DIABETES: tuple[tuple[str, tuple[float, float], str], ...] = (
    ("bmi", (15.0, 50.0), "body mass index"),
    ("blood_pressure", (50.0, 150.0), "mean arterial blood pressure"),
    ("cholesterol", (80.0, 320.0), "total serum cholesterol"),
    ("ldl", (30.0, 260.0), "low-density lipoproteins"),
    ("hdl", (15.0, 110.0), "high-density lipoproteins"),
    ("cholesterol_ratio", (1.0, 10.0), "total cholesterol over HDL"),
    ("log_triglycerides", (3.0, 6.5), "logarithm of serum triglycerides"),
    ("glucose", (50.0, 140.0), "blood sugar"),
)


def breast_cancer() -> BuiltinSource:
    """Return 569 breast tumours: thirty image measurements, malignant or not."""
    from sklearn.datasets import load_breast_cancer

    inputs, labels = load_breast_cancer(return_X_y=True)
    rows: list[DeclaredColumn] = []
    columns: dict[str, NDArray[Any]] = {}
    for block, statistic in enumerate(_STATISTICS):
        for place, (measure, ranges) in enumerate(_NUCLEI.items()):
            name = f"{statistic}_{measure}"
            scale: NumberScale = "log" if measure in _WIDE else "linear"
            column = Column(name, "number", ranges[block], scale=scale, missing=False)
            reason = f"{measure.replace('_', ' ')} of a patient's tumour cells"
            rows.append(health_data(column, reason))
            columns[name] = inputs[:, block * len(_NUCLEI) + place]
    label = Column("malignant", "flag", missing=False)
    rows.append(health_data(label, "the diagnosis itself is health data"))
    columns["malignant"] = labels == 0  # the set codes malignant as 0
    frame = frame_of_arrays("sklearn:breast_cancer", columns)
    return builtin_source(frame, rows, target="malignant")


def diabetes() -> BuiltinSource:
    """Return 442 diabetes patients: ten measurements, progression after a year."""
    from sklearn.datasets import load_diabetes

    inputs, progression = load_diabetes(return_X_y=True, scaled=False)
    rows = [
        about_patient(Column("age", "number", range=(18.0, 90.0), missing=False),
                      "demographic", "age in years narrows down who somebody is"),
        about_patient(Column("sex", "category", values=("1", "2"), missing=False),
                      "demographic", "sex as registered (coded 1 and 2), not a special "
                      "category"),
    ]  # fmt: skip
    columns: dict[str, NDArray[Any]] = {"age": inputs[:, 0], "sex": inputs[:, 1]}
    for place, (name, limits, meaning) in enumerate(_DIABETES, start=2):
        column = Column(name, "number", range=limits, missing=False)
        rows.append(health_data(column, f"{meaning}, a health measurement"))
        columns[name] = inputs[:, place]
    target = Column("progression", "number", range=(0.0, 400.0), missing=False)
    reason = "how far the disease went in a year is health data"
    rows.append(health_data(target, reason))
    columns["progression"] = np.asarray(progression, dtype=np.float64)
    frame = frame_of_arrays("sklearn:diabetes", columns)
    return builtin_source(frame, rows, target="progression")


_SOURCES: dict[str, Callable[..., BuiltinSource]] = {
    "synthetic:hospital": hospital,
    "synthetic:bank": bank,
    "sklearn:breast_cancer": breast_cancer,
    "sklearn:diabetes": diabetes,
}
BUILTIN_NAMES = tuple(_SOURCES)


def is_builtin(source: str) -> bool:
    """Return True if a source names a built-in one, known or not, and not a file."""
    return source.startswith(("synthetic:", "sklearn:"))


def load_builtin(name: str, **params: int) -> BuiltinSource:
    """Return the built-in source of a name, or raise `ConfigError`.

    `params` may be `seed`, `sites`, and `patients` or `clients` of a synthetic source.
    """
    if name not in _SOURCES:
        near = get_close_matches(name, BUILTIN_NAMES, n=1)
        listed = ", ".join(f"`{known}`" for known in BUILTIN_NAMES)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {listed}"
        raise ConfigError([Problem("source", f"no built-in source `{name}`", hint)])
    make = _SOURCES[name]
    known_params = inspect.signature(make).parameters
    unknown = [param for param in params if param not in known_params]
    if unknown:
        hint = "known: " + (", ".join(f"`{p}`" for p in known_params) or "none")
        raise ConfigError(
            [Problem(f"source `{name}`", f"no parameter `{p}`", hint) for p in unknown]
        )
    try:
        return make(**params)
    except ValueError as error:
        raise ConfigError([Problem(f"source `{name}`", str(error))]) from error
