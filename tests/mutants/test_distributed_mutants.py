# SPDX-License-Identifier: Apache-2.0
"""Mutants of noise in shares: what somebody might get wrong, and what notices.

Written like `test_mutants.py`: every check passes on the real code and fails on its
mutants.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lexfed.privacy import (
    distributed,
    distributed_price,
    poisson,
    skellam,
)
from lexfed.privacy.distributed import Cohort, SharedGroup, SharedRelease
from lexfed.privacy.noise import rounded_gaussian
from lexfed.privacy.rdp import ORDERS, _closed_form
from lexfed.privacy.ring_encoding import Encoding
from support import distributed_checks as checks

Patch = pytest.MonkeyPatch


def _half_of_the_divergence(patch: Patch) -> None:
    real = skellam.curve
    patch.setattr(skellam, "curve", lambda m, b, a, o=ORDERS: real(m, b, a, o) / 2)


def _two_per_cent_less(patch: Patch) -> None:
    real = skellam.curve
    patch.setattr(skellam, "curve", lambda m, b, a, o=ORDERS: 0.98 * real(m, b, a, o))


def _gaussian_price(patch: Patch) -> None:
    def broken(
        variance: float, l2: float, _: float, orders: Sequence[int] = ORDERS
    ) -> Any:
        return np.array(orders, dtype=float) * l2**2 / (2 * variance)

    patch.setattr(skellam, "curve", broken)


def _variance_of_every_site(patch: Patch) -> None:
    patch.setattr(SharedGroup, "variance", lambda self, c: 2 * self.half * c.sites)


def _replace_priced_as_add(patch: Patch) -> None:
    patch.setattr(distributed_price, "sensitivity", lambda _: 1.0)


def _shares_for_everybody(patch: Patch) -> None:
    patch.setattr(Cohort, "honest", property(lambda self: self.sites))


def _deviation_for_variance(patch: Patch) -> None:
    patch.setattr(
        distributed, "skellam", lambda s, half, n: skellam.skellam(s, half // 2, n)
    )


def _proposals_unweighed(patch: Patch) -> None:
    # As if the rounded Gaussian of deviation sqrt(L) itself were the Poisson law, drawn
    # five per cent too narrow.
    patch.setattr(
        poisson, "rounded_gaussian", lambda s, z, n: rounded_gaussian(s, 0.95 * z, n)
    )


def _rounding_to_nearest(patch: Patch) -> None:
    patch.setattr(np, "trunc", np.rint)


def _rounding_of_sums_unpaid(patch: Patch) -> None:
    patch.setattr(Encoding, "clip_to_in_sums", lambda self, _: self.clip_to)


def _central_formula(patch: Patch) -> None:
    def broken(_: Any, rate: float, orders: Sequence[int], __: Any) -> Any:
        # Sampled Gaussian of the moved distance under add/remove, as if it were that.
        square = np.array([128.0**2 / 16_000.0])
        return _closed_form(rate, square, tuple(orders))[0]

    patch.setattr(distributed_price, "sampled", broken)


def _no_threshold(patch: Patch) -> None:
    patch.setattr(Cohort, "threshold", property(lambda _: 1))


def _one_sampler_charged(patch: Patch) -> None:
    one = property(lambda self: sum(g.encoding.dimension for g in self.groups))
    patch.setattr(SharedRelease, "samples", one)


def _ring_for_one_unit(patch: Patch) -> None:
    real = Encoding.bound
    patch.setattr(
        Encoding, "bound", lambda self, _, deviation: real(self, 1, deviation)
    )


def _ring_without_noise(patch: Patch) -> None:
    patch.setattr(Encoding, "bound", lambda self, n, _: math.floor(n * self.l2))


MUTANTS: dict[str, tuple[Callable[[Patch], None], Callable[[], None]]] = {
    "half of the divergence": (
        _half_of_the_divergence,
        checks.the_price_covers_the_exact_divergence,
    ),
    "two per cent less than the divergence": (
        _two_per_cent_less,
        checks.the_price_covers_the_exact_divergence,
    ),
    "the variance of colluders and dropouts counted": (
        _variance_of_every_site,
        checks.the_price_covers_the_exact_divergence,
    ),
    "replace-one priced as add/remove": (
        _replace_priced_as_add,
        checks.the_price_covers_the_exact_divergence,
    ),
    "the price of a Gaussian": (
        _gaussian_price,
        checks.the_price_is_that_of_the_theorem,
    ),
    "shares sized for everybody": (
        _shares_for_everybody,
        checks.honest_shares_have_the_charged_variance,
    ),
    "half of the variance drawn": (
        _deviation_for_variance,
        checks.honest_shares_have_the_charged_variance,
    ),
    "proposals five per cent too narrow": (
        _proposals_unweighed,
        checks.honest_shares_have_the_charged_variance,
    ),
    "rounding to nearest": (
        _rounding_to_nearest,
        checks.contributions_keep_their_norm,
    ),
    "rounding of sums not paid for": (
        _rounding_of_sums_unpaid,
        checks.rounded_sums_keep_the_charge,
    ),
    "sampling priced by the central formula": (
        _central_formula,
        checks.sampling_is_priced_for_any_noise,
    ),
    "no threshold for unmasking": (_no_threshold, checks.small_cohorts_say_no),
    "one site's sampler charged": (
        _one_sampler_charged,
        checks.every_sites_sampler_is_charged,
    ),
    "a ring for one unit": (_ring_for_one_unit, checks.sums_fit_their_ring),
    "a ring without room for noise": (_ring_without_noise, checks.sums_fit_their_ring),
}


@pytest.mark.parametrize("check", dict.fromkeys(check for _, check in MUTANTS.values()))
def test_the_real_code_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch: Patch) -> None:
    apply, check = MUTANTS[name]
    apply(monkeypatch)
    with pytest.raises(AssertionError):
        check()
