# SPDX-License-Identifier: Apache-2.0
"""The importance of columns according to models.

A record adds its slots times its residual to a paid release. The mean over records is
the gradient of a linear tower at the start of training, with slots brought to a common
scale by public guesses: where it is long, a column is useful. A model that was released
says it by its weights, for nothing more.
"""

import numpy as np
from torch import nn

from lexfed.arrays import Floats
from lexfed.models.rule.contributions import into_ball
from lexfed.models.towers.cascade import Tower
from lexfed.models.towers.facts import RuleFacts, public_guess
from lexfed.models.towers.shape import TowerShape


def importance_radius(facts: RuleFacts) -> float:
    """Return the length that a record's guessed scale gives its slots on average."""
    guess = public_guess(facts)
    return float(np.sqrt(((guess.variance + guess.doubt) / guess.variance).sum()))


def importance_vectors(facts: RuleFacts, slots: Floats, slopes: Floats) -> Floats:
    """Return the scaled gradient of each record, slots times outputs.

    `slots` are encoded values, [..., slots], and `slopes` the derivative of the
    loss where no column is used yet, [..., outputs].

    Guarantees:
        A vector depends on its own record and is at most 1 long.
    """
    guess = public_guess(facts)
    centred = slots - facts.presence(slots) * guess.centre
    scaled = into_ball(centred / np.sqrt(guess.variance) / importance_radius(facts))
    outer = scaled[..., :, None] * into_ball(slopes)[..., None, :]
    return np.asarray(outer.reshape(*outer.shape[:-2], -1))


def slot_scales(shape: TowerShape) -> Floats:
    """Return the guessed spread of each slot: the mean effect of a weight of one."""
    # Guesses look at slots alone, whatever the loss.
    return np.sqrt(public_guess(RuleFacts(shape, "logistic")).variance)


def slot_weights(tower: Tower) -> Floats | None:
    """Return the weights by which slots enter a released tower, [slots, ...].

    None where the first layer is not one of weights for single slots.
    """
    part = tower.linear_part or tower
    first = next((m for m in part.module().modules() if _is_weighted(m)), None)
    if not isinstance(first, nn.Linear) or first.in_features != len(part.shape.slots):
        return None
    weights: Floats = first.weight.detach().double().numpy().T.copy()
    return weights


def _is_weighted(module: nn.Module) -> bool:
    """Return True if a module has parameters of its own."""
    return next(module.parameters(recurse=False), None) is not None
