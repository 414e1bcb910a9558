# SPDX-License-Identifier: Apache-2.0
"""Do tags, encoding and claim speak of the same columns, and is the claim proven?"""

from itertools import combinations
from typing import Any

from lexfed.audit.entries import CohortAssumptions, CompletionEntry, FeatureTags
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.budgets import NOT_PRIVATE, LoggedPlan, read_plan, shown
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.canonical import digest
from lexfed.counted_words import counted
from lexfed.data.encoding import Encoding
from lexfed.errors import ClaimError, ConfigError
from lexfed.law.tags import TaggedSchema
from lexfed.privacy.claim.lines import stated_classes, stated_profiles
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.signing.strict_text import parse_json
from lexfed.tiers import Tier


def feature_tags(evidence: Evidence) -> str | Remark:
    """Every column has a tag and a tier, and the counts and inputs follow from them.

    Guarantees:
        The encoding uses the tiers of the tags.
        What enters the model are the columns of the tiers that the plan prices.
        The columns of a tier in the claim are those of the encoding.
    """
    logged = evidence.of(FeatureTags)
    if not logged:
        return Remark("no tags are logged yet")
    entry, index = logged[0].entry, logged[0].index
    try:
        tagged = TaggedSchema.from_dict(_json(evidence, entry.tags))
        encoding = Encoding.from_dict(_json(evidence, entry.encoding))
    except (ConfigError, ValueError, TypeError, AttributeError) as error:
        raise Unsound(f"tags or encoding cannot be read: {error}", index) from error
    counts = {t.label: len(tagged.columns_in(t)) for t in Tier if tagged.columns_in(t)}
    if {name: count for name, count in entry.columns.items() if count} != counts:
        raise Unsound("`columns` does not follow from the tags", index)
    used = _count_inputs(evidence, encoding, entry.inputs)
    if used is None:
        raise Unsound("`inputs` is not the columns of the tiers that are priced", index)
    tiers = tagged.tiers()
    for name in encoding.columns:
        if encoding.tiers[name] != tiers.get(name):
            raise Unsound("the encoding has another tier than the tags", index)
    _compare_claim(evidence, encoding)
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return (
        f"{counted(sum(counts.values()), 'column')} ({listed}), {used} enter the model"
    )


def _json(evidence: Evidence, blob: str) -> Any:
    return parse_json(evidence.blobs.get(blob))


def _count_inputs(evidence: Evidence, encoding: Encoding, inputs: str) -> int | None:
    """Return the number of columns in the model; None if they are not these.

    All columns of a tier without a price are left out; without privacy nothing has a
    price, and any tier may be in.
    """
    planned = read_plan(evidence)
    if planned is not None:
        priced = [Tier.parse(name) for name in planned.plan.tiers]
        choices = [tuple(tier for tier in encoding.model_tiers if tier in priced)]
    else:
        sizes = range(len(encoding.model_tiers) + 1)
        choices = [c for n in sizes for c in combinations(encoding.model_tiers, n)]
    for tiers in choices:
        columns = [name for tier in tiers for name in encoding.columns_of(tier)]
        if digest(sorted(columns)) == inputs:
            return len(columns)
    return None


def _compare_claim(evidence: Evidence, encoding: Encoding) -> None:
    for completed in evidence.of(CompletionEntry):
        if completed.entry.claim is None:
            continue
        tiers = _json(evidence, completed.entry.claim)["tiers"]
        for name, claimed in tiers.items():
            columns = list(encoding.columns_of(Tier.parse(name)))
            if claimed["columns"] != columns:
                raise Unsound(
                    f"the claim lists other columns of tier `{name}` than the encoding",
                    completed.index,
                )


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
    parse_json(content)  # one meaning for every reader
    try:
        stated = load_claim(content)
    except ClaimError as error:
        raise Unsound(error.message, index) from error
    for name, (value, logged) in _pairs(evidence, stated, planned, entry).items():
        if value != logged:
            raise Unsound(f"claim: `{name}` is not what the log says", index)
    tiers = ", ".join(
        f"{name} {shown(each.epsilon)}" for name, each in stated.tiers.items()
    )
    text = (
        f"epsilon {shown(stated.epsilon)} at delta {stated.delta:g} per {stated.unit}, "
        f"{stated.neighbours}; tiers {tiers}; label {shown(stated.label.epsilon)}"
    )
    # The numbers are right for the noise that was meant; who knows the seed knows it.
    if stated.stamp:
        return Remark(f"NOT PRIVATE, the noise was seeded: {text}")
    return text


def _pairs(
    evidence: Evidence, stated: Claim, planned: LoggedPlan, entry: CompletionEntry
) -> dict[str, tuple[object, object]]:
    """Return what the claim and the log say, by the name of what they must agree on."""
    plan, policy = planned.plan, planned.policy
    return {
        "releases": (counted_releases(stated.releases), planned.releases),
        "filter": (stated.accountant.filter, plan.filter),
        "profiles": (stated_profiles(stated), dict(planned.profiles)),
        "classes": (stated_classes(stated), planned.classes),
        "epsilon": (stated.epsilon, float(plan.epsilon or 0.0)),
        "delta": (stated.delta, float(plan.delta or 0.0)),
        "tiers": (
            {name: tier.epsilon for name, tier in stated.tiers.items()},
            {name: float(value) for name, value in plan.tiers.items()},
        ),
        "rounds": (stated.rounds, entry.rounds),
        "stamp": (stated.stamp is not None, evidence.genesis.test),
        "unit": (stated.unit, policy.unit),
        "neighbours": (stated.neighbours, policy.neighbours),
        "accountant": (stated.accountant.name, policy.accountant),
        "mechanism": (stated.mechanism.name, policy.mechanism),
        "noise": (stated.mechanism.noise, policy.noise),
        "trust": (stated.trust, policy.trust),
        "cohort": (_cohort(stated), policy.cohort),
        "sampling": (stated.sampling.scheme, policy.sampling),
        "records_per_person": (stated.records_per_person, policy.records_per_person),
        "sites_per_person": (stated.sites_per_person, policy.sites_per_person),
    }


def _cohort(stated: Claim) -> CohortAssumptions | None:
    """Return the claim's assumptions; their consequences are proven with the claim."""
    cohort = stated.cohort
    if cohort is None:
        return None
    return CohortAssumptions(
        sites=cohort.sites, colluders=cohort.colluders, dropouts=cohort.dropouts
    )
