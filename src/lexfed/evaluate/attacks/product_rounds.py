# SPDX-License-Identifier: Apache-2.0
"""Rounds of a run of the product, as an attacker who inverts gradients knows them."""

import math
from collections.abc import Sequence

import torch

from lexfed.evaluate.attacks.gradient_inversion import RoundKnowledge
from lexfed.evaluate.attacks.observed_run import ObservedRound, Observer
from lexfed.models.losses import Loss
from lexfed.run.pricing.priced_run import PricedRun


def rounds_of(
    priced: PricedRun, run: Sequence[ObservedRound], observer: Observer, most: int = 3
) -> RoundKnowledge:
    """Return the first gradient rounds of a run.

    Args:
        priced: the run.
        run: what was seen of it (`watched.watched_run`).
        observer: who sees them: with the release's noise, or the sums themselves.
        most: how many of them are used.

    Raises:
        ValueError: if no round sums gradients of one network that reads every slot, in
            one group: a cascade that follows the rule has none.
    """
    programme = priced.programme
    rounds = [seen.query for seen in run if seen.query.kind == "gradient"][:most]
    fit = bool(rounds) and len(programme.shapes) == 1 and not programme.follows_rule
    if not fit or len(programme.stages[rounds[0].stage].blocks) > 1:
        raise ValueError("expected rounds of one network without groups, got others")
    shape = programme.shapes[0]
    clip, sigma = math.inf, 0.0
    release = rounds[0].release
    if release is not None:
        clip = programme.stages[rounds[0].stage].limits[0]
        sigma = release.groups[0].sigma if observer == "round" else 0.0
    return RoundKnowledge(
        shape.untrained().double(),
        Loss(programme.loss),
        tuple(torch.from_numpy(query.model.towers[0].parameters) for query in rounds),
        clip,
        sigma,
    )
