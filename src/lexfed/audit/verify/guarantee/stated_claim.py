# SPDX-License-Identifier: Apache-2.0
"""Does the claim say what policy, plan and rounds say, and do its releases prove it?"""

from lexfed.audit.entries import CohortAssumptions, CompletionEntry
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.guarantee.plan_price import (
    NOT_PRIVATE,
    LoggedPlan,
    read_plan,
    shown,
)
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.errors import ClaimError
from lexfed.privacy.claim.lines import stated_classes, stated_profiles
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.signing import strict_json


def claim(evidence: Evidence) -> str | Remark:
    """The claim is proven again, and says what policy, plan and rounds say."""
    completed = evidence.of(CompletionEntry)
    if not completed:
        return Remark("no claim yet: the run is not completed")
    index, entry = completed[0].index, completed[0].entry
    planned = read_plan(evidence)
    if (entry.claim is None) != (planned is None):
        raise Unsound("a claim and a plan need each other", index)
    if entry.claim is None or planned is None:
        return Remark(NOT_PRIVATE)
    content = evidence.blobs.get(entry.claim)
    strict_json.loads(content)  # one meaning for every reader
    try:
        found = load_claim(content)
    except ClaimError as error:
        raise Unsound(error.message, index) from error
    for name, (stated, expected) in _same(evidence, found, planned, entry).items():
        if stated != expected:
            raise Unsound(f"claim: `{name}` is not what the log says", index)
    tiers = ", ".join(
        f"{name} {shown(each.epsilon)}" for name, each in found.tiers.items()
    )
    text = (
        f"epsilon {shown(found.epsilon)} at delta {found.delta:g} per {found.unit}, "
        f"{found.neighbours}; tiers {tiers}; label {shown(found.label.epsilon)}"
    )
    # The numbers are right for the noise that was meant; who knows the seed knows it.
    return Remark(f"NOT PRIVATE, the noise was seeded: {text}") if found.stamp else text


def _same(
    evidence: Evidence, found: Claim, planned: LoggedPlan, entry: CompletionEntry
) -> dict[str, tuple[object, object]]:
    plan, policy = planned.plan, planned.policy
    return {
        "releases": (counted_releases(found.releases), planned.releases),
        "filter": (found.accountant.filter, plan.filter),
        "profiles": (stated_profiles(found), dict(planned.profiles)),
        "classes": (stated_classes(found), planned.classes),
        "epsilon": (found.epsilon, float(plan.epsilon or 0.0)),
        "delta": (found.delta, float(plan.delta or 0.0)),
        "tiers": (
            {name: tier.epsilon for name, tier in found.tiers.items()},
            {name: float(value) for name, value in plan.tiers.items()},
        ),
        "rounds": (found.rounds, entry.rounds),
        "stamp": (found.stamp is not None, evidence.genesis.test),
        "unit": (found.unit, policy.unit),
        "neighbours": (found.neighbours, policy.neighbours),
        "accountant": (found.accountant.name, policy.accountant),
        "mechanism": (found.mechanism.name, policy.mechanism),
        "noise": (found.mechanism.noise, policy.noise),
        "trust": (found.trust, policy.trust),
        "cohort": (_cohort(found), policy.cohort),
        "sampling": (found.sampling.scheme, policy.sampling),
        "records_per_person": (found.records_per_person, policy.records_per_person),
        "sites_per_person": (found.sites_per_person, policy.sites_per_person),
    }


def _cohort(found: Claim) -> CohortAssumptions | None:
    """Return the claim's assumptions; their consequences are proven with the claim."""
    if found.cohort is None:
        return None
    stated = found.cohort
    return CohortAssumptions(
        sites=stated.sites, colluders=stated.colluders, dropouts=stated.dropouts
    )
