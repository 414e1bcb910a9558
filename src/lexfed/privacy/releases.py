# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of accounting: a release, and the groups that leave together.

A mechanism returns the `Release` it must be charged for, so nobody types an epsilon
by hand. A release is one noised sum that leaves the federation; its groups are
computed from the same batch, so they are charged together, never one by one:

    Y_g = sum over units of clip(u_g, C_g) + N(0, sigma_g^2 I),   g = 1..G.

**Joint groups.** Under add/remove the release is exactly the (Poisson-sampled) Gaussian
with noise multiplier 1/R, R = sqrt(sum_g (C_g/sigma_g)^2) (Theorem 1 of guarantees).
This needs one batch for all groups, and sums divided by public constants only.

**Noise in shares** (`noise = "skellam"`). The sites add the noise, and only its sum is
Skellam with at least the variance of `noise.shares.half_variance`. By Theorem D there
it has at every integer order at most the Rényi divergence of N(0, sigma_g^2 I), so the
release is charged as the Gaussian one, in Rényi accounting only. Nothing of the kind
is known for sampled sums, nor for exact Gaussian accounting.

Stored events carry a schema version; what this version does not know, it refuses.

>>> release = Release("tower", (ReleaseGroup("all", 1.0, 2.0),), 1.0, Tier.SPECIAL, 10)
>>> Release.from_json(release.to_json()) == release
True
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from lexfed import checks
from lexfed.tiers import Tier

VERSION = 1
"""Schema version of a stored release; other versions are refused."""

CLIP_BIT = "clip bit"
"""Name of the group that may stand beside a tower's own: which units the clip cut."""

NoiseKind = Literal["gaussian", "skellam"]
"""Law of the noise on the sum: rounded Gaussian, or Skellam in shares of the sites."""

MOST_SAMPLES = 1000
"""Under a filter a run may draw so many times the planned noise values, in more rounds;
the `delta_sampler` of its claim pays for all of them."""

_T = TypeVar("_T")
_GROUP_FIELDS = {"name", "clip", "sigma"}
_RELEASE_FIELDS = {
    "version", "name", "groups", "sampling_rate", "reads", "samples", "noise",
}  # fmt: skip


@dataclass(frozen=True)
class ReleaseGroup:
    """One block of coordinates with its own clip and noise.

    `clip` is the charged L2 sensitivity of the sum under add/remove, `sigma` the
    standard deviation of the noise on the sum, in the same unit.
    """

    name: str
    clip: float
    sigma: float

    def __post_init__(self) -> None:
        checks.finite_positive(clip=self.clip, sigma=self.sigma)


@dataclass(frozen=True)
class Release:
    """One noised sum that leaves the federation.

    Attributes:
        name: of the sum; the same in every round of a tower.
        groups: blocks that leave together, computed from one batch.
        sampling_rate: probability that a unit's Poisson coin lets it in; 1 = all.
        reads: the most sensitive tier it may depend on; None = the label only.
        samples: number of noise values drawn for it; for shares four times as many,
            since a share is within 2^-88 of its law, and a Gaussian value 2^-90.
    """

    name: str
    groups: tuple[ReleaseGroup, ...]
    sampling_rate: float
    reads: Tier | None
    samples: int
    noise: NoiseKind = "gaussian"

    def __post_init__(self) -> None:
        if not self.groups:
            raise ValueError(f"release `{self.name}`: expected at least one group")
        checks.in_range(0.0, 1.0, sampling_rate=self.sampling_rate)
        checks.in_range(0, 2**62, samples=self.samples)
        if self.noise == "skellam" and self.sampling_rate not in (0.0, 1.0):
            raise ValueError(
                f"release `{self.name}`: noise in shares has no price under sampling, "
                f"expected `sampling_rate` = 1, got: {self.sampling_rate}"
            )

    @property
    def noise_multiplier(self) -> float:
        """The multiplier of the one Gaussian that all groups together are."""
        # hypot instead of a sum of squares: no overflow for extreme ratios.
        return 1.0 / math.hypot(*(group.clip / group.sigma for group in self.groups))

    def scaled(self, factor: float) -> "Release":
        """Return the release with every clip times a factor, and the same noise."""
        groups = (ReleaseGroup(g.name, factor * g.clip, g.sigma) for g in self.groups)
        return replace(self, groups=tuple(groups))

    def to_json(self) -> dict[str, Any]:
        """Return the stored form; floats as JSON numbers, which keep every bit.

        Gaussian noise is not named, so that rows and hashes of old stay what they are.
        """
        named = {} if self.noise == "gaussian" else {"noise": self.noise}
        return {
            "version": VERSION,
            "name": self.name,
            "groups": [
                {"name": group.name, "clip": group.clip, "sigma": group.sigma}
                for group in self.groups
            ],
            "sampling_rate": self.sampling_rate,
            "reads": None if self.reads is None else self.reads.label,
            "samples": self.samples,
            **named,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Release":
        """Return the release that was stored; refuse another version, field or type."""
        if row.get("version") != VERSION:
            raise ValueError(f"expected version {VERSION}, got: {row.get('version')!r}")
        # One stored form for each release: what is Gaussian does not say so.
        if row.get("noise", "skellam") != "skellam":
            raise ValueError("expected `noise` to be `skellam`, or not to be there")
        _same_fields("release", _RELEASE_FIELDS, {"noise": "gaussian", **row})
        groups = _typed("groups", row["groups"], list)
        reads = row["reads"]
        return cls(
            name=_typed("name", row["name"], str),
            groups=tuple(_group(group) for group in groups),
            sampling_rate=_number("sampling_rate", row["sampling_rate"]),
            reads=None if reads is None else Tier.parse(_typed("reads", reads, str)),
            samples=_typed("samples", row["samples"], int),
            noise="skellam" if "noise" in row else "gaussian",
        )


def _group(row: Any) -> ReleaseGroup:
    fields = _typed("groups", row, dict)
    _same_fields("group", _GROUP_FIELDS, fields)
    return ReleaseGroup(
        name=_typed("name", fields["name"], str),
        clip=_number("clip", fields["clip"]),
        sigma=_number("sigma", fields["sigma"]),
    )


def _same_fields(noun: str, expected: set[str], row: Mapping[str, Any]) -> None:
    odd = sorted(expected.symmetric_difference(row))
    if odd:
        raise ValueError(f"{noun}: unknown or missing field `{odd[0]}`")


def _typed(name: str, value: Any, kind: type[_T]) -> _T:
    # bool is an int in Python, but not a number of samples.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"expected `{name}` to be {kind.__name__}")
    return value


def _number(name: str, value: Any) -> float:
    # JSON has one kind of number: 1 and 1.0 are the same.
    kind = int if isinstance(value, int) else float
    return float(_typed(name, value, kind))
