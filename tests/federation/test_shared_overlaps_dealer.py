# SPDX-License-Identifier: Apache-2.0
"""A curious dealer, who may be the coordinator, reads no share of a result."""

import numpy as np
import pytest

from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator
from lexfed.sketch.sharing.beaver_triples import Words32
from support.secagg import dealer_checks as checks
from support.secagg import overlap_sums as sums


def test_a_dealer_that_sees_all_messages_reads_nothing() -> None:
    checks.the_dealer_reads_nothing()


def test_without_the_mask_a_dealer_reads_one_person_past_any_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control: bare shares tell one person, at the noise that is charged."""

    def bare(
        self: OverlapAggregator, share: Words32, what: str, named: bytes
    ) -> Words32:
        del self, what, named
        return share

    monkeypatch.setattr(OverlapAggregator, "_masked", bare)
    assert checks.read_by_the_dealer() == [
        "counts 0 of 256",
        "counts 1 of 256",
        "counts 0 of 2",
        "test 0 of 2",
        "counts 1 of 2",
        "test 1 of 2",
    ]


def test_masked_shares_add_up_to_what_bare_ones_would() -> None:
    """The counts are those that everybody may see: exact but for the noise."""
    vectors, rows, _ = checks.neighbours(256)
    found = sums.Computation(sums.agreed(sums.plan())).run(vectors)
    error = np.abs(found.counts - (rows @ rows.T).astype(np.int64)).max()
    assert 0 < error < 8 * found.variance**0.5


def test_a_mask_is_for_one_message_of_one_list_and_triple() -> None:
    checks.a_mask_is_for_one_message()
