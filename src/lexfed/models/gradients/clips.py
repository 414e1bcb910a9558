# SPDX-License-Identifier: Apache-2.0
"""Clips of contributions: one for all, or one per group of columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.flat_parameters import grouped_layer

# Outside, squares of float32 numbers vanish or overflow.
_SMALLEST, _LARGEST = 1e-9, 1e9


@dataclass(frozen=True)
class Clipping:
    """The clips of one release.

    Attributes:
        clips: One positive number per group, or a single infinite one: no clipping.
        groups: Group of every slot; None where the whole gradient is one group. The
            last clip is the one of biases and later layers.
    """

    clips: tuple[float, ...]
    groups: tuple[int, ...] | None

    @staticmethod
    def of(
        module: nn.Module, clips: Sequence[float], groups: Sequence[int] | None
    ) -> "Clipping":
        """Check clips and groups against each other and the model."""
        wanted = 1
        if groups is not None:
            grouped_layer(module, groups)
            wanted = max(groups) + 2
        if len(clips) != wanted:
            what = f"expected {wanted} clips, one per group, got: {len(clips)}"
            raise ConfigError([Problem("clip", what)])
        free = groups is None and clips[0] == math.inf
        if not free and not all(_SMALLEST <= clip <= _LARGEST for clip in clips):
            what = f"a clip must lie between {_SMALLEST:g} and {_LARGEST:g}"
            raise ConfigError([Problem("clip", what)])
        columns = None if groups is None else tuple(groups)
        return Clipping(tuple(map(float, clips)), columns)

    @property
    def unbounded(self) -> bool:
        """True if nothing is clipped."""
        return math.isinf(self.clips[0])
