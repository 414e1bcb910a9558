# SPDX-License-Identifier: Apache-2.0
"""Sums of a ledger in rounds of one release, for people who count on fingers."""

from ledger.conftest import release
from lexfed.ledger.bookkeeping.book import Amounts
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling

ROUND = costs_of([(release(), 1)], "record", {}, neighbours="add-remove")


def limit(ledger: LastingLedger, rounds: int, scope: str = "record") -> None:
    """Set a ceiling that pays for so many rounds of `release()`, and no more."""
    bound = rounds * ROUND[f"{scope}:gdp"]
    about = Ceiling.of(1.0, 1e-6)
    low, high = 1e-3, 100.0
    while high - low > 1e-12 * high:  # the epsilon whose bound lies just above
        middle = (low + high) / 2
        about = Ceiling.of(middle, 1e-6)
        low, high = (low, middle) if about.bound >= bound else (middle, high)
    set_ceiling(ledger, scope, Ceiling.of(high * (1 + 1e-6), 1e-6), "test")


def sums(ledger: LastingLedger, scope: str = "record") -> Amounts:
    return ledger.book().meters.get(f"{scope}:gdp", Amounts())


def rounds(committed: int, reserved: int, scope: str = "record") -> Amounts:
    one = ROUND[f"{scope}:gdp"]
    return Amounts(committed * one, reserved * one)
