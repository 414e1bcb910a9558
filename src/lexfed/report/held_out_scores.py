# SPDX-License-Identifier: Apache-2.0
"""Test rows in groups of like score, read from a run folder for curves and tables.

They are beside the log, as all metrics are, and nothing proves them: groups of a shape
that no run writes are no groups, and the report goes without its curves.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

_MOST = 100
"""Groups or classes at most; runs write 20 and 12."""


@dataclass(frozen=True)
class ScoreGroup:
    """Rows of like score: mean score, mean truth (a share for classes), and number."""

    score: float
    truth: float
    rows: int


@dataclass(frozen=True)
class HeldOutScores:
    """Held-out rows by score.

    Attributes:
        classes: names of the classes, the positive one last; none for a number.
        confusion: rows of each class (outer) by the class they were called (inner).
        threshold: the score from which on a row is called positive; None if a row gets
            the class with the highest score.
        majority: share of the most frequent class; None for a number.
        groups: lowest scores first; none for three classes or more.
    """

    rows: int
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    threshold: float | None
    majority: float | None
    groups: tuple[ScoreGroup, ...]

    @property
    def operating_point(self) -> tuple[float, float] | None:
        """Share of negatives and of positives that are called positive."""
        if self.threshold is None or len(self.confusion) != 2:
            return None
        (kept, false), (missed, hit) = self.confusion
        if not kept + false or not missed + hit:
            return None
        return false / (kept + false), hit / (missed + hit)

    def roc(self) -> list[tuple[float, float]]:
        """Return the curve of both shares over all thresholds between groups."""
        if self.threshold is None:
            return []
        positive = [group.truth * group.rows for group in self.groups]
        negative = [(1.0 - group.truth) * group.rows for group in self.groups]
        if not sum(positive) > 0 or not sum(negative) > 0:
            return []
        points, x, y = [(0.0, 0.0)], 0.0, 0.0
        for hits, false in zip(reversed(positive), reversed(negative), strict=True):
            x, y = x + false, y + hits
            points.append((min(1.0, x / sum(negative)), min(1.0, y / sum(positive))))
        return points


def read_held_out(value: object) -> HeldOutScores | None:
    """Return the groups that a run wrote; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    try:
        return _read(value)
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None


def _read(value: Mapping[str, object]) -> HeldOutScores:
    rows, classes = _count(value["rows"]), value.get("classes", [])
    table = [
        [_count(cell) for cell in _list(row)]
        for row in _list(value.get("confusion", []))
    ]
    names = tuple(name for name in _list(classes) if isinstance(name, str))
    if rows == 0 or len(names) != len(_list(classes)):
        raise ValueError
    if len(table) != len(names) or any(len(row) != len(names) for row in table):
        raise ValueError
    threshold = value.get("threshold")
    majority = value.get("majority")
    if majority is None and table:
        majority = max(map(sum, table)) / sum(map(sum, table))
    return HeldOutScores(
        rows=rows,
        classes=names,
        confusion=tuple(map(tuple, table)),
        threshold=None if threshold is None else _share(threshold),
        majority=None if majority is None else _share(majority),
        groups=tuple(
            _group(row, threshold is not None) for row in _list(value.get("groups", []))
        ),
    )


def _group(row: object, binary: bool) -> ScoreGroup:
    first, second, third = _list(row)
    if not binary:
        return ScoreGroup(_number(first), _number(second), _count(third))
    negative, positive = _count(second), _count(third)
    rows = negative + positive
    return ScoreGroup(_share(first), positive / rows, rows)


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not math.isfinite(value):
        raise ValueError
    return float(value)


def _share(value: object) -> float:
    number = _number(value)
    if not 0.0 <= number <= 1.0:
        raise ValueError
    return number


def _count(value: object) -> int:
    number = _number(value)
    if number < 0 or number != int(number) or number > 1e15:
        raise ValueError
    return int(number)
