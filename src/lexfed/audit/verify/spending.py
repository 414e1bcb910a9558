# SPDX-License-Identifier: Apache-2.0
"""Was every round charged for what it released, and did the sum stay in the budgets?

Each round logs its mechanism event and the epsilon so far. Here the events are composed
again, round by round, lost rounds included: a stated number must not be below the
computed one, must never decrease, and must not exceed its budget. Whether the events
are what was planned is checked in `plan`.
"""

from dataclasses import dataclass, field

from lexfed.audit.entries import PolicyEntry, RoundEntry
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.plan import (
    NOT_PRIVATE,
    LoggedCharge,
    LoggedPlan,
    charges,
    not_below,
    read_plan,
    shown,
    within,
)
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.tiers import Tier


def spent(evidence: Evidence) -> str | Remark:
    """Budgets are recomputed from the events and compared, round by round."""
    planned = read_plan(evidence)
    if planned is None:
        return _unspent(evidence)
    sums = _Sums(planned, _empty_total(planned))
    for charge in charges(evidence):
        sums.add(charge)
    total, policy = sums.total, planned.policy
    tiers = ", ".join(f"{t.label} {shown(value)}" for t, value in total.tiers.items())
    return (
        f"{sums.rounds} rounds: record {shown(total.record)} of {policy.epsilon} at "
        f"delta {policy.delta} by {total.accountant.upper()}"
        + (f"; tiers {tiers}" if tiers else "")
    )


def _empty_total(planned: LoggedPlan) -> RunningTotal:
    plan, policy = planned.plan, planned.policy
    ceilings: dict[Tier | None, float] = {
        Tier.parse(name): float(value) for name, value in plan.tiers.items()
    }
    # The plan's price is checked by itself; a part of the plan costs no more.
    ceilings[None] = float(plan.epsilon or 0.0)
    return RunningTotal(
        float(plan.delta or 0.0), policy.neighbours, policy.sites_per_person, ceilings
    )


@dataclass
class _Sums:
    """The composition so far, and the last numbers that were stated."""

    planned: LoggedPlan
    total: RunningTotal
    rounds: int = 0
    stated: dict[str, float] = field(default_factory=dict)
    alone: dict[Release, float] = field(default_factory=dict)

    @property
    def budgets(self) -> dict[str, str | None]:
        policy = self.planned.policy
        return {"record": policy.epsilon} | dict(policy.caps)

    def add(self, charge: LoggedCharge) -> None:
        release = charge.release
        self.rounds += 1
        self.total = self.total.after(release)
        if charge.entry is None:
            return
        entry, index = charge.entry, charge.index
        self._settings(entry, index)
        if entry.epsilon is None or entry.epsilon_so_far is None:
            raise Unsound("states no epsilon although noise is added", index)
        # Rounds of one stage release the same: each kind is priced once.
        if release not in self.alone:
            self.alone[release] = self.total.alone(release)
        not_below("`epsilon`", float(entry.epsilon), self.alone[release], index)
        computed = {"record": self.total.record}
        computed |= {t.label: value for t, value in self.total.tiers.items()}
        stated = {"record": float(entry.epsilon_so_far)}
        stated |= {name: float(value) for name, value in entry.tiers_so_far.items()}
        self._compare(stated, computed, index)
        self.stated = stated

    def _settings(self, entry: RoundEntry, index: int) -> None:
        if entry.delta != self.planned.policy.delta:
            raise Unsound("`delta` is not that of the policy", index)
        if entry.accountant != self.total.accountant:
            raise Unsound(
                f"`accountant` is {entry.accountant}, these events need "
                f"{self.total.accountant}",
                index,
            )
        if dict(entry.budgets) != self.budgets:
            raise Unsound("`budgets` are not those of the policy", index)

    def _compare(
        self, stated: dict[str, float], computed: dict[str, float], index: int
    ) -> None:
        for name in self.planned.plan.tiers:
            if name in computed and name not in stated:
                raise Unsound(f"states no epsilon of tier `{name}`", index)
        for scope, value in stated.items():
            what = "`epsilon_so_far`" if scope == "record" else f"tier `{scope}`"
            not_below(what, value, computed.get(scope, 0.0), index)
            before = self.stated.get(scope, 0.0)
            if value < before:
                raise Unsound(f"{what} fell from {before:.8g} to {value:.8g}", index)
            budget = self.budgets.get(scope)
            if budget is not None:
                within(what, value, float(budget), index)
        for missing in sorted(self.stated.keys() - stated.keys()):
            raise Unsound(f"tier `{missing}` was stated before and is missing", index)


def _unspent(evidence: Evidence) -> Remark:
    policy = evidence.last(PolicyEntry)
    if policy is None or policy.mechanism != "none":
        return Remark("nothing was planned, nothing was spent")
    for logged in evidence.of(RoundEntry):
        entry = logged.entry
        if entry.update is not None or entry.state is not None:
            raise Unsound("has a hash of values without noise", logged.index)
        if entry.epsilon is not None or entry.epsilon_so_far is not None:
            raise Unsound("states an epsilon although no noise is added", logged.index)
    return Remark(NOT_PRIVATE)
