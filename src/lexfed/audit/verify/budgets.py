# SPDX-License-Identifier: Apache-2.0
"""Does the plan cost what it says, did rounds keep to it, and were they charged for it?

The planned releases are priced again by the accountant that the policy names. A stated
number may be above the computed one, never below.

Rounds are held to the plan by the filter that was logged with it
(docs/theory/guarantees.md, section 7). Sites with budgets of their own are charged for
the same rounds with smaller clips or rates: under F0 they are inside their plan if the
run is inside its own; the sums of F1 and F2 are computed again with their numbers.

Each round also logs the epsilon so far. The events are composed again, lost rounds
included: a stated number must never decrease, and must not exceed its budget.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    ChargedEvent,
    FeatureTags,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.privacy.claim.lines import ClaimProfile, paired_charges
from lexfed.privacy.filters import (
    Filter,
    PlanEnvelope,
    PlanFilter,
    ReleaseShape,
    filter_name,
    release_shape,
)
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.privacy.scopes import (
    CountedRelease,
    record_epsilon,
    release_per_person,
    tier_epsilon,
    up,
)
from lexfed.signing.strict_text import parse_json
from lexfed.tiers import Tier

TOLERANCE = 1e-9
"""Between the floats of two machines."""
ROOM = 1e-11
"""Relative room for the floats of another machine in a sum."""
NOT_PRIVATE = "NOT PRIVATE: no noise was added, so nothing is guaranteed"

Shapes = Mapping[ReleaseShape, Release]


@dataclass(frozen=True)
class LoggedPlan:
    """The plan of a run, read back from the log, and the index of its entry."""

    index: int
    policy: PolicyEntry
    plan: BudgetPlan
    releases: tuple[CountedRelease, ...]
    """The allowed releases, in order, with counts."""
    profiles: Mapping[str, ClaimProfile]
    """The charges of sites with budgets of their own, instead of those."""

    @property
    def classes(self) -> dict[str, float]:
        """Factors of the contributions of units, by class."""
        return {name: float(scale) for name, scale in self.plan.classes.items()}


def read_plan(evidence: Evidence) -> LoggedPlan | None:
    """Return the plan that is logged; None before it is, or without privacy."""
    policy = evidence.last(PolicyEntry)
    plans = evidence.of(BudgetPlan)
    if policy is None or not plans:
        return None
    plan, index = plans[0].entry, plans[0].index
    if (plan.releases is not None) != (policy.mechanism != "none"):
        raise Unsound(f"releases do not fit mechanism `{policy.mechanism}`", index)
    if plan.delta != policy.delta:
        raise Unsound("`delta` is not that of the policy", index)
    if (policy.randomness == "seeded") != evidence.genesis.test:
        raise Unsound("entry 0 and the policy disagree about seeded noise", index)
    if plan.releases is None:
        return None
    rows = parse_json(evidence.blobs.get(plan.releases))
    try:
        releases = _counted(rows)
    except _MALFORMED as error:
        what = f"`releases` is not a list of releases: {error}"
        raise Unsound(what, index) from error
    rounds = sum(count for _, count in releases)
    if rounds != plan.rounds:
        raise Unsound(f"states {plan.rounds} rounds, its releases {rounds}", index)
    # A filter under which the accountant's price is a guarantee.
    if plan.filter not in ("F0", filter_name("filter", policy.accountant)):
        raise Unsound(
            f"filter {plan.filter} has no price by {policy.accountant.upper()}", index
        )
    if plan.filter == "F2" and any(r.sampling_rate < 1.0 for r, _ in releases):
        raise Unsound("filter F2 is for rounds without sampling", index)
    own = {} if plan.profiles is None else parse_json(evidence.blobs.get(plan.profiles))
    try:
        profiles = {name: _profile(row) for name, row in own.items()}
    except _MALFORMED as error:
        raise Unsound(f"`profiles` cannot be read: {error}", index) from error
    return LoggedPlan(index, policy, plan, releases, profiles)


_MALFORMED = (ValueError, KeyError, TypeError, AttributeError)


def _profile(row: Any) -> ClaimProfile:
    if row.keys() != {"sites", "releases"} or type(row["sites"]) is not int:
        raise ValueError("expected `sites` and `releases`")
    return ClaimProfile(row["sites"], _counted(row["releases"]))


def _counted(rows: Any) -> tuple[CountedRelease, ...]:
    if not isinstance(rows, list):
        raise TypeError("expected a JSON array")
    counted = []
    for row in rows:
        if row.keys() != {"release", "count"}:
            raise ValueError("expected `release` and `count`")
        count = row["count"]
        if type(count) is not int or count < 0:
            raise ValueError("expected `count` to be a number of rounds")
        counted.append((Release.from_json(row["release"]), count))
    return tuple(counted)


def budget_plan(evidence: Evidence) -> str | Remark:
    """The plan is priced again: not above what is stated, nor above the budgets."""
    planned = read_plan(evidence)
    if planned is None:
        decided = evidence.last(PolicyEntry)
        unprotected = decided is not None and decided.mechanism == "none"
        return Remark(NOT_PRIVATE if unprotected else "no plan is logged yet")
    plan, policy, index = planned.plan, planned.policy, planned.index
    if plan.epsilon is None or plan.delta is None or policy.epsilon is None:
        raise Unsound("states no epsilon although noise is added", index)
    releases, delta = planned.releases, float(plan.delta)
    by, sites = policy.accountant, policy.sites_per_person

    def price(name: str) -> float:
        return tier_epsilon(releases, Tier.parse(name), delta, by, sites)

    record = record_epsilon(releases, delta, policy.neighbours, by, sites)
    not_below("`epsilon`", float(plan.epsilon), record, index)
    within("`epsilon`", float(plan.epsilon), float(policy.epsilon), index)
    for name, stated in sorted(plan.tiers.items()):
        where = f"`tiers.{name}`"
        not_below(where, float(stated), price(name), index)
        if name in policy.caps:
            within(where, float(stated), float(policy.caps[name]), index)
    for name in sorted(policy.caps.keys() - plan.tiers.keys()):
        within(f"tier `{name}`", price(name), float(policy.caps[name]), index)
    return (
        f"epsilon {plan.epsilon} at delta {plan.delta}, {policy.neighbours}, by "
        f"{policy.accountant.upper()}, recomputed {shown(record)}, "
        f"budget {policy.epsilon}"
    )


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


@dataclass(frozen=True)
class LoggedCharge:
    """The event that a round was charged for; `entry` is None for a lost round."""

    index: int
    round: int
    event: ChargedEvent | None
    entry: RoundEntry | None

    @property
    def release(self) -> Release:
        """The event as accountants know it; `Unsound` if it has none."""
        if self.event is None:
            raise Unsound(f"round {self.round} has no event", self.index)
        try:
            return self.event.release()
        except ValueError as error:
            raise Unsound(f"round {self.round}: {error}", self.index) from error


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


def events(evidence: Evidence) -> str | Remark:
    """The event of every round is one that the plan allows, and tags are in force."""
    planned = read_plan(evidence)
    tags = evidence.last(FeatureTags)
    filters = {} if planned is None else _filters(planned)
    counted = 0
    for charge in charges(evidence):
        if planned is None and charge.event is not None:
            raise Unsound(f"round {charge.round} has an event", charge.index)
        if planned is not None:
            release = charge.release
            for name, (shapes, before) in filters.items():
                after = _after(before, release, shapes, planned)
                if after is None:
                    whose = f" for profile `{name}`" if name else ""
                    raise Unsound(
                        f"round {charge.round} is not within the plan{whose}",
                        charge.index,
                    )
                filters[name] = (shapes, after)
        entry = charge.entry
        if entry is not None and tags is not None and entry.tags != tags.tags:
            raise Unsound("`tags` is not the digest of the logged tags", charge.index)
        counted += 1
    if planned is None:
        return Remark(NOT_PRIVATE) if counted else "0 rounds"
    how = "each" if planned.plan.filter == "F0" else "in sum"
    return f"{counted} rounds, {how} within the plan ({planned.plan.filter})"


def _filters(planned: LoggedPlan) -> dict[str, tuple[Shapes | None, Filter]]:
    """Return the filter of the plan, and those of profiles that need their own."""
    scales = tuple(planned.classes.values())
    filters: dict[str, tuple[Shapes | None, Filter]] = {
        "": (None, _filter(planned, planned.releases, scales))
    }
    if planned.plan.filter != "F0":
        for name, profile in planned.profiles.items():
            shapes = _profile_shapes(planned, name, profile)
            filters[name] = (shapes, _filter(planned, profile.releases, ()))
    return filters


def _filter(
    planned: LoggedPlan, releases: tuple[CountedRelease, ...], scales: tuple[float, ...]
) -> Filter:
    plan, policy = planned.plan, planned.policy
    paid = tuple(
        (release_per_person(r, policy.sites_per_person), n) for r, n in releases
    )
    if plan.filter == "F0":
        return PlanEnvelope(paid, policy.neighbours)
    delta = float(plan.delta or 0.0)
    sums = PlanFilter.of(paid, delta, policy.neighbours, policy.accountant, scales)
    return replace(sums, room=ROOM)


def _profile_shapes(planned: LoggedPlan, name: str, profile: ClaimProfile) -> Shapes:
    """Return the profile's own charges in place of each planned shape."""
    shapes: dict[ReleaseShape, Release] = {}
    for own, release in paired_charges(profile.releases, planned.releases):
        known = shapes.setdefault(release_shape(release), own)
        if release_shape(known) != release_shape(own):
            raise Unsound(f"profile `{name}`: one shape, two charges", planned.index)
    return shapes


