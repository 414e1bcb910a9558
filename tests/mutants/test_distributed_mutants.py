# SPDX-License-Identifier: Apache-2.0
"""Mutants of noise in shares: mistakes, and what notices each.

Every check passes on the real code and fails on its mutants.
"""

import math
from dataclasses import replace
from fractions import Fraction

from lexfed.privacy import filters, scopes
from lexfed.privacy.claim import proof
from lexfed.privacy.claim.schema import CohortRecord
from lexfed.privacy.noise import grids, poisson, shares
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import _Sum
from support.mutant import Mutant, Patch, both_tests
from support.privacy import distributed_checks as checks


def _correction_dropped(patch: Patch) -> None:
    patch.setattr(shares, "_CORRECTION", Fraction(0))


def _shares_for_everybody(patch: Patch) -> None:
    patch.setattr(NoiseCohort, "honest", property(lambda self: self.sites))


def _share_of_the_deviation(patch: Patch) -> None:
    real = shares.half_variance

    def broken(sigma: float, step: float, cohort: NoiseCohort) -> int:
        # 1/H of the deviation: 1/H^2 of the variance.
        return math.ceil(real(sigma, step, cohort) / cohort.honest)

    for module in (shares, checks):
        patch.setattr(module, "half_variance", broken)


def _half_of_the_variance(patch: Patch) -> None:
    patch.setattr(
        shares, "skellam", lambda s, half, n: poisson.skellam(s, half // 2, n)
    )


def _proposals_too_narrow(patch: Patch) -> None:
    patch.setattr(
        poisson, "rounded_gaussian", lambda s, z, n: rounded_gaussian(s, 0.95 * z, n)
    )


def _no_threshold(patch: Patch) -> None:
    patch.setattr(NoiseCohort, "threshold", property(lambda _: 1))


def _ring_without_units(patch: Patch) -> None:
    real = shares.sum_bound
    patch.setattr(
        checks,
        "sum_bound",
        lambda of, half, cohort: real(of, half, cohort) - (of.units - 1) * 128,
    )


def _ring_without_noise(patch: Patch) -> None:
    patch.setattr(shares, "_DEVIATIONS", 0.0)


def _rounding_unpaid(patch: Patch) -> None:
    whole = property(lambda self: self.clip)
    patch.setattr(grids.Grid, "clip_to", whole)


def _any_accountant(patch: Patch) -> None:
    patch.setattr(scopes, "require_renyi", lambda *_: None)


def _running_total_of_gaussians(patch: Patch) -> None:
    patch.setattr(_Sum, "renyi", property(lambda self: self.sampled is not None))


def _law_not_compared(patch: Patch) -> None:
    real = filters.dominates

    def broken(planned: Release, release: Release) -> bool:
        return real(planned, replace(release, noise=planned.noise))

    patch.setattr(checks, "dominates", broken)


def _any_trust(patch: Patch) -> None:
    patch.setattr(proof, "require_trust", lambda *_: None)


def _cohort_believed(patch: Patch) -> None:
    def broken(record: CohortRecord | None) -> NoiseCohort | None:
        if record is None:
            return None
        return NoiseCohort(record.sites, record.colluders, record.dropouts)

    patch.setattr(proof, "stated_cohort", broken)


MUTANTS = (
    Mutant(
        "the 5/2 of Theorem D dropped",
        _correction_dropped,
        checks.the_charged_gaussian_covers_the_published_bound,
    ),
    Mutant(
        "shares sized for everybody: the exact divergence is above the charge",
        _shares_for_everybody,
        checks.the_charged_gaussian_covers_the_exact_divergence,
    ),
    Mutant(
        "shares sized for everybody",
        _shares_for_everybody,
        checks.honest_shares_have_the_charged_variance,
    ),
    Mutant(
        "a share of the deviation: the exact divergence is above the charge",
        _share_of_the_deviation,
        checks.the_charged_gaussian_covers_the_exact_divergence,
    ),
    Mutant(
        "a share of the deviation instead of the variance",
        _share_of_the_deviation,
        checks.honest_shares_have_the_charged_variance,
    ),
    Mutant(
        "half of the variance drawn",
        _half_of_the_variance,
        checks.honest_shares_have_the_charged_variance,
    ),
    Mutant(
        "proposals five per cent too narrow",
        _proposals_too_narrow,
        checks.honest_shares_have_the_charged_variance,
    ),
    Mutant("no threshold for unmasking", _no_threshold, checks.small_cohorts_say_no),
    Mutant("a ring for one unit", _ring_without_units, checks.sums_fit_their_ring),
    Mutant(
        "a ring without room for noise", _ring_without_noise, checks.sums_fit_their_ring
    ),
    Mutant(
        "rounding of sums not paid for",
        _rounding_unpaid,
        checks.coarse_grids_pay_for_rounding,
    ),
    Mutant(
        "shares priced by any accountant",
        _any_accountant,
        checks.shares_are_priced_by_renyi_only,
    ),
    Mutant(
        "shares in running totals as Gaussians",
        _running_total_of_gaussians,
        checks.shares_are_priced_by_renyi_only,
    ),
    Mutant(
        "noise of any law within the plan",
        _law_not_compared,
        checks.noise_of_another_law_is_outside_the_plan,
    ),
    Mutant(
        "claims of any trust with any noise", _any_trust, checks.claims_fit_their_trust
    ),
    Mutant("a cohort believed", _cohort_believed, checks.claims_fit_their_trust),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
