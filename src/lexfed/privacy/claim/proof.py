# SPDX-License-Identifier: Apache-2.0
"""Claims about a model, computed from its releases and from nothing else.

A claim carries the releases it rests on. Building it prices them; loading it prices
them again and refuses a claim that says less than they cost, so an epsilon typed by
hand does not survive. Numbers are rounded up. The fields follow NIST SP 800-226 and
the deployment registry's schema; their names are those of the configuration.

The guarantee of a run is the price of its whole plan, also if the run ended early or
adapted: pass the planned releases. What was released is held to them by a filter.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pydantic import ValidationError

from lexfed.errors import ClaimError
from lexfed.privacy.claim.lines import (
    ClaimPricing,
    SamplerError,
    check_parts,
    check_sampler,
    check_uncovered_lines,
    class_records,
    profile_records,
    require_equal,
    require_not_below,
    stated_classes,
    stated_profiles,
)
from lexfed.privacy.claim.premises import (
    ClaimedRun,
    ClaimTerms,
    MechanismFacts,
    ProtectedPopulation,
    cohort_record,
    require_trust,
    stated_cohort,
)
from lexfed.privacy.claim.schema import (
    AccountantRecord,
    Claim,
    CountedRecord,
    GridRecord,
    LabelRecord,
    MechanismRecord,
    SamplingRecord,
    TierRecord,
    counted_releases,
)
from lexfed.privacy.filters import filter_name
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import CLIP_BIT, MOST_SAMPLES
from lexfed.privacy.scopes import CountedRelease, tier_releases
from lexfed.terms import ClaimedMechanism, Guarantee, Unit
from lexfed.tiers import Tier

RELEASED = "the noised sum of every round and all models computed from them"
_SECRECY: Mapping[Unit, str] = {
    "record": "each site keeps its coins; the guarantee is against those without them",
    "client": "the coordinator flips the coins; the guarantee is against others only",
}


def build_claim(
    run: ClaimedRun,
    terms: ClaimTerms,
    mechanism: MechanismFacts,
    population: ProtectedPopulation,
) -> Claim:
    """Compute the claim of a run from its releases.

    Guarantees:
        Every number is computed from the releases, a profile's from its own, and
        rounded up, by at most 1e-7.
        No profile and no class has a larger epsilon than the claim.
        Every line pays for the noise sampler at its own epsilon; a label or tier for
        which that is more than delta is among what is not covered.
        A claim with seeded noise is stamped.

    Raises:
        ClaimError: if the releases do not prove a claim of this form, or the sampler's
            error at the record's epsilon is more than delta.
    """
    releases, columns, delta = run.releases, population.columns, terms.delta
    cohort = mechanism.cohort
    _require_mechanism(mechanism.name, releases, columns)
    require_trust(mechanism.trust, cohort, releases)
    sampler = SamplerError(_samples(releases, terms.guarantee), delta)
    pricing = ClaimPricing(
        delta, terms.neighbours, terms.accountant, population.sites_per_person, sampler
    )
    record, label = pricing.record(releases), pricing.label(releases)
    error = sampler.of_record(record)
    tiers = {}
    for tier in sorted(columns):
        epsilon = pricing.tier(releases, tier)
        tiers[tier.label] = TierRecord(
            epsilon=epsilon,
            delta=delta,
            delta_sampler=sampler.at(epsilon),
            columns=tuple(columns[tier]),
            reads=tuple(
                dict.fromkeys(r.name for r, _ in tier_releases(releases, tier))
            ),
        )
    lines = {f"tier {name}": row.epsilon for name, row in tiers.items()}
    lines["the label"] = label
    return Claim.model_validate(
        {
            "stamp": None if run.private else "NOT PRIVATE",
            "unit": population.unit,
            "records_per_person": population.records_per_person,
            "sites_per_person": population.sites_per_person,
            "neighbours": terms.neighbours,
            "epsilon": record,
            "delta": delta,
            "delta_sampler": error,
            "accountant": _accountant(terms, releases),
            "mechanism": MechanismRecord(
                name=mechanism.name,
                noise="rounded-gaussian" if cohort is None else "skellam-shares",
                grid=_grids(mechanism.grids),
            ),
            "sampling": _sampling(releases, population.unit),
            "rounds": run.rounds,
            "trust": mechanism.trust,
            "cohort": cohort_record(cohort),
            "released": RELEASED,
            "tiers": tiers,
            "label": LabelRecord(
                epsilon=label, delta=delta, delta_sampler=sampler.at(label)
            ),
            "not_covered": (*run.not_covered, *sampler.empty_lines(lines)),
            "releases": CountedRecord.all_of(releases),
            "profiles": profile_records(
                pricing, releases, population.profiles, columns
            ),
            "classes": class_records(pricing, releases, population.classes),
        }
    )


def dump_claim(claim: Claim) -> dict[str, Any]:
    """Return the claim as a JSON value."""
    return claim.model_dump(mode="json")


def load_claim(content: bytes | str | Mapping[str, Any]) -> Claim:
    """Read a claim and prove it again, or raise `ClaimError`."""
    try:
        value = content if isinstance(content, Mapping) else json.loads(content)
        claim = Claim.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ClaimError(f"claim: `{where}`: {first['msg'].lower()}") from error
    except ValueError as error:
        raise ClaimError("claim: not a JSON document") from error
    check_claim(claim)
    return claim


def check_claim(claim: Claim) -> None:
    """Price the releases of a claim again, and refuse a number below their price."""
    releases, guarantee = counted_releases(claim.releases), _guarantee(claim)
    proof = build_claim(
        ClaimedRun(releases, claim.rounds, private=True),
        ClaimTerms(claim.delta, claim.neighbours, claim.accountant.name, guarantee),
        MechanismFacts(claim.mechanism.name, claim.trust, stated_cohort(claim.cohort)),
        ProtectedPopulation(
            unit=claim.unit,
            columns={Tier.parse(t): row.columns for t, row in claim.tiers.items()},
            sites_per_person=claim.sites_per_person,
            profiles=stated_profiles(claim),
            classes=stated_classes(claim),
        ),
    )
    require_equal("mechanism.noise", claim.mechanism.noise, proof.mechanism.noise)
    require_equal("accountant.filter", claim.accountant.filter, proof.accountant.filter)
    require_not_below("epsilon", claim.epsilon, proof.epsilon)
    require_not_below("label.epsilon", claim.label.epsilon, proof.label.epsilon)
    require_equal("label.delta", claim.label.delta, proof.label.delta)
    require_equal("sampling", claim.sampling, proof.sampling)
    for name, tier in claim.tiers.items():
        proven = proof.tiers[name]
        require_not_below(f"tiers.{name}.epsilon", tier.epsilon, proven.epsilon)
        require_equal(f"tiers.{name}.delta", tier.delta, proven.delta)
        require_equal(f"tiers.{name}.reads", tier.reads, proven.reads)
    check_parts(claim, proof)
    check_sampler(claim, most_samples(claim))
    check_uncovered_lines(claim)


def most_samples(claim: Claim) -> int:
    """Return the most noise values that may have been drawn in a claim's whole run."""
    return _samples(counted_releases(claim.releases), _guarantee(claim))


