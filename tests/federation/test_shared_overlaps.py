# SPDX-License-Identifier: Apache-2.0
"""Overlaps by two aggregators: exact but for noise, bits only, each step once.

The chi-square test over 256 byte values fails by chance once in 10^9 times.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from lexfed.errors import SecAggError
from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator, _Tested
from lexfed.federation.sharing.overlap_protocol import (
    OverlapSetting,
    OverlapVerdict,
    deal_triple,
    open_overlaps,
)
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.shares.schemes import SEED
from lexfed.sketch.sharing.beaver_triples import Words32
from support.secagg import overlap_checks
from support.secagg import overlap_sums as sums
from support.secagg.secure_sums import identity, names, refused
from support.secagg.shared_sums import roster

PLAN = sums.plan()
OVERLAP = sums.agreed(PLAN)


def world() -> sums.Computation:
    found = sums.Computation(OVERLAP)
    found.deal(sums.made(PLAN))
    return found


def test_counts_are_exact_but_for_the_noise() -> None:
    overlap_checks.counts_are_exact_but_for_the_noise()


def test_rows_that_are_not_of_bits_are_left_out_and_named() -> None:
    overlap_checks.rows_that_are_not_of_bits_are_left_out()


def test_bits_are_never_added_up_without_noise() -> None:
    overlap_checks.bits_are_never_added_up_without_noise()


def test_each_aggregator_draws_the_full_noise() -> None:
    overlap_checks.each_aggregator_draws_the_full_noise()


def test_sites_that_are_missing_are_in_no_count() -> None:
    vectors = sums.made(PLAN)
    vectors.pop("site001")
    found = sums.Computation(OVERLAP).run(vectors)
    assert found.sites == ("site000", "site002", "site003")
    error = np.abs(found.counts - sums.truth(vectors)).max()
    assert error < 8 * math.sqrt(found.variance)


def test_a_second_round_has_shares_and_triples_of_its_own() -> None:
    computation = sums.Computation(OVERLAP)
    first = computation.run(sums.made(PLAN))
    computation.number = 2
    computation.start()
    second = computation.run(sums.made(PLAN))
    assert first.sites == second.sites
    assert np.any(first.counts != second.counts)


def test_what_one_aggregator_sees_is_uniform() -> None:
    """Its rows, its triple, all of D and its shares of results, and no bits."""
    plan = sums.plan(4, 4096)
    computation = sums.Computation(sums.agreed(plan))
    vectors = sums.made(plan)
    computation.deal(vectors)
    computation.receive()
    signed = computation.signed()
    one, two = computation.parties.values()
    hidden = one.hide(signed), two.hide(signed)
    rows = []
    for party, message in zip((one, two), reversed(hidden), strict=True):
        party.test(message)
        work = party._work
        assert isinstance(work, _Tested)
        mine, mask = work.before.rows, work.before.triple.mask
        for words in (mine, mask, work.before.triple.squares, work.opened):
            assert _uniform(words)
        assert _uniform(work.opened + mask)
        rows.append(mine)
    # Negative control: what both know together.
    whole = rows[0] + rows[1]
    assert not _uniform(whole)
    assert np.array_equal(whole, np.stack(list(vectors.values())))


def _uniform(words: Words32) -> bool:
    counts = np.bincount(words.astype("<u4").view(np.uint8).ravel(), minlength=256)
    expected = counts.sum() / 256
    found = float(((counts - expected) ** 2 / expected).sum())
    return found < float(chi2.isf(1e-9, 255))


def test_all_but_one_part_of_a_triple_is_a_seed() -> None:
    sent = world().triple()
    assert OVERLAP.triple_bytes(0) == SEED
    longer = OVERLAP.triple_bytes(1) - SEED
    assert longer == 4 * (4 * 4 + 4 * 256)
    assert len(sent["university"]) - len(sent["ministry"]) == longer


def test_steps_are_taken_once_and_in_order() -> None:
    computation = world()
    one, two = computation.parties.values()
    signed = computation.signed()
    assert "is not there" in str(refused(lambda: one.hide(signed)))
    computation = world()
    one, two = computation.parties.values()
    computation.receive()
    triple = computation.triple()["ministry"]
    assert "no triple is taken" in str(refused(lambda: one.receive(triple)))
    assert "too early" in str(refused(lambda: one.test(b"")))
    signed = computation.signed()
    hidden = one.hide(signed), two.hide(signed)
    assert "is not there" in str(refused(lambda: one.hide(signed)))
    assert "own message" in str(refused(lambda: one.test(hidden[0])))
    tested = one.test(hidden[1]), two.test(hidden[0])
    assert "too late" in str(refused(lambda: one.test(hidden[1])))
    assert "own message" in str(refused(lambda: one.multiply(tested[0])))
    one.multiply(tested[1])
    assert "too late" in str(refused(lambda: one.multiply(tested[1])))


def test_aggregators_that_did_not_meet_do_not_go_on() -> None:
    alone = OverlapAggregator(identity("ministry"), OVERLAP)
    alone.start(1, OVERLAP.model)
    assert "is not there" in str(refused(lambda: alone.hide([])))
    assert "model of its plan" in str(refused(lambda: alone.start(2, bytes(32))))


def test_parts_of_two_triples_are_not_mixed() -> None:
    computation = world()
    one, two = computation.parties.values()
    one.receive(computation.triple()["ministry"])
    two.receive(computation.triple()["university"])
    signed = computation.signed()
    hidden = one.hide(signed), two.hide(signed)
    assert "another list or triple" in str(refused(lambda: one.test(hidden[1])))


def test_a_triple_for_the_other_cannot_be_read() -> None:
    plan = sums.plan()
    computation = sums.Computation(sums.agreed(plan))
    stranger = sums.Computation(sums.agreed(plan))
    message = stranger.triple()["ministry"]
    party = computation.parties["ministry"]
    assert "cannot be decrypted" in str(refused(lambda: party.receive(message)))


def test_another_list_in_a_test_is_refused() -> None:
    computation = world()
    computation.receive()
    signed = computation.signed()
    one, two = computation.parties.values()
    hidden = one.hide(signed), two.hide(signed)
    one.test(hidden[1])
    payload = bytes(32) + bytes(4 * 4 * 64)
    forged = seal(
        EnvelopeKind.TESTED, OVERLAP.context(1), identity("university"), payload
    )
    assert "has another list" in str(refused(lambda: one.multiply(forged)))


def test_counts_need_both_aggregators_and_the_same_sites() -> None:
    computation = world()
    computation.receive()
    products = computation.products()
    with pytest.raises(SecAggError, match="both aggregators"):
        open_overlaps(OVERLAP, 1, products[:1])
    seats = (0, 1, 2, 3)
    for verdict, match in (
        (OverlapVerdict(bytes(32), seats, (True,) * 4), "different sites"),
        (OverlapVerdict(bytes(32), (0, 1, 3, 2), (True,) * 4), "out of order"),
        (OverlapVerdict(bytes(32), (0, 1, 2, 4), (True,) * 4), "a stranger"),
    ):
        payload = verdict.packed() + b"\x01" + bytes(40)
        forged = seal(
            EnvelopeKind.PRODUCTS, OVERLAP.context(1), identity("university"), payload
        )
        with pytest.raises(SecAggError, match=match):
            open_overlaps(OVERLAP, 1, [products[0], forged])


def test_too_few_rows_of_bits_open_nothing() -> None:
    overlap = sums.agreed(PLAN, least=4)
    computation = sums.Computation(overlap)
    vectors = sums.made(PLAN)
    vectors["site003"] = vectors["site003"] * 5
    with pytest.raises(SecAggError, match="a list of bits"):
        computation.run(vectors)


def test_settings_that_would_not_be_what_is_charged_are_refused() -> None:
    wrong = replace(
        OVERLAP.operators, terms=sums.agreed(sums.plan(4, 512)).operators.terms
    )
    with pytest.raises(ValueError, match="overlap_terms"):
        replace(OVERLAP, operators=wrong)
    more = sums.agreed(sums.plan(5)).operators
    with pytest.raises(ValueError, match="at most 4 sites"):
        OverlapSetting(PLAN, more, OVERLAP.dealer)
    with pytest.raises(ValueError, match="no aggregator"):
        replace(OVERLAP, dealer=roster(["ministry"]))
    with pytest.raises(ValueError, match="one dealer"):
        replace(OVERLAP, dealer=roster(["a", "b"]))
    stranger = identity("stranger")
    assert "not enrolled" in str(
        refused(lambda: deal_triple(stranger, OVERLAP, 1, world().keys))
    )
    assert names(4) == OVERLAP.operators.sites.names


@pytest.mark.slow
def test_counts_tell_a_curious_aggregator_no_more_than_their_event() -> None:
    multiplier = sums.plan(9, 2, sigma=3.0).event().noise_multiplier
    assert math.isclose(multiplier, 1.0)
    found = overlap_checks.counts_tell_no_more_than_their_event()
    assert found <= 1.0


@pytest.mark.slow
def test_noise_forgotten_by_the_other_aggregator_is_noticed() -> None:
    """Negative control: what is left after its own noise is the exact count."""

    class Forgets(OverlapAggregator):
        def multiply(self, message: bytes) -> bytes:
            self._source = Zeros()
            return super().multiply(message)

    assert overlap_checks.counts_tell_no_more_than_their_event(Forgets) > 1.1


class Zeros:
    """A source whose Skellam noise is always the same."""

    private = False

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.zeros(count, dtype=np.uint64)
