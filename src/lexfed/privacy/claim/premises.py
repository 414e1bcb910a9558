# SPDX-License-Identifier: Apache-2.0
"""Premises of a claim: the facts that `proof.build_claim` computes it from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lexfed.privacy.claim.subgroups import ClaimProfile
from lexfed.privacy.filters.names import Guarantee
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.scopes import CountedRelease
from lexfed.terms import Accountant, ClaimedMechanism, Neighbours, Trust, Unit
from lexfed.tiers import Tier


@dataclass(frozen=True)
class ClaimedRun:
    """The run that a claim is about.

    Attributes:
        releases: every planned release and its count, whether or not it was made.
        rounds: that were run.
        private: True if the noise came from a secure source, not from a seed.
        not_covered: gaps of the guarantee, in words.
    """

    releases: Sequence[CountedRelease]
    rounds: int
    private: bool
    not_covered: Sequence[str] = ()


@dataclass(frozen=True)
class ClaimTerms:
    """The form of the guarantee.

    Attributes:
        delta: of every line.
        neighbours: the relation of the record's line.
        accountant: by which every line is priced.
        guarantee: rounds were held to the plan one by one, or in their sums.
    """

    delta: float
    neighbours: Neighbours
    accountant: Accountant
    guarantee: Guarantee = "envelope"


@dataclass(frozen=True)
class MechanismFacts:
    """The mechanism that made the releases.

    Attributes:
        name: of the mechanism.
        trust: the parties that see sums before noise.
        cohort: the sites that add noise, where `trust` is `distributed`.
        grids: the integer grid of each group of a release, by the group's name.
    """

    name: ClaimedMechanism
    trust: Trust
    cohort: NoiseCohort | None = None
    grids: Mapping[str, Grid] = field(default_factory=dict)


@dataclass(frozen=True)
class ProtectedPopulation:
    """The units that are protected.

    Attributes:
        unit: a record (all rows of a person), or a client.
        columns: that enter the model, by tier.
        records_per_person: rows that one unit may have.
        sites_per_person: sites at which one person may be.
        profiles: sites with budgets of their own, by the name of the budget.
        classes: factor on contributions of units of a class, at most 1.
    """

    unit: Unit
    columns: Mapping[Tier, Sequence[str]]
    records_per_person: int = 1
    sites_per_person: int = 1
    profiles: Mapping[str, ClaimProfile] = field(default_factory=dict)
    classes: Mapping[str, float] = field(default_factory=dict)
