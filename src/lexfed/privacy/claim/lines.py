# SPDX-License-Identifier: Apache-2.0
"""The lines of a claim: their price, and the delta each pays for the noise sampler.

The claim itself is the price of the plan, and the plan is what the least protected
site is charged for. Beside it stand guarantees that are stronger for some:

* **Profiles.** A unit of a site with weight w <= 1 moves each release by w times the
  clip at most, and only if its own coin lets it in, so its guarantee is the price of
  the *site's* releases (guarantees, section 7).
* **Classes.** Contributions of a unit of class c are multiplied by a scale <= 1, by a
  public rule on the unit's own columns (Theorem K, `budget.record_classes`). It says
  nothing about *whether* a unit is of the class; that is covered by the claim itself,
  because no contribution is above the clip.

Neither names anybody: a profile says how many sites, a class not even how many units.

**Sampler.** A line that states epsilon pays N (1 + e^epsilon) 2^-90 for the N noise
values of the whole run (guarantees, section 9), with *its own* epsilon: e^epsilon with
the label's replace-one epsilon is another number altogether. A record whose error is
more than delta has no claim. The label has no budget; where its error is more than
delta its line says so by its figure, and the claim lists it among what is not covered.

Claims of version 1 state one figure, that of the record, for all lines. They are read
as long as no line's own figure is above the stated one and above a thousandth of delta,
less than any text shows of it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lexfed.errors import ClaimError
from lexfed.privacy.claim.schema import (
    Claim,
    ClassRecord,
    CountedRecord,
    ProfileRecord,
    counted_releases,
)
from lexfed.privacy.filters import costs_no_more
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import (
    TOLERANCE,
    CountedRelease,
    label_epsilon,
    record_epsilon,
    tier_epsilon,
    up,
)
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier

SHOWN = 1e-3
"""Part of delta that a claim of version 1 may leave out."""


@dataclass(frozen=True)
class SamplerError:
    """The sampler's error over all noise values of a run, and every line's delta."""

    samples: int
    delta: float

    def at(self, epsilon: float) -> float:
        """Return the error that a line with that epsilon states, rounded up."""
        return up(delta_sampler(self.samples, epsilon))

    def of_record(self, epsilon: float) -> float:
        """Return the error of the record's line; above delta there is no claim."""
        error = self.at(epsilon)
        if error > self.delta:
            raise ClaimError(
                f"claim: at the record's epsilon of {epsilon:.4g} the error of the "
                f"noise sampler, times e^ε, is {error:.2g}: more than delta, "
                f"{self.delta:g}",
                "choose a smaller `budget.epsilon`; so large a one means nothing",
            )
        return error

    def empty_lines(self, lines: Mapping[str, float]) -> tuple[str, ...]:
        """Name the lines without a guarantee, given epsilons by names in words."""
        return tuple(
            f"{name}: at its epsilon of {epsilon:.4g} the error of the noise sampler "
            "is more than delta, so that its line says nothing"
            for name, epsilon in lines.items()
            if self.at(epsilon) > self.delta
        )


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
        terms = self.delta, self.neighbours, self.accountant, self.sites_per_person
        return up(record_epsilon(releases, *terms))

    def tier(self, releases: Sequence[CountedRelease], tier: Tier) -> float:
        """Return the epsilon of an attribute of that tier, rounded up."""
        terms = self.delta, self.accountant, self.sites_per_person
        return up(tier_epsilon(releases, tier, *terms))

    def label(self, releases: Sequence[CountedRelease]) -> float:
        """Return the label's epsilon, rounded up."""
        terms = self.delta, self.accountant, self.sites_per_person
        return up(label_epsilon(releases, *terms))


@dataclass(frozen=True)
class ClaimProfile:
    """Sites with the same budget: their number, and the releases of each of them."""

    sites: int
    releases: tuple[CountedRelease, ...]


def scaled_releases(
    releases: Iterable[CountedRelease], scale: float
) -> tuple[CountedRelease, ...]:
    """Return the releases with every clip times the scale."""
    return tuple((release.scaled(scale), count) for release, count in releases)


def profile_records(
    pricing: ClaimPricing,
    plan: Sequence[CountedRelease],
    profiles: Mapping[str, ClaimProfile],
    tiers: Iterable[Tier],
) -> dict[str, ProfileRecord]:
    """Return the guarantee of each profile, priced from its own releases."""
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
    """Compare profiles and classes with what was computed from their releases."""
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


def check_sampler(claim: Claim, samples: int) -> None:
    """Require that every line pays for the sampler at the epsilon it states."""
    for line, epsilon, stated in _lines(claim):
        least = delta_sampler(samples, epsilon)
        if (stated is None) != (claim.version == 1 and line != "record"):
            raise ClaimError(
                f"claim: version {claim.version} and `delta_sampler` of the {line} do "
                "not go together"
            )
        if stated is None:
            stated = max(claim.delta_sampler, SHOWN * claim.delta)
        if stated < least * (1.0 - TOLERANCE):
            raise ClaimError(
                f"claim: `delta_sampler` of the {line} is {stated:g}, at its epsilon "
                f"it is no less than {least:g}"
            )


def check_uncovered_lines(claim: Claim) -> None:
    """Require that `not_covered` names the lines without a guarantee."""
    lines = {f"tier {name}": row.delta_sampler for name, row in claim.tiers.items()}
    lines["the label"] = claim.label.delta_sampler
    for name, stated in lines.items():
        named = any(gap.startswith(f"{name}: ") for gap in claim.not_covered)
        if (stated or 0.0) > claim.delta and not named:
            raise ClaimError(
                f"claim: `delta_sampler` of {name} is more than delta, and "
                "`not_covered` does not say so"
            )


def _lines(claim: Claim) -> Iterator[tuple[str, float, float | None]]:
    """Yield the name, the epsilon and the stated figure of every line."""
    yield "record", claim.epsilon, claim.delta_sampler
    yield "label", claim.label.epsilon, claim.label.delta_sampler
    for tier, row in claim.tiers.items():
        yield f"tier {tier}", row.epsilon, row.delta_sampler
    for name, profile in claim.profiles.items():
        largest = max(profile.epsilon, profile.label, *profile.tiers.values())
        yield f"profile {name}", largest, profile.delta_sampler
    for name, one in claim.classes.items():
        yield f"class {name}", one.epsilon, one.delta_sampler


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
    charged, planned = (sum(count for _, count in rows) for rows in (releases, plan))
    pairs = paired_charges(releases, plan)
    if charged != planned or not all(costs_no_more(*pair) for pair in pairs):
        raise ClaimError(
            f"claim: `profiles.{name}.releases` are not the planned ones with smaller "
            "clips or rates"
        )


def paired_charges(
    charged: Sequence[CountedRelease], plan: Sequence[CountedRelease]
) -> Iterator[tuple[Release, Release]]:
    """Yield the charges of the two for the same rounds, each different pair once."""
    left, right = deque(charged), deque(plan)
    while left and right:
        (release, rounds), (planned, others) = left.popleft(), right.popleft()
        both = min(rounds, others)
        if both:
            yield release, planned
        # Counts come from a file and may be huge: rounds are never listed one by one.
        if rounds > both:
            left.appendleft((release, rounds - both))
        if others > both:
            right.appendleft((planned, others - both))
