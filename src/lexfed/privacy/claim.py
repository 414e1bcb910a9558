# SPDX-License-Identifier: Apache-2.0
"""Claims: what is said about a model, computed from its releases and from nothing else.

A claim carries the releases it rests on. Building it prices them; loading it prices
them again and refuses a claim that says less than they cost, so an epsilon typed by
hand does not survive. Numbers are rounded up. The fields follow NIST SP 800-226 and
the deployment registry's schema; their names are those of the configuration.

A guarantee under a plan (F0) is that of the whole plan: pass the planned releases,
also if the run ended early.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pydantic import ValidationError

from lexfed.errors import ClaimError
from lexfed.privacy.accountant import Accountant
from lexfed.privacy.attributes import (
    Counted,
    label_epsilon,
    record_epsilon,
    tier_epsilon,
    tier_releases,
)
from lexfed.privacy.claim_record import (
    AccountantRecord,
    Claim,
    CountedRecord,
    GridRecord,
    LabelRecord,
    Mechanism,
    MechanismRecord,
    ReleaseRecord,
    SamplingRecord,
    TierRecord,
    Trust,
    Unit,
)
from lexfed.privacy.grid import Grid
from lexfed.privacy.noise import delta_sampler
from lexfed.privacy.rounding import up
from lexfed.privacy.steps import Neighbours
from lexfed.tiers import Tier

RELEASED = "the noised sum of every round and all models computed from them"
_SECRECY: Mapping[Unit, str] = {
    "record": "each site keeps its coins; the guarantee is against those without them",
    "client": "the coordinator flips the coins; the guarantee is against others only",
}
_TOLERANCE = 1e-9  # between the floats of two machines


def build_claim(
    releases: Sequence[Counted],
    *,
    delta: float,
    neighbours: Neighbours,
    accountant: Accountant,
    mechanism: Mechanism,
    unit: Unit,
    trust: Trust,
    rounds: int,
    columns: Mapping[Tier, Sequence[str]],
    grids: Mapping[str, Grid],
    private: bool,
    not_covered: Sequence[str] = (),
    released: str = RELEASED,
    records_per_person: int = 1,
    sites_per_person: int = 1,
) -> Claim:
    """Compute the claim of a run from its releases.

    Args:
        releases: every release and its count; under a plan, the planned ones.
        delta: of every guarantee.
        neighbours: the relation of the record's guarantee.
        accountant: who prices.
        mechanism: what was run.
        unit: whom the guarantee is about.
        trust: who sees what before noise.
        rounds: how many rounds were run.
        columns: the columns of each tier that enter the model.
        grids: the integer grid of each group, by its name.
        private: whether the noise came from a secure source.
        not_covered: what the guarantee does not speak about.
        released: what leaves the federation.
        records_per_person: rows that one unit may have.
        sites_per_person: sites at which one person may be.

    Guarantees:
        Every number is computed from `releases` and rounded up, by at most 1e-7.
        A claim with seeded noise is stamped.

    Raises:
        ClaimError: if the releases do not prove a claim of this form.
    """
    _require_mechanism(mechanism, releases, columns)
    sites = sites_per_person
    record = up(record_epsilon(releases, delta, neighbours, accountant, sites))
    samples = sum(release.samples * count for release, count in releases)
    tiers = {}
    for tier in sorted(columns):
        value = tier_epsilon(releases, tier, delta, accountant, sites)
        tiers[tier.label] = TierRecord(
            epsilon=up(value),
            delta=delta,
            columns=tuple(columns[tier]),
            reads=_names(tier_releases(releases, tier)),
        )
    return Claim.model_validate(
        {
            "stamp": None if private else "NOT PRIVATE",
            "unit": unit,
            "records_per_person": records_per_person,
            "sites_per_person": sites,
            "neighbours": neighbours,
            "epsilon": record,
            "delta": delta,
            "delta_sampler": up(delta_sampler(samples, record)),
            "accountant": _accountant(accountant, releases),
            "mechanism": MechanismRecord(name=mechanism, grid=_grids(grids)),
            "sampling": _sampling(releases, unit),
            "rounds": rounds,
            "trust": trust,
            "released": released,
            "tiers": tiers,
            "label": LabelRecord(
                epsilon=up(label_epsilon(releases, delta, accountant, sites)),
                delta=delta,
            ),
            "not_covered": tuple(not_covered),
            "releases": tuple(
                CountedRecord(
                    release=ReleaseRecord.model_validate(release.to_json()), count=count
                )
                for release, count in releases
            ),
        }
    )


def dump_claim(claim: Claim) -> dict[str, Any]:
    """Return the claim as a JSON value."""
    return claim.model_dump(mode="json")


def load_claim(content: bytes | str | Mapping[str, Any]) -> Claim:
    """Read a claim and prove it again.

    Raises:
        ClaimError: if it is not a claim of this version, has a field that is not
            known, or says less than its releases cost.
    """
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
    """Price the releases of a claim again and compare.

    Raises:
        ClaimError: if a stated number is smaller than the releases prove, or what is
            derived from them is something else.
    """
    proof = build_claim(
        [(row.release.release(), row.count) for row in claim.releases],
        delta=claim.delta,
        neighbours=claim.neighbours,
        accountant=claim.accountant.name,
        mechanism=claim.mechanism.name,
        unit=claim.unit,
        trust=claim.trust,
        rounds=claim.rounds,
        columns={Tier.parse(t): record.columns for t, record in claim.tiers.items()},
        grids={},
        private=True,
        sites_per_person=claim.sites_per_person,
    )
    _not_below("epsilon", claim.epsilon, proof.epsilon)
    _not_below("delta_sampler", claim.delta_sampler, proof.delta_sampler)
    _not_below("label.epsilon", claim.label.epsilon, proof.label.epsilon)
    _same("label.delta", claim.label.delta, proof.label.delta)
    _same("sampling", claim.sampling, proof.sampling)
    for name, tier in claim.tiers.items():
        proven = proof.tiers[name]
        _not_below(f"tiers.{name}.epsilon", tier.epsilon, proven.epsilon)
        _same(f"tiers.{name}.delta", tier.delta, proven.delta)
        _same(f"tiers.{name}.reads", tier.reads, proven.reads)


def _not_below(name: str, stated: float, proven: float) -> None:
    if stated < proven * (1.0 - _TOLERANCE):
        raise ClaimError(
            f"claim: `{name}` is {stated:g}, its releases prove no less than {proven:g}"
        )


def _same(name: str, stated: object, proven: object) -> None:
    if stated != proven:
        raise ClaimError(f"claim: `{name}` does not follow from the releases")


def _require_mechanism(
    mechanism: Mechanism,
    releases: Sequence[Counted],
    columns: Mapping[Tier, Sequence[str]],
) -> None:
    for release, _ in releases:
        if mechanism != "grouped" and len(release.groups) > 1:
            raise ClaimError(
                f"claim: release `{release.name}` has {len(release.groups)} groups; "
                f"mechanism `{mechanism}` releases one at a time"
            )
    # Without towers every column moves every gradient, through the residual.
    for tier in columns:
        if mechanism != "cascade" and not tier_releases(releases, tier):
            raise ClaimError(
                f"claim: mechanism `{mechanism}` uses columns of tier `{tier.label}`, "
                "but no release says that it reads them"
            )


def _names(releases: Sequence[Counted]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(release.name for release, _ in releases))


def _accountant(name: Accountant, releases: Sequence[Counted]) -> AccountantRecord:
    sampled = any(release.sampling_rate < 1.0 for release, _ in releases)
    version = f"lexfed {metadata.version('lexfed')}"
    if name == "pld" and sampled:
        version += f", dp-accounting {metadata.version('dp-accounting')}"
    return AccountantRecord(name=name, version=version, filter="F0")


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


def _sampling(releases: Sequence[Counted], unit: Unit) -> SamplingRecord:
    rates = tuple(sorted({release.sampling_rate for release, _ in releases}))
    sampled = any(rate < 1.0 for rate in rates)
    return SamplingRecord(
        scheme="poisson" if sampled else "none",
        rates=rates,
        secrecy=_SECRECY[unit] if sampled else "not needed",
    )
