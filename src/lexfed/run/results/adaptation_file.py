# SPDX-License-Identifier: Apache-2.0
"""The adaptation of a run: a line per round in `adaptation.csv`, and a few words.

Everything here is derived from released values. The audit log has the noise of every
round in its events; this file adds the clip, the step and the score behind them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lexfed.budget.tower_steering import Adaptation, Steering
from lexfed.federation.coordinator.learner import Progress
from lexfed.federation.coordinator.noisy_descent import TowerSteering, last_terms
from lexfed.federation.programme.sequence import Stage
from lexfed.privacy.releases import Release
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.folder import ADAPTATION, RunFolder
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.metrics_file import MetricsFile
from lexfed.run.resumption.recovery import ResumePoint

NAMES = ("noise", "radius", "learning_rate", "score", "frozen")
"""Columns of the file: factors on planned noise and step, radius of the clip, score of
convergence after the round, and whether adaptation is frozen."""


class AdaptationFile:
    """Writes a line about the steering after every round, if anything adapts.

    Guarantees:
        A tower whose adaptation froze is in the audit log, also after a crash.
    """

    def __init__(
        self, priced: PricedRun, folder: RunFolder, logbook: Logbook, found: ResumePoint
    ) -> None:
        self._priced = priced
        self._logbook = logbook
        self._steering = TowerSteering(priced.programme)
        self._file: MetricsFile | None = None
        if priced.programme.adapting.active:
            path = folder.path / ADAPTATION
            self._file = MetricsFile(path, NAMES, found.durable.done)
            if self._file.last < found.durable.done and found.durable.step > 0:
                self.note(found.durable)

    def note(self, progress: Progress) -> None:
        """Write the line of the last round."""
        stage = self._priced.programme.stages[progress.stage]
        if self._file is None or not self._priced.programme.steers(stage):
            return
        used = last_terms(stage.tower, progress.memory)
        state = self._steering.state(stage, progress.memory)
        rest = {"score": state.score, "frozen": float(state.frozen)}
        self._file.append(progress.done, stage.name, {**used, **rest})
        if state.frozen:
            self._logbook.frozen(stage.tower)


def plan_lines(priced: PricedRun) -> list[str]:
    """Return lines about planned adaptation and its limits, before anything runs."""
    adapting = priced.programme.adapting
    if not adapting.active:
        return []
    lines = []
    if adapting.noise != "none":
        ranges = {
            stage.noise_range
            for stage in priced.programme.stages
            if stage.noise_range != (1.0, 1.0)
        }
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        lines.append(
            f"noise follows `{adapting.noise}`, {low:.3g} to {high:.3g} times the "
            f"planned; {_FENCE[adapting.guarantee]}"
        )
    if adapting.clip != "none":
        lines.append(f"clip follows `{adapting.clip}` of released values")
    if adapting.learning_rate != "none":
        lines.append(f"learning rate follows `{adapting.learning_rate}`")
    if adapting.patience is not None:
        lines.append(
            f"a tower ends after {adapting.patience} rounds without progress, which "
            "earns nothing"
        )
    return lines


_FENCE = {
    "envelope": "the plan below is the envelope: its noise is the least of any round",
    "filter": "a filter keeps the sum of all rounds within the plan below",
}


def result_lines(
    priced: PricedRun, rows: Iterable[Mapping[str, Any]], progress: Progress
) -> tuple[str, ...]:
    """Return lines with the rounds and the noise of each tower.

    `rows` are the events of the run, `progress` is its last state.
    """
    if not priced.programme.adapting.active:
        return ()
    charged: dict[int, list[Release]] = {}
    for row in rows:
        if row["type"] == "charge":
            release = Release.from_json(row["release"])
            charged.setdefault(row["stage"], []).append(release)
    steering = TowerSteering(priced.programme)
    return tuple(
        _line(stage, charged.get(index, []))
        + _ending(priced.programme.adapting, steering.state(stage, progress.memory))
        for index, stage in enumerate(priced.programme.stages)
        if priced.programme.steers(stage)
    )


def _line(stage: Stage, charged: list[Release]) -> str:
    planned = [release for release in stage.releases if release is not None]
    used = sum(release.noise_multiplier**-2 for release in charged)
    whole = sum(release.noise_multiplier**-2 for release in planned)
    return (
        f"{stage.name}: {len(charged)} rounds, {len(planned)} planned; used "
        f"{100 * used / whole:.0f} % of the planned sum of squares"
    )


def _ending(adapting: Adaptation, state: Steering) -> str:
    if state.frozen:
        return "; frozen at the most noise: it released what honest sums cannot be"
    if adapting.is_over(state):
        return "; no more progress, and ending early earns nothing"
    return ""
