# SPDX-License-Identifier: Apache-2.0
"""Pure epsilon in lasting ledgers: both measures take it, and `verify` agrees."""

from fractions import Fraction
from pathlib import Path

import pytest

from lexfed.errors import Refused
from lexfed.ledger.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.lasting import LastingLedger
from lexfed.ledger.prices import SCALE, Measure
from lexfed.ledger.verify import verify
from lexfed.privacy.pure import gaussian_of, pure_release
from lexfed.tiers import Tier

EVENT = pure_release("bits", 0.4, Tier.PERSONAL, 0)


@pytest.mark.parametrize("kind", ["gdp", "rdp"])
def test_ceilings_count_the_gaussian_that_dominates(
    tmp_path: Path, kind: Measure
) -> None:
    ledger = LastingLedger.open(
        tmp_path / "north.ledger", "north", "people.csv", state=tmp_path / "state"
    )
    set_ceiling(ledger, "record", Ceiling.of(4.0, 1e-6, kind), "board")
    # ε = 4 at δ = 1e-6 is μ = .85, and pure .4 is μ = .5: two of them by squares.
    charged = 2
    for number in range(1, charged + 1):
        ledger.commit("joining", number, EVENT, neighbours="add-remove")
    with pytest.raises(Refused, match="record"):
        ledger.commit("joining", charged + 1, EVENT, neighbours="add-remove")
    square = Fraction(gaussian_of(0.4)) ** 2
    meters = ledger.book().meters
    assert meters["record:gdp"].committed >= charged * square * SCALE
    assert meters["personal:gdp"].committed >= 4 * charged * square * SCALE
    assert "special:gdp" not in meters
    verify(ledger.database)
    ledger.close()
