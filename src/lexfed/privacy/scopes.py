# SPDX-License-Identifier: Apache-2.0
"""Guarantees of a run, for the whole record and for one attribute of it (Theorem C).

Putting more noise on the block of a sensitive column does not protect that column: in
an ordinary model every block's gradient depends on every column through the residual.
The tier cascade trains one tower per tier, least sensitive first, and no release of a
lower tower depends on a column of a higher tier. What a release may depend on is its
`reads`; everything below follows from it.

**Theorem C.** Let each release be a sum over units of contributions clipped to C, plus
N(0, sigma^2 I) (or the rounded Gaussian on a grid), with fresh independent coins per
release, and let it depend on columns of tiers <= `reads` and on earlier releases only.

1. *Record.* The run is the adaptive composition of all releases, under add/remove with
   sensitivity C, under replace-one with 2C.
2. *Attribute of tier t*: one unit's values in columns of tier t replaced, its other
   columns and its label fixed. The run is the composition of the releases with
   `reads` >= t, under replace-one.
3. *Label*: as the record under replace-one; a diagnosis that is the label is protected
   by the record's guarantee, not by its tier's.
4. *A person at m sites*, without sampling: every sensitivity times m.

*Proof*: guarantees, section 6. A release with `reads` < t (or None) has the same
conditional law on neighbours in tier t and adds no divergence; any other is dominated
by the replace-one pair of the sampled Gaussian, and dominating pairs compose adaptively
[ZDW22, Thm. 10]. In (4) m contributions move together; with sampling their coins are
independent and no bound of this form holds, so that is refused.

Mechanisms without towers release sums that read the top tier, so by (2) their claim for
every tier is the record's under replace-one.

**Noise in shares.** The theorem uses the noise of a release only through its divergence
for a given move of the sum. By Theorem D (`noise.shares`) that of Skellam noise in
shares is at most the Gaussian's at every integer order, so 1 to 4 hold for it in Rényi
accounting, and are not proven in any other: `require_renyi`.

A tier's claim says nothing about columns of lower tiers that correlate with it.

**Rounding against us** (`up`, `down`). A stated number is never smaller than the
computed one, so it is rounded up; a budget that was computed is rounded down first:
with as many digits as a stated number, that one cannot come out above it.
"""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from lexfed import checks
from lexfed.errors import ClaimError
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.releases import Release
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier

CountedRelease = tuple[Release, int]
"""A release and how many rounds of it."""

DIGITS = 8
"""Significant digits of a stated epsilon: at most 1e-7 above the computed one."""

TOLERANCE = 1e-9
"""Between the floats of two machines."""


def release_per_person(release: Release, sites_per_person: int) -> Release:
    """Return the release as a person who may be at several sites pays for it.

    Sampled releases have no such price: they are refused by a `ClaimError`.
    """
    if sites_per_person == 1:
        return release
    checks.in_range(1, 2**20, sites_per_person=sites_per_person)
    if release.sampling_rate < 1.0:
        raise ClaimError(
            f"release `{release.name}` samples units, and a person may be at "
            f"{sites_per_person} sites: there is no proof for that",
            "use `sampling_rate = 1`, or keep every person at one site",
        )
    return release.scaled(sites_per_person)


def releases_per_person(
    releases: Iterable[CountedRelease], sites_per_person: int
) -> tuple[CountedRelease, ...]:
    """Return releases as a person who may be at several sites pays for them."""
    return tuple((release_per_person(r, sites_per_person), n) for r, n in releases)


def require_renyi(releases: Iterable[CountedRelease], accountant: Accountant) -> None:
    """Refuse noise in shares to all accountants but the one it is proven for."""
    if accountant == "rdp":
        return
    for release, _ in releases:
        if release.noise == "skellam":
            raise ClaimError(
                f"release `{release.name}` has noise in shares, and its price is "
                f"proven in Rényi accounting only, not by `{accountant}`",
                'use `accountant = "rdp"`',
            )


def steps_of(releases: Iterable[CountedRelease]) -> tuple[Step, ...]:
    """Return the steps that an accountant composes."""
    return tuple(
        Step(release.noise_multiplier, release.sampling_rate, count)
        for release, count in releases
    )


def tier_releases(
    releases: Iterable[CountedRelease], tier: Tier
) -> tuple[CountedRelease, ...]:
    """Return the releases that may depend on columns of that tier."""
    return tuple(
        (release, count)
        for release, count in releases
        if release.reads is not None and release.reads >= tier
    )


def record_epsilon(
    releases: Sequence[CountedRelease],
    delta: float,
    neighbours: Neighbours,
    accountant: Accountant = "pld",
    sites_per_person: int = 1,
) -> float:
    """Return the epsilon of a whole record, by Theorem C.1.

    What has no proof is refused by a `ClaimError`: a person at several sites under
    sampling, and noise in shares by another accountant than `rdp`.
    """
    require_renyi(releases, accountant)
    paid = releases_per_person(releases, sites_per_person)
    return epsilon(steps_of(paid), delta, neighbours, accountant)


def tier_epsilon(
    releases: Sequence[CountedRelease],
    tier: Tier,
    delta: float,
    accountant: Accountant = "pld",
    sites_per_person: int = 1,
) -> float:
    """Return the epsilon of an attribute of that tier, by Theorem C.2.

    Guarantees:
        Never above the record's replace-one epsilon.
        A more sensitive tier never has a larger epsilon.
        0 if no release reads the tier.
    """
    read = tier_releases(releases, tier)
    return record_epsilon(read, delta, "replace-one", accountant, sites_per_person)


def label_epsilon(
    releases: Sequence[CountedRelease],
    delta: float,
    accountant: Accountant = "pld",
    sites_per_person: int = 1,
) -> float:
    """Return the epsilon of the label, by Theorem C.3."""
    return record_epsilon(releases, delta, "replace-one", accountant, sites_per_person)


def up(value: float, digits: int = DIGITS) -> float:
    """Return the smallest number with so many digits that is not below the value.

    >>> up(1.23456789012, digits=4), up(2.0)
    (1.235, 2.0)
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    # The float of a decimal may be half an ulp below it, which is still above the
    # value unless both are the same float.
    return max(value, float(context.create_decimal_from_float(value)))


def down(value: float, digits: int = DIGITS) -> float:
    """Return the largest number with so many digits that is not above the value.

    >>> down(1.23456789012, digits=4)
    1.234
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    # By its shortest decimal: what a person wrote in few digits stays what it is.
    return min(value, float(context.create_decimal(repr(value))))
