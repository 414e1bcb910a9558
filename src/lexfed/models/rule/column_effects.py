# SPDX-License-Identifier: Apache-2.0
"""The effect of each column on the logits of a tower, with what noise may have changed.

With the design d of a value, its centred and scaled coordinates, a column adds d' w to
the logits, 0 on average over the released statistics.

A weight is k v / c: of a mean v over rounds of curvature times weights less gradient,
of which the rule keeps a part k, over its curvature c = damping h. What was asked in a
round holds the noise of those before, so that errors e of v do not stay k e / c. Where
gradients bend by h, and rounds have settled,

    v = c w - h (w - best) + e,  w = k v / c    give w the error
    k e / c / (1 - k (1 - h / c))

which is k e / c for a weight that is mostly shrunk, and e / h for one that is kept. So
the posterior deviation (`estimates.posterior`) of a weight is divided by the same, and
that of an effect is the root of the sum of d_j squared times the variance of w_j.

It holds what noise may have changed under the rule's own prior, as if columns were
independent. It does not hold the chance of the sample, functions that were left out, or
what columns share.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Floats, Indices
from lexfed.models.rule.estimates import Geometry, TowerState, posterior
from lexfed.models.shape_functions import BINS, CENTRES, FUNCTIONS, basis_values
from lexfed.models.tower_shapes import RuleFacts, TowerShape

_PLACES: Floats = np.sort(np.append(CENTRES, [-1.0, 0.0, 1.0]))
"""Places of a shape function: ends and middle of the declared range, and all bins."""

_POINTS = 17
"""Points of a line; its band is no line."""

Ends = tuple[float, float]
"""Both ends of a declared range, as they are encoded."""


@dataclass(frozen=True)
class ColumnEffect:
    """The effect of a column: [points, outputs], and its deviation.

    Attributes:
        slots: the slots of the column.
        kind: of its value: `number`, `flag` or `onehot`.
        places: encoded values of a number at which its effect is given; else empty.
        effect: at these places, of no and yes, or of each level.
        missing: effect and deviation of a missing value, [2, outputs]; None if the
            column has no slot for it: then a missing value adds nothing.
        strength: root of the mean square over the released statistics, [outputs].
    """

    slots: tuple[int, ...]
    kind: str
    places: Floats
    effect: Floats
    deviation: Floats
    missing: Floats | None
    strength: Floats


def weight_deviation(scales: Geometry, state: TowerState) -> Floats:
    """Return the posterior deviation of each weight, [coordinates, outputs]."""
    value = state.value
    blur = np.broadcast_to((1.0 / state.precision)[:, None], value.shape)
    blur = blur + scales.drift
    mean, square = posterior(value, blur, scales.prior, scales.common)
    variance = np.maximum(square - mean**2, 0.0)
    kept = np.minimum(variance / blur, 1.0)
    bend = np.where(scales.curvature > 0.0, scales.curvature, np.inf)
    return np.asarray(
        np.sqrt(variance) / bend / (1.0 - kept * (1.0 - 1.0 / scales.damping))
    )


def column_effects(
    facts: RuleFacts,
    scales: Geometry,
    state: TowerState,
    ends: Mapping[int, Ends],
) -> tuple[ColumnEffect, ...]:
    """Return the effect of each column of a tower that has learned something.

    `ends` has the range of each slot that is a number.
    """
    shape, deviation = facts.coordinates.shape, weight_deviation(scales, state)
    effects = []
    for places in shape.by_column:
        kind, slot = shape.kinds[places[0]], shape.slots[places[0]]
        at = np.zeros(0)
        if kind in ("shape", "number"):
            at = _PLACES if kind == "shape" else np.linspace(*ends[slot], _POINTS)
        design, missing = _designs(shape, places, scales, state, at)
        weights, variance = state.weights[places], deviation[places] ** 2
        effect = design @ weights
        strength = scales.variance[places] @ weights**2
        if kind == "onehot":
            strength = state.centre[places] @ effect**2
        gone = None
        if missing is not None:
            blur = np.sqrt(missing**2 @ variance)
            gone = np.stack([missing @ weights, blur])
        effects.append(
            ColumnEffect(
                slots=tuple(dict.fromkeys(shape.slots[place] for place in places)),
                kind="number" if kind == "shape" else kind,
                places=at,
                effect=effect,
                deviation=np.sqrt(design**2 @ variance),
                missing=gone,
                strength=np.sqrt(strength),
            )
        )
    return tuple(effects)


def _designs(
    shape: TowerShape,
    places: Indices,
    scales: Geometry,
    state: TowerState,
    at: Floats,
) -> tuple[Floats, Floats | None]:
    """Return the coordinates of each point, and those of a missing value."""
    kinds = [shape.kinds[place] for place in places]
    centre, scale = state.centre[places], scales.scale[places]
    if kinds[0] == "onehot":
        return (np.eye(len(places)) - centre) * scale, None
    if kinds[0] == "flag":
        present = np.array([[0.0], [1.0]]) - centre[0]
    elif kinds[0] == "number":
        present = at[:, None] - centre[0]
    else:
        basis = state.basis.reshape(-1, BINS, FUNCTIONS)[places[0] // FUNCTIONS]
        present = basis_values(at[:, None], basis[None])[:, 0]
    if kinds[-1] != "missing":
        return present * scale, None
    gone = np.zeros(len(places))
    if kinds[0] == "flag":
        # A missing flag is 0 like a no, and has its own slot beside it.
        gone[0] = -centre[0]
    gone[-1] = 1.0 - centre[-1]
    unsaid = np.full((len(present), 1), -centre[-1])
    return np.concatenate([present, unsaid], axis=1) * scale, gone * scale
