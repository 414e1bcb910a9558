# SPDX-License-Identifier: Apache-2.0
"""Metrics of a model, and the files that get a line after each round.

Errors of a predicted number are in the units of the target. A paid histogram counts
errors on the encoded scale; where that is not linear they stay there, and say so.

With `metrics = "public"` the test rows are declared public and metrics cost nothing.
With `"paid"` no test row is looked at outside the noised histogram. Otherwise metrics
are computed and the claim lists the test rows as not covered.

A line of `metrics.csv` and `adaptation.csv` follows its round's release, so a crash can
leave a file one line short or with half a line, never ahead of the release. On
resuming, the last round's line is written again.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from lexfed.data.encoding import decode_target, target_unit
from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError, system_reason
from lexfed.federation.coordinator.noisy_descent import TowerSteering, last_terms
from lexfed.federation.coordinator.progress import Progress
from lexfed.models.losses import (
    SCALED,
    Loss,
    metrics,
    metrics_of_histogram,
    number_metrics,
)
from lexfed.plain_files import MOST_OF_A_DOCUMENT, plain, read_plain
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.folder import ADAPTATION, METRICS, RunFolder
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.resumption import ResumePoint

if TYPE_CHECKING:
    from lexfed.models.towers import Model

NAMES = ("noise", "radius", "learning_rate", "score", "frozen")
"""Columns of `adaptation.csv`: factors on planned noise and step, radius of the clip,
score of convergence after the round, and whether adaptation is frozen."""


def evaluate(
    priced: PricedRun, model: "Model", towers: int | None = None
) -> dict[str, float]:
    """Return the metrics with the first `towers` towers; none if they must be paid."""
    if priced.config.evaluation.metrics == "paid":
        return {}
    slots, targets = priced.population.test_rows
    if not len(targets):
        return {}
    loss, logits = priced.programme.loss, model.logits(slots, towers)
    if loss == "squared":
        # As `lexfed predict` gives them: in the units of the target, within its range.
        schema = priced.population.encoding.schema
        predicted = decode_target(schema, Loss(loss).predict(logits).numpy()[:, 0])
        return number_metrics(predicted, decode_target(schema, targets.numpy()))
    return metrics(loss, logits, targets)


def gains(priced: PricedRun, model: "Model") -> dict[str, float]:
    """Return the deciding metric with the towers up to each tier."""
    values = {}
    for count, tower in enumerate(model.towers, start=1):
        found = evaluate(priced, model, count)
        if found:
            values[tower.shape.tier.label] = next(iter(found.values()))
    return values


def paid_metrics(
    priced: PricedRun, memory: Mapping[str, NDArray[Any]]
) -> dict[str, float] | None:
    """Return the metrics of the released histogram; None if none was paid for."""
    if priced.config.evaluation.metrics != "paid":
        return None
    if "histogram" not in memory:
        return {}
    found = metrics_of_histogram(priced.programme.loss, memory["histogram"])
    schema = priced.population.encoding.schema
    unit = target_unit(schema.by_name(schema.target))
    if priced.programme.loss != "squared" or unit is None:
        return found
    return {name.removesuffix(SCALED): unit * value for name, value in found.items()}


class MetricsFile:
    """A CSV file with a line per round.

    Guarantees:
        After opening it holds whole lines of durable rounds only, in order.
        A line is on disk when `append` returns.
    """

    def __init__(self, path: Path, names: Sequence[str], durable: int) -> None:
        """Open or create the file and drop lines after the last durable round."""
        self._path = path
        self._names = tuple(names)
        header = ["round", "stage", *names]
        known = {str(number) for number in range(1, durable + 1)}
        rows = [row for row in _whole_rows(path) if len(row) == len(header)]
        kept = [row for row in rows if row[0] in known]
        self.last = int(kept[-1][0]) if kept else 0
        write_atomically(path, "".join(map(_line, [header, *kept])).encode())

    def append(self, number: int, stage: str, metrics: Mapping[str, float]) -> None:
        """Add the line of a round."""
        values = [f"{metrics[name]:.6g}" for name in self._names]
        try:
            with open(self._path, "ab", opener=plain) as file:
                file.write(_line([str(number), stage, *values]).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunFolderError(
                f"cannot write `{self._path}`: {system_reason(error)}",
                "free some space or fix the folder's permissions, then continue with "
                "`lexfed run --resume`",
            ) from error
        self.last = number


def _whole_rows(path: Path) -> list[list[str]]:
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT)
        whole = content[: content.rfind(b"\n") + 1]
        return list(csv.reader(whole.decode(errors="replace").splitlines()))
    except (OSError, csv.Error):  # nothing rests on it: it begins anew
        return []


def _line(values: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


class RoundFiles:
    """The lines that every round adds to `metrics.csv` and `adaptation.csv`.

    The second file is there if anything adapts: the clip, the step and the score behind
    the noise of every round, all derived from released values.

    Guarantees:
        A tower whose adaptation froze is in the audit log, also after a crash.
    """

    def __init__(
        self, priced: PricedRun, folder: RunFolder, logbook: Logbook, point: ResumePoint
    ) -> None:
        self._priced, self._logbook = priced, logbook
        self._steering = TowerSteering(priced.programme)
        names, durable = tuple(evaluate(priced, point.progress.model)), point.durable
        self._metrics = MetricsFile(folder.path / METRICS, names, durable.done)
        if self._metrics.last < durable.done:
            self._add_metrics(durable)
        self._adaptation: MetricsFile | None = None
        if priced.programme.adapting.active:
            path = folder.path / ADAPTATION
            self._adaptation = MetricsFile(path, NAMES, durable.done)
            if self._adaptation.last < durable.done and durable.step > 0:
                self._add_adaptation(durable)

    def add(self, progress: Progress) -> dict[str, float]:
        """Add the lines of a round; return the metrics of the model after it."""
        metrics = self._add_metrics(progress)
        self._add_adaptation(progress)
        return metrics

    def _add_metrics(self, progress: Progress) -> dict[str, float]:
        stage = self._priced.programme.stages[progress.stage]
        metrics = evaluate(self._priced, progress.model, stage.tower + 1)
        self._metrics.append(progress.done, stage.name, metrics)
        return metrics

    def _add_adaptation(self, progress: Progress) -> None:
        stage = self._priced.programme.stages[progress.stage]
        if self._adaptation is None or not self._priced.programme.steers(stage):
            return
        used = last_terms(stage.tower, progress.memory)
        state = self._steering.state(stage, progress.memory)
        rest = {"score": state.score, "frozen": float(state.frozen)}
        self._adaptation.append(progress.done, stage.name, {**used, **rest})
        if state.frozen:
            self._logbook.frozen(stage.tower)
