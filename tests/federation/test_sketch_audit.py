# SPDX-License-Identifier: Apache-2.0
"""A run's tables under attack: they show no more than was charged for them.

See `support.federation.asked_audit`. Each bound is wrong with probability at most 1e-6;
seeds are fixed. Every negative control is a run in which one thing is forgotten.
"""

from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.federation.programme import integer_sums
from lexfed.federation.site import table_counts
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.privacy.noise.shares import draw_share
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.sketch.queries.requested_tables import RequestedTable
from support.federation import asked_audit
from support.federation.asked_audit import audit, in_one_process, under_masks
from support.mutant import Mutant, Patch, both_tests

pytestmark = pytest.mark.no_cover

SHARES: dict[str, Any] = {"trust": "distributed", "accountant": "rdp"}
ATTACKS: dict[str, Any] = {
    "central": partial(audit, in_one_process),
    "masks": partial(audit, under_masks, **SHARES),
    "twice": partial(audit, in_one_process, turns=2),
}


def _shows_no_more(name: str) -> None:
    found = ATTACKS[name]()
    assert found.epsilon <= found.stated
    assert found.mu <= found.charged


def a_told_table_shows_no_more_than_was_charged() -> None:
    _shows_no_more("central")


def a_masked_table_shows_no_more_than_was_charged() -> None:
    _shows_no_more("masks")


def two_tables_show_no_more_than_both_were_charged() -> None:
    _shows_no_more("twice")


def _noise_forgotten(patch: Patch) -> None:
    """One of two sites sends its bare sum."""
    turn = count()

    def broken(*asked: Any) -> NDArray[np.int64]:
        drawn = draw_share(*asked)
        return drawn if next(turn) % 2 else np.zeros_like(drawn)

    patch.setattr(integer_sums, "draw_share", broken)


def _every_row_counts(patch: Patch) -> None:
    def broken(units: UnitBatch) -> NDArray[np.float64]:
        return (units.weights > 0).to(units.weights.dtype).numpy()

    patch.setattr(table_counts, "_weights", broken)


def _clip_of_one_row(patch: Patch) -> None:
    patch.setattr(RequestedTable, "clip", property(lambda _: 1.0))


def _charged_once(patch: Patch) -> None:
    real = Ledger.charge

    def broken(ledger: Ledger, release: Release) -> None:
        if not ledger.events():
            real(ledger, release)

    patch.setattr(Ledger, "charge", broken)


MUTANTS = (
    Mutant(
        "noise forgotten at one site",
        _noise_forgotten,
        a_masked_table_shows_no_more_than_was_charged,
    ),
    Mutant(
        "a person counted once for every row",
        _every_row_counts,
        a_told_table_shows_no_more_than_was_charged,
    ),
    Mutant(
        "masks, a person counted for every row",
        _every_row_counts,
        a_masked_table_shows_no_more_than_was_charged,
    ),
    Mutant(
        "the clip of one row of hashes for all of them",
        _clip_of_one_row,
        a_told_table_shows_no_more_than_was_charged,
    ),
    Mutant(
        "the second release not charged",
        _charged_once,
        two_tables_show_no_more_than_both_were_charged,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_no_blunt_tool(name: str) -> None:
    found = ATTACKS[name]()
    assert found.mu > 0.7 * found.charged


def test_canaries_share_no_cell() -> None:
    keys = asked_audit.canaries().view(np.uint64)
    assert len(keys) > 5000
    for row in asked_audit.ROWS.columns(keys):
        assert len(np.unique(row)) == len(keys)
