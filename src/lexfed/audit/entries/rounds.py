# SPDX-License-Identifier: Apache-2.0
"""Entries of training: rounds, and whatever kept a round from happening."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from lexfed.audit.entries.fields import (
    ClosedModel,
    CodeWord,
    DecimalText,
    Digest,
    Entry,
    JsonCount,
    decimal,
    later_field,
)
from lexfed.audit.vocabulary import AbortCause
from lexfed.canonical import digest
from lexfed.privacy.releases import VERSION, Release
from lexfed.terms import CostMeasure, TierName


class GroupEvent(ClosedModel):
    """A block of coordinates: its charged clip bound and the noise on the sum."""

    name: str = Field(max_length=128)
    clip: DecimalText
    sigma: DecimalText


class ChargedEvent(ClosedModel):
    """The mechanism event a round is charged for, with exact decimal strings.

    Attributes:
        name: which sum it is.
        sampling_rate: probability that a unit is in it.
        reads: the most sensitive tier it may depend on.
        samples: how many noise values were drawn for it.
        noise: `skellam` where sites added shares of noise; None for a Gaussian.
    """

    name: str = Field(max_length=128)
    groups: tuple[GroupEvent, ...] = Field(min_length=1)
    sampling_rate: DecimalText
    reads: TierName | None
    samples: JsonCount
    noise: Literal["skellam"] | None = later_field()

    @classmethod
    def of(cls, release: Release) -> "ChargedEvent":
        """Return the event as the log holds it."""
        plain = release.to_json()
        groups = tuple(
            GroupEvent(
                name=g["name"], clip=decimal(g["clip"]), sigma=decimal(g["sigma"])
            )
            for g in plain["groups"]
        )
        return cls(
            name=release.name,
            groups=groups,
            sampling_rate=decimal(release.sampling_rate),
            reads=plain["reads"],
            samples=release.samples,
            noise=plain.get("noise"),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of its RFC 8785 bytes, which sites sign in their receipts."""
        return digest(self.model_dump(mode="json"))

    def release(self) -> Release:
        """Return the event as accountants know it, or raise `ValueError`."""
        plain: dict[str, Any] = {
            "version": VERSION,
            "name": self.name,
            "groups": [
                {"name": g.name, "clip": float(g.clip), "sigma": float(g.sigma)}
                for g in self.groups
            ],
            "sampling_rate": float(self.sampling_rate),
            "reads": self.reads,
            "samples": self.samples,
        }
        # A Gaussian is not named: old events and new ones read alike.
        return Release.from_json(
            plain if self.noise is None else {**plain, "noise": self.noise}
        )


class Participation(ClosedModel):
    """The number of sites in a round, and the evidence for it.

    Attributes:
        sites: how many answered; None where the guarantee rests on keeping it secret.
        receipts: what backs the number. `open`: receipts signed by the sites are a
            blob. `sealed`: they are kept apart under a salted commitment, because
            the guarantee rests on keeping participants secret. `none`: it is the
            coordinator's word only.
        digest: of the blob, or the commitment.
    """

    sites: JsonCount | None
    receipts: Literal["open", "sealed", "none"]
    digest: Digest | None


class Aggregation(ClosedModel):
    """Evidence of secure aggregation; see docs/reference/log.md, "Masked sums"."""

    protocol: CodeWord
    threshold: JsonCount | None
    survivors: JsonCount | None
    cohort: JsonCount | None = later_field()
    epoch: JsonCount | None = later_field()
    list: Digest | None = later_field()
    evidence: Digest | None = later_field()


class RoundEntry(
    Entry, kind="round", artefacts={"update": "update", "state.safetensors": "state"}
):
    """A round: durable before what it releases.

    Attributes:
        round: number, from 1, without gaps.
        stage: what was summed.
        event: the mechanism event it is charged for; None with mechanism `none`.
        epsilon: the record's, of this round alone.
        epsilon_so_far: the record's, of all rounds charged up to this one.
        tiers_so_far: attribute epsilon of each tier, likewise.
        accountant: who computed them. It may be looser than the one of the claim,
            never lower.
        update: digest of the noised sum that was released.
        state: digest of the released state after it (model and memory).
    """

    round: JsonCount
    stage: CodeWord
    event: ChargedEvent | None
    epsilon: DecimalText | None
    epsilon_so_far: DecimalText | None
    tiers_so_far: Mapping[TierName, DecimalText]
    delta: DecimalText | None
    accountant: CostMeasure | None
    budgets: Mapping[Literal["record"] | TierName, DecimalText]
    tags: Digest
    update: Digest | None
    state: Digest | None
    participation: Participation
    aggregation: Aggregation


class AbortedRoundEntry(Entry, kind="round-aborted"):
    """A round that was charged and is not part of the model.

    Attributes:
        cause: never a reason that depends on data.
        released: whether anything left the coordinator; `unknown` counts as spent.
        event: what it was charged for, so that the total stays complete.
    """

    round: JsonCount
    cause: AbortCause
    released: Literal["no", "unknown"]
    event: ChargedEvent | None


class RefusalEntry(Entry, kind="refusal"):
    """A round that was refused before anybody computed.

    Attributes:
        by: whose budget it was.
        scope: which budget would break: `record`, a tier, or `plan`.
    """

    round: JsonCount
    by: Literal["coordinator", "site"]
    scope: CodeWord
    would_reach: DecimalText | None
    limit: DecimalText | None


class ResumptionEntry(Entry, kind="resumed"):
    """The process that writes started again, after that many rounds."""

    rounds: JsonCount


class CompletionEntry(
    Entry,
    kind="completed",
    artefacts={"model.safetensors": "model", "claim.json": "claim"},
):
    """The run is over.

    Attributes:
        rounds: rounds that are over, lost ones included.
        released: rounds whose release is part of the model.
        early: whether it ended before its last planned round.
        claim: blob, what is guaranteed; None with mechanism `none`.
        model: digest of the model file; None with mechanism `none`, because a hash
            of something without noise would confirm guesses about it.
    """

    rounds: JsonCount
    released: JsonCount
    early: bool
    claim: Digest | None
    model: Digest | None
