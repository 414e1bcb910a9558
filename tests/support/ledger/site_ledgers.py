# SPDX-License-Identifier: Apache-2.0
"""Runs of two sites with small files, and a look into their lasting ledgers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.run import PricedRun
from support.configurations import columns, configuration

PARTS = {"data.source": "north.csv", "data.sites": {"count": 2}}


def writer(folder: Path) -> Callable[..., Path]:
    """Write data of two sites; return what writes a configuration for them."""
    chance = np.random.default_rng(5)
    for name in ("north", "south"):
        lines = [
            f"{chance.integers(0, 100)},{chance.choice(['a', 'b'])},"
            f"{chance.integers(0, 2)}"
            for _ in range(60)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["age,ward,ill", *lines, ""]))

    def write(
        engine: str = "simulation",
        changes: Mapping[str, object] = MappingProxyType({}),
        name: str = "small",
    ) -> Path:
        usual = {
            "run": {"name": name},
            "data": {"target": "ill", "test_size": 0.0},
            "data.sites": {"files": ["north.csv", "south.csv"]},
            **columns(
                {
                    "age": ("personal", [0, 100]),
                    "ward": ("non_personal", ["a", "b"]),
                    "ill": ("special", "flag"),
                }
            ),
            "budget": {"epsilon": 1.0, "delta": 1e-5, "neighbours": "replace-one"},
            "federation.engine": engine,
        }
        path = folder / f"{name}.toml"
        path.write_text(configuration({**usual, **changes}))
        return path

    return write


def ledgers(folder: Path) -> dict[str, LastingLedger]:
    found = [LastingLedger.open(path) for path in sorted(folder.glob("*.ledger"))]
    return {ledger.site: ledger for ledger in found}


def book_of(folder: Path, site: str) -> Book:
    opened = ledgers(folder)
    book = verify_ledger(opened[site].database)
    for ledger in opened.values():
        ledger.close()
    return book


def planned(priced: PricedRun) -> dict[str, int]:
    neighbours = priced.config.budget.neighbours
    return costs_of(priced.programme.charges(), "record", {}, neighbours)


def limited(folder: Path, site: str, epsilon: float, scope: str = "label") -> None:
    opened = ledgers(folder)
    set_ceiling(opened[site], scope, Ceiling.of(epsilon, 1e-5), "test")
    for ledger in opened.values():
        ledger.close()
