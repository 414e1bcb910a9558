# SPDX-License-Identifier: Apache-2.0
"""Limits of a result: the cap that binds, and noise, before a run and after it.

Before: the plan's own numbers, all public. After: the rounds that were really released,
and for towers that the rule trains a test of whether their releases can be told from
noise alone (`lexfed.models.rule.evidence`). A result is *decided by noise* if they
cannot; where there is no such test, if noise was expected to outweigh the signal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from lexfed.budget.importance_intervals import ImportanceRanking
from lexfed.federation.coordinator.progress import Progress
from lexfed.federation.programme.tower_signals import (
    TowerSignal,
    planned_signals,
    released_signals,
)
from lexfed.models.rule.evidence import ReleasedEvidence
from lexfed.run.folder import EVENTS, RunFolder
from lexfed.run.intake.column_importance import importances_in
from lexfed.run.pricing.priced_run import PricedRun, plan_json
from lexfed.run.resumption import read_journal
from lexfed.tiers import Tier


def outlook_json(priced: PricedRun) -> dict[str, Any]:
    """Return what a plan can tell about its result, under fixed names."""
    cap, signals = priced.binding_cap, planned_signals(priced.programme)
    return {
        "cap": None if cap is None else cap.to_json(),
        "signals": [signal.to_json() for signal in signals],
    }


def plan_with_outlook(priced: PricedRun) -> dict[str, Any]:
    """Return the machine-readable plan, with what it can tell about its result."""
    return {**plan_json(priced), **outlook_json(priced)}


def outlook_notes(priced: PricedRun) -> tuple[str, ...]:
    """Return a plan's outlook in words; nothing where it is good."""
    cap = priced.binding_cap
    bound = "" if cap is None else cap.sentence(_cap_source(priced, cap.tier))
    signals = planned_signals(priced.programme)
    return tuple(filter(None, (bound, _words(signals, "noise is expected to decide"))))


def _cap_source(priced: PricedRun, tier: Tier) -> str:
    """Return the key or the policy that sets the cap of a tier."""
    stated = getattr(priced.config.budget.caps, tier.label)
    set_by = f"policy `{priced.policy.policy.name}`"
    source = set_by if stated is None else f"`budget.caps.{tier.label}`"
    return f"{source}, less what was paid before" if priced.paid else source


def signal_line(priced: PricedRun) -> str:
    """Return the expected signal over noise of each tower; empty without noise."""
    return _listed(planned_signals(priced.programme))


def _listed(signals: Sequence[TowerSignal]) -> str:
    return ", ".join(
        f"{each.tier.label} {each.expected:.2g} (at most {each.most:.2g})"
        if each.most < 100.0
        else f"{each.tier.label} {each.expected:.0f} (at most {each.most:.0f})"
        for each in signals
    )


def _words(signals: Sequence[TowerSignal], verb: str) -> str:
    """Return the sentence about towers whose noise outweighs what is expected."""
    drowned = [signal for signal in signals if signal.noise_decides]
    if not drowned:
        return ""
    whole = len(drowned) == len(signals)
    what = "this result" if whole else "what these parts of the model add"
    words = f"{verb} {what}: expected signal over noise {_listed(drowned)}"
    if whole:
        words += "; the same run with fresh noise would give another model"
    best = max(each.expected for each in drowned)
    if best > 0.0:
        words += f"; {_factor(1.0 / best)} times the records would bring it to 1"
    return words


def _factor(factor: float) -> str:
    return f"{factor:.1f}" if factor < 10 else f"{float(f'{factor:.2g}'):.0f}"


@dataclass(frozen=True)
class ResultOutlook:
    """What limited a finished run.

    `signals` are by the rounds that were released; `evidence` is of the towers that the
    rule trained, by place. The `ranking` is of a run that bought importances.
    """

    priced: PricedRun
    signals: tuple[TowerSignal, ...]
    evidence: Mapping[int, ReleasedEvidence]
    ranking: ImportanceRanking | None = None

    @property
    def verdict(self) -> str:
        """The sentence that noise decided the result, or a part; empty if it did not.

        Of importances it says whether one is the largest, beyond the noise.

        Guarantees:
            In at most 5 % of runs of noise alone it does not say so, where towers are
            trained by the rule. Chance in the rows themselves is not noise alone.
        """
        if self.ranking is not None:
            return f"importances: {self.ranking}"
        if not self.evidence:
            return _words(self.signals, "noise must be expected to have decided")
        together = reduce(add, self.evidence.values())
        if together.is_noise:
            return (
                "noise decided this result: what was released cannot be told from "
                f"noise alone (p = {together.p_value:.2f}); the same run with fresh "
                "noise would give another model"
            )
        shapes = self.priced.programme.shapes
        lost = [
            f"{shapes[place].tier.label} (p = {found.p_value:.2f})"
            for place, found in self.evidence.items()
            if found.is_noise
        ]
        if not lost:
            return ""
        return (
            "what these parts of the model released cannot be told from noise alone: "
            + ", ".join(lost)
        )

    def to_json(self) -> dict[str, Any]:
        """Return it under its fixed names."""
        p_values = {
            self.priced.programme.shapes[place].tier.label: found.p_value
            for place, found in self.evidence.items()
        }
        signals = [
            {**signal.to_json(), "p_value": p_values.get(signal.tier.label)}
            for signal in self.signals
        ]
        return {**outlook_json(self.priced), "signals": signals}


def result_outlook(
    priced: PricedRun, folder: RunFolder, progress: Progress
) -> ResultOutlook:
    """Return what limited a run, by its journal and its released state."""
    from lexfed.federation.coordinator.learner import Learner

    if not priced.private:
        return ResultOutlook(priced, (), {})
    journal = read_journal(folder.path / EVENTS, folder.events.rows)
    rounds = (
        (charge.stage, charge.release)
        for number, charge in enumerate(journal.charges, start=1)
        if charge.release is not None and number not in journal.lost
    )
    ranking = None
    if any(stage.kind == "importance" for stage in priced.programme.stages):
        slots = [shape.slots for shape in priced.programme.shapes]
        encoding = priced.population.encoding
        ranking = importances_in(progress.memory, slots, encoding).ranking
    return ResultOutlook(
        priced,
        released_signals(priced.programme, rounds),
        Learner(priced.programme).evidence(progress),
        ranking,
    )
