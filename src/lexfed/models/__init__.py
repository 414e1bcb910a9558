# SPDX-License-Identifier: Apache-2.0
"""Models, their losses, and the clipped sums that training releases.

Read `clipped_sum.py` first. A site hands a `Batch` to `clipped_sum` (unit: record) or
to `local_update` and `clip_update` (unit: site) and gets one flat vector.
"""

from lexfed.models.architecture import build
from lexfed.models.batch import Batch, join
from lexfed.models.clipped_sum import clipped_sum
from lexfed.models.layers import fallback_reason
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED, Loss
from lexfed.models.parameters import count, flatten, group_index, load
from lexfed.models.rounding import summation_error
from lexfed.models.updates import LocalTraining, clip_update, local_update

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
