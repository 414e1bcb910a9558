# SPDX-License-Identifier: Apache-2.0
"""Gradient inversion: rows that would have made the update that was seen.

Rows are sought whose clipped gradients, summed, are nearest to the sums that a small
site sent, in all rounds together [GBDM20]:

    minimise  sum over rounds of |sum_i clip(grad(x_i)) - seen|^2 / |seen|^2.

Slots of a category are the softmax of free numbers, flags the sigmoid, numbers the
tanh, so every try is a valid row [VBDV23]. All updates, tries and rows are one tensor,
and one descent; of the tries of an update the one that fits best is taken. Rows come
back in no order: they are given to the people whose other columns they fit best, which
favours the attacker. Fair coins decide the value that is asked for, so that nothing can
be guessed from other columns.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding
from lexfed.evaluate.attacks.attribute_inference import LabelledRows
from lexfed.evaluate.attacks.auc_intervals import (
    CONFIDENCE,
    AttackResult,
    across_releases,
)
from lexfed.evaluate.attacks.bounds import of_gaussian
from lexfed.evaluate.attacks.product_runs import ObservedRound, Observer
from lexfed.evaluate.attacks.target_value import TargetValue
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import Loss
from lexfed.models.networks.flat_parameters import load, trainable
from lexfed.run.pricing.priced_run import PricedRun

_RATE = 0.1


@dataclass(frozen=True)
class RoundKnowledge:
    """The attacker's knowledge of the rounds: public, or released before.

    The `weights` are those at which each round's gradient was asked; `sigma` is 0 for
    an observer that sees the sums themselves.
    """

    module: nn.Module
    loss: Loss
    weights: tuple[Tensor, ...]
    clip: float
    sigma: float

    def sums(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the clipped sums as sites form them, [rounds, parameters]."""
        rows = inputs.unsqueeze(1)
        outputs = self.module(inputs[:1]).shape[-1]
        batch = Batch(
            rows,
            labels.unsqueeze(1),
            torch.zeros(*rows.shape[:2], outputs, dtype=torch.float64),
            torch.ones(rows.shape[:2], dtype=torch.float64),
        )
        found = []
        for weights in self.weights:
            load(self.module, weights)
            found.append(clipped_sum(self.module, self.loss, batch, [self.clip]))
        return torch.stack(found)

    def tried(self, inputs: Tensor, labels: Tensor) -> list[Tensor]:
        """Return each round's sums of tries, [tries, parameters], to be descended."""
        rows, targets = inputs.flatten(0, 1), labels.flatten()
        return [
            self._clipped(weights, rows, targets).view(*inputs.shape[:2], -1).sum(1)
            for weights in self.weights
        ]

    def _clipped(self, weights: Tensor, rows: Tensor, targets: Tensor) -> Tensor:
        load(self.module, weights)
        parameters = {n: p.detach().clone() for n, p in trainable(self.module).items()}

        def value(at: dict[str, Tensor], row: Tensor, target: Tensor) -> Tensor:
            logits = functional_call(self.module, at, (row.unsqueeze(0),))
            return self.loss.value(logits, target.unsqueeze(0)).sum()

        slopes = vmap(grad(value), in_dims=(None, 0, 0))(parameters, rows, targets)
        flat = torch.cat([s.flatten(1) for s in slopes.values()], dim=1)
        # Not quite zero: the norm of a zero gradient has no slope of its own.
        norm = (flat.square().sum(dim=1, keepdim=True) + 1e-30).sqrt()
        return flat * (self.clip / norm).clamp(max=1.0)


@dataclass(frozen=True)
class SlotKinds:
    """The slots that are numbers, flags, or together one category."""

    numbers: tuple[int, ...]
    flags: tuple[int, ...]
    categories: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, encoding: Encoding) -> "SlotKinds":
        """Return the layout of a table."""
        kinds = [slot.kind for slot in encoding.slots]
        by_column = [
            encoding.slots_of_column(name).tolist() for name in encoding.columns
        ]
        return cls(
            tuple(i for i, kind in enumerate(kinds) if kind == "number"),
            tuple(i for i, kind in enumerate(kinds) if kind in ("flag", "missing")),
            tuple(tuple(own) for own in by_column if kinds[own[0]] == "onehot"),
        )

    def rows(self, free: Tensor) -> Tensor:
        """Return valid rows of free numbers, [..., slots]."""
        made = torch.zeros_like(free)
        numbers, flags = list(self.numbers), list(self.flags)
        made[..., numbers] = torch.tanh(free[..., numbers])
        made[..., flags] = torch.sigmoid(free[..., flags])
        for own in map(list, self.categories):
            made[..., own] = torch.softmax(free[..., own], dim=-1)
        return made


