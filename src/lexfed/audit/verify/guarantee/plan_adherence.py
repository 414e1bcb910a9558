# SPDX-License-Identifier: Apache-2.0
"""Did every round keep to the plan, by the filter that was logged with it?

F0: the event of a round is dominated by a planned release, and planned ones are used in
their order, each at most once. F1, F2: an event has the shape of a planned release
(everything but its noise), and in every scope of the claim what the events cost adds up
to no more than what the planned ones cost. There may be more rounds than planned then.

Sites with budgets of their own are charged for the same rounds with smaller clips or
rates. Under F0 they are inside their plan if the run is inside its own; the sums of F1
and F2 are computed again with their numbers.
"""

from collections.abc import Mapping
from dataclasses import replace

from lexfed.audit.entries import FeatureTags
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.guarantee.plan_price import NOT_PRIVATE, LoggedPlan, read_plan
from lexfed.audit.verify.guarantee.spending import charges, release_of
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.privacy.claim.lines import ClaimProfile, paired_charges
from lexfed.privacy.filters import (
    Filter,
    PlanEnvelope,
    PlanFilter,
    ReleaseShape,
    release_shape,
)
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease, release_per_person

ROOM = 1e-11
"""Relative room for the floats of another machine in a sum."""

Shapes = Mapping[ReleaseShape, Release]


def events(evidence: Evidence) -> str | Remark:
    """The event of every round is one that the plan allows, and tags are in force."""
    planned = read_plan(evidence)
    tags = evidence.last(FeatureTags)
    allowed = {} if planned is None else _filters(planned)
    counted = 0
    for charge in charges(evidence):
        if planned is None and charge.event is not None:
            raise Unsound(f"round {charge.round} has an event", charge.index)
        if planned is not None:
            release = release_of(charge)
            for name, (shapes, before) in allowed.items():
                after = _after(before, release, shapes, planned)
                if after is None:
                    whose = f" for profile `{name}`" if name else ""
                    raise Unsound(
                        f"round {charge.round} is not within the plan{whose}",
                        charge.index,
                    )
                allowed[name] = (shapes, after)
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
    found: dict[str, tuple[Shapes | None, Filter]] = {}
    scales = tuple(planned.classes.values())
    found[""] = (None, _filter(planned, planned.releases, scales))
    if planned.plan.filter == "F0":
        return found
    for name, profile in planned.profiles.items():
        shapes = _own_shapes(planned, name, profile)
        found[name] = (shapes, _filter(planned, profile.releases, ()))
    return found


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


def _own_shapes(planned: LoggedPlan, name: str, profile: ClaimProfile) -> Shapes:
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
