# SPDX-License-Identifier: Apache-2.0
"""Promises about noise in shares, as checks that also run on mutants."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lexfed.errors import ClaimError, ConfigError
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.accountants.rdp import curve
from lexfed.privacy.claim.proof import check_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.filters import dominates
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import (
    NoiseCohort,
    draw_share,
    half_variance,
    ring_bits,
    sum_bound,
)
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.privacy.scopes import record_epsilon
from lexfed.randomness import SeededSource
from lexfed.tiers import Tier
from support.privacy import skellam_exact
from support.privacy.claims import claim_of

COHORT = NoiseCohort(6, 1, 1)
STEP = 2.0**-7
VALUES = 60_000
ERROR = 6.11 * math.sqrt(2 / VALUES)
"""Standard errors of a variance for an error probability of 1e-9."""

SHARES = Release(
    "tower", (ReleaseGroup("all", 1.0, 4.0),), 1.0, Tier.SPECIAL, 4 * 6 * 100, "skellam"
)
GAUSSIAN = replace(SHARES, noise="gaussian")


def honest_variance(sigma: float) -> int:
    """Return the variance of the four shares that are left at least."""
    return 2 * half_variance(sigma, STEP, COHORT) * 4


def the_charged_gaussian_covers_the_exact_divergence() -> None:
    """Against Skellam variables of the honest shares' variance, moved by a clip."""
    for sigma in (0.5, 4.0):
        for order in (2, 3):
            (charged,) = curve([Step(sigma)], "add-remove", (order,))
            variance = honest_variance(sigma)
            assert charged >= skellam_exact.shifted(variance, 128, order)


def the_charged_gaussian_covers_the_published_bound() -> None:
    """With its correction, which exact numbers in one dimension do not ask for."""
    # On a coarse grid no rounding up to a whole share hides that it is missing.
    for sigma in (1.0, 2.0, 4.0):
        variance = 2 * half_variance(sigma, 1.0, COHORT) * 4
        (charged,) = curve([Step(sigma)], "add-remove", (2,))
        assert charged >= skellam_exact.published_bound(variance, 1, 1, 2)


def honest_shares_have_the_charged_variance() -> None:
    """The shares of the fewest honest sites that may be left."""
    # So fine that shares are drawn by rejection, not from a table.
    half = half_variance(1.0, 2.0**-11, COHORT)
    source = SeededSource(1)
    shares = [draw_share(source, [half], [VALUES]) for _ in range(4)]
    assert np.sum(shares, axis=0).var() >= 2.0**22 * (1 - ERROR)


def small_cohorts_say_no() -> None:
    """Three sites with a colluder survive no dropout."""
    try:
        NoiseCohort(3, 1, 1)
    except ConfigError:
        return
    raise AssertionError("accepted")


def sums_fit_their_ring() -> None:
    """Units that all pull one coordinate the same way, and loud noise."""
    for grid, half in [
        (Grid(1.0, 1.0, 1, 10_000, fineness=128.0), 1),
        (Grid(1.0, 1.0, 1, 1, fineness=128.0), 10**12),
    ]:
        total = grid.units * 128 + 6 * math.sqrt(2 * half * 6)
        assert 2 ** (ring_bits([sum_bound(grid, half, COHORT)]) - 1) > total


def coarse_grids_pay_for_rounding() -> None:
    """One unit more, wherever the rest of the sum lies between two grid points."""
    grid = Grid(1.0, 1.0, 400, 2, fineness=128.0)
    unit = np.full(400, grid.clip_to / 20)
    for place in np.linspace(-0.5, 0.5, 41):
        rest = np.full(400, place * grid.step)
        moved = grid.encode(rest + unit) - grid.encode(rest)
        assert np.linalg.norm(moved) * grid.step <= grid.clip


def shares_are_priced_by_renyi_only() -> None:
    """Neither accountants nor running totals take them for Gaussians."""
    total = RunningTotal(1e-6, "add-remove").after(SHARES)
    price = record_epsilon([(SHARES, 1)], 1e-6, "add-remove", "rdp")
    assert total.record >= price
    for accountant in ("pld", "gdp"):
        try:
            record_epsilon([(SHARES, 1)], 1e-6, "add-remove", accountant)
        except ClaimError:
            continue
        raise AssertionError(f"priced by {accountant}")


def noise_of_another_law_is_outside_the_plan() -> None:
    """A plan of shares does not admit Gaussian noise, nor the other way round."""
    assert not dominates(SHARES, GAUSSIAN)
    assert not dominates(GAUSSIAN, SHARES)


def claim(release: Release = SHARES, cohort: NoiseCohort | None = COHORT) -> Claim:
    """Return a claim of one release."""
    return claim_of(
        [(release, 1)],
        accountant="rdp",
        trust="central" if cohort is None else "distributed",
        rounds=1,
        columns={},
        cohort=cohort,
    )


def claims_fit_their_trust() -> None:
    """Lies about noise, cohort or the number of samples are refused."""
    sound = claim()
    check_claim(sound)
    assert sound.cohort is not None
    honest = sound.cohort.model_copy(update={"honest": 6})
    lies: list[Callable[[], object]] = [
        lambda: claim(GAUSSIAN),
        lambda: claim(SHARES, None),
        lambda: claim(replace(SHARES, samples=6)),
        lambda: check_claim(sound.model_copy(update={"cohort": honest})),
        lambda: check_claim(sound.model_copy(update={"cohort": None})),
    ]
    for place, lie in enumerate(lies):
        try:
            lie()
        except ClaimError:
            continue
        raise AssertionError(f"lie {place} believed")
