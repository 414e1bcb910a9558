# SPDX-License-Identifier: Apache-2.0
"""Does the plan cost what it says, and no more than the budgets?

The guarantee of a run is that of its plan, fixed beforehand (`plan_adherence`: did
rounds keep to it?). The planned releases are a blob that the `budget-plan` entry cites;
here they are priced again by the accountant that the policy names. A stated number may
be above the computed one, never below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexfed.audit.entries import BudgetPlan, PolicyEntry
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.privacy.claim.lines import ClaimProfile
from lexfed.privacy.filters import filter_name
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon, up
from lexfed.signing import strict_json
from lexfed.tiers import Tier

TOLERANCE = 1e-9
"""Between the floats of two machines."""

NOT_PRIVATE = "NOT PRIVATE: no noise was added, so nothing is guaranteed"


@dataclass(frozen=True)
class LoggedPlan:
    """The plan of a run, read back from the log.

    Attributes:
        index: where the `budget-plan` entry is.
        policy: what was decided.
        plan: the entry.
        releases: what may be released, in order, with counts.
        profiles: what sites with budgets of their own are charged for instead.
    """

    index: int
    policy: PolicyEntry
    plan: BudgetPlan
    releases: tuple[CountedRelease, ...]
    profiles: Mapping[str, ClaimProfile]

    @property
    def classes(self) -> dict[str, float]:
        """Factors of the contributions of units, by class."""
        return {name: float(scale) for name, scale in self.plan.classes.items()}


def read_plan(evidence: Evidence) -> LoggedPlan | None:
    """Return the plan that is logged; None before it is, or without privacy.

    Raises:
        Unsound: if the entry contradicts the policy or its blob.
    """
    policy = evidence.last(PolicyEntry)
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
    _require_filter(policy, plan, releases, index)
    profiles = {}
    if plan.profiles is not None:
        profiles = _read_profiles(evidence.blobs.get(plan.profiles), index)
    return LoggedPlan(index, policy, plan, releases, profiles)


def _require_filter(
    policy: PolicyEntry,
    plan: BudgetPlan,
    releases: Sequence[CountedRelease],
    index: int,
) -> None:
    """Require a filter under which the accountant's price is a guarantee."""
    if plan.filter not in ("F0", filter_name("filter", policy.accountant)):
        raise Unsound(
            f"filter {plan.filter} has no price by {policy.accountant.upper()}", index
        )
    if plan.filter == "F2" and any(r.sampling_rate < 1.0 for r, _ in releases):
        raise Unsound("filter F2 is for rounds without sampling", index)


def _read_releases(blob: bytes, index: int) -> tuple[CountedRelease, ...]:
    rows = strict_json.loads(blob)
    try:
        return tuple(_counted(row) for row in _list(rows))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unsound(
            f"`releases` is not a list of releases: {error}", index
        ) from error


def _read_profiles(blob: bytes, index: int) -> dict[str, ClaimProfile]:
    value = strict_json.loads(blob)
    try:
        return {name: _profile(row) for name, row in value.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unsound(f"`profiles` cannot be read: {error}", index) from error


def _profile(row: Any) -> ClaimProfile:
    if row.keys() != {"sites", "releases"} or type(row["sites"]) is not int:
        raise ValueError("expected `sites` and `releases`")
    return ClaimProfile(
        row["sites"], tuple(_counted(r) for r in _list(row["releases"]))
    )


def _counted(row: Any) -> CountedRelease:
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
    policy = evidence.last(PolicyEntry)
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
