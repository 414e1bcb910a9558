# SPDX-License-Identifier: Apache-2.0
"""Training of one network: loss, distillation, pruning, and what it is made small by.

    loss = alpha * CE(labels) + (1 - alpha) * T^2 * KL(teacher_T || student_T)

with T = 3 and alpha = .3 [Hinton, Vinyals, Dean: arXiv:1503.02531, 2]; a network
without a teacher has the first term only. Weights of the first layer are pruned by
magnitude, gradually, until 70 % are zero [Zhu, Gupta: arXiv:1710.01878, 3].
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from lexfed.law.tagger.suggestions import CATEGORIES

Rows = NDArray[np.float32]
TEMPERATURE = 3.0
ALPHA = 0.3


@dataclass(frozen=True)
class Plan:
    """How a network is trained."""

    hidden: tuple[int, int] = (128, 64)
    dropout: float = 0.3
    input_dropout: float = 0.1
    epochs: int = 12
    batch: int = 256
    rate: float = 3e-3
    decay: float = 1e-2
    smoothing: float = 0.05
    sparsity: float = 0.7


STUDENT = Plan()
TEACHER = Plan(
    hidden=(256, 128), dropout=0.4, input_dropout=0.2, epochs=8, sparsity=0.0
)
PRUNE_FROM, PRUNE_UNTIL = 0.3, 0.7
"""Between which parts of the training the share of zeros grows."""
PRUNE_EVERY = 8


@dataclass(frozen=True)
class Examples:
    """What a network is trained on: rows, labels, weights, and a teacher's answers."""

    rows: Rows
    labels: NDArray[np.int64]
    weights: Rows
    soft: Rows | None = None


def fit(examples: Examples, plan: Plan, seed: int) -> list[tuple[Rows, Rows]]:
    """Return weights and bias of each layer; the same seed gives the same.

    Args:
        examples: what to learn; `soft` holds log-probabilities of a teacher.
        plan: sizes and rates.
        seed: of initial weights, order and dropout.
    """
    torch.manual_seed(seed)
    network = _network(examples.rows.shape[1], plan)
    first = next(layer for layer in network if isinstance(layer, nn.Linear))
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=plan.rate, weight_decay=plan.decay
    )
    rows, labels, weights = map(
        torch.from_numpy, (examples.rows, examples.labels, examples.weights)
    )
    soft = (
        None
        if examples.soft is None
        else torch.softmax(torch.from_numpy(examples.soft) / TEMPERATURE, dim=1)
    )
    steps = plan.epochs * -(-len(rows) // plan.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=plan.rate, total_steps=steps, pct_start=0.1
    )
    step = 0
    for _ in range(plan.epochs):
        for chosen in torch.split(torch.randperm(len(rows)), plan.batch):
            outputs = network(rows[chosen])
            loss = functional.cross_entropy(
                outputs,
                labels[chosen],
                label_smoothing=plan.smoothing,
                reduction="none",
            )
            if soft is not None:
                loss = ALPHA * loss + (1.0 - ALPHA) * _distance(outputs, soft[chosen])
            optimiser.zero_grad()
            (loss * weights[chosen]).mean().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            step += 1
            if step % PRUNE_EVERY == 0 or step == steps:
                _prune(first.weight, plan.sparsity * _pruned_by(step / steps))
    return [
        (layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
        for layer in network
        if isinstance(layer, nn.Linear)
    ]


def log_probabilities(layers: list[tuple[Rows, Rows]], rows: Rows) -> Rows:
    """Return what a network answers, without dropout."""
    state = rows
    for number, (weights, bias) in enumerate(layers, 1):
        state = state @ weights.T + bias
        if number < len(layers):
            state = np.maximum(state, 0.0)
    state = state - state.max(axis=1, keepdims=True)
    answers: Rows = state - np.log(np.exp(state).sum(axis=1, keepdims=True))
    return answers


def in_8_bits(
    layers: list[tuple[Rows, Rows]],
) -> list[tuple[NDArray[np.int8], Rows]]:
    """Return weights as integers, and the scale and bias of each output."""
    out = []
    for weights, bias in layers:
        scales = np.maximum(np.abs(weights).max(axis=1), 1e-12) / 127.0
        whole = np.rint(weights / scales[:, None]).astype(np.int8)
        out.append((whole, np.stack([scales, bias], axis=1).astype(np.float32)))
    return out


def from_8_bits(
    small: list[tuple[NDArray[np.int8], Rows]],
) -> list[tuple[Rows, Rows]]:
    """Return the layers as they are at run time."""
    return [(whole * scales[:, :1], scales[:, 1]) for whole, scales in small]


def _network(inputs: int, plan: Plan) -> nn.Sequential:
    first, second = plan.hidden
    return nn.Sequential(
        nn.Dropout(plan.input_dropout),
        nn.Linear(inputs, first),
        nn.ReLU(),
        nn.Dropout(plan.dropout),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Dropout(plan.dropout),
        nn.Linear(second, len(CATEGORIES)),
    )


def _distance(outputs: torch.Tensor, soft: torch.Tensor) -> torch.Tensor:
    own = torch.log_softmax(outputs / TEMPERATURE, dim=1)
    distance = functional.kl_div(own, soft, reduction="none").sum(dim=1)
    return distance * TEMPERATURE**2


def _pruned_by(progress: float) -> float:
    """Return the part of the final sparsity that is reached, by a cubic curve."""
    part = (progress - PRUNE_FROM) / (PRUNE_UNTIL - PRUNE_FROM)
    return 1.0 - (1.0 - min(1.0, max(0.0, part))) ** 3


def _prune(weights: torch.Tensor, sparsity: float) -> None:
    count = ceil(sparsity * weights.numel())
    if count:
        with torch.no_grad():
            smallest = weights.abs().flatten().kthvalue(count).values
            weights[weights.abs() <= smallest] = 0.0
