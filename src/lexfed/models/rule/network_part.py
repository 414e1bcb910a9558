# SPDX-License-Identifier: Apache-2.0
"""The default rule for networks: a linear part first, a network on its residuals.

The noise of a network grows with the root of its parameters, so at the budgets of a
sensitive tier a network trained from nothing is worse than the linear rule. So in
linear(x) + network(x) the linear part takes most of the tower's square, the network the
rest, listening to all towers below and to the linear part.

A record's vector is its gradient over max(its norm, `clip_radius`), so its norm is at
most 1 and the ratio of noise to clip is the plan's. Steps are proportional to `kappa`,
the bound of the signal over the norm of the noise: a noisy network stays near zero.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import nn

from lexfed.arrays import Floats
from lexfed.models.losses import LossName
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import flatten, trainable
from lexfed.models.networks.known_layers import closed_form, is_dense
from lexfed.models.rule.estimates import Geometry, TargetEstimate, largest_residual
from lexfed.models.tower_shapes import TowerShape
from lexfed.models.towers import Tower

LONGEST_PATH = 100.0
"""Most that the weights move in all rounds, in clipped mean gradients."""

CLIP_FACTOR = 0.5
"""Clip over the norm that a gradient is expected to have at the start. The runs the
rule was set on had 0.36: they took 0.55 for the second moment of a ReLU unit of
variance 2.1, which is 1.05."""

AVERAGED = 0.5
"""Last part of the rounds whose weights are averaged: their noise is averaged too."""

FIRST_VARIANCE, FIRST_BIAS = 2.0, 0.3
"""Variance of initial weights and deviation of initial biases on records of norm 1."""

_PROBES = 256


def step_length(kappa_of_stage: float, rounds: int) -> float:
    """Return the distance by which one released mean moves the weights."""
    return min(kappa_of_stage, LONGEST_PATH) / rounds


def begin_network(tower: Tower) -> Tower:
    """Return the tower with a linear part of zero and its network's first weights.

    torch scales initial weights for inputs whose *slots* have variance 1; here whole
    records have norm 1, and such weights would leave hidden units near zero, far below
    the noise. So weights of Linear, ReLU, ... networks are scaled: variance 2 in the
    first layer, 2/width in later ones. Other networks keep the weights they have.
    """
    outputs, size = tower.shape.outputs, len(tower.shape.slots)
    module = tower.shape.untrained()
    layers = closed_form(module)
    if layers is not None and is_dense(layers):
        _scale(module)
    skip = np.zeros((size + 1) * outputs)
    return replace(tower, parameters=flatten(module).numpy(), skip=skip)


@torch.no_grad()
def _scale(module: nn.Module) -> None:
    # torch draws uniformly within ±1/√width: variance 1/(3 width).
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    for place, layer in enumerate(linear):
        spread = (3.0 * layer.in_features) ** 0.5
        variance = FIRST_VARIANCE if place == 0 else 2.0 / layer.in_features
        layer.weight.mul_(spread * variance**0.5)
        if layer.bias is not None:
            layer.bias.mul_(spread * FIRST_BIAS)


def with_inputs(tower: Tower, centre: Floats, scales: Geometry) -> Tower:
    """Return the tower whose network sees centred records of norm about 1."""
    scale = scales.scale / np.sqrt(scales.variance.sum())
    return replace(tower, centre=centre, scale=scale)


def clip_radius(tower: Tower, loss: LossName, base: TargetEstimate) -> float:
    """Return the norm to which gradients are clipped: public and released facts only.

    At the start a gradient is the residual times the slope of the logits in the
    weights; the size of that slope is measured on random records of norm 1.
    """
    number = loss == "squared"
    residual = base.spread if number else largest_residual(loss, base.rate)
    return CLIP_FACTOR * residual * _slope_norm(tower.shape)


@lru_cache(maxsize=32)
def _slope_norm(shape: TowerShape) -> float:
    start = begin_network(Tower.untrained(shape))
    module = start.module()
    size = len(shape.slots)
    generator = torch.Generator().manual_seed(shape.seed)
    probes = torch.randn(_PROBES, size, generator=generator, dtype=torch.float64)
    probes /= size**0.5
    # Any direction of norm 1 will do: one record at a time, all classes alike.
    if isinstance(module, CapturedModel):
        directions = torch.full((_PROBES, shape.outputs), shape.outputs**-0.5)
        gradients = module.gradients(probes, directions)
        return float(gradients.square().sum(1).mean().sqrt())
    values = list(trainable(module).values())
    squares = []
    for probe in probes.unbind():
        logit = module(probe[None]).sum() / shape.outputs**0.5
        slopes = torch.autograd.grad(logit, values, materialize_grads=True)
        squares.append(sum(float(slope.square().sum()) for slope in slopes))
    return float(np.sqrt(np.mean(squares)))


def averaged_weights(
    mean: Floats, weights: Floats, seen: int, round_: int, rounds: int
) -> tuple[Floats, int]:
    """Return the weights to serve after a round, and how many rounds they average."""
    if round_ < rounds - max(1, round(rounds * AVERAGED)):
        return weights, 0
    return (seen * mean + weights) / (seen + 1), seen + 1
