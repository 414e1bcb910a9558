# SPDX-License-Identifier: Apache-2.0
"""One record's part of a release: the only place of the rule that sees data.

Each function `..._vectors` maps every record to a vector of norm at most 1 that depends
on that record and on public or released numbers.

Importance of columns: the mean over records of slots times residual is the gradient of
a linear tower at the start of training, with slots brought to a common scale by public
guesses: where it is long, a column is useful. A released model shows it by its weights,
for nothing more.
"""

import numpy as np

from lexfed.arrays import Floats
from lexfed.models.losses import LossName
from lexfed.models.shape_functions import BINS, bin_numbers
from lexfed.models.tower_shapes import (
    BIN_WEIGHT,
    SQUARE_GUESS,
    RuleFacts,
    TowerShape,
    public_guess,
    statistics_clip,
)


def label_vectors(loss: LossName, targets: Floats, outputs: int) -> Floats:
    """Return the label of each record: [..., dimension].

    A yes/no label becomes ±1: the same noise as for 0/1, twice the signal. A number
    brings its square along, so that the spread is bought with the mean.
    """
    if loss == "logistic":
        return np.asarray(2.0 * targets[..., None] - 1.0)
    if loss == "softmax":
        return np.asarray(np.eye(outputs)[targets.astype(np.intp)])
    both = np.stack([targets, 2.0 * targets**2 - 1.0], axis=-1)
    return np.asarray(both / np.sqrt(2.0))


def moment_vectors(facts: RuleFacts, slots: Floats) -> Floats:
    """Return centred slots and squares of numbers, relative to the public guess.

    Of a number with a shape function it is its bin, and no square.
    """
    shape, present = facts.shape, facts.shape.presence(slots)
    numbers = np.setdiff1d(facts.numbers, shape.shaped)
    first = slots - present * public_guess(facts).centre
    second = (slots[..., numbers] ** 2 - SQUARE_GUESS) * present[..., numbers]
    parts = [first[..., shape.plain], second]
    if shape.is_additive:
        own = bin_numbers(slots[..., shape.shaped])[..., None] == np.arange(BINS)
        inside = BIN_WEIGHT * own * present[..., shape.shaped, None]
        parts = [inside.reshape(*inside.shape[:-2], -1), *parts]
    return into_ball(np.concatenate(parts, axis=-1) / statistics_clip(facts))


def residual_vectors(
    facts: RuleFacts, slots: Floats, slopes: Floats, question: dict[str, Floats]
) -> Floats:
    """Return the gradient of each record, slots times outputs, scaled to norm 1.

    `slots` are encoded, [..., slots], `slopes` the derivative of the loss in the
    logits, [..., outputs]. The question has released `centre` and `scale` of slots, or
    of the functions in their place with their `basis`, and the clip of `residual`s.
    """
    if facts.shape.is_additive:
        slots = facts.shape.coordinates_of(slots, question["basis"])
    centred = slots - facts.coordinates.shape.presence(slots) * question["centre"]
    scaled = into_ball(centred * question["scale"])
    residuals = into_ball(slopes / question["residual"])
    outer = scaled[..., :, None] * residuals[..., None, :]
    return np.asarray(outer.reshape(*outer.shape[:-2], -1))


def into_ball(rows: Floats) -> Floats:
    """Scale rows that are longer than 1 to norm 1."""
    norm = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(norm, 1.0))


def importance_radius(facts: RuleFacts) -> float:
    """Return the length that a record's guessed scale gives its slots on average."""
    guess = public_guess(facts)
    return float(np.sqrt(((guess.variance + guess.doubt) / guess.variance).sum()))


def importance_vectors(facts: RuleFacts, slots: Floats, slopes: Floats) -> Floats:
    """Return the scaled gradient of each record, slots times outputs.

    It is taken where no column is used yet; the arguments are those of residuals.

    Guarantees:
        A vector depends on its own record and is at most 1 long.
    """
    guess = public_guess(facts)
    centred = slots - facts.shape.presence(slots) * guess.centre
    scaled = into_ball(centred / np.sqrt(guess.variance) / importance_radius(facts))
    outer = scaled[..., :, None] * into_ball(slopes)[..., None, :]
    return np.asarray(outer.reshape(*outer.shape[:-2], -1))


def slot_scales(shape: TowerShape) -> Floats:
    """Return the guessed spread of each slot: the mean effect of a weight of one."""
    # Guesses look at slots alone, whatever the loss.
    return np.sqrt(public_guess(RuleFacts(shape, "logistic")).variance)
