# SPDX-License-Identifier: Apache-2.0
"""The effects of columns that a run states beside its log, read for drawings.

They follow from released values, but no entry of the log vouches for the file that has
them: effects of a shape that no run writes are no effects, and the report goes without.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

_MOST = 10_000
"""Columns, points or levels at most."""

_KINDS = ("curve", "levels")


@dataclass(frozen=True)
class LearnedEffect:
    """The effect of a column: for each output, a value at every point.

    Attributes:
        kind: `curve` for a number, `levels` for a category or a flag.
        points: places along the axis, from 0 to 1, of a curve; else empty.
        ticks: values of the column at both ends and half-way, of a curve.
        levels: names of the values, of levels.
        effect: of each output, its values at the points.
        deviation: likewise.
        missing: effect and deviation of a missing value for each output, or none.
    """

    column: str
    tier: str
    kind: str
    points: tuple[float, ...]
    ticks: tuple[float, ...]
    levels: tuple[str, ...]
    effect: tuple[tuple[float, ...], ...]
    deviation: tuple[tuple[float, ...], ...]
    missing: tuple[tuple[float, float], ...]
    strength: tuple[float, ...]


@dataclass(frozen=True)
class LearnedEffects:
    """The effects of a model's columns, the strongest first.

    Attributes:
        scale: `log-odds`, `score`, `target` or `encoded target`.
        outputs: the class, the classes, or the target.
        factors: factor of each tier's tower where all are used; may be empty.
    """

    scale: str
    outputs: tuple[str, ...]
    factors: Mapping[str, float]
    columns: tuple[LearnedEffect, ...]


def read_effects(value: object) -> LearnedEffects | None:
    """Return the effects that a run wrote; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    try:
        return _read(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _read(value: Mapping[str, object]) -> LearnedEffects:
    outputs = tuple(_text(name) for name in _list(value["outputs"]))
    factors = value["factors"]
    if not isinstance(factors, Mapping):
        raise TypeError
    columns = [_column(each, len(outputs)) for each in _list(value["columns"])]
    if not outputs or not columns:
        raise ValueError
    return LearnedEffects(
        scale=_text(value["scale"]),
        outputs=outputs,
        factors={_text(tier): _number(factor) for tier, factor in factors.items()},
        columns=tuple(sorted(columns, key=lambda each: -max(each.strength))),
    )


def _column(value: object, outputs: int) -> LearnedEffect:
    if not isinstance(value, Mapping) or value["kind"] not in _KINDS:
        raise TypeError
    is_curve = value["kind"] == "curve"
    points = _numbers(value["along"]) if is_curve else ()
    at = _numbers(value["at"]) if is_curve else ()
    levels = () if is_curve else tuple(_text(name) for name in _list(value["levels"]))
    size = len(at) if is_curve else len(levels)
    if size < (2 if is_curve else 1) or len(points) != len(at):
        raise ValueError
    if is_curve and (
        list(points) != sorted(set(points)) or points[0] or points[-1] != 1
    ):
        raise ValueError
    missing, gone = value["missing"], []
    if missing is not None:
        if not isinstance(missing, Mapping):
            raise TypeError
        pair = (_numbers(missing[name]) for name in ("effect", "deviation"))
        gone = list(zip(*pair, strict=True))
        if len(gone) != outputs:
            raise ValueError
    strength = _numbers(value["strength"])
    if len(strength) != outputs:
        raise ValueError
    return LearnedEffect(
        column=_text(value["column"]),
        tier=_text(value["tier"]),
        kind=str(value["kind"]),
        points=points,
        ticks=(at[0], at[len(at) // 2], at[-1]) if is_curve else (),
        levels=levels,
        effect=_table(value["effect"], size, outputs),
        deviation=_table(value["deviation"], size, outputs),
        missing=tuple(gone),
        strength=strength,
    )


def _table(value: object, size: int, outputs: int) -> tuple[tuple[float, ...], ...]:
    """Return the columns of a table [points, outputs]."""
    rows = [_numbers(row) for row in _list(value)]
    if len(rows) != size or any(len(row) != outputs for row in rows):
        raise ValueError
    return tuple(zip(*rows, strict=True))


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise TypeError
    return value


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(_number(each) for each in _list(value))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not math.isfinite(value) or abs(value) > 1e300:
        raise ValueError
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
