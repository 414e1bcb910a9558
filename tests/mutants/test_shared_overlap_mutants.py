# SPDX-License-Identifier: Apache-2.0
"""Ways to get shared overlaps wrong, each noticed by a check."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.errors import SecAggError
from lexfed.federation.sharing import overlap_aggregator
from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator
from lexfed.privacy.noise import shares as distributed
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release
from lexfed.secagg.envelopes.key_agreement import pairwise_key
from lexfed.secagg.primitives.keystreams import add_mask
from lexfed.secagg.shares.aggregator import AggregatorSession
from lexfed.sketch.sharing import beaver_triples, overlap_plan
from lexfed.sketch.sharing.overlap_plan import OverlapPlan
from support.mutant import Mutant, Patch, both_tests
from support.secagg import dealer_checks
from support.secagg import overlap_checks as checks


def _bits_are_added(patch: Patch) -> None:
    patch.setattr(OverlapAggregator, "add", AggregatorSession.add)


def _no_test_of_bits(patch: Patch) -> None:
    def broken(shares: tuple[Any, Any]) -> Any:
        return np.ones(len(shares[0]), dtype=bool)

    patch.setattr(overlap_aggregator, "all_bits", broken)


def _half_of_the_noise(patch: Patch) -> None:
    patch.setattr(overlap_plan, "AGGREGATORS", NoiseCohort(2))


def _noise_of_one(patch: Patch) -> None:
    real, drawn = distributed.draw_share, []

    def broken(*asked: Any) -> Any:
        drawn.append(real(*asked))
        return drawn[0] if len(drawn) == 1 else 0 * drawn[0]

    patch.setattr(overlap_aggregator, "draw_share", broken)


def _both_add_what_is_public(patch: Patch) -> None:
    patch.setattr(OverlapAggregator, "_first", True)


def _no_mask(patch: Patch) -> None:
    real = beaver_triples.gram_share

    def broken(opened: Any, triple: Any, first: bool) -> Any:
        return real(opened, replace(triple, gram=0 * triple.gram), first)

    patch.setattr(overlap_aggregator, "gram_share", broken)


def _bare(left_bare: str) -> Callable[[Patch], None]:
    """Leave the mask off one of the two messages."""

    def apply(patch: Patch) -> None:
        real = OverlapAggregator._masked

        def broken(self: OverlapAggregator, share: Any, what: str, named: bytes) -> Any:
            return share if what == left_bare else real(self, share, what, named)

        patch.setattr(OverlapAggregator, "_masked", broken)

    return apply


def _one_mask_for_all(patch: Patch) -> None:
    real = pairwise_key

    def broken(private: Any, peer: bytes, context: bytes, _: str, *rest: Any) -> bytes:
        return real(private, peer, context, "mask", *rest)

    patch.setattr(overlap_aggregator, "pairwise_key", broken)


def _both_add_the_mask(patch: Patch) -> None:
    real = add_mask
    patch.setattr(
        overlap_aggregator, "add_mask", lambda total, key, _: real(total, key, 1)
    )


def _unpaid(patch: Patch) -> None:
    def broken(self: OverlapPlan, filter_: Any, ledger: Any) -> Any:
        del self, ledger
        return filter_.bits.astype("i8")

    patch.setattr(OverlapPlan, "share", broken)


def _event(
    change: Callable[[OverlapPlan, Release], Release],
) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        real = OverlapPlan.event
        patch.setattr(OverlapPlan, "event", lambda plan: change(plan, real(plan)))

    return apply


def _one_pair(plan: OverlapPlan, event: Release) -> Release:
    pairs, sizes = event.groups
    return replace(event, groups=(replace(pairs, clip=float(plan.places)), sizes))


def _without_collisions(plan: OverlapPlan, event: Release) -> Release:
    """Pairs of sites with the person only, as if no key ever shared a place."""
    pairs, sizes = event.groups
    own = max(1, plan.places * (plan.places - 1) // 2) ** 0.5
    return replace(event, groups=(replace(pairs, clip=own), sizes))


def _no_sizes(_: OverlapPlan, event: Release) -> Release:
    return replace(event, groups=event.groups[:1])


MUTANTS = (
    Mutant(
        "bits are added without noise",
        _bits_are_added,
        checks.bits_are_never_added_up_without_noise,
    ),
    Mutant(
        "rows are not tested",
        _no_test_of_bits,
        checks.rows_that_are_not_of_bits_are_left_out,
    ),
    Mutant(
        "noise that both must keep to themselves",
        _half_of_the_noise,
        checks.each_aggregator_draws_the_full_noise,
    ),
    Mutant(
        "noise forgotten at one aggregator",
        _noise_of_one,
        checks.each_aggregator_draws_the_full_noise,
    ),
    Mutant(
        "what is public is added twice",
        _both_add_what_is_public,
        checks.counts_are_exact_but_for_the_noise,
        SecAggError,
    ),
    Mutant(
        "the product of the masks left out",
        _no_mask,
        checks.counts_are_exact_but_for_the_noise,
        SecAggError,
    ),
    Mutant(
        "shares of the counts bare to the dealer",
        _bare("the counts"),
        dealer_checks.the_dealer_reads_nothing,
    ),
    Mutant(
        "shares of the test bare to the dealer",
        _bare("the test"),
        dealer_checks.the_dealer_reads_nothing,
    ),
    Mutant(
        "one mask for two messages",
        _one_mask_for_all,
        dealer_checks.a_mask_is_for_one_message,
    ),
    Mutant(
        "a mask that does not cancel",
        _both_add_the_mask,
        checks.counts_are_exact_but_for_the_noise,
        SecAggError,
    ),
    Mutant(
        "bits given out unpaid",
        _unpaid,
        checks.a_site_pays_before_its_bits_are_given_out,
    ),
    Mutant(
        "one pair charged",
        _event(_one_pair),
        checks.nobody_moves_counts_further_than_the_event,
    ),
    Mutant(
        "shared places forgotten",
        _event(_without_collisions),
        checks.nobody_moves_counts_further_than_the_event,
    ),
    Mutant(
        "sizes for nothing",
        _event(_no_sizes),
        checks.the_event_is_one_of_shares,
    ),
    Mutant(
        "values of one aggregator counted",
        _event(lambda _, event: replace(event, samples=event.samples // 2)),
        checks.the_event_is_one_of_shares,
    ),
    Mutant(
        "charged as exact Gaussian noise",
        _event(lambda _, event: replace(event, noise="gaussian")),
        checks.the_event_is_one_of_shares,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
