# SPDX-License-Identifier: Apache-2.0
"""Assumptions of a claim about the sites when nobody else is trusted with sums.

`trust = "distributed"` says that the sites add the noise, in shares, and that sums are
opened only with enough of them. Whoever reads the claim has to know how many sites that
takes and how many may work together, so it states the cohort, and what follows from it:

    honest      sites - colluders - dropouts: shares that nobody else knows
    threshold   answers that unmasking takes, 2 t > sites + colluders

The price of shares is Theorem D of `noise.shares`: Rényi accounting, no sampling. With
any other trust the noise is Gaussian, and there is no cohort.
"""

from collections.abc import Sequence

from lexfed.errors import ClaimError, ConfigError
from lexfed.privacy.claim.schema import CohortRecord
from lexfed.privacy.noise import gaussian, skellam
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.scopes import CountedRelease
from lexfed.terms import Trust

_VALUES = round(skellam.TOTAL_VARIATION / gaussian.TOTAL_VARIATION)
"""Gaussian values that a value of a share counts as, in `samples`."""


def require_trust(
    trust: Trust, cohort: NoiseCohort | None, releases: Sequence[CountedRelease]
) -> None:
    """Refuse a claim whose noise is not that of its trust.

    The accountant is not looked at here: pricing a release with noise in shares by
    another than `rdp` is refused by `scopes.require_renyi`.

    Raises:
        ClaimError: if a cohort is missing or out of place, a release has noise of the
            other kind, or it counts fewer noise values than all sites draw.
    """
    distributed = trust == "distributed"
    if distributed and cohort is None:
        raise ClaimError(
            "claim: `trust` is `distributed`, but no `cohort` says who adds noise"
        )
    if cohort is not None and not distributed:
        raise ClaimError(f"claim: `trust` is `{trust}`, which has no `cohort`")
    wanted = "skellam" if distributed else "gaussian"
    for release, _ in releases:
        if release.noise != wanted:
            raise ClaimError(
                f"claim: `trust` is `{trust}`, but the noise of release "
                f"`{release.name}` is {release.noise}"
            )
        # Each site draws a value for every coordinate, and a group has at least one.
        if cohort is not None and release.samples < _VALUES * cohort.sites * len(
            release.groups
        ):
            raise ClaimError(
                f"claim: release `{release.name}` counts {release.samples} noise "
                f"values, and {cohort.sites} sites draw more"
            )


def cohort_record(cohort: NoiseCohort | None) -> CohortRecord | None:
    """Return the cohort as a claim states it."""
    if cohort is None:
        return None
    return CohortRecord(
        sites=cohort.sites,
        colluders=cohort.colluders,
        dropouts=cohort.dropouts,
        honest=cohort.honest,
        threshold=cohort.threshold,
    )


def stated_cohort(record: CohortRecord | None) -> NoiseCohort | None:
    """Return the cohort that a claim states.

    Raises:
        ClaimError: if there is no such cohort, or what is stated to follow from it
            does not.
    """
    if record is None:
        return None
    try:
        cohort = NoiseCohort(record.sites, record.colluders, record.dropouts)
    except (ConfigError, ValueError) as error:
        raise ClaimError(f"claim: `cohort`: {error}") from error
    if cohort_record(cohort) != record:
        raise ClaimError(
            "claim: `cohort` contradicts itself: "
            f"{cohort.honest} honest and a threshold of {cohort.threshold} follow"
        )
    return cohort