@dataclass(frozen=True)
class InversionSize:
    """The size of an attack: its sites, and the starts and steps for each update."""

    people: int = 2
    updates: int = 40
    tries: int = 4
    steps: int = 200


_USUAL = InversionSize()


def invert(
    rounds: RoundKnowledge,
    layout: SlotKinds,
    seen: Tensor,
    labels: Tensor,
    size: InversionSize = _USUAL,
    seed: int = 0,
) -> Tensor:
    """Return rows that explain the sums seen of each update, [updates, people, slots].

    The sums are [updates, rounds, parameters], the labels [updates, people].
    """
    tries = size.tries
    slots = len(layout.numbers) + len(layout.flags) + sum(map(len, layout.categories))
    updates, people = labels.shape
    generator = torch.Generator().manual_seed(seed)
    free = torch.randn(
        updates * tries, people, slots, generator=generator, dtype=torch.float64
    ).requires_grad_()
    wanted = seen.repeat_interleave(tries, dim=0)
    sizes = wanted.square().sum(dim=-1) + 1e-30
    known = labels.repeat_interleave(tries, dim=0)
    descent = torch.optim.Adam([free], lr=_RATE)
    for step in range(size.steps + 1):
        sums = torch.stack(rounds.tried(layout.rows(free), known), dim=1)
        misfit = ((sums - wanted).square().sum(dim=-1) / sizes).sum(dim=1)
        if step < size.steps:
            descent.zero_grad()
            # Each try has rows of its own, so the sum descends all of them alike.
            misfit.sum().backward()  # type: ignore[no-untyped-call]
            descent.step()
    best = misfit.detach().view(updates, tries).argmin(dim=1)
    rows = layout.rows(free).detach().view(updates, tries, people, slots)
    return rows[torch.arange(updates), best]


def attack_updates(
    rounds: RoundKnowledge,
    encoding: Encoding,
    about: TargetValue,
    people: LabelledRows,
    size: InversionSize = _USUAL,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> AttackResult:
    """Invert updates of small sites, and score one column of the rows that come out.

    The interval is over sites, which are made of `people`.

    Guarantees:
        With noise the bound is that of its rounds under replacement of one person.
    """
    begun = time.perf_counter()
    generator = np.random.default_rng([seed, 0x1417])
    everybody = len(people.labels)
    draws = range(size.updates)
    chosen = np.stack(
        [generator.choice(everybody, size.people, replace=False) for _ in draws]
    )
    high = generator.random(chosen.shape) < 0.5
    planted = np.where(
        high[..., None],
        about.filled(people.inputs[chosen], about.wanted),
        about.filled(people.inputs[chosen], about.rival),
    )
    labels = torch.from_numpy(people.labels[chosen])
    sites = zip(torch.from_numpy(planted), labels, strict=True)
    exact = torch.stack([rounds.sums(rows, own) for rows, own in sites])
    noise = torch.from_numpy(generator.normal(size=tuple(exact.shape)))
    seen = exact + rounds.sigma * noise
    layout = SlotKinds.of(encoding)
    made = invert(rounds, layout, seen, labels, size, seed)
    scores = [
        _scores(about, found, truth)
        for found, truth in zip(made.numpy(), planted, strict=True)
    ]
    value = across_releases(scores, list(high), confidence)
    bound = 1.0
    if rounds.sigma > 0.0:
        mu = 2.0 * math.sqrt(len(rounds.weights)) * rounds.clip / rounds.sigma
        bound = of_gaussian(mu).auc
    name = f"{about.column} by gradient inversion, {size.people} people"
    seconds = time.perf_counter() - begun
    return AttackResult.of(name, value, bound, chosen.size, seconds)


def _scores(about: TargetValue, found: Floats, truth: Floats) -> Floats:
    """Give each row to a person by the other columns, and read the value off it."""
    others = np.setdiff1d(np.arange(truth.shape[1]), about.slots)
    apart = np.square(found[None, :, others] - truth[:, None, others]).sum(axis=-1)
    _, row = linear_sum_assignment(apart)
    own = found[row][:, about.slots]
    high, low = about.candidates[about.wanted], about.candidates[about.rival]
    return np.asarray(own @ (high - low))


def rounds_of(
    priced: PricedRun, run: Sequence[ObservedRound], observer: Observer, most: int = 3
) -> RoundKnowledge:
    """Return the first gradient rounds of a run, as the observer sees them.

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
