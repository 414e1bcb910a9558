# SPDX-License-Identifier: Apache-2.0
"""Was every round charged for what it released, and did the sum stay in the budgets?

Each round logs its mechanism event and the epsilon so far. Here the events are composed
again, round by round, lost rounds included: a stated number must not be below the
computed one, must never decrease, and must not exceed its budget. `plan_adherence`
looks whether the events are what was planned.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lexfed.audit.entries import (
    AbortedRoundEntry,
    ChargedEvent,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.guarantee.plan_price import (
    NOT_PRIVATE,
    LoggedPlan,
    not_below,
    read_plan,
    shown,
    within,
)
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.tiers import Tier


@dataclass(frozen=True)
class LoggedCharge:
    """One number of a round and what it was charged for."""

    index: int
    round: int
    event: ChargedEvent | None
    entry: RoundEntry | None


def charges(evidence: Evidence) -> Iterator[LoggedCharge]:
    """Yield the charges, one for each round number, in the order of the log."""
    last = 0
    for index, record in enumerate(evidence.records):
        entry = record.entry
        if isinstance(entry, RoundEntry):
            yield LoggedCharge(index, entry.round, entry.event, entry)
            last = entry.round
        elif isinstance(entry, AbortedRoundEntry) and entry.round != last:
            yield LoggedCharge(index, entry.round, entry.event, None)
            last = entry.round


def release_of(charge: LoggedCharge) -> Release:
    """Return the event as accountants know it.

    Raises:
        Unsound: if there is none, or it has numbers out of range.
    """
    if charge.event is None:
        raise Unsound(f"round {charge.round} has no event", charge.index)
    try:
        return charge.event.release()
    except ValueError as error:
        raise Unsound(f"round {charge.round}: {error}", charge.index) from error


def spent(evidence: Evidence) -> str | Remark:
    """Budgets are recomputed from the events and compared, round by round."""
    planned = read_plan(evidence)
    if planned is None:
        return _unspent(evidence)
    sums = _Sums(planned, _total(planned))
    for charge in charges(evidence):
        sums.add(charge)
    record, policy = sums.total.record, planned.policy
    tiers = ", ".join(
        f"{t.label} {shown(value)}" for t, value in sums.total.tiers.items()
    )
    return (
        f"{sums.rounds} rounds: record {shown(record)} of {policy.epsilon} at delta "
        f"{policy.delta} by {sums.total.accountant.upper()}"
        + (f"; tiers {tiers}" if tiers else "")
    )


def _total(planned: LoggedPlan) -> RunningTotal:
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
        budgets: dict[str, str | None] = {"record": policy.epsilon}
        for name, cap in policy.caps.items():
            budgets[name] = cap
        return budgets

    def add(self, charge: LoggedCharge) -> None:
        release = release_of(charge)
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
        policy = self.planned.policy
        if entry.delta != policy.delta:
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
    for found in evidence.of(RoundEntry):
        entry = found.entry
        if entry.update is not None or entry.state is not None:
            raise Unsound("has a hash of values without noise", found.index)
        if entry.epsilon is not None or entry.epsilon_so_far is not None:
            raise Unsound("states an epsilon although no noise is added", found.index)
    return Remark(NOT_PRIVATE)
