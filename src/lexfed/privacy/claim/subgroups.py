# SPDX-License-Identifier: Apache-2.0
"""Parts of a claim: sites with budgets of their own, and classes of units.

The claim itself is the price of the plan, and the plan is what the least protected
site is charged for. Beside it stand guarantees that are stronger for some:

* **Profiles.** The sum of a site with weight w <= 1 is multiplied by w after clipping,
  and a site may sample with a smaller rate. A unit of that site moves each release by
  w times the clip at most, and only if its own coin lets it in, so by Theorem C with
  these numbers its guarantee is the price of the *site's* releases. Noise is added to
  the sum over all sites and is the same for all of them.
* **Classes.** Contributions of a unit of class c are multiplied by a scale <= 1, by a
  public rule on the unit's own columns. For two data sets that differ in one unit which
  is of class c wherever it occurs, every clip shrinks to scale times itself: Theorem C
  with these clips. It says nothing about *whether* a unit is of the class; that is
  covered by the claim itself, because no contribution is above the clip.

Neither names anybody: a profile says how many sites, a class not even how many units.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lexfed.errors import ClaimError
from lexfed.privacy.claim.sampler_error import SamplerError
from lexfed.privacy.claim.schema import (
    Claim,
    ClassRecord,
    CountedRecord,
    ProfileRecord,
    counted_releases,
)
from lexfed.privacy.filters.envelope import reads_no_more
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.rounding import TOLERANCE, up
from lexfed.privacy.scopes import (
    CountedRelease,
    label_epsilon,
    record_epsilon,
    tier_epsilon,
)
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier


@dataclass(frozen=True)
class ClaimProfile:
    """Sites with the same budget.

    Attributes:
        sites: number of them.
        releases: charged to one of them, round by round as in the plan.
    """

    sites: int
    releases: tuple[CountedRelease, ...]


@dataclass(frozen=True)
class ClaimPricing:
    """The computation of every number of a claim."""

    delta: float
    neighbours: Neighbours
    accountant: Accountant
    sites_per_person: int
    sampler: SamplerError

    def record(self, releases: Sequence[CountedRelease]) -> float:
        """Return the record's epsilon, rounded up."""
        value = record_epsilon(
            releases, self.delta, self.neighbours, self.accountant,
            self.sites_per_person,
        )  # fmt: skip
        return up(value)

    def tier(self, releases: Sequence[CountedRelease], tier: Tier) -> float:
        """Return the epsilon of an attribute of that tier, rounded up."""
        value = tier_epsilon(
            releases, tier, self.delta, self.accountant, self.sites_per_person
        )
        return up(value)

    def label(self, releases: Sequence[CountedRelease]) -> float:
        """Return the label's epsilon, rounded up."""
        value = label_epsilon(
            releases, self.delta, self.accountant, self.sites_per_person
        )
        return up(value)


def scaled_releases(
    releases: Iterable[CountedRelease], scale: float
) -> tuple[CountedRelease, ...]:
    """Return the releases with every clip times the scale."""
    return tuple(
        (
            replace(
                release,
                groups=tuple(
                    ReleaseGroup(group.name, scale * group.clip, group.sigma)
                    for group in release.groups
                ),
            ),
            count,
        )
        for release, count in releases
    )


def profile_records(
    pricing: ClaimPricing,
    plan: Sequence[CountedRelease],
    profiles: Mapping[str, ClaimProfile],
    tiers: Iterable[Tier],
) -> dict[str, ProfileRecord]:
    """Return the guarantee of each profile, priced from its own releases.

    Raises:
        ClaimError: if a profile is charged for more than the plan, in any round.
    """
    read, records = sorted(tiers), {}
    for name, profile in sorted(profiles.items()):
        _require_within(name, plan, profile.releases)
        label = pricing.label(profile.releases)
        records[name] = ProfileRecord(
            sites=profile.sites,
            epsilon=pricing.record(profile.releases),
            delta=pricing.delta,
            delta_sampler=pricing.sampler.at(label),
            tiers={t.label: pricing.tier(profile.releases, t) for t in read},
            label=label,
            releases=CountedRecord.all_of(profile.releases),
        )
    return records


