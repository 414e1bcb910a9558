# SPDX-License-Identifier: Apache-2.0
"""Metrics and notes of a run: files of its folder that are not in the log.

Metrics depend on people whom the guarantee does not cover, so their log would confirm
guesses about them for ever. They are read here as somebody's word: a file that is
missing or damaged gives no numbers, and nothing else in the report depends on them.
Notes of a run follow from released values; they too are self-reported.
"""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lexfed.plain_files import read_plain

_LARGEST = 16 << 20


@dataclass(frozen=True)
class RunMetrics:
    """Numbers on test rows.

    Attributes:
        metrics: of the final model, by name.
        gains: the deciding metric with the towers up to each tier, in order.
        by_round: round, stage and the deciding metric after it.
        metric: name of the deciding metric; empty where nothing was measured.
        notes: of the run about itself, such as persons at several sites.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    gains: Mapping[str, float] = field(default_factory=dict)
    by_round: tuple[tuple[int, str, float], ...] = ()
    metric: str = ""
    notes: tuple[str, ...] = ()


def read_run_metrics(folder: Path) -> RunMetrics:
    """Return the metrics and notes that a run folder states."""
    plain = _json(folder / "result.json")
    metrics = _numbers(plain.get("metrics"))
    gains = _numbers(plain.get("gains"))
    names, rounds = _rows(folder / "metrics.csv")
    metric = next(iter(metrics), names[0] if names else "")
    notes = (*_words(plain.get("notes")), *_words(plain.get("sketched")))
    return RunMetrics(metrics, gains, rounds, metric, notes)


def _json(path: Path) -> Mapping[str, object]:
    try:
        value = json.loads(_read(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> str:
    return read_plain(path, _LARGEST).decode()


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): float(number)
        for name, number in value.items()
        if isinstance(number, int | float) and math.isfinite(number)
    }


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(note for note in value if isinstance(note, str))


def _rows(path: Path) -> tuple[list[str], tuple[tuple[int, str, float], ...]]:
    try:
        lines = list(csv.reader(_read(path).splitlines()))
        names = lines[0][2:]
        if not names:
            return [], ()
        rows = [(int(row[0]), row[1], float(row[2])) for row in lines[1:]]
    except (OSError, ValueError, IndexError, csv.Error):
        return [], ()
    return names, tuple(row for row in rows if math.isfinite(row[2]))
