# SPDX-License-Identifier: Apache-2.0
"""The signal of each tower against its noise, from public numbers alone.

n units that are clipped to C have a sum of norm at most n C. Noise of deviation sigma
in each of d coordinates has norm sigma sqrt(d). Rounds are averaged by the precision of
their noise, so squares of the ratio add up over rounds:

    most² = sum over rounds of (q n C)² / (sigma² d)

where q is the sampling rate and n the declared number of units, by which sums are
divided. That is reached only if all units pull the same way. The rule for towers
expects a part `SIGNAL_SIZE` of it, the median of its prior (`models.rule.estimates`):

    expected = SIGNAL_SIZE * most

**Criterion.** What a tower learns is a signal of norm s plus noise of norm r, at right
angles on average, so its squared length is s² + r². *Noise is expected to decide* where
s < r: more than half of what is learned is noise then, and another run would learn
something else. Nothing here is computed from data; what a run has released can be
tested afterwards (`models.rule.evidence`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.models.rule.estimates import SIGNAL_SIZE
from lexfed.privacy.releases import CLIP_BIT, Release
from lexfed.tiers import Tier

_LEARNING = ("residuals", "gradient", "update")


@dataclass(frozen=True)
class TowerSignal:
    """Signal over noise of a tower: the most there can be, and what is expected."""

    tier: Tier
    most: float

    @property
    def expected(self) -> float:
        """Signal over noise where a median part of the most is there."""
        return SIGNAL_SIZE * self.most

    @property
    def noise_decides(self) -> bool:
        """True if more than half of what the tower learns is expected to be noise."""
        return self.expected < 1.0

    def to_json(self) -> dict[str, Any]:
        """Return it under its fixed names."""
        return {
            "tier": self.tier.label,
            "most": self.most,
            "expected": self.expected,
            "noise_decides": self.noise_decides,
        }


def planned_signals(programme: Programme) -> tuple[TowerSignal, ...]:
    """Return the signal of each tower by the plan; none without noise."""
    return _signals(
        programme,
        [
            [(stage.at(step), release) for step, release in enumerate(stage.releases)]
            for stage in programme.stages
        ],
    )


def released_signals(
    programme: Programme, released: Iterable[tuple[int, Release]]
) -> tuple[TowerSignal, ...]:
    """Return the signal of each tower by the rounds that were released.

    `released` has the place of a round's stage, and its event as it was charged.
    """
    rounds: list[list[tuple[Stage, Release | None]]] = [[] for _ in programme.stages]
    for place, release in released:
        step = len(rounds[place])
        rounds[place].append((programme.stages[place].at(step), release))
    return _signals(programme, rounds)


def _signals(
    programme: Programme, rounds: Sequence[Sequence[tuple[Stage, Release | None]]]
) -> tuple[TowerSignal, ...]:
    if programme.mechanism == "none":
        return ()
    squares: dict[int, float] = {}
    for stage, run in zip(programme.stages, rounds, strict=True):
        if stage.kind in _LEARNING:
            square = math.fsum(
                _square(programme, at, release)
                for at, release in run
                if release is not None
            )
            # A network beside a linear part has noise of its own: the better counts.
            squares[stage.tower] = max(squares.get(stage.tower, 0.0), square)
    return tuple(
        TowerSignal(programme.shapes[tower].tier, math.sqrt(square))
        for tower, square in sorted(squares.items())
    )


def _square(programme: Programme, stage: Stage, release: Release) -> float:
    parts = [
        (group, block.stop - block.start)
        for group, block in zip(release.groups, stage.blocks, strict=True)
        if group.name != CLIP_BIT
    ]
    signal = stage.divisor_of(release) * math.hypot(*(g.clip for g, _ in parts))
    noise = math.fsum(size * group.sigma**2 for group, size in parts)
    return signal**2 / (noise * programme.loudness())
