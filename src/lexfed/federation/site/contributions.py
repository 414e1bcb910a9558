# SPDX-License-Identifier: Apache-2.0
"""A site's sums for each kind of query: one clipped vector per unit.

Every function returns a float64 sum over units of a vector that depends on that unit
and on released or public numbers alone, and whose norm is at most the stage's
`clip_to`. A unit is a person, whose rows are averaged first; with `unit = "client"` it
is the whole site. The clipped vector is then multiplied by the weight of the site and
by the scale of the unit's class of records, both at most 1.

    labels     the target
    moments    slots of one linear tower and squares of its numbers
    residuals  the gradient of a linear tower that follows the rule
    amplitudes gradient and curvature in one factor for each tower and the intercept
    gradient   the gradient of a network, by closed form where there is one
    update     how far local training moves a tower (unit = "client")
    metrics    a histogram of score and label over test rows
    importance slots of one tower times the residual of the label rate
    sketch     cells of tables that the unit's values fall into (`table_counts`)
"""

import math
import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from lexfed.budget.tower_steering import BIT_CLIP, has_clip_bits
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import SITE_WEIGHTS, Programme, Stage
from lexfed.federation.site.table_counts import batch_sums
from lexfed.federation.site.unit_batch import UnitBatch, unit_factors
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.gradients.clipping import CutBits
from lexfed.models.gradients.rounding_error import WIDE_CHUNK
from lexfed.models.gradients.site_updates import (
    LocalTraining,
    clip_update,
    local_update,
)
from lexfed.models.losses import Loss, score_histogram
from lexfed.models.networks.flat_parameters import group_order
from lexfed.models.rule.amplitudes import amplitude_vectors
from lexfed.models.rule.contributions import (
    importance_vectors,
    label_vectors,
    moment_vectors,
    residual_vectors,
)
from lexfed.models.tower_shapes import RuleFacts

_ROWS = 1 << 16
"""Units whose chunks are added up together where vectors are formed one by one."""

_NUMBERS = 1 << 20
"""Numbers in the vectors of one slice: memory that is used again is much faster than
memory that is asked for, and a wide table would ask for gigabytes."""


def contribute(
    query: Query,
    programme: Programme,
    cohort: UnitBatch,
    site_weights: Tensor,
    places: Sequence[int],
) -> Tensor:
    """Return the cohort's sum for this query, before the grid and before noise.

    The query was checked; units of a site of the cohort stand next to each other. Each
    site has its public weight, at most 1, and its place in the programme.
    """
    stage = programme.stages[query.stage]
    if stage.kind == "sketch":
        return batch_sums(query, programme, cohort, site_weights, places)
    site_weights = sum_weights(query, site_weights, places)
    if stage.kind == "gradient":
        return _gradients(query, programme, cohort, site_weights)
    if stage.kind == "update":
        return _updates(query, programme, cohort, site_weights)
    total = torch.zeros(stage.dimension, dtype=torch.float64)
    for site, weight in zip(cohort.split(), site_weights, strict=True):
        if programme.unit == "client":
            mean = _per_unit(_vectors(query, programme, site), site).mean(dim=0)
            total += weight * _clip(mean, stage)
            continue
        for start in range(0, len(site), _ROWS):
            part = site.between(start, start + _ROWS)
            total += _weighted_sum(query, programme, part, weight)
    return total


def sum_weights(query: Query, factors: Tensor, places: Sequence[int]) -> Tensor:
    """Return the factors of the sums of some sites, by their places in the programme.

    A query may carry one weight for each site, at most 1, which multiplies its clipped
    sum: so no contribution is longer than the charged clip.
    """
    if SITE_WEIGHTS not in query.arrays:
        return factors
    return factors * torch.from_numpy(query.arrays[SITE_WEIGHTS])[list(places)]


