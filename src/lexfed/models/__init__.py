# SPDX-License-Identifier: Apache-2.0
"""Models, their losses, and the clipped sums that training releases.

Read `gradients/clipped_sum.py` first. A site hands a `Batch` to `clipped_sum`
(unit: record) or to `local_update` and `clip_update` (unit: site) and gets one
flat vector.

    networks/     torch modules that may be trained, and their flat parameters
    gradients/    clipped sums over units, with bounds on their rounding
    towers/       the cascade: one tower per tier, and its public facts
    rule/         the default rule: releases bought, sums learned from
    losses, descent

A record's contribution may depend on that record, on public numbers and on
released ones only, to the bit: paddings and chunks are there for that. Names of
arrays in the safetensors file are a format.
"""

from lexfed.models.gradients.batch import Batch, join
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.gradients.rounding_error import summation_error
from lexfed.models.gradients.site_updates import (
    LocalTraining,
    clip_update,
    local_update,
)
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED, Loss
from lexfed.models.networks.architectures import build
from lexfed.models.networks.flat_parameters import count, flatten, group_index, load
from lexfed.models.networks.known_layers import fallback_reason

__all__ = [
    "LOGISTIC",
    "SOFTMAX",
    "SQUARED",
    "Batch",
    "LocalTraining",
    "Loss",
    "build",
    "clip_update",
    "clipped_sum",
    "count",
    "fallback_reason",
    "flatten",
    "group_index",
    "join",
    "load",
    "local_update",
    "summation_error",
]
