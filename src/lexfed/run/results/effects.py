# SPDX-License-Identifier: Apache-2.0
"""The effects of columns that a model with shape functions has learned, as plain data.

They are functions of released values and public facts alone, so the guarantee covers
them and nothing is spent. A reader needs neither the model nor torch for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.encoding import scaled_values, target_unit, unscaled_values
from lexfed.data.schema import Column
from lexfed.federation.coordinator.progress import Progress
from lexfed.models.rule.column_effects import ColumnEffect, Ends
from lexfed.run.pricing.priced_run import PricedRun

_DIGITS = 6


def learned_effects(priced: PricedRun, progress: Progress) -> dict[str, Any]:
    """Return the effects under their fixed names; empty without shape functions."""
    from lexfed.federation.coordinator.learner import Learner

    shapes = priced.programme.shapes
    if not any(shape.is_additive for shape in shapes):
        return {}
    encoding, model = priced.population.encoding, progress.model
    schema, loss = encoding.schema, priced.programme.loss
    factors = model.factors if model.factors.size else np.ones(len(shapes))
    unit = target_unit(schema.by_name(schema.target)) if loss == "squared" else None
    columns = []
    learner = Learner(priced.programme)
    doubts = learner.factor_deviations(progress)
    for place, effects in learner.effects(progress, _ends(priced)).items():
        times = float(factors[place]) * (unit or 1.0)
        for effect in effects:
            name = encoding.slots[effect.slots[0]].column
            tier = {"column": name, "tier": encoding.tiers[name].label}
            own = _points(schema.by_name(name), effect)
            numbers = _numbers(effect, times, float(doubts[place]) * (unit or 1.0))
            columns.append({**tier, **own, **numbers})
    columns.sort(key=lambda each: -max(each["strength"]))
    outputs: Sequence[str] = schema.classes[-model.intercept.size :]
    return {
        "scale": {"logistic": "log-odds", "softmax": "score"}.get(
            loss, "encoded target" if unit is None else "target"
        ),
        "outputs": list(outputs) if loss != "squared" else [schema.target],
        "factors": {
            shape.tier.label: _short(factor)
            for shape, factor in zip(shapes, factors.tolist(), strict=True)
            if model.factors.size
        },
        "columns": columns,
    }


def _ends(priced: PricedRun) -> dict[int, Ends]:
    """Return the encoded range of each slot that is a number."""
    encoding, found = priced.population.encoding, {}
    for place, slot in enumerate(encoding.slots):
        column = encoding.schema.by_name(slot.column)
        if slot.kind == "number" and column.range is not None:
            low, high = scaled_values(column, np.array(column.range)).tolist()
            found[place] = (low, high)
    return found


def _points(column: Column, effect: ColumnEffect) -> Mapping[str, Any]:
    """Return what each point of an effect stands for, by the public declaration."""
    if effect.kind == "onehot":
        return {"kind": "levels", "levels": list(column.values or ())}
    if effect.kind == "flag":
        return {"kind": "levels", "levels": ["no", "yes"]}
    at = effect.places
    return {
        "kind": "curve",
        "at": _list(unscaled_values(column, at)),
        "along": _list((at - at[0]) / (at[-1] - at[0])),
    }


def _numbers(effect: ColumnEffect, times: float, doubt: float) -> dict[str, Any]:
    """Return an effect times its tower's factor, which has a deviation of its own."""

    def blurred(values: Floats, deviation: Floats) -> Floats:
        return np.asarray(np.hypot(times * deviation, doubt * values))

    missing = None
    if effect.missing is not None:
        value, blur = effect.missing
        missing = {
            "effect": _list(times * value),
            "deviation": _list(blurred(value, blur)),
        }
    return {
        "strength": _list(times * effect.strength),
        "effect": _table(times * effect.effect),
        "deviation": _table(blurred(effect.effect, effect.deviation)),
        "missing": missing,
    }


def _table(values: Floats) -> list[list[float]]:
    return [_list(row) for row in values]


def _list(values: Floats) -> list[float]:
    return [_short(value) for value in values.tolist()]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
