# SPDX-License-Identifier: Apache-2.0
"""The rows of the table of runs, the whole record's guarantee before all else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lexfed.audit.entries import AbortedRoundEntry, PolicyEntry
from lexfed.audit.verify import Status
from lexfed.privacy.claim.schema import Claim
from lexfed.report.comparison.compared_runs import ComparedRun
from lexfed.report.comparison.result_groups import metric_interval
from lexfed.report.comparison.together import data_name
from lexfed.report.dossier import Dossier
from lexfed.report.sections.guarantee import FILTERS
from lexfed.report.sections.result import COVER, measures
from lexfed.report.sections.tier_gains import metrics_kind, rounds_line
from lexfed.report.wording.plain_words import (
    NEIGHBOURS,
    TIERS,
    UNITS,
    in_short,
    tier_name,
)
from lexfed.report.wording.rounding import delta, round_up
from lexfed.tiers import Tier

_FULL = 0.99
"""Part of a budget from which on it counts as used up; a plan fills it to 3e-4."""


@dataclass(frozen=True)
class FactRow:
    """A fact about every run; an empty cell means that a run has none."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class FactGroup:
    """Rows under one heading."""

    name: str
    rows: tuple[FactRow, ...]


def fact_groups(runs: Sequence[ComparedRun]) -> tuple[FactGroup, ...]:
    """Return the facts about runs, in groups.

    Guarantees:
        The whole record's guarantee stands before every tier's, and before any metric.
        Every metric is named with what covers it.
    """
    dossiers = [run.dossier for run in runs]
    claims = [run.claim for run in runs]
    tiers = [t for t in TIERS if any(c is not None and t in c.tiers for c in claims)]
    groups = (
        ("Whole record", _record(claims)),
        (
            "One value of a tier, and the label: other comparisons, not parts",
            [
                *[_of_claims(tier_name(t), claims, _tier(t, dossiers)) for t in tiers],
                _of_claims(
                    "label", claims, lambda _, c: f"ε {round_up(c.label.epsilon)}"
                ),
            ],
        ),
        ("Budget", [_of_dossiers("the limit that binds", dossiers, binding_limit)]),
        (
            "Training",
            [
                _of_dossiers("mechanism", dossiers, _mechanism),
                _of_dossiers("engine", dossiers, _engine),
                _of_dossiers("rounds", dossiers, rounds_line),
                _of_dossiers("lost rounds, paid for", dossiers, _lost),
            ],
        ),
        (
            "Data",
            [
                _of_dossiers("data", dossiers, data_name),
                _of_dossiers("people", dossiers, people),
                _of_dossiers("target", dossiers, _target),
            ],
        ),
        ("Result on test rows", _results(dossiers)),
        ("Log", [_of_dossiers("checks passed", dossiers, _checks)]),
    )
    shown = (
        FactGroup(name, tuple(row for row in rows if any(row.cells)))
        for name, rows in groups
    )
    return tuple(group for group in shown if group.rows)


def _record(claims: Sequence[Claim | None]) -> list[FactRow]:
    facts: dict[str, Callable[[int, Claim], str]] = {
        "ε": lambda _, c: round_up(c.epsilon),
        "ε under replace-one": lambda _, c: (
            round_up(c.label.epsilon) if c.neighbours == "add-remove" else ""
        ),
        "δ": lambda _, c: delta(c.delta),
        "per": lambda _, c: UNITS[c.unit],
        "neighbours": lambda _, c: NEIGHBOURS[c.neighbours],
        "accountant": lambda _, c: c.accountant.name.upper(),
        "held to the plan by": lambda _, c: (
            FILTERS[c.accountant.filter] if c.accountant.filter != "F0" else ""
        ),
        "trust": lambda _, c: c.trust,
        "assumed": lambda _, c: "" if c.cohort is None else in_short(c.cohort),
    }
    return [_of_claims(name, claims, fact) for name, fact in facts.items()]


def _of_claims(
    name: str, claims: Sequence[Claim | None], fact: Callable[[int, Claim], str]
) -> FactRow:
    return FactRow(
        name,
        tuple("" if c is None else fact(place, c) for place, c in enumerate(claims)),
    )


def _of_dossiers(
    name: str, dossiers: Sequence[Dossier | None], fact: Callable[[Dossier], str]
) -> FactRow:
    return FactRow(name, tuple("" if d is None else fact(d) for d in dossiers))


