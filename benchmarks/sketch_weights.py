# SPDX-License-Identifier: Apache-2.0
"""Weights by overlap: what they do for the worst site, with and without duplicates.

Clients are at five banks, by bands of a column. Two neighbouring banks have all their
clients in common (every pair of neighbours is tried), or nobody is at two banks. The
same split is trained on with `[sketches] weights = "overlap"` and without; both keep
record epsilon 2, sketches included. Every bank's AUC is that of its own test clients,
each counted at the bank where they were before anything was planted.

Under duplicates a model leans to the banks that are counted twice, and weights take
that back. So the worst bank gains where it is one of the others, and loses where it is
one of the two: both are told apart here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.sketch_common import weighed
from benchmarks.tables import Table, write_table
from lexfed.config import Config, from_mapping
from lexfed.models.towers import Model
from lexfed.run import Population, price, seeded_population
from lexfed.run.driver.rehearsal import rehearse

EPSILON = 2.0
DELTA = 1e-5
BANKS = 5
SHARE = 0.3
"""Part of the budget that goes into keys of persons."""

KEY = "person_id"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Federation:
    """A table at five banks.

    Attributes:
        tables: its declarations.
        banks: the rows of each.
        folder: where files go.
    """

    tables: dict[str, Any]
    banks: tuple[pd.DataFrame, ...]
    folder: Path

    @classmethod
    def of(cls, table: Table, column: str, folder: Path) -> "Federation":
        """Split a table by bands of a column."""
        tables = write_table(table, folder)
        frame = pd.read_csv(folder / tables["data"]["source"], dtype=str)
        frame[KEY] = [f"person {at}" for at in range(len(frame))]
        rank = pd.to_numeric(frame[column]).rank(method="first")
        band = pd.qcut(rank, BANKS, labels=False)
        return cls(tables, tuple(frame[band == at] for at in range(BANKS)), folder)

    def config(
        self, doubled: tuple[int, ...], seed: int, weights: bool
    ) -> dict[str, Any]:
        """Write the files of all banks, and return a configuration for them."""
        both = pd.concat([self.banks[at] for at in doubled or range(BANKS)])
        files = [both if at in doubled else own for at, own in enumerate(self.banks)]
        for at, rows in enumerate(files):
            rows.to_csv(self.folder / f"bank{at}.csv", index=False)
        data = {k: v for k, v in self.tables["data"].items() if k != "source"}
        data |= {
            "person": KEY,
            "units": sum(len(each) for each in files),
            "sites": {"files": [f"bank{at}.csv" for at in range(BANKS)]},
            "records_per_person": 2 if doubled else 1,
            "sites_per_person": 2 if doubled else 1,
            "columns": {**data["columns"], KEY: {"kind": "text"}},
        }
        tag = {"tier": "identifier", "reason": "a key"}
        sketches = {"share": SHARE, "weights": "overlap", "columns": 0}
        return {
            "version": 1,
            "run": {"name": "weights", "seed": seed},
            "data": data,
            "law": {"columns": {**self.tables["law"]["columns"], KEY: tag}},
            "budget": {"epsilon": EPSILON, "delta": DELTA},
            "privacy": {"mechanism": "uniform"},
            **({"sketches": sketches} if weights else {}),
        }


def auc_by_bank(model: Model, at_home: Population) -> Floats:
    """Return the AUC of each bank's own test clients."""
    found = []
    for site in at_home.sites:
        slots = np.ascontiguousarray(site.test.inputs[:, 0])
        logits = model.logits(torch.from_numpy(slots))
        found.append(roc_auc_score(site.test.targets[:, 0], logits.numpy().ravel()))
    return np.array(found)


METHODS = ("plain", "sketches", "aggregators")


def model_of(config: Config, population: Population, seed: int, method: str) -> Model:
    """Train one model."""
    if method == "aggregators":
        return rehearse(weighed(config, population, seed)[0])
    return rehearse(price(config, population))


def compared(of: Federation, doubled: tuple[int, ...], seeds: range) -> dict[str, Any]:
    """Return worst-bank AUCs of all methods over seeds, and gains over `plain`."""
    found: dict[str, list[Floats]] = {method: [] for method in METHODS}
    for seed in seeds:
        home = from_mapping(of.config((), seed, weights=False))
        at_home = seeded_population(home, of.folder)
        known = from_mapping(of.config(doubled, seed, weights=False))
        population = seeded_population(known, of.folder) if doubled else at_home
        for method, each in found.items():
            config = from_mapping(of.config(doubled, seed, method == "sketches"))
            model = model_of(config, population, seed, method)
            each.append(auc_by_bank(model, at_home))
    arrays = {method: np.array(each) for method, each in found.items()}
    plain = arrays["plain"]
    worst = int(plain.mean(axis=0).argmin())
    cell: dict[str, Any] = {
        "doubled": list(doubled),
        "worst_is_doubled": worst in doubled,
        "plain": round(float(plain.min(axis=1).mean()), 4),
    }
    for method in METHODS[1:]:
        gain = arrays[method].min(axis=1) - plain.min(axis=1)
        cell[method] = {
            "gain": round(float(gain.mean()), 4),
            "standard_error": round(float(gain.std(ddof=1) / np.sqrt(len(gain))), 4),
            "mean_of_banks": round(float((arrays[method] - plain).mean()), 4),
        }
    return cell


def measure(table: Table, column: str, folder: Path, seeds: range) -> dict[str, Any]:
    """Return every pair of neighbours doubled, and nobody doubled."""
    of = Federation.of(table, column, folder)
    pairs = [(at, at + 1) for at in range(BANKS - 1)]
    return {
        "table": table.name,
        "doubled": [compared(of, pair, seeds) for pair in pairs],
        "nobody": compared(of, (), seeds),
    }
