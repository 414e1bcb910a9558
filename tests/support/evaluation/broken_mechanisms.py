# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that are broken as real ones have been, for an audit to catch.

Each takes the product's own code and forgets one thing. Nothing that is stated or
charged changes: only what is released does.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from lexfed.arrays import Floats, Integers
from lexfed.federation.programme import integer_sums
from lexfed.federation.site import contributions
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.rule import contributions as rule_contributions
from lexfed.models.towers import Tower
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.tiers import Tier
from support.mutant import Patch

Break = Callable[[Patch], None]


def a_third_of_the_noise(patch: Patch) -> None:
    """Noise is drawn with sigma/3, as where a variance is taken for a deviation."""

    def broken(source: Any, scales: Any, count: int) -> Integers:
        return rounded_gaussian(source, scales / 3.0, count)

    patch.setattr(integer_sums, "rounded_gaussian", broken)


def no_clip(patch: Patch) -> None:
    """Gradients are summed as they are, as where a clip is set and never called."""

    def unclipped(vectors: Tensor, _: object) -> Tensor:
        return vectors

    def as_it_is(rows: Floats) -> Floats:
        return rows

    def unclipped_sum(*asked: Any, **named: Any) -> Tensor:
        module, loss, batch, clips, *rest = asked
        free = [math.inf] * len(clips)
        return clipped_sum(module, loss, batch, free, *rest, **named)

    patch.setattr(contributions, "_clip", unclipped)
    patch.setattr(rule_contributions, "into_ball", as_it_is)
    patch.setattr(contributions, "clipped_sum", unclipped_sum)


def leaking_tower(special: Sequence[int]) -> Break:
    """Return a break: lower towers read slots of the most sensitive tier.

    As where columns that were made from sensitive ones are tagged as harmless, or
    positions are those of another table.

    Args:
        special: the slots, which take the place of a lower tower's first ones.
    """

    def apply(patch: Patch) -> None:
        real = Tower.inputs

        def broken(tower: Tower, slots: Tensor) -> Tensor:
            found = real(tower, slots)
            if tower.shape.tier == Tier.SPECIAL:
                return found
            found = found.clone()
            leaked = list(special)[: found.shape[-1]]
            found[..., : len(leaked)] = slots[..., leaked]
            return found

        patch.setattr(Tower, "inputs", broken)

    return apply
