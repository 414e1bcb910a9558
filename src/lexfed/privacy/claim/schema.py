# SPDX-License-Identifier: Apache-2.0
"""The shape of a claim file, and its published JSON schema.

A claim is read by people and machines that do not trust its author, so its shape is
closed: an unknown field is an error. The schema is draft 2020-12.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lexfed.errors import ClaimError
from lexfed.notebook_html import html_table
from lexfed.privacy.releases import NoiseKind, Release
from lexfed.privacy.scopes import CountedRelease, up
from lexfed.terms import (
    Accountant,
    ClaimedMechanism,
    FilterName,
    Neighbours,
    TierName,
    Trust,
    Unit,
)

VERSION = 2
"""Of the claims that are written. Version 1 stated one `delta_sampler`, that of the
record, for all lines; it is still read, see `claim.check_claim`."""

ClaimName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
]
"""What people call a profile of sites or a class of units: no site, no person."""

EpsilonField = Field(ge=0, description="rounded up")
DeltaField = Field(ge=0, le=1)
LineSamplerField = Field(
    default=None, ge=0, le=1, exclude_if=lambda value: value is None,
    description="on top of delta, at this line's epsilon; left out in version 1",
)  # fmt: skip


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class GroupRecord(_Closed):
    """A block of coordinates with its charged clip and its noise."""

    name: str
    clip: float = Field(gt=0, description="charged L2 sensitivity under add/remove")
    sigma: float = Field(gt=0, description="standard deviation of the noise on the sum")


class ReleaseRecord(_Closed):
    """A release, as stored in the ledger."""

    version: Literal[1] = 1
    name: str
    groups: tuple[GroupRecord, ...] = Field(min_length=1)
    sampling_rate: float = Field(ge=0, le=1)
    reads: TierName | None = Field(description="most sensitive tier it may depend on")
    samples: int = Field(ge=0, description="noise values drawn for it")
    noise: NoiseKind = Field(
        default="gaussian",
        exclude_if=lambda noise: noise == "gaussian",
        description="skellam: the sites added it in shares; left out if gaussian",
    )

    def release(self) -> Release:
        """Return the event, or raise `ClaimError` if there is no such release."""
        try:
            return Release.from_json(self.model_dump(mode="json"))
        except ValueError as error:
            raise ClaimError(f"claim: {error}") from error


class CountedRecord(_Closed):
    """A release and how many rounds of it the guarantee covers."""

    release: ReleaseRecord
    count: int = Field(ge=0)

    @classmethod
    def all_of(cls, releases: Iterable[CountedRelease]) -> "tuple[CountedRecord, ...]":
        """Return releases and their counts as a claim holds them."""
        return tuple(
            cls(release=ReleaseRecord.model_validate(release.to_json()), count=count)
            for release, count in releases
        )


def counted_releases(rows: Iterable[CountedRecord]) -> tuple[CountedRelease, ...]:
    """Return releases and their counts as accountants know them."""
    return tuple((row.release.release(), row.count) for row in rows)


class AccountantRecord(_Closed):
    """Who computed the numbers, and the filter under which they hold."""

    name: Accountant
    version: str
    filter: FilterName = Field(
        description="F0: every release is dominated by a planned one; F1, F2: the sum "
        "of what releases cost stays within the plan's"
    )


class GridRecord(_Closed):
    """The integer grid of one group."""

    group: str
    dimension: int = Field(ge=1)
    step: float = Field(gt=0)
    release_step: float = Field(gt=0)
    clip_to: float = Field(gt=0)


class MechanismRecord(_Closed):
    """What was run."""

    name: ClaimedMechanism
    noise: Literal["rounded-gaussian", "skellam-shares"] = "rounded-gaussian"
    grid: tuple[GridRecord, ...]


class SamplingRecord(_Closed):
    """How units get into a release."""

    scheme: Literal["none", "poisson"]
    rates: tuple[float, ...]
    secrecy: str


class TierRecord(_Closed):
    """The guarantee of one attribute of a tier."""

    epsilon: float = EpsilonField
    delta: float = DeltaField
    delta_sampler: float | None = LineSamplerField
    neighbours: Literal["attribute"] = "attribute"
    columns: tuple[str, ...]
    reads: tuple[str, ...] = Field(description="releases that may depend on the tier")


class LabelRecord(_Closed):
    """The guarantee of the label."""

    epsilon: float = EpsilonField
    delta: float = DeltaField
    delta_sampler: float | None = LineSamplerField
    neighbours: Literal["replace-one"] = "replace-one"


class CohortRecord(_Closed):
    """What distributed trust assumes about the sites, and what follows from it."""

    sites: int = Field(ge=2, description="that take part in a round")
    colluders: int = Field(ge=0, description="that may work with the adversary")
    dropouts: int = Field(ge=0, description="that may be missing from a sum")
    honest: int = Field(ge=1, description="whose noise is charged, at least")
    threshold: int = Field(ge=1, description="answers that unmasking takes")


class ProfileRecord(_Closed):
    """The guarantee at sites with a budget of their own, from their own releases."""

    sites: int = Field(ge=1, description="how many; which ones is not said")
    epsilon: float = EpsilonField
    delta: float = DeltaField
    delta_sampler: float | None = Field(
        default=None, ge=0, le=1, exclude_if=lambda value: value is None,
        description="on top of delta, at the label's epsilon, the largest of these "
        "lines; left out in version 1",
    )  # fmt: skip
    tiers: dict[TierName, float]
    label: float = EpsilonField
    releases: tuple[CountedRecord, ...]


class ClassRecord(_Closed):
    """The guarantee of a unit of a class whose contributions are scaled down."""

    scale: float = Field(gt=0, le=1, description="of every clip")
    epsilon: float = EpsilonField
    delta: float = DeltaField
    delta_sampler: float | None = LineSamplerField
    neighbours: Neighbours


class Claim(_Closed):
    """What a run proves, to whom, and what it does not cover."""

    version: Literal[1, 2] = 2
    stamp: Literal["NOT PRIVATE"] | None = Field(
        description="set when the noise was seeded: then nothing is private"
    )
    unit: Unit
    records_per_person: int = Field(ge=1)
    sites_per_person: int = Field(ge=1)
    neighbours: Neighbours
    epsilon: float = EpsilonField
    delta: float = DeltaField
    delta_sampler: float = Field(
        ge=0, le=1, description="on top of delta, at the record's epsilon"
    )
    accountant: AccountantRecord
    mechanism: MechanismRecord
    sampling: SamplingRecord
    rounds: int = Field(ge=0, description="rounds that were run")
    trust: Trust
    cohort: CohortRecord | None = Field(
        default=None, description="who adds noise under distributed trust"
    )
    released: str
    tiers: dict[TierName, TierRecord]
    label: LabelRecord
    not_covered: tuple[str, ...]
    releases: tuple[CountedRecord, ...]
    profiles: dict[ClaimName, ProfileRecord]
    classes: dict[ClaimName, ClassRecord]

    def __repr__(self) -> str:
        stamp = f"{self.stamp}, " if self.stamp else ""
        return (
            f"<Claim: {stamp}epsilon {_shown(self.epsilon)} at delta {self.delta:g} "
            f"per {self.unit}, {self.neighbours}>"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the guarantee as a notebook shows it; epsilons are rounded up."""
        whole: list[tuple[str, Claim | TierRecord | LabelRecord | ClassRecord, str]] = [
            (f"whole {self.unit}", self, "all columns")
        ]
        whole += [
            (f"one value, {name}", tier, ", ".join(tier.columns))
            for name, tier in reversed(self.tiers.items())
        ]
        whole.append(("label", self.label, ""))
        whole += [(f"class {name}", each, "") for name, each in self.classes.items()]
        rows: list[tuple[str, ...]] = [
            (what, _shown(of.epsilon), f"{of.delta:g}", of.neighbours, about)
            for what, of, about in whole
        ]
        rows += [
            (f"sites {name}", _shown(each.epsilon), f"{each.delta:g}", "", "")
            for name, each in self.profiles.items()
        ]
        header = ["protected", "ε", "δ", "relation", "columns"]
        gaps = [f"Not covered: {gap}." for gap in self.not_covered]
        stamp = f" {self.stamp}: the noise was seeded." if self.stamp else ""
        return html_table(f"Guarantee.{stamp}", header, rows, gaps)


def _shown(epsilon: float) -> str:
    return f"{up(epsilon, digits=4):g}"


def claim_schema() -> dict[str, Any]:
    """Return the JSON schema of a claim."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"lexfed/claim/v{VERSION}",
        **Claim.model_json_schema(mode="serialization"),
    }
