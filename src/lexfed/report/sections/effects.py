# SPDX-License-Identifier: Apache-2.0
"""Learned effects of a model with shape functions: a curve or bars for every column.

Effects follow from released values, so the guarantee covers them. The file that has
them is beside the log, and no entry vouches for it: the section says both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.report.dossier import Dossier
from lexfed.report.learned_effects import LearnedEffect, LearnedEffects
from lexfed.report.markup.charts import EffectLine, effect_bars, effect_chart
from lexfed.report.markup.escaping import shortened
from lexfed.report.wording.plain_words import tier_name
from lexfed.report.wording.rounding import count

_Z = 1.959963984540054  # two-sided 95 %
_SHOWN = 12
"""Columns that are not folded away."""

_LEVELS = 8
"""Levels of a category that are drawn; the others say how many they are."""

_STYLES = ("ink", "ink dashed", "ink dotted", "ink faint")
_LINES = ("solid", "dashed", "dotted", "thin")
_BARS = ("first", "second", "third", "fourth")
_LONGEST_NAME = 24


@dataclass(frozen=True)
class LevelRow:
    """A level with its bars, and its effect where there is one output."""

    name: str
    bars: Markup
    value: str


@dataclass(frozen=True)
class EffectFigure:
    """The effect of a column, drawn: a chart, or rows of levels.

    Attributes:
        strength: the size of its effect, in words.
        missing: the effect of a missing value, in words; empty if it has none.
        left_out: levels that are not drawn, in words.
    """

    column: str
    tier: str
    strength: str
    chart: Markup | None
    rows: tuple[LevelRow, ...]
    missing: str
    left_out: str


@dataclass(frozen=True)
class EffectSection:
    """The section: figures of the strongest columns, and of the others.

    Attributes:
        adds: the number that an effect is added to.
        lines: which line stands for which class, in words; empty for one output.
        factors: the factors of towers, in words; empty if there are none.
        folded: the number of the others, in words.
    """

    adds: str
    lines: str
    factors: str
    strongest: tuple[EffectFigure, ...]
    others: tuple[EffectFigure, ...]
    folded: str


def effect_section(dossier: Dossier) -> EffectSection | None:
    """Return what a model has learned of its columns; None if nothing is stated."""
    effects = dossier.measured.effects
    if effects is None:
        return None
    outputs = _outputs(effects)
    low, high = _ends(effects, outputs)
    most = max(-low, high)
    figures = [
        _levels(each, effects, outputs, most)
        if each.kind == "levels"
        else _curve(each, outputs, (low, high))
        for each in effects.columns
    ]
    factors = [f"{tier_name(t)} × {f:.2f}" for t, f in effects.factors.items()]
    return EffectSection(
        adds=_adds(effects),
        lines=_legend(effects, outputs),
        factors=", ".join(factors),
        strongest=tuple(figures[:_SHOWN]),
        others=tuple(figures[_SHOWN:]),
        folded=count(len(figures[_SHOWN:]), "column"),
    )


def _outputs(effects: LearnedEffects) -> list[int]:
    """Return the outputs to draw: all, or those that columns tell apart most."""
    strength = [
        sum(each.strength[place] ** 2 for each in effects.columns)
        for place in range(len(effects.outputs))
    ]
    order = sorted(range(len(strength)), key=lambda place: -strength[place])
    return sorted(order[: len(_STYLES)])


def _ends(effects: LearnedEffects, outputs: Sequence[int]) -> tuple[float, float]:
    """Return the ends of the axis that all figures share; the bands of curves fit."""
    low = high = 0.0
    for each in effects.columns:
        for place in outputs:
            for value, blur in zip(
                each.effect[place], each.deviation[place], strict=True
            ):
                low = min(low, value - _Z * abs(blur))
                high = max(high, value + _Z * abs(blur))
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _adds(effects: LearnedEffects) -> str:
    first = shortened(effects.outputs[0], _LONGEST_NAME)
    return {
        "log-odds": f"the log-odds of `{first}`",
        "score": "the score of each class, of which only differences count",
        "target": f"the prediction of `{first}`, in its units",
    }.get(effects.scale, f"the prediction of `{first}`, on its scale from −1 to 1")


def _legend(effects: LearnedEffects, outputs: Sequence[int]) -> str:
    if len(effects.outputs) == 1:
        return ""
    named = [
        f"{line} `{shortened(effects.outputs[place], _LONGEST_NAME)}`"
        for line, place in zip(_LINES, outputs, strict=False)
    ]
    text = f"Lines, and bars from top to bottom: {', '.join(named)}."
    rest = len(effects.outputs) - len(outputs)
    return (
        f"{text} {count(rest, 'other class', 'other classes')} not drawn."
        if rest
        else text
    )


def _curve(
    effect: LearnedEffect,
    outputs: Sequence[int],
    ends: tuple[float, float],
) -> EffectFigure:
    lines = [
        EffectLine(
            points=list(zip(effect.points, effect.effect[place], strict=True)),
            half=[_Z * abs(blur) for blur in effect.deviation[place]],
            style=style,
        )
        for place, style in zip(outputs, _STYLES, strict=False)
    ]
    low, middle, high = map(_tick, effect.ticks)
    half_way = effect.points[len(effect.points) // 2]
    marks = [(0.0, low), (half_way, middle), (1.0, high)]
    values = [effect.effect[place] for place in outputs]
    title = (
        f"Effect of {_brief(effect.column)} from {low} to {high}: between "
        f"{_signed(min(map(min, values)))} and {_signed(max(map(max, values)))}"
    )
    return _figure(effect, outputs, chart=effect_chart(title, lines, ends, marks))


def _levels(
    effect: LearnedEffect,
    effects: LearnedEffects,
    outputs: Sequence[int],
    most: float,
) -> EffectFigure:
    order = sorted(
        range(len(effect.levels)),
        key=lambda level: -max(abs(effect.effect[place][level]) for place in outputs),
    )
    kept = sorted(order[:_LEVELS])
    rows = [_level(effect, effects, outputs, most, level) for level in kept]
    rest = len(effect.levels) - len(kept)
    left_out = f"{count(rest, 'level')} with smaller effects not drawn" if rest else ""
    return _figure(effect, outputs, rows=tuple(rows), left_out=left_out)


def _level(
    effect: LearnedEffect,
    effects: LearnedEffects,
    outputs: Sequence[int],
    most: float,
    level: int,
) -> LevelRow:
    bars = [
        (effect.effect[place][level], _Z * abs(effect.deviation[place][level]), style)
        for place, style in zip(outputs, _BARS, strict=False)
    ]
    said = ", ".join(
        f"{shortened(effects.outputs[place], _LONGEST_NAME)} {_with_band(value, half)}"
        for place, (value, half, _) in zip(outputs, bars, strict=True)
    )
    name = _brief(effect.levels[level])
    value = _with_band(*bars[0][:2]) if len(bars) == 1 else ""
    return LevelRow(name, effect_bars(f"{name}: {said}", bars, most), value)


def _figure(
    effect: LearnedEffect,
    outputs: Sequence[int],
    chart: Markup | None = None,
    rows: tuple[LevelRow, ...] = (),
    left_out: str = "",
) -> EffectFigure:
    gone = [
        _with_band(effect.missing[place][0], _Z * abs(effect.missing[place][1]))
        for place in outputs
        if effect.missing
    ]
    return EffectFigure(
        column=_brief(effect.column),
        tier=tier_name(effect.tier),
        strength=", ".join(f"{effect.strength[place]:.2g}" for place in outputs),
        chart=chart,
        rows=rows,
        missing=", ".join(gone),
        left_out=left_out,
    )


def _with_band(value: float, half: float) -> str:
    """Return a value with half the width of its band, to the digits that it bears.

    >>> _with_band(-0.3312, 0.0324), _with_band(12.34, 1.26), _with_band(0.5, 0.0)
    ('−0.33 ± 0.03', '+12.3 ± 1.3', '+0.500 ± 0.000')
    """
    places = 3
    if half > 0.0:
        size = math.floor(math.log10(half))
        places = min(max(0, -size + (half < 2.0 * 10.0**size)), 6)
    return f"{value:+.{places}f} ± {half:.{places}f}".replace("-", "−")


def _tick(value: float) -> str:
    """Return a value of a column as an axis has room for it.

    >>> _tick(30718.4), _tick(0.015), _tick(2.5e19), _tick(-3.0)
    ('30,700', '0.015', '2.5e+19', '−3')
    """
    short = float(f"{value:.3g}")
    if short and not 1e-3 <= abs(short) < 1e7:
        return f"{short:g}".replace("-", "−")
    return f"{short:,.10g}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+.2g}".replace("-", "−")


def _brief(name: str) -> str:
    return shortened(name, _LONGEST_NAME)