def class_records(
    pricing: ClaimPricing, plan: Sequence[CountedRelease], classes: Mapping[str, float]
) -> dict[str, ClassRecord]:
    """Return the guarantee of each class, by its name and scale."""
    records = {}
    for name, scale in sorted(classes.items()):
        epsilon = pricing.record(scaled_releases(plan, scale))
        records[name] = ClassRecord(
            scale=scale,
            epsilon=epsilon,
            delta=pricing.delta,
            delta_sampler=pricing.sampler.at(epsilon),
            neighbours=pricing.neighbours,
        )
    return records


def stated_profiles(claim: Claim) -> dict[str, ClaimProfile]:
    """Return the premises of the profiles of a claim."""
    return {
        name: ClaimProfile(record.sites, counted_releases(record.releases))
        for name, record in claim.profiles.items()
    }


def stated_classes(claim: Claim) -> dict[str, float]:
    """Return the scale of each class of a claim."""
    return {name: record.scale for name, record in claim.classes.items()}


def check_parts(claim: Claim, proof: Claim) -> None:
    """Compare profiles and classes with what was computed from their releases.

    Raises:
        ClaimError: if a stated number is smaller, or something else was derived.
    """
    for name, profile in claim.profiles.items():
        proven, where = proof.profiles[name], f"profiles.{name}"
        require_not_below(f"{where}.epsilon", profile.epsilon, proven.epsilon)
        require_not_below(f"{where}.label", profile.label, proven.label)
        require_equal(f"{where}.delta", profile.delta, proven.delta)
        require_equal(f"{where}.tiers", profile.tiers.keys(), proven.tiers.keys())
        for tier, epsilon in profile.tiers.items():
            require_not_below(f"{where}.tiers.{tier}", epsilon, proven.tiers[tier])
    for name, stated in claim.classes.items():
        computed, where = proof.classes[name], f"classes.{name}"
        require_not_below(f"{where}.epsilon", stated.epsilon, computed.epsilon)
        require_equal(f"{where}.delta", stated.delta, computed.delta)
        require_equal(f"{where}.neighbours", stated.neighbours, computed.neighbours)


def require_not_below(name: str, stated: float, proven: float) -> None:
    """Refuse a number that the releases do not prove."""
    if stated < proven * (1.0 - TOLERANCE):
        raise ClaimError(
            f"claim: `{name}` is {stated:g}, its releases prove no less than {proven:g}"
        )


def require_equal(name: str, stated: object, proven: object) -> None:
    """Refuse a value that does not follow from the releases."""
    if stated != proven:
        raise ClaimError(f"claim: `{name}` does not follow from the releases")


def _require_within(
    name: str, plan: Sequence[CountedRelease], releases: Sequence[CountedRelease]
) -> None:
    """Require that a profile costs no more than the plan, round by round."""
    counts = [sum(count for _, count in rows) for rows in (releases, plan)]
    pairs = paired_charges(releases, plan)
    if counts[0] != counts[1] or not all(_costs_no_more(*pair) for pair in pairs):
        raise ClaimError(
            f"claim: `profiles.{name}.releases` are not the planned ones with smaller "
            "clips or rates"
        )


def paired_charges(
    own: Sequence[CountedRelease], plan: Sequence[CountedRelease]
) -> Iterator[tuple[Release, Release]]:
    """Yield the charges of the two for the same rounds, each different pair once."""
    left, right = deque(own), deque(plan)
    while left and right:
        (mine, rounds), (planned, others) = left.popleft(), right.popleft()
        both = min(rounds, others)
        if both:
            yield mine, planned
        # Counts come from a file and may be huge: rounds are never listed one by one.
        if rounds > both:
            left.appendleft((mine, rounds - both))
        if others > both:
            right.appendleft((planned, others - both))


def _costs_no_more(own: Release, planned: Release) -> bool:
    return (
        own.name == planned.name
        and own.noise == planned.noise
        and len(own.groups) == len(planned.groups)
        and all(
            mine.name == group.name
            and mine.clip <= group.clip
            and mine.sigma >= group.sigma
            for mine, group in zip(own.groups, planned.groups, strict=True)
        )
        and own.sampling_rate <= planned.sampling_rate
        and reads_no_more(own, planned)
        and own.samples <= planned.samples
    )