def _weighted_sum(
    query: Query, programme: Programme, cohort: UnitBatch, weight: Tensor
) -> Tensor:
    """Return the sum of clipped vectors of a site's units, times its weight.

    They are added in two levels, as the charged summation error assumes: added one
    after the other, n vectors could be off by n times the error of one addition; chunks
    of `WIDE_CHUNK` and then chunk by chunk, by that much less. A slice is a number of
    whole chunks, so the sum is the same to the bit whatever their size.
    """
    stage, places = programme.stages[query.stage], cohort.weights.shape[1]
    step = max(1, _NUMBERS // (stage.dimension * places * WIDE_CHUNK)) * WIDE_CHUNK
    chunks: list[Tensor] = []
    for start in range(0, len(cohort), step):
        part = cohort.between(start, start + step)
        clipped = _clip(_per_unit(_vectors(query, programme, part), part), stage)
        if part.shares is not None:
            factors = unit_factors(stage, part.shares, weight)
            clipped = clipped * factors.unsqueeze(1)
        chunks += [chunk.sum(dim=0) for chunk in torch.split(clipped, WIDE_CHUNK)]
    total = torch.stack(chunks).sum(dim=0)
    return total if cohort.shares is not None else weight * total


def _per_unit(rows: Tensor, cohort: UnitBatch) -> Tensor:
    """Average the vectors of each person's rows: [units, places, d] to [units, d]."""
    # where, not a product: the content of a padded place must not matter.
    weights = cohort.weights.unsqueeze(-1)
    return torch.where(weights > 0, rows * weights, 0.0).sum(dim=1)


def _clip(vectors: Tensor, stage: Stage) -> Tensor:
    """Clip each vector by groups to `clip_to`; one that is not finite becomes zero."""
    parts = []
    for block in stage.blocks:
        part = vectors[..., block.start : block.stop]
        norm = part.norm(dim=-1, keepdim=True)
        factor = torch.clamp(block.grid.clip_to / norm, max=1.0)
        parts.append(torch.where(torch.isfinite(norm), part * factor, 0.0))
    # 0/0 of a zero vector is NaN times zero: such a vector stays zero.
    return torch.nan_to_num(torch.cat(parts, dim=-1), nan=0.0)


def _vectors(query: Query, programme: Programme, cohort: UnitBatch) -> Tensor:
    """Return the vector of each row: [units, places, d]."""
    kind, loss = programme.stages[query.stage].kind, programme.loss
    if kind == "labels":
        outputs = len(query.model.intercept)
        return torch.from_numpy(label_vectors(loss, cohort.targets.numpy(), outputs))
    if kind == "metrics":
        logits = query.model.logits(cohort.inputs)
        return score_histogram(loss, logits, cohort.targets)
    if kind == "amplitudes":
        logits = query.model.logits(cohort.inputs)
        vectors = amplitude_vectors(
            loss,
            query.model.parts(cohort.inputs).numpy(),
            Loss(loss).slope(logits, cohort.targets).numpy(),
            Loss(loss).predict(logits).numpy(),
            query.arrays,
        )
        return torch.from_numpy(vectors)
    tower = query.model.towers[query.tower]
    facts = RuleFacts(tower.shape, loss)
    slots = tower.inputs(cohort.inputs).numpy()
    if kind == "moments":
        return torch.from_numpy(moment_vectors(facts, slots))
    if kind == "importance":
        # Where no tower is trained, every record has the logits of the label rate.
        start = torch.from_numpy(query.model.intercept)
        logits = start.expand(*cohort.targets.shape, len(start))
        slopes = Loss(loss).slope(logits, cohort.targets)
        return torch.from_numpy(importance_vectors(facts, slots, slopes.numpy()))
    logits = torch.from_numpy(query.arrays["reference"]) + tower.logits(cohort.inputs)
    if query.arrays["listen"][0]:
        logits = logits + query.model.towers_below(query.tower, cohort.inputs)
    slopes = Loss(loss).slope(logits, cohort.targets)
    rows = residual_vectors(facts, slots, slopes.numpy(), query.arrays)
    return torch.from_numpy(rows)


def _batch(query: Query, programme: Programme, cohort: UnitBatch) -> Batch:
    dtype = programme.precision
    tower = query.model.towers[query.tower]
    offset = query.model.logits(cohort.inputs, query.tower)
    linear = tower.linear_part
    if linear is not None:
        offset = offset + linear.logits(cohort.inputs)
    weights = cohort.weights
    if "radius" in query.arrays and query.kind == "gradient":
        # A gradient is linear in the weights: it is scaled before it is clipped.
        weights = weights / float(query.arrays["radius"][0])
    return Batch(
        inputs=tower.features(cohort.inputs).to(dtype),
        targets=cohort.targets.to(dtype),
        offset=offset.to(dtype),
        weights=weights.to(dtype),
        sites=cohort.sites,
    )


def _gradients(
    query: Query, programme: Programme, cohort: UnitBatch, site_weights: Tensor
) -> Tensor:
    """Sum the clipped gradients of all sites in one batched program."""
    stage = programme.stages[query.stage]
    module = query.model.towers[query.tower].module(programme.precision)
    groups = programme.groups or None
    factors = site_weights.repeat_interleave(torch.tensor(cohort.sites))
    if cohort.shares is not None:
        factors = unit_factors(stage, cohort.shares, factors)
    bits = CutBits() if has_clip_bits(query.release) else None
    limits = stage.limits
    if query.release is None:
        limits = (math.inf,) * len(stage.blocks)
    loss, batch = Loss(programme.loss), _batch(query, programme, cohort)
    clips = limits if bits is None else limits[:-1]
    total = clipped_sum(module, loss, batch, clips, groups, shares=factors, bits=bits)
    if bits is not None:
        return torch.cat([total, bits.total * (limits[-1] / BIT_CLIP)])
    if groups is None:
        return total
    return total.index_select(0, torch.from_numpy(group_order(module, groups)))


def _updates(
    query: Query, programme: Programme, cohort: UnitBatch, site_weights: Tensor
) -> Tensor:
    stage = programme.stages[query.stage]
    module = query.model.towers[query.tower].module()
    groups = programme.groups
    order = torch.from_numpy(group_order(module, groups)) if groups else None
    training = LocalTraining(
        steps=programme.local_steps,
        batch_size=programme.batch_size or sys.maxsize,
        learning_rate=float(query.arrays["learning_rate"][0]),
        momentum=programme.momentum,
    )
    bits, loss = has_clip_bits(query.release), Loss(programme.loss)
    total = torch.zeros(stage.dimension, dtype=torch.float64)
    for site, weight in zip(cohort.split(), site_weights, strict=True):
        batch = _batch(query, programme, site)
        generator = torch.Generator().manual_seed(programme.seed + query.round)
        update = local_update(module, loss, batch, training, generator)
        # Group by group: a clip of the whole would let one group exceed its own.
        ordered = update if order is None else update[order]
        if "radius" in query.arrays:
            ordered = ordered / float(query.arrays["radius"][0])
        parts = [
            clip_update(ordered[block.start : block.stop], block.grid.clip_to)
            for block in stage.blocks[: len(stage.blocks) - bool(bits)]
        ]
        if bits:
            parts.append(_cut_bit(ordered, stage))
        total += weight * torch.cat(parts)
    return total


def _cut_bit(update: Tensor, stage: Stage) -> Tensor:
    """Return the centred bit of one update: was it cut?"""
    clip, bit = stage.limits
    length = torch.linalg.vector_norm(update)
    if not torch.isfinite(length):
        return torch.zeros(1, dtype=torch.float64)
    return torch.tensor([bit if length <= clip else -bit], dtype=torch.float64)
