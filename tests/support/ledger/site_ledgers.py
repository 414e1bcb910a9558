# SPDX-License-Identifier: Apache-2.0
"""Runs of two sites with small files, and a look into their lasting ledgers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.run import PricedRun

CONFIG = """\
version = 1

[run]
name = "small"
TEST

[data]
SOURCE
target = "ill"
test_size = 0.0

[data.columns]
age = { kind = "number", range = [0, 100] }
ward = { kind = "category", values = ["a", "b"] }
ill = { kind = "flag" }

[law.columns]
age = { tier = "personal", reason = "a person's age" }
ward = { tier = "non_personal", reason = "which ward" }
ill = { tier = "special", reason = "health" }

[budget]
epsilon = 1.0
delta = 1e-5
neighbours = "replace-one"
MORE

[federation]
engine = "ENGINE"
rounds = 1
"""
FILES = 'sites = { files = ["north.csv", "south.csv"] }'
PARTS = 'source = "north.csv"\nsites = { count = 2 }'


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
        source: str = FILES,
        more: str = "",
        test: str = "",
        name: str = "small",
    ) -> Path:
        text = CONFIG.replace("ENGINE", engine).replace("SOURCE", source)
        text = text.replace("MORE", more).replace("TEST", test)
        path = folder / f"{name}.toml"
        path.write_text(text.replace('"small"', f'"{name}"'))
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
