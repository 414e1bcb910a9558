# SPDX-License-Identifier: Apache-2.0
"""Premises of a claim: the facts that `proof.build_claim` computes it from.

`trust = "distributed"` says that the sites add the noise, in shares, and that sums are
opened only with enough of them. A reader of the claim has to know how many sites that
takes and how many may work together, so it states the cohort, and what follows from it:

    honest      sites - colluders - dropouts: shares that nobody else knows
    threshold   answers that unmasking takes, 2 t > sites + colluders

The price of shares is Theorem D of `noise.shares`: Rényi accounting, no sampling. With
any other trust the noise is Gaussian, and there is no cohort.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lexfed.errors import ClaimError, ConfigError
from lexfed.privacy.claim.lines import ClaimProfile
from lexfed.privacy.claim.schema import CohortRecord
from lexfed.privacy.noise import gaussian, poisson
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.scopes import CountedRelease
from lexfed.terms import (
    Accountant,
    ClaimedMechanism,
    Guarantee,
    Neighbours,
    Trust,
    Unit,
)
from lexfed.tiers import Tier

_VALUES = round(poisson.SKELLAM_VARIATION / gaussian.TOTAL_VARIATION)
"""Gaussian values that a value of a share counts as, in `samples`."""


@dataclass(frozen=True)
class ClaimedRun:
    """The run that a claim is about, with every planned release, whether made or not.

    `private` says that the noise came from a secure source, not from a seed; gaps of
    the guarantee are `not_covered`, in words.
    """

    releases: Sequence[CountedRelease]
    rounds: int
    private: bool
    not_covered: Sequence[str] = ()


@dataclass(frozen=True)
class ClaimTerms:
    """The form of the guarantee: delta and accountant are those of every line."""

    delta: float
    neighbours: Neighbours
    accountant: Accountant
    guarantee: Guarantee = "envelope"


@dataclass(frozen=True)
class MechanismFacts:
    """The mechanism that made the releases.

    `cohort` are the sites that add noise, where `trust` is `distributed`; `grids` has
    the integer grid of each group of a release, by the group's name.
    """

    name: ClaimedMechanism
    trust: Trust
    cohort: NoiseCohort | None = None
    grids: Mapping[str, Grid] = field(default_factory=dict)


@dataclass(frozen=True)
class ProtectedPopulation:
    """The units that are protected.

    Attributes:
        columns: columns that enter the model, by tier.
        records_per_person: number of rows that one unit may have.
        sites_per_person: number of sites at which one person may be.
        profiles: sites with budgets of their own, by the name of the budget.
        classes: factor on contributions of units of a class, at most 1.
    """

    unit: Unit
    columns: Mapping[Tier, Sequence[str]]
    records_per_person: int = 1
    sites_per_person: int = 1
    profiles: Mapping[str, ClaimProfile] = field(default_factory=dict)
    classes: Mapping[str, float] = field(default_factory=dict)


def require_trust(
    trust: Trust, cohort: NoiseCohort | None, releases: Sequence[CountedRelease]
) -> None:
    """Refuse a claim whose noise is not that of its trust.

    A cohort may not be missing or out of place, and no release may count fewer noise
    values than all sites draw. The accountant is not looked at here: pricing a release
    with noise in shares by another than `rdp` is refused by `scopes.require_renyi`.
    """
    distributed = trust == "distributed"
    if distributed and cohort is None:
        raise ClaimError(
            "claim: `trust` is `distributed`, but no `cohort` says who adds noise"
        )
    if cohort is not None and not distributed:
        raise ClaimError(f"claim: `trust` is `{trust}`, which has no `cohort`")
    for release, _ in releases:
        if release.noise != ("skellam" if distributed else "gaussian"):
            raise ClaimError(
                f"claim: `trust` is `{trust}`, but the noise of release "
                f"`{release.name}` is {release.noise}"
            )
        if cohort is None:
            continue
        # Each site draws a value for every coordinate, and a group has at least one.
        if release.samples < _VALUES * cohort.sites * len(release.groups):
            raise ClaimError(
                f"claim: release `{release.name}` counts {release.samples} noise "
                f"values, and {cohort.sites} sites draw more"
            )


def cohort_record(cohort: NoiseCohort | None) -> CohortRecord | None:
    """Return the cohort as a claim states it."""
    if cohort is None:
        return None
    stated = ("sites", "colluders", "dropouts", "honest", "threshold")
    return CohortRecord(**{name: getattr(cohort, name) for name in stated})


def stated_cohort(record: CohortRecord | None) -> NoiseCohort | None:
    """Return the cohort that a claim states; refuse one that contradicts itself."""
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
