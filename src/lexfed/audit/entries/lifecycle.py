# SPDX-License-Identifier: Apache-2.0
"""Entries that may come at any time: certificates, tests, changes, mishaps, exports."""

from typing import ClassVar, Literal

from pydantic import Field

from lexfed.audit.entries.fields import (
    ClosedModel,
    CodeWord,
    DateText,
    DecimalText,
    Digest,
    Entry,
    JsonCount,
    TimeText,
)
from lexfed.audit.entries.opening import PublicKeyRecord
from lexfed.audit.vocabulary import KeyRole

RuleOutcome = Literal[
    "EVIDENCED",
    "PARTIAL",
    "DOCUMENT_PRESENT",
    "NOT_EVIDENCED",
    "NOT_MACHINE_CHECKABLE",
    "NOT_APPLICABLE",
]


class RuleResult(ClosedModel):
    """The outcome of one rule, and the entries that prove it."""

    rule: CodeWord
    outcome: RuleOutcome
    evidence: tuple[JsonCount, ...]


class Certificate(Entry):
    """Rules of a catalogue, evaluated on entries `first` to `last`.

    It never says that something is lawful: it says that rule X of catalogue H gave R.
    """

    kind: ClassVar[str] = "certificate"

    catalogue: Digest
    first: JsonCount
    last: JsonCount
    results: tuple[RuleResult, ...] = Field(max_length=400)
    at_ceiling: JsonCount
    applicable: JsonCount

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The catalogue."""
        return (("catalogue", self.catalogue),)


class PrivacyTest(Entry):
    """An attack that was run against a model, and what it measured."""

    kind: ClassVar[str] = "privacy-test"

    attack: Literal[
        "membership",
        "attribute",
        "reconstruction",
        "inversion",
        "exfiltration",
        "regurgitation",
        "empirical-epsilon",
    ]
    tool: CodeWord
    model: Digest
    metric: CodeWord
    value: DecimalText
    report: Digest | None

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The attacked model."""
        return (("model.safetensors", self.model),)


class ChangeEntry(Entry):
    """Something that was decided before has changed; reviews cite its index.

    Attributes:
        what: has changed.
        before: digest of what it was; of a site that is excluded, its key id.
        after: digest of what it is now.
    """

    kind: ClassVar[str] = "change"

    what: Literal[
        "budget-raised",
        "budget-lowered",
        "feature-added",
        "feature-removed",
        "site-added",
        "site-removed",
        "purpose",
        "software",
        "retention",
        "adaptation-frozen",
        "site-excluded",
    ]
    before: Digest | None
    after: Digest | None


class KeyRotation(Entry):
    """A new key takes over; the envelope is signed with the old and the new one.

    `log` keys are vkeys of the same origin; `coordinator` keys sign entries.
    """

    kind: ClassVar[str] = "key-rotation"

    role: KeyRole
    old: Digest
    new: PublicKeyRecord
    vkey: str | None


class Withdrawal(Entry):
    """Somebody withdrew, objected, or limits the use of their data.

    `commitment` hides who it is: a keyed hash whose key can be erased.
    """

    kind: ClassVar[str] = "withdrawal"

    commitment: Digest
    ground: Literal["consent", "objection", "erasure", "limit"]


class Deletion(Entry):
    """An artefact or a blob was deleted; a claim of whoever signs."""

    kind: ClassVar[str] = "deletion"

    artefact: CodeWord
    digest: Digest | None


class Incident(Entry):
    """A breach or failure, when it was known and when it was notified."""

    kind: ClassVar[str] = "incident"

    what: CodeWord
    aware_at: TimeText
    notified_at: TimeText | None
    delay_reason: Digest | None


class Correction(Entry):
    """An earlier entry is wrong; it stays, and this says so."""

    kind: ClassVar[str] = "correction"

    index: JsonCount
    reason: Digest


class Export(Entry):
    """Something was made from the log and handed out."""

    kind: ClassVar[str] = "export"

    what: Literal["report", "evidence", "profile", "restore-drill"]
    digest: Digest
    size: JsonCount
    root: Digest

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """Return the exported artefact, by name and SHA-256."""
        return ((self.what, self.digest),)


class Document(Entry):
    """A document exists: its digest and dates, not its quality.

    Attributes:
        what: which document a rule asks for, such as `dpia` or `notice`.
        digest: of the file; the file itself stays with its owner.
        issued: its date.
        expires: until when it holds; None for no end.
        about: index of the entry it reviews or decides on, such as a change.
        site: key id of the party it belongs to; None for the whole run.
    """

    kind: ClassVar[str] = "document"

    what: CodeWord
    digest: Digest
    issued: DateText
    expires: DateText | None = None
    about: JsonCount | None = None
    site: Digest | None = None

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The document."""
        return ((self.what, self.digest),)
