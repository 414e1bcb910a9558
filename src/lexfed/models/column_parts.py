# SPDX-License-Identifier: Apache-2.0
"""The logits of records, taken apart into what each column adds.

A model that adds up columns has one exact answer to the question where a score comes
from: the terms of its sum. For logits of the first towers, each with its factor a_k,

    logits = intercept + shift + sum over k of a_k (bias_k + sum of its columns' terms)

so that the intercept with the biases, and one term for each column, add up to them. A
network has no such terms, and none are made up for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from lexfed.arrays import Floats
from lexfed.models.networks.specifications import LINEAR
from lexfed.models.shape_functions import basis_values
from lexfed.models.towers import Model, Tower


@dataclass(frozen=True)
class ColumnParts:
    """Terms of logits: `intercept` [outputs], `terms` [rows, columns, outputs]."""

    columns: tuple[str, ...]
    intercept: Floats
    terms: Floats

    @property
    def logits(self) -> Floats:
        """The sum of all terms, [rows, outputs]."""
        return np.asarray(self.intercept + self.terms.sum(axis=1))


def adds_up(tower: Tower) -> bool:
    """Return True if a tower is a sum of terms of columns.

    A network beside a linear part that is not trained adds nothing to it.
    """
    if tower.skip.size:
        return not tower.scale.size
    return tower.shape.architecture in LINEAR


def column_parts(
    model: Model, slots: Tensor, owners: Sequence[str], count: int
) -> ColumnParts:
    """Return the terms of the logits of the first `count` towers, which all add up.

    `owners` has the column of every slot. As in `Model.logits`, factors count where all
    towers are served, and slots of other towers are not looked at.
    """
    intercept = model.intercept + model.shift(count)
    columns: list[str] = []
    terms = []
    factors = np.ones(count)
    if count == len(model.towers) and model.factors.size:
        factors = model.factors
    for tower, factor in zip(model.towers[:count], factors, strict=True):
        own = [owners[slot] for slot in tower.shape.slots]
        names = list(dict.fromkeys(own))
        bias, by_slot = _slot_terms(tower, tower.inputs(slots).double().numpy())
        intercept = intercept + factor * bias
        for name in names:
            places = [place for place, owner in enumerate(own) if owner == name]
            terms.append(factor * by_slot[:, places].sum(axis=1))
        columns += names
    return ColumnParts(tuple(columns), np.asarray(intercept), np.stack(terms, axis=1))


def _slot_terms(tower: Tower, rows: Floats) -> tuple[Floats, Floats]:
    """Return the bias [outputs], and the term of each slot, [rows, slots, outputs]."""
    shape = tower.shape
    if tower.linear_part is not None:
        tower = tower.linear_part
    terms = np.zeros((*rows.shape, shape.outputs))
    plain = np.arange(len(shape.slots))
    if shape.is_additive:
        present = shape.presence(rows)[:, shape.shaped, None]
        curves = basis_values(rows[:, shape.shaped], tower.curves)
        terms[:, shape.shaped] = present * curves
        tower, plain = tower.plain_part, shape.plain
    weights, bias = _weights_and_bias(tower)
    terms[:, plain] = rows[:, plain, None] * weights
    return bias, terms


def _weights_and_bias(tower: Tower) -> tuple[Floats, Floats]:
    size = tower.shape.outputs * len(tower.shape.slots)
    weights = tower.parameters[:size].reshape(tower.shape.outputs, -1)
    return weights.T, tower.parameters[size:]
