# SPDX-License-Identifier: Apache-2.0
"""Entries before the first round: who takes part, what was decided, what it costs.

The parties of a run are a blob that entry 0 cites, since entries have bounds:

    [{"count": 100000, "party": {"key": null, "role": "site", ...}}, ...]

Canonical JSON, one row for each party, in the order of the parties' canonical JSON.
Simulated sites have no keys, and those that are stated alike share a row. Logs of
before list the parties in entry 0 itself, which has room for about 480 with keys.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Protocol

from pydantic import Field, TypeAdapter, ValidationError

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
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing.strict_text import MAX_BYTES, parse_json
from lexfed.terms import (
    Accountant,
    FilterName,
    Mechanism,
    Neighbours,
    TierName,
    Trust,
    Unit,
)

MAX_PARTIES = 1_000_000


class PublicKeyRecord(ClosedModel):
    """An Ed25519 key and the name it has in envelopes: SHA-256 of its bytes."""

    keyid: Digest
    public: Base64Text


class Party(ClosedModel):
    """A participant, by key; names are not in the log.

    Attributes:
        key: signs receipts; None where parties are simulated.
        legal_role: their role under Art. 26 and 28 GDPR, where stated.
        country: ISO 3166 code, where stated.
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


class Genesis(
    Entry, kind="genesis", artefacts={"config.toml": "config", "catalogue": "catalogue"}
):
    """Entry 0: the rules of this log and everybody's keys.

    Attributes:
        catalogue: digest of the rules that certificates are evaluated with.
        coordinator: the key that signs entries.
        log: the key that signs checkpoints, as a vkey.
        witnesses: digest of the witness policy; None without witnesses.
        previous: the log that this one continues, after its key was compromised.
        test: the noise is seeded: nothing in this run is private.
        roster: blob, who takes part; None in logs of before, which list the parties.
    """

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


class CohortAssumptions(ClosedModel):
    """Assumptions about the sites where nobody else is trusted.

    Attributes:
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


class PolicyEntry(Entry, kind="policy", artefacts={"config.toml": "config"}):
    """The decisions about protection, made before the first round.

    Attributes:
        config: blob, the configuration as given.
        programme: digest of everything coordinator and sites agreed on.
        epsilon: the whole record's budget; None with mechanism `none`.
        caps: attribute epsilon that tiers must not exceed.
        trust: who sees what before noise.
        noise: the sampler; `none` with mechanism `none`, which protects nothing.
        secret_sampling: who takes part in a round must stay secret, because the
            guarantee rests on it.
        aggregation: protocol that hides single sites' sums from the coordinator.
        policy: blob, the budget policy in force; None where budgets are stated in
            the configuration alone.
        cohort: what `distributed` trust assumes of the sites; None for other trust.
        receipts: `event-digest` where receipts name what a round is charged for,
            `event-answer` where they also commit to the sum that was sent; None in
            logs of before, whose receipts named the clips only.
    """

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


class FeatureTags(
    Entry,
    kind="feature-tags",
    artefacts={"tags.json": "tags", "encoding.json": "encoding"},
):
    """The protection of each column, with reasons.

    Attributes:
        tags: blob, every column with tier, articles and reason.
        encoding: blob, which model inputs belong to which column.
        inputs: digest of the sorted names of the columns that enter the model.
        obligations: articles that apply to at least one column, as `gdpr:9(1)`.
    """

    tags: Digest
    encoding: Digest
    inputs: Digest
    columns: Mapping[TierName, JsonCount]
    jurisdictions: tuple[CodeWord, ...]
    obligations: tuple[CodeWord, ...]


class BudgetPlan(Entry, kind="budget-plan", artefacts={"plan.json": "plan"}):
    """The releases that a run may make and their price, fixed beforehand.

    Attributes:
        releases: blob, canonical JSON list of `{"release", "count"}` in order, with
            the releases as the ledger stores them; None with mechanism `none`.
        epsilon: of the whole record, for the whole plan.
        tiers: attribute epsilon of each tier, for the whole plan.
        filter: how rounds are held to the plan. `F0`: each is dominated by a planned
            one, in order. `F1`, `F2`: the sum of their costs stays within the plan's.
        profiles: blob, canonical JSON of `{"sites", "releases"}` by the name of the
            budget, for sites that are charged less than the plan; None without.
        classes: what contributions of units of each class are multiplied by.
    """

    plan: Digest
    releases: Digest | None
    rounds: JsonCount
    epsilon: DecimalText | None
    delta: DecimalText | None
    tiers: Mapping[TierName, DecimalText]
    filter: FilterName
    profiles: Digest | None
    classes: Mapping[CodeWord, DecimalText]


class _Row(ClosedModel):
    count: Annotated[int, Field(ge=1, le=MAX_PARTIES)]
    party: Party


_ROWS = TypeAdapter(tuple[_Row, ...])


class BlobSource(Protocol):
    """A source of content by digest; `storage.blobs.Blobs` is one."""

    def get(self, digest: str) -> bytes:
        """Return the bytes, or raise `LexfedError`."""


def roster_bytes(parties: Iterable[Party]) -> bytes:
    """Return the blob that lists parties, in an order that tells nothing."""
    counts = {
        canonical_bytes(party.model_dump(mode="json")): count
        for party, count in Counter(parties).items()
    }
    rows = (b'{"count":%d,"party":%b}' % (counts[key], key) for key in sorted(counts))
    content = b"[" + b",".join(rows) + b"]"
    if sum(counts.values()) > MAX_PARTIES or len(content) > MAX_BYTES:
        raise AuditError(
            f"a log has room for {MAX_PARTIES} parties in {MAX_BYTES} "
            f"bytes, these are {sum(counts.values())} in {len(content)}",
            'simulated sites (`engine = "simulation"`) have no keys and share a row',
        )
    return content


def parties_of(genesis: Genesis, content: BlobSource) -> tuple[Party, ...]:
    """Return the parties of a run.

    Guarantees:
        There is one blob for the same parties, and each has at most a million.
    """
    if genesis.roster is None:
        return genesis.parties
    if genesis.parties:
        raise AuditError("entry 0 lists parties and cites a roster")
    blob = content.get(genesis.roster)
    parse_json(blob)  # one meaning for every reader
    try:
        rows = _ROWS.validate_json(blob)
    except ValidationError as error:
        raise AuditError("the roster is not a list of parties") from error
    if sum(row.count for row in rows) > MAX_PARTIES:
        raise AuditError(f"the roster has more than {MAX_PARTIES} parties")
    parties = tuple(row.party for row in rows for _ in range(row.count))
    if roster_bytes(parties) != blob:
        raise AuditError("the roster is not in its canonical form")
    return parties
