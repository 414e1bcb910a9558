# SPDX-License-Identifier: Apache-2.0
"""Does the plan cost what it says, and does the claim say what the plan costs?

The guarantee of a run is that of its plan, fixed beforehand (filter F0). The planned
releases are a blob that the `budget-plan` entry cites; here they are priced again by
the accountant that the policy names. A stated number may be above the computed one,
never below.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from lexfed.audit import strict_json
from lexfed.audit.entries import BudgetPlan, Completed, Policy
from lexfed.audit.evidence import Evidence
from lexfed.audit.verify.outcome import Remark, Unsound
from lexfed.errors import ClaimError
from lexfed.privacy.attributes import Counted, record_epsilon, tier_epsilon
from lexfed.privacy.claim import load_claim
from lexfed.privacy.claim_record import Claim
from lexfed.privacy.events import Release
from lexfed.privacy.rounding import up
from lexfed.tiers import Tier

TOLERANCE = 1e-9
"""Between the floats of two machines."""

NOT_PRIVATE = "NOT PRIVATE: no noise was added, so nothing is guaranteed"


@dataclass(frozen=True)
class Planned:
    """The plan of a run, read back from the log.

    Attributes:
        index: where the `budget-plan` entry is.
        policy: what was decided.
        plan: the entry.
        releases: what may be released, in order, with counts.
    """

    index: int
    policy: Policy
    plan: BudgetPlan
    releases: tuple[Counted, ...]

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(count for _, count in self.releases))

    def release(self, number: int) -> Release | None:
        """Return the release of a round; None beyond the plan."""
        at = bisect_left(self._ends, number)
        return self.releases[at][0] if at < len(self.releases) else None


def read_plan(evidence: Evidence) -> Planned | None:
    """Return the plan that is logged; None before it is, or without privacy.

    Raises:
        Unsound: if the entry contradicts the policy or its blob.
    """
    policy = evidence.last(Policy)
    found = evidence.of(BudgetPlan)
    if policy is None or not found:
        return None
    plan, index = found[0].entry, found[0].index
    noised = plan.releases is not None
    if noised != (policy.mechanism != "none"):
        raise Unsound(f"releases do not fit mechanism `{policy.mechanism}`", index)
    if plan.delta != policy.delta:
        raise Unsound("`delta` is not that of the policy", index)
    if (policy.randomness == "seeded") != evidence.genesis.test:
        raise Unsound("entry 0 and the policy disagree about seeded noise", index)
    if plan.releases is None:
        return None
    releases = _read_releases(evidence.blobs.get(plan.releases), index)
    rounds = sum(count for _, count in releases)
    if rounds != plan.rounds:
        raise Unsound(f"states {plan.rounds} rounds, its releases {rounds}", index)
    return Planned(index, policy, plan, releases)


def _read_releases(blob: bytes, index: int) -> tuple[Counted, ...]:
    rows = strict_json.loads(blob)
    try:
        return tuple(_counted(row) for row in _list(rows))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unsound(
            f"`releases` is not a list of releases: {error}", index
        ) from error


def _counted(row: Any) -> Counted:
    if row.keys() != {"release", "count"}:
        raise ValueError("expected `release` and `count`")
    count = row["count"]
    if type(count) is not int or count < 0:
        raise ValueError("expected `count` to be a number of rounds")
    return Release.from_json(row["release"]), count


def _list(rows: Any) -> Sequence[Any]:
    if not isinstance(rows, list):
        raise TypeError("expected a JSON array")
    return rows


def budget_plan(evidence: Evidence) -> str | Remark:
    """The plan is priced again: not above what is stated, nor above the budgets."""
    planned = read_plan(evidence)
    if planned is None:
        return _without(evidence)
    plan, policy = planned.plan, planned.policy
    if plan.epsilon is None or plan.delta is None or policy.epsilon is None:
        raise Unsound("states no epsilon although noise is added", planned.index)
    delta, sites = float(plan.delta), policy.sites_per_person
    record = record_epsilon(
        planned.releases, delta, policy.neighbours, policy.accountant, sites
    )
    not_below("`epsilon`", float(plan.epsilon), record, planned.index)
    within("`epsilon`", float(plan.epsilon), float(policy.epsilon), planned.index)
    for name, stated in sorted(plan.tiers.items()):
        tier = Tier.parse(name)
        proven = tier_epsilon(planned.releases, tier, delta, policy.accountant, sites)
        where = f"`tiers.{name}`"
        not_below(where, float(stated), proven, planned.index)
        if name in policy.caps:
            within(where, float(stated), float(policy.caps[name]), planned.index)
    for name in sorted(policy.caps.keys() - plan.tiers.keys()):
        read = tier_epsilon(
            planned.releases, Tier.parse(name), delta, policy.accountant, sites
        )
        within(f"tier `{name}`", read, float(policy.caps[name]), planned.index)
    return (
        f"epsilon {plan.epsilon} at delta {plan.delta}, {policy.neighbours}, by "
        f"{policy.accountant.upper()}, recomputed {shown(record)}, "
        f"budget {policy.epsilon}"
    )


def _without(evidence: Evidence) -> Remark:
    policy = evidence.last(Policy)
    if policy is not None and policy.mechanism == "none":
        return Remark(NOT_PRIVATE)
    return Remark("no plan is logged yet")


def not_below(name: str, stated: float, proven: float, index: int) -> None:
    """Refuse a stated number that the releases do not prove."""
    if not stated >= proven * (1.0 - TOLERANCE):
        raise Unsound(
            f"{name} is stated as {stated:.8g}, its events cost {proven:.8g}", index
        )


def within(name: str, stated: float, budget: float, index: int) -> None:
    """Refuse a number above its budget."""
    if not stated <= budget * (1.0 + TOLERANCE):
        raise Unsound(f"{name} is {stated:.8g}, above the budget {budget:.8g}", index)


def shown(epsilon: float) -> str:
    """Return an epsilon in six digits, the last of them rounded up."""
    return f"{up(epsilon, 6):.6g}"


def claim(evidence: Evidence) -> str | Remark:
    """The claim is proven again, and says what policy, plan and rounds say."""
    completed = evidence.of(Completed)
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
        f"{found.neighbours}; tiers {tiers}"
    )
    # The numbers are right for the noise that was meant; who knows the seed knows it.
    return Remark(f"NOT PRIVATE, the noise was seeded: {text}") if found.stamp else text


def _same(
    evidence: Evidence, found: Claim, planned: Planned, entry: Completed
) -> dict[str, tuple[object, object]]:
    plan, policy = planned.plan, planned.policy
    releases = tuple((row.release.release(), row.count) for row in found.releases)
    return {
        "releases": (releases, planned.releases),
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
        "sampling": (found.sampling.scheme, policy.sampling),
        "records_per_person": (found.records_per_person, policy.records_per_person),
        "sites_per_person": (found.sites_per_person, policy.sites_per_person),
    }
