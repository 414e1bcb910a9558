# SPDX-License-Identifier: Apache-2.0
"""Ways to get the parts of secure aggregation wrong, each noticed by a check."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.secagg.envelopes import key_agreement
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives import keystreams, shamir
from support.mutant import Mutant, Patch, both_tests
from support.secagg import checks as secagg_checks


def _points_from_zero(patch: Patch) -> None:
    shamir._powers.cache_clear()
    patch.setattr(shamir, "points", lambda n: np.arange(n, dtype=np.int64))


def _weights_by_size(patch: Patch) -> None:
    real = shamir._weights.__wrapped__
    kept: dict[int, NDArray[np.float64]] = {}

    def broken(held: tuple[int, ...]) -> NDArray[np.float64]:
        return kept.setdefault(len(held), real(held))

    patch.setattr(shamir, "_weights", broken)


def _counter_from(first: int) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(keystreams, "_FIRST_COUNTER", first)


def _context_without_the_model(patch: Patch) -> None:
    real: property = vars(Context)["digest"]

    def broken(self: Context) -> Any:
        return real.__get__(replace(self, model=bytes(32)))

    patch.setattr(Context, "digest", property(broken))


def _one_share_too_few(patch: Patch) -> None:
    real = Threshold.malicious

    def broken(*asked: Any) -> Threshold:
        found = real(*asked)
        return replace(found, shares=found.shares - 1)

    patch.setattr(Threshold, "malicious", broken)


MUTANTS = (
    Mutant(
        "a share at point 0",
        _points_from_zero,
        secagg_checks.no_share_is_the_secret,
    ),
    Mutant(
        "weights of another set of the same size",
        _weights_by_size,
        secagg_checks.every_set_opens_the_secret,
    ),
    Mutant(
        "counter from 0",
        _counter_from(0),
        secagg_checks.the_stream_counts_from_two,
    ),
    Mutant(
        "counter from 1, where GCM's tag is",
        _counter_from(1),
        secagg_checks.the_stream_counts_from_two,
    ),
    Mutant(
        "context without the model's hash",
        _context_without_the_model,
        secagg_checks.another_model_is_another_key,
    ),
    Mutant(
        "several spellings of one public key",
        lambda patch: patch.setattr(key_agreement, "CURVE_PRIME", 2**256),
        secagg_checks.a_key_has_one_spelling,
    ),
    Mutant(
        "t one too small",
        _one_share_too_few,
        secagg_checks.a_lying_server_never_gets_both_kinds,
    ),
)


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Tables that a mutant made must not outlive it."""
    yield
    shamir._powers.cache_clear()


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
