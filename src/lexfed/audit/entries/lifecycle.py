# SPDX-License-Identifier: Apache-2.0
"""Statements of people beside a run, and entries that may come at any time.

That a statement is right is not checked anywhere. A field that is None was not stated,
and no rule may read an answer into it.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from lexfed.audit import vocabulary as words
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
from lexfed.canonical import digest

RuleOutcome = Literal[
    "EVIDENCED", "PARTIAL", "DOCUMENT_PRESENT", "NOT_EVIDENCED",
    "NOT_MACHINE_CHECKABLE", "NOT_APPLICABLE",
]  # fmt: skip


class RuleResult(ClosedModel):
    """The outcome of one rule, and the entries that prove it."""

    rule: CodeWord
    outcome: RuleOutcome
    evidence: tuple[JsonCount, ...]


class Certificate(Entry, kind="certificate", artefacts={"catalogue": "catalogue"}):
    """Rules of a catalogue, evaluated on entries `first` to `last`.

    It never says that something is lawful: it says that rule X of catalogue H gave R.
    """

    catalogue: Digest
    first: JsonCount
    last: JsonCount
    results: tuple[RuleResult, ...] = Field(max_length=400)
    at_ceiling: JsonCount
    applicable: JsonCount


class PrivacyTest(Entry, kind="privacy-test", artefacts={"model.safetensors": "model"}):
    """An attack that was run against a model, and what it measured."""

    attack: Literal[
        "membership", "attribute", "reconstruction", "inversion", "exfiltration",
        "regurgitation", "empirical-epsilon",
    ]  # fmt: skip
    tool: CodeWord
    model: Digest
    metric: CodeWord
    value: DecimalText
    report: Digest | None


class ChangeEntry(Entry, kind="change"):
    """Something that was decided before has changed; reviews cite its index.

    `before` of a site that is excluded is its key id.
    """

    what: Literal[
        "budget-raised", "budget-lowered", "feature-added", "feature-removed",
        "site-added", "site-removed", "purpose", "software", "retention",
        "adaptation-frozen", "site-excluded",
    ]  # fmt: skip
    before: Digest | None
    after: Digest | None


class KeyRotation(Entry, kind="key-rotation"):
    """A new key takes over; the envelope is signed with the old and the new one.

    `log` keys are vkeys of the same origin; `coordinator` keys sign entries.
    """

    role: KeyRole
    old: Digest
    new: PublicKeyRecord
    vkey: str | None


class Withdrawal(Entry, kind="withdrawal"):
    """Somebody withdrew, objected, or limits the use of their data.

    `commitment` hides who it is: a keyed hash whose key can be erased.
    """

    commitment: Digest
    ground: Literal["consent", "objection", "erasure", "limit"]


class Deletion(Entry, kind="deletion"):
    """An artefact or a blob was deleted; a claim of whoever signs."""

    artefact: CodeWord
    digest: Digest | None


class Incident(Entry, kind="incident"):
    """A breach or failure, when it was known and when it was notified."""

    what: CodeWord
    aware_at: TimeText
    notified_at: TimeText | None
    delay_reason: Digest | None


class Correction(Entry, kind="correction"):
    """An earlier entry is wrong; it stays, and this says so."""

    index: JsonCount
    reason: Digest


class Export(Entry, kind="export"):
    """Something was made from the log and handed out."""

    what: Literal["report", "evidence", "profile", "restore-drill"]
    digest: Digest
    size: JsonCount
    root: Digest

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """Return the exported artefact, by name and SHA-256."""
        return ((self.what, self.digest),)


class Document(Entry, kind="document"):
    """A document exists: its digest and dates, not its quality.

    Attributes:
        what: which document a rule asks for, such as `dpia` or `notice`.
        digest: of the file, which stays with its owner.
        about: index of the entry it reviews or decides on, such as a change.
        site: key id of the party it belongs to; None for the whole run.
    """

    what: CodeWord
    digest: Digest
    issued: DateText
    expires: DateText | None = None
    about: JsonCount | None = None
    site: Digest | None = None

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The document."""
        return ((self.what, self.digest),)


RecordGroupState = Literal["stated", "not-applicable", "missing"]
"""Of a group of a record: its text is in the blob, the reason why it does not apply is
there, or neither."""

GroupName = Literal[
    "controller", "purposes", "categories", "recipients", "transfers", "erasure",
    "security", "parties", "processing",
]  # fmt: skip

CONTROLLER_GROUPS: tuple[GroupName, ...] = (
    "controller", "purposes", "categories", "recipients", "transfers", "erasure",
    "security",
)  # fmt: skip
"""GDPR Art. 30(1)(a)-(g)."""

PROCESSOR_GROUPS: tuple[GroupName, ...] = (
    "parties", "processing", "transfers", "security",
)  # fmt: skip
"""GDPR Art. 30(2)(a)-(d)."""


def names_digest(names: Iterable[str]) -> str:
    """Return the digest that stands for a set of columns, whatever their order."""
    return digest(sorted(set(names)))


class SpecialBasis(ClosedModel):
    """The exception for a special category: a letter of Art. 9(2), and its law."""

    exception: words.SpecialException
    law: Digest | None


class Transforms(ClosedModel):
    """Changes made to places, dates and ages (45 CFR 164.514(b)(2)(i)(B)-(C))."""

    zip: words.ZipTransform | None = None
    zip_table: Digest | None = None
    date: words.DateTransform | None = None
    age: words.AgeTransform | None = None


class Pseudonymisation(ClosedModel):
    """The making of the keys that stand for persons, and who could undo it."""

    domain: CodeWord
    algorithm: words.PseudonymAlgorithm
    custodian: words.Custodian


class Governance(Entry, kind="governance"):
    """Decisions of people, in code words; None is "not stated".

    docs/reference/configuration.md, `[audit.governance]`, says what each field states.
    `special` has the exception of each special category, by the category's code word;
    `approved_inputs` is a `names_digest`; an empty `dpia_triggers` means none applies.
    """

    purpose: CodeWord | None = None
    allowed_purposes: tuple[CodeWord, ...] | None = None
    legal_basis: words.LegalBasis | None = None
    special: Mapping[CodeWord, SpecialBasis] = {}
    approved_inputs: Digest | None = None
    offence_data: bool | None = None
    offence_law: Digest | None = None
    review_due: DateText | None = None
    residual_risk: words.ResidualRisk | None = None
    dpia_triggers: tuple[words.DpiaTrigger, ...] | None = None
    measures: tuple[words.ProtectiveMeasure, ...] | None = None
    model_status: words.ModelStatus | None = None
    deidentification: words.Deidentification | None = None
    attack_model: words.AttackModel | None = None
    high_risk: bool | None = None
    remote_biometric: bool | None = None
    bias_correction: bool | None = None
    min_participants: JsonCount | None = None
    max_dropouts: JsonCount | None = None
    none_known: tuple[words.NoneKnown, ...] = ()
    retention: Mapping[words.Artefact, DateText] = {}
    transforms: Transforms = Transforms()
    pseudonymisation: Pseudonymisation | None = None


class RecordOfProcessing(
    Entry, kind="record-of-processing", artefacts={"record-of-processing.json": "text"}
):
    """A record of processing activities (GDPR Art. 30), by the groups of its role.

    Attributes:
        categories: code words of the categories of data it lists; None: no list.
        bias_reason: whether it says why special data are needed against bias.
        text: blob, the text of the groups and the reasons why some do not apply.
    """

    role: Literal["controller", "processor"]
    groups: Mapping[GroupName, RecordGroupState]
    categories: tuple[CodeWord, ...] | None = None
    bias_reason: bool = False
    text: Digest