def _tier(tier: str, dossiers: Sequence[Dossier | None]) -> Callable[[int, Claim], str]:
    def fact(place: int, claim: Claim) -> str:
        row, dossier = claim.tiers.get(tier), dossiers[place]  # type: ignore[call-overload]
        if row is None:
            return ""
        policy = None if dossier is None else dossier.entry(PolicyEntry)
        caps = {} if policy is None else {str(t): cap for t, cap in policy.caps.items()}
        cap = f", cap {round_up(caps[tier])}" if tier in caps else ", no cap"
        return f"ε {round_up(row.epsilon)}{cap}"

    return fact


def binding_limit(dossier: Dossier) -> str:
    """Return the budget or the cap that limits the plan, by the claim and the log.

    A cap limits the whole model if the first part of it may depend on the tier, since
    the other parts build on that one.
    """
    claim, policy = dossier.claim, dossier.entry(PolicyEntry)
    if claim is None or policy is None or policy.epsilon is None or dossier.stamp:
        return ""
    used = f"ε {round_up(claim.epsilon)} of {round_up(policy.epsilon)} used"
    if claim.epsilon >= _FULL * float(policy.epsilon):
        return f"the record's budget: {used}"
    reads = [row.release.reads for row in claim.releases]
    first = min((Tier.parse(name) for name in reads if name is not None), default=None)
    caps = {str(tier): cap for tier, cap in policy.caps.items()}
    capped = sorted(
        (float(caps[tier]), tier)
        for tier in claim.tiers
        if tier in caps and first is not None and Tier.parse(tier) <= first
    )
    if not capped:
        return f"no cap: {used}"
    tier = str(capped[0][1])
    return f"the cap on {tier_name(tier)}, {round_up(caps[tier])}: {used}"


def _mechanism(dossier: Dossier) -> str:
    policy = dossier.entry(PolicyEntry)
    return "" if policy is None else policy.mechanism


def _engine(dossier: Dossier) -> str:
    policy = dossier.entry(PolicyEntry)
    return "" if policy is None else policy.transport


def _lost(dossier: Dossier) -> str:
    lost = len(dossier.of(AbortedRoundEntry))
    return str(lost) if lost else ""


def people(dossier: Dossier) -> str:
    """Return the public number of people, as the configuration states it."""
    units = dossier.table("data").get("units")
    if isinstance(units, int) and not isinstance(units, bool):
        return f"{units}, declared"
    generator = dossier.table("data").get("generator")
    made = generator.get("patients") if isinstance(generator, dict) else None
    if isinstance(made, int) and not isinstance(made, bool):
        return f"{made}, made up"
    return "not stated"


def _target(dossier: Dossier) -> str:
    return "" if dossier.tagged is None else dossier.tagged.schema.target


def _checks(dossier: Dossier) -> str:
    return str(sum(check.status is Status.OK for check in dossier.verdict.checks))


def _results(dossiers: Sequence[Dossier | None]) -> list[FactRow]:
    listed = [
        {} if d is None else {measure.name: measure for measure in measures(d)}
        for d in dossiers
    ]
    names = dict.fromkeys(name for each in listed for name in each)
    rows = [_of_dossiers("covered by", dossiers, _cover)]
    for name in names:
        found = [each.get(name) for each in listed]
        rows.append(FactRow(name, tuple(m.value if m else "" for m in found)))
        intervals = [
            _interval(d) if m is not None and m.name.lower() == _metric(d) else ""
            for m, d in zip(found, dossiers, strict=True)
        ]
        rows.append(FactRow(f"{name}, 95 % by test rows alone", tuple(intervals)))
        without = tuple(
            ", ".join(filter(None, (m.baseline, m.without))) if m else "" for m in found
        )
        rows.append(FactRow(f"{name} without a model", without))
    rows.append(_of_dossiers("test rows", dossiers, _test_rows))
    rows.append(_of_dossiers("noise", dossiers, lambda d: d.measured.verdict))
    return rows


def _cover(dossier: Dossier) -> str:
    if not dossier.measured.metrics:
        return "no metric was measured"
    return COVER[metrics_kind(dossier)]


def _metric(dossier: Dossier | None) -> str:
    return "" if dossier is None else dossier.measured.metric


def _interval(dossier: Dossier | None) -> str:
    found = None if dossier is None else metric_interval(dossier)
    return "" if found is None else f"{found[0]:.3f} to {found[1]:.3f}"


def _test_rows(dossier: Dossier) -> str:
    held_out = dossier.measured.held_out
    return "" if held_out is None else str(held_out.rows)
