# SPDX-License-Identifier: Apache-2.0
"""Statements of people beside a run: purpose, lawful basis, deadlines, records.

Entries of this kind are statements. That somebody signed one, and when, is a fact; that
it is right is not checked anywhere. A field that is None was not stated, and no rule
may read an answer into it.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from lexfed.audit import vocabulary as words
from lexfed.audit.entries.fields import (
    ClosedModel,
    CodeWord,
    DateText,
    Digest,
    Entry,
    JsonCount,
)
from lexfed.canonical import digest

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


class Governance(Entry):
    """Decisions of people, in code words; None is "not stated".

    Attributes:
        purpose: what the run is for.
        allowed_purposes: what the data of every site may be used for.
        legal_basis: letter of GDPR Art. 6(1).
        special: exception of each special category, by the category's code word.
        approved_inputs: digest of the approved model inputs, as `names_digest`.
        offence_data: whether there is data on convictions or offences.
        offence_law: digest of what says why it may be used.
        review_due: when measures are reviewed next.
        residual_risk: what the impact assessment leaves.
        dpia_triggers: why an impact assessment is needed; empty: none applies.
        measures: what the impact assessment relies on.
        model_status: whether the model counts as personal data.
        deidentification: method under 45 CFR 164.514(b).
        attack_model: whom re-identification is assessed against.
        high_risk: under the AI Act.
        remote_biometric: AI Act, Annex III 1(a).
        bias_correction: AI Act Art. 10(5).
        min_participants: fewest sites in a round.
        max_dropouts: most sites that may fail in a round.
        none_known: of what the controller knows none.
        retention: until when artefacts are kept.
        transforms: of places, dates and ages.
        pseudonymisation: of persons.
    """

    kind: ClassVar[str] = "governance"

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


class RecordOfProcessing(Entry):
    """A record of processing activities (GDPR Art. 30), by groups.

    Attributes:
        role: whose record it is; decides which groups it has.
        groups: whether each is stated.
        categories: code words of the categories of data it lists; None: no list.
        bias_reason: whether it says why special data are needed against bias.
        text: blob, the text of the groups and the reasons why some do not apply.
    """

    kind: ClassVar[str] = "record-of-processing"

    role: Literal["controller", "processor"]
    groups: Mapping[GroupName, RecordGroupState]
    categories: tuple[CodeWord, ...] | None = None
    bias_reason: bool = False
    text: Digest

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """The text."""
        return (("record-of-processing.json", self.text),)