def _after(
    before: Filter, release: Release, shapes: Shapes | None, planned: LoggedPlan
) -> Filter | None:
    if shapes is not None:
        # The plan's own filter comes first and refuses shapes that were not planned.
        own = shapes[release_shape(release)]
        groups = tuple(
            replace(mine, sigma=group.sigma)
            for mine, group in zip(own.groups, release.groups, strict=True)
        )
        release = replace(own, groups=groups)
    return before.after(release_per_person(release, planned.policy.sites_per_person))


def spent(evidence: Evidence) -> str | Remark:
    """Budgets are recomputed from the events and compared, round by round."""
    planned = read_plan(evidence)
    if planned is None:
        return _unspent(evidence)
    plan, policy = planned.plan, planned.policy
    ceilings: dict[Tier | None, float] = {
        Tier.parse(name): float(value) for name, value in plan.tiers.items()
    }
    # The plan's price is checked by itself; a part of the plan costs no more.
    ceilings[None] = float(plan.epsilon or 0.0)
    settings = float(plan.delta or 0.0), policy.neighbours, policy.sites_per_person
    sums = _Sums(planned, RunningTotal(*settings, ceilings))
    for charge in charges(evidence):
        sums.add(charge)
    total = sums.total
    tiers = ", ".join(f"{t.label} {shown(value)}" for t, value in total.tiers.items())
    return (
        f"{sums.rounds} rounds: record {shown(total.record)} of {policy.epsilon} at "
        f"delta {policy.delta} by {total.accountant.upper()}"
        + (f"; tiers {tiers}" if tiers else "")
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
