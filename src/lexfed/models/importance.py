# SPDX-License-Identifier: Apache-2.0
"""What one record adds to a paid release of importances: slots times residual.

The mean over records is the gradient of a linear tower at the start of training, with
slots brought to a common scale by public guesses. Where it is long, a column is useful.
"""

import numpy as np

from lexfed.models.rule.contribution import into_ball
from lexfed.models.rule.facts import Floats, RuleFacts, public_guess


def importance_radius(facts: RuleFacts) -> float:
    """Return the length that a record's guessed scale gives its slots on average."""
    guess = public_guess(facts)
    return float(np.sqrt(((guess.variance + guess.doubt) / guess.variance).sum()))


def importance_vectors(facts: RuleFacts, slots: Floats, slopes: Floats) -> Floats:
    """Return the scaled gradient of each record, slots times outputs.

    Args:
        facts: public facts about the tower.
        slots: encoded values of its slots, [..., slots].
        slopes: derivative of the loss where no column is used yet, [..., outputs].

    Guarantees:
        A vector depends on its own record and is at most 1 long.
    """
    guess = public_guess(facts)
    centred = slots - facts.presence(slots) * guess.centre
    scaled = into_ball(centred / np.sqrt(guess.variance) / importance_radius(facts))
    outer = scaled[..., :, None] * into_ball(slopes)[..., None, :]
    return np.asarray(outer.reshape(*outer.shape[:-2], -1))
