# SPDX-License-Identifier: Apache-2.0
"""Entries before the first round: who takes part, what was decided, what it costs."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from lexfed.audit.entries.fields import (
    Base64Text,
    ClosedModel,
    CodeWord,
    DecimalText,
    Digest,
    Entry,
    JsonCount,
    LogOrigin,
    later_field,
)
from lexfed.audit.vocabulary import LegalRole
from lexfed.terms import (
    Accountant,
    FilterName,
    Mechanism,
    Neighbours,
    TierName,
    Trust,
    Unit,
)


class PublicKeyRecord(ClosedModel):
    """An Ed25519 key and the name it has in envelopes: SHA-256 of its bytes."""

    keyid: Digest
    public: Base64Text


class Party(ClosedModel):
    """A participant, by key; names are not in the log.

    Attributes:
        key: signs receipts; None where parties are simulated.
        role: what they do.
        legal_role: their role under Art. 26 and 28 GDPR, where stated.
        country: ISO 3166 code, where stated.
        contract: digest of the contract between them and the controller.
        transfer_tool: what a transfer to their country rests on (Art. 44-49 GDPR).
    """

    key: PublicKeyRecord | None
    role: Literal["site", "aggregator"]
    legal_role: LegalRole | None = None
    country: CodeWord | None = None
    contract: Digest | None = None
    transfer_tool: CodeWord | None = None


class PredecessorLog(ClosedModel):
    """The last trusted checkpoint of an earlier log that this one continues."""

    origin: LogOrigin
    size: JsonCount
    root: Digest


class Genesis(Entry):
    """Entry 0: the rules of this log and everybody's keys.

    Attributes:
        software: who writes, as `name-version`.
        catalogue: digest of the rules that certificates are evaluated with.
        config: digest of the configuration.
        coordinator: the key that signs entries.
        log: the key that signs checkpoints, as a vkey.
        parties: who takes part, in logs of before; see `entries.roster`.
        witnesses: digest of the witness policy; None without witnesses.
        previous: the log that this one continues, after its key was compromised.
        test: the noise is seeded: nothing in this run is private.
        roster: blob, who takes part; None in logs of before.
    """

    kind: ClassVar[str] = "genesis"

    software: CodeWord
    catalogue: Digest
    config: Digest
    coordinator: PublicKeyRecord
    log: str
    parties: tuple[Party, ...]
    witnesses: Digest | None
    previous: PredecessorLog | None
    test: bool
    roster: Digest | None = later_field()

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The configuration and the catalogue."""
        return (("config.toml", self.config), ("catalogue", self.catalogue))


class CohortAssumptions(ClosedModel):
    """Assumptions about the sites where nobody else is trusted.

    Attributes:
        sites: how many take part.
        colluders: how many of them may work with the coordinator.
        dropouts: how many may be missing from a sum before it is given up.
    """

    sites: JsonCount
    colluders: JsonCount
    dropouts: JsonCount

    @property
    def honest(self) -> int:
        """Fewest sites in a sum whose noise nobody else knows."""
        return self.sites - self.colluders - self.dropouts

    def threshold(self, listed: int) -> int:
        """Smallest t with 2 t > n + c, of n sites that set up keys [BIK+17]."""
        return (listed + self.colluders) // 2 + 1


class PolicyEntry(Entry):
    """The decisions about protection, made before the first round.

    Attributes:
        config: blob, the configuration as given.
        programme: digest of everything coordinator and sites agreed on.
        mechanism: how noise is spread; `none` protects nothing.
        unit: whom the guarantee is about.
        neighbours: relation of the record's guarantee.
        epsilon: the whole record's budget; None with mechanism `none`.
        delta: of every guarantee.
        caps: attribute epsilon that tiers must not exceed.
        accountant: who prices the claim.
        trust: who sees what before noise.
        noise: the sampler; `none` with mechanism `none`.
        randomness: where its bits come from.
        sampling: how units get into a round.
        secret_sampling: who takes part in a round must stay secret, because the
            guarantee rests on it.
        aggregation: protocol that hides single sites' sums from the coordinator.
        transport: how messages travel.
        records_per_person: rows one person may have.
        sites_per_person: sites one person may be at.
        policy: blob, the budget policy in force; None where budgets are stated in
            the configuration alone.
        cohort: what `distributed` trust assumes of the sites; None for other trust.
        receipts: `event-digest` where receipts name what a round is charged for,
            `event-answer` where they also commit to the sum that was sent; None in
            logs of before, whose receipts named the clips only.
    """

    kind: ClassVar[str] = "policy"

    config: Digest
    programme: Digest
    mechanism: Mechanism
    unit: Unit
    neighbours: Neighbours
    epsilon: DecimalText | None
    delta: DecimalText | None
    caps: Mapping[TierName, DecimalText]
    accountant: Accountant
    trust: Trust
    noise: Literal["rounded-gaussian", "skellam-shares", "none"]
    randomness: Literal["operating-system", "seeded"]
    sampling: Literal["none", "poisson"]
    secret_sampling: bool
    aggregation: CodeWord
    transport: CodeWord
    records_per_person: JsonCount
    sites_per_person: JsonCount
    policy: Digest | None
    cohort: CohortAssumptions | None = later_field()
    receipts: Literal["event-digest", "event-answer"] | None = later_field()

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The configuration."""
        return (("config.toml", self.config),)


class FeatureTags(Entry):
    """The protection of each column, with reasons.

    Attributes:
        tags: blob, every column with tier, articles and reason.
        encoding: blob, which model inputs belong to which column.
        inputs: digest of the sorted names of the columns that enter the model.
        columns: how many columns each tier has.
        jurisdictions: whose law was asked.
        obligations: articles that apply to at least one column, as `gdpr:9(1)`.
    """

    kind: ClassVar[str] = "feature-tags"

    tags: Digest
    encoding: Digest
    inputs: Digest
    columns: Mapping[TierName, JsonCount]
    jurisdictions: tuple[CodeWord, ...]
    obligations: tuple[CodeWord, ...]

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The tags and the encoding."""
        return (("tags.json", self.tags), ("encoding.json", self.encoding))


class BudgetPlan(Entry):
    """The releases that a run may make and their price, fixed beforehand.

    Attributes:
        plan: blob, the machine-readable plan.
        releases: blob, canonical JSON list of `{"release", "count"}` in order, with
            the releases as the ledger stores them; None with mechanism `none`.
        rounds: number of rounds.
        epsilon: of the whole record, for the whole plan.
        delta: of every guarantee.
        tiers: attribute epsilon of each tier, for the whole plan.
        filter: how rounds are held to the plan. `F0`: each is dominated by a planned
            one, in order. `F1`, `F2`: the sum of their costs stays within the plan's.
        profiles: blob, canonical JSON of `{"sites", "releases"}` by the name of the
            budget, for sites that are charged less than the plan; None without.
        classes: what contributions of units of each class are multiplied by.
    """

    kind: ClassVar[str] = "budget-plan"

    plan: Digest
    releases: Digest | None
    rounds: JsonCount
    epsilon: DecimalText | None
    delta: DecimalText | None
    tiers: Mapping[TierName, DecimalText]
    filter: FilterName
    profiles: Digest | None
    classes: Mapping[CodeWord, DecimalText]

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The plan."""
        return (("plan.json", self.plan),)
