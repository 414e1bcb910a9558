# SPDX-License-Identifier: Apache-2.0
"""Local training of one site, for guarantees whose unit is the site itself.

The site trains a copy of the model on its own records and sends the difference, clipped
once. Nothing inside is clipped per record: any local training is covered when the whole
update is (Theorem C, 5).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lexfed.checks import in_range, positive
from lexfed.models.gradients.batch import Batch
from lexfed.models.losses import Loss
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import trainable
from lexfed.models.networks.known_layers import Slope


@dataclass(frozen=True)
class LocalTraining:
    """Public settings of a site's training between two rounds.

    Records of a step are drawn without replacement until all were used. `momentum` is
    heavy-ball momentum in [0, 1), and starts at rest every round.
    """

    steps: int
    batch_size: int
    learning_rate: float
    momentum: float = 0.0

    def __post_init__(self) -> None:
        positive(
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )
        in_range(0.0, math.nextafter(1.0, 0.0), momentum=self.momentum)


def local_update(
    module: nn.Module,
    loss: Loss,
    batch: Batch,
    training: LocalTraining,
    generator: torch.Generator,
) -> Tensor:
    """Train a copy of the model on a site's records, in an order of the generator's.

    The loss is evaluated on offset plus logits, averaged over the records of a step;
    rows of weight zero are left out. Returns trained minus start, flat, in float64;
    zero where the site has no records.
    """
    present = (batch.weights > 0).flatten().nonzero().squeeze(1)
    start = {name: value.detach().clone() for name, value in trainable(module).items()}
    if not len(present):
        return torch.cat([torch.zeros(v.numel()) for v in start.values()]).double()
    dtype = next(iter(start.values())).dtype
    inputs = batch.inputs.flatten(0, 1)[present].to(dtype)
    offset = batch.offset.flatten(0, 1)[present].to(dtype)
    targets = batch.targets.flatten()[present]
    now = {name: value.clone().requires_grad_() for name, value in start.items()}
    speed = {name: torch.zeros_like(value) for name, value in start.items()}
    order = present.new_zeros(0)
    for _ in range(training.steps):
        if not len(order):
            order = torch.randperm(len(present), generator=generator)
        rows, order = order[: training.batch_size], order[training.batch_size :]

        def slope(logits: Tensor, rows: Tensor = rows) -> Tensor:
            slopes = loss.slope(logits + offset[rows], targets[rows].to(dtype))
            return slopes.to(dtype) / len(rows)

        gradients = _gradients(module, now, inputs[rows], slope)
        with torch.no_grad():
            for name, gradient in zip(now, gradients, strict=True):
                speed[name].mul_(training.momentum).add_(gradient)
                now[name].sub_(speed[name], alpha=training.learning_rate)
    return torch.cat(
        [(now[name].detach().double() - start[name].double()).flatten() for name in now]
    )


def _gradients(
    module: nn.Module, weights: dict[str, Tensor], inputs: Tensor, slope: Slope
) -> Sequence[Tensor]:
    """Return the gradient of the loss of some records in each weight."""
    if not isinstance(module, CapturedModel):
        logits = torch.func.functional_call(module, weights, (inputs,))
        return torch.autograd.grad(
            logits, list(weights.values()), slope(logits.detach())
        )
    slopes = slope(module.logits(inputs, weights).to(inputs.dtype))
    total = torch.zeros((), dtype=torch.float64)
    pieces = (torch.split(rows, module.rows) for rows in (inputs, slopes))
    for records, sloped in zip(*pieces, strict=True):
        total = total + module.gradients(records, sloped, weights).sum(0)
    sizes = [weight.numel() for weight in weights.values()]
    parts = zip(torch.split(total, sizes), weights.values(), strict=True)
    return [part.view_as(weight) for part, weight in parts]


def clip_update(update: Tensor, clip: float) -> Tensor:
    """Scale a site's update so that its norm is at most `clip`.

    Guarantees:
        - The norm of the result is at most `clip`, in exact arithmetic.
        - An update at most `clip` long is returned unchanged, up to rounding.
        - An update that is not finite becomes zero.
    """
    positive(clip=clip)
    largest = update.abs().max() if update.numel() else update.new_zeros(())
    if not torch.isfinite(largest) or largest == 0:
        return torch.zeros_like(update)
    # Divided by its largest coordinate, no square can overflow and what vanishes is
    # too small to count; a length above 1 is then cut in two exact steps.
    direction = update / largest
    length = float(torch.linalg.vector_norm(direction))
    # The sum of squares and eight more roundings.
    length *= 1 + (update.numel() + 16) * 2.0**-53
    if length <= clip / float(largest):
        return update
    return direction * (clip / length)
