# SPDX-License-Identifier: Apache-2.0
"""Pure epsilon in lasting ledgers: both measures take it; `verify_ledger` agrees."""

from fractions import Fraction
from pathlib import Path

import pytest

from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import SCALE
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.privacy.pure_epsilon import gaussian_of, pure_release
from lexfed.terms import CostMeasure
from lexfed.tiers import Tier

EVENT = pure_release("bits", 0.4, Tier.PERSONAL, 0)


@pytest.mark.parametrize("kind", ["gdp", "rdp"])
def test_ceilings_count_the_gaussian_that_dominates(
    tmp_path: Path, kind: CostMeasure
) -> None:
    ledger = LastingLedger.open(
        tmp_path / "north.ledger", "north", "people.csv", state=tmp_path / "state"
    )
    set_ceiling(ledger, "record", Ceiling.of(4.0, 1e-6, kind), "board")
    # ε = 4 at δ = 1e-6 is μ = .85, and pure .4 is μ = .5: two of them by squares.
    charged = 2
    for number in range(1, charged + 1):
        ledger.commit("joining", number, EVENT, "record", neighbours="add-remove")
    with pytest.raises(Refused, match="record"):
        ledger.commit("joining", charged + 1, EVENT, "record", neighbours="add-remove")
    square = Fraction(gaussian_of(0.4)) ** 2
    meters = ledger.book().meters
    assert meters["record:gdp"].committed >= charged * square * SCALE
    assert meters["personal:gdp"].committed >= 4 * charged * square * SCALE
    assert "special:gdp" not in meters
    verify_ledger(ledger.database)
    ledger.close()
