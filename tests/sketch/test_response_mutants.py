# SPDX-License-Identifier: Apache-2.0
"""Mutants of randomised response; written like `test_paying_mutants`."""

from dataclasses import replace

import numpy as np

from lexfed.arrays import Bools
from lexfed.randomness import RandomSource, bernoulli
from lexfed.sketch.releases import randomised_response
from lexfed.sketch.releases.randomised_response import (
    FlippedFilter,
    FlipPlan,
    flip_bits,
)
from support.mutant import Mutant, Patch, both_tests
from support.sketch import response_checks as checks


def _bits_of_one_item(patch: Patch) -> None:
    patch.setattr(FlipPlan, "changed", property(lambda _: 1))


def _replaced_as_removed(patch: Patch) -> None:
    patch.setattr(randomised_response, "sensitivity", lambda _: 1.0)


def _flips_rounded_down(patch: Patch) -> None:
    def parts(plan: FlipPlan) -> int:
        return int(2**40 / (1.0 + np.exp(plan.budget / plan.changed)))

    patch.setattr(FlipPlan, "_parts", property(parts))


def _zeros_only_flipped(patch: Patch) -> None:
    def broken(plan: FlipPlan, bits: Bools, source: RandomSource) -> FlippedFilter:
        flipped = flip_bits(plan, bits, source)
        return replace(flipped, bits=flipped.bits | bits)

    patch.setattr(randomised_response, "flip_bits", broken)


def _flipped_half_as_often(patch: Patch) -> None:
    patch.setattr(
        randomised_response, "bernoulli", lambda s, rate, n: bernoulli(s, rate / 2, n)
    )


def _one_coin_for_two_bits(patch: Patch) -> None:
    patch.setattr(
        randomised_response,
        "bernoulli",
        lambda s, rate, n: np.repeat(bernoulli(s, rate, n // 2), 2),
    )


MUTANTS = (
    Mutant(
        "bits of one item for all items",
        _bits_of_one_item,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "a person replaced as if removed",
        _replaced_as_removed,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "flips rounded down",
        _flips_rounded_down,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "only zeros flipped",
        _zeros_only_flipped,
        checks.every_bit_is_flipped_as_often_as_stated,
    ),
    Mutant(
        "bits flipped half as often",
        _flipped_half_as_often,
        checks.every_bit_is_flipped_as_often_as_stated,
    ),
    Mutant(
        "one coin for two bits",
        _one_coin_for_two_bits,
        checks.coins_are_independent,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
