# SPDX-License-Identifier: Apache-2.0
"""Ingredients of the synthetic tables: parameters, streams for sites, declarations.

The first child of a seed fixes the parameters that all sites share (loadings, allele
frequencies, effects); every site then has a child of its own. So one site can be made
alone, and is the same as when all are made.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.evaluate.datasets.declarations import TableDeclaration

_FILE = files("lexfed.evaluate.datasets.synthetic") / "parameters.toml"
ColumnKeys = Mapping[str, Any]
"""The declaration of a column."""
FLAG: ColumnKeys = {"kind": "flag", "missing": False}


def number(low: float, high: float, missing: bool = False) -> ColumnKeys:
    """Return the declaration of a number; gaps are usual if it may be missing."""
    return {"kind": "number", "range": [low, high], "missing": missing}


def one_of(*values: str) -> ColumnKeys:
    """Return the declaration of a category that is never missing."""
    return {"kind": "category", "values": list(values), "missing": False}


def declare(
    name: str, rows: int, by_tier: Mapping[str, Mapping[str, ColumnKeys]], **stated: Any
) -> TableDeclaration:
    """Return the declaration of a synthetic table, from its columns by tier."""
    return TableDeclaration(
        name=name,
        rows=rows,
        reason="parameters",
        file="",
        sha256={},
        columns={n: one for columns in by_tier.values() for n, one in columns.items()},
        tiers={n: tier for tier, columns in by_tier.items() for n in columns},
        departures={},
        **stated,
    )


@cache
def parameters() -> dict[str, Any]:
    """Return all parameters, by the name of the table."""
    return tomllib.loads(parameters_text())


def parameters_text() -> str:
    """Return the file of parameters as it is; a digest of a table covers it."""
    return _FILE.read_text(encoding="utf-8")


def shared_stream(seed: int) -> np.random.Generator:
    """Return the stream of the parameters that all sites share."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])


def site_stream(seed: int, site: int) -> np.random.Generator:
    """Return the stream of a site, counted from 0, whatever other sites there are."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(site + 2)[-1])


def between(rng: np.random.Generator, ends: tuple[float, float], size: Any) -> Floats:
    """Return uniform draws between two ends."""
    low, high = ends
    return np.asarray(rng.uniform(low, high, size))


def standard(values: Floats, mean: float, sd: float) -> Floats:
    """Return values in deviations from a mean: both are parameters, never estimates."""
    return (values - mean) / sd


def sigmoid(scores: Floats) -> Floats:
    """Return probabilities of log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def shares_to_sizes(total: int, shares: Floats) -> list[int]:
    """Return whole sizes in these shares that sum to the total, each at least 1."""
    exact = shares / shares.sum() * total
    sizes = np.maximum(1, np.floor(exact).astype(int))
    most_due = np.argsort(np.floor(exact) - exact, kind="stable")
    for place in range(max(0, total - int(sizes.sum()))):
        sizes[most_due[place % len(sizes)]] += 1
    sizes[int(np.argmax(sizes))] -= max(0, int(sizes.sum()) - total)
    return [int(size) for size in sizes]