def _guarantee(claim: Claim) -> Guarantee:
    return "envelope" if claim.accountant.filter == "F0" else "filter"


def _samples(releases: Sequence[CountedRelease], guarantee: Guarantee) -> int:
    planned = sum(release.samples * count for release, count in releases)
    return planned * (MOST_SAMPLES if guarantee == "filter" else 1)


def _require_mechanism(
    mechanism: ClaimedMechanism,
    releases: Sequence[CountedRelease],
    columns: Mapping[Tier, Sequence[str]],
) -> None:
    for release, _ in releases:
        groups = sum(group.name != CLIP_BIT for group in release.groups)
        # In a cascade one `reads` holds for all groups of a release: tables of counts.
        if mechanism not in ("grouped", "cascade") and groups > 1:
            raise ClaimError(
                f"claim: release `{release.name}` has {groups} groups; "
                f"mechanism `{mechanism}` releases one at a time"
            )
    # Without towers every column moves every gradient, through the residual.
    for tier in columns:
        if mechanism != "cascade" and not tier_releases(releases, tier):
            raise ClaimError(
                f"claim: mechanism `{mechanism}` uses columns of tier `{tier.label}`, "
                "but no release says that it reads them"
            )


def _accountant(
    terms: ClaimTerms, releases: Sequence[CountedRelease]
) -> AccountantRecord:
    name = terms.accountant
    chosen = filter_name(terms.guarantee, name)
    sampled = any(release.sampling_rate < 1.0 for release, _ in releases)
    if chosen == "F2" and sampled:
        raise ClaimError(
            "claim: releases that are sampled and chosen along the way have no price "
            f"by `{name}`",
            'use `accountant = "rdp"`, or an envelope',
        )
    version = f"lexfed {metadata.version('lexfed')}"
    if name == "pld" and sampled:
        version += f", dp-accounting {metadata.version('dp-accounting')}"
    return AccountantRecord(name=name, version=version, filter=chosen)


def _grids(grids: Mapping[str, Grid]) -> tuple[GridRecord, ...]:
    return tuple(
        GridRecord(
            group=name,
            dimension=grid.dimension,
            step=grid.step,
            release_step=grid.release_step,
            clip_to=grid.clip_to,
        )
        for name, grid in grids.items()
    )


def _sampling(releases: Sequence[CountedRelease], unit: Unit) -> SamplingRecord:
    rates = tuple(sorted({release.sampling_rate for release, _ in releases}))
    sampled = any(rate < 1.0 for rate in rates)
    return SamplingRecord(
        scheme="poisson" if sampled else "none",
        rates=rates,
        secrecy=_SECRECY[unit] if sampled else "not needed",
    )
