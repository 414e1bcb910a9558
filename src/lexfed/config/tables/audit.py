# SPDX-License-Identifier: Apache-2.0
"""The shape of `[audit]`: who keeps the log, and what people state beside it.

A log shows what software did. Which purpose, which lawful basis, which contract: only
people know, and they say so here. Nothing is assumed for them: a key left out gives a
rule that says which key is missing, never a rule that passes.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from lexfed.audit import vocabulary as words
from lexfed.config.tables.field_types import (
    ConfigTable,
    NonEmptyText,
    PositiveCount,
    Seed,
)

StatedCode = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:()+-]{0,95}$",
        description="a code word of up to 96 letters, digits, `.`, `_`, `-`",
    ),
]
StatedDate = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        description="a date in quotes, such as `2031-12-31`",
    ),
]
Url = Annotated[
    str,
    Field(
        pattern=r"^https?://[A-Za-z0-9.\[\]:-]+(/[\x21-\x7e]*)?$",
        max_length=1000,
        description="an address such as `https://witness.example.org`",
    ),
]
StatedOrigin = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._~/-]{0,159}$",
        description="an address without `https://`, of letters, digits, `.`, `_`, `~`, "
        "`/`, `-`",
    ),
]
Country = Annotated[
    str, Field(pattern=r"^[A-Z]{2}$", description="two capital letters, such as `DE`")
]


class TimestampTable(ConfigTable):
    """`[audit.timestamp]`: who dates checkpoints, and whose word that is in the end."""

    url: Url
    roots: NonEmptyText


class DocumentTable(ConfigTable):
    """`[audit.documents]`: a document that exists, and from when to when it holds."""

    file: NonEmptyText
    issued: StatedDate
    expires: StatedDate | None = None
    about: words.DocumentSubject | None = None


class PartyTable(ConfigTable):
    """`[audit.parties]`: what a site is in the eyes of the law."""

    role: words.LegalRole | None = None
    country: Country | None = None
    contract: NonEmptyText | None = None
    transfer_tool: words.TransferTool | None = None
    documents: Mapping[NonEmptyText, DocumentTable] = Field(default_factory=dict)


class SpecialTable(ConfigTable):
    """`[audit.governance.special]`: why a special category may be used at all."""

    exception: words.SpecialException
    law: NonEmptyText | None = None


class RetentionTable(ConfigTable):
    """`[audit.governance.retention]`: until when each sort of artefact is kept."""

    data: StatedDate | None = None
    model: StatedDate | None = None
    log: StatedDate | None = None
    documentation: StatedDate | None = None
    bias_data: StatedDate | None = None


class TransformsTable(ConfigTable):
    """`[audit.governance.transforms]`: what was done to places, dates and ages."""

    zip: words.ZipTransform | None = None
    zip_table: NonEmptyText | None = None
    date: words.DateTransform | None = None
    age: words.AgeTransform | None = None


class PseudonymisationTable(ConfigTable):
    """`[audit.governance.pseudonymisation]`: how keys of persons were made."""

    domain: StatedCode
    algorithm: words.PseudonymAlgorithm
    custodian: words.Custodian


class GovernanceTable(ConfigTable):
    """`[audit.governance]`: decisions of people, in code words."""

    purpose: StatedCode | None = None
    allowed_purposes: tuple[StatedCode, ...] | None = None
    legal_basis: words.LegalBasis | None = None
    approved_inputs: tuple[NonEmptyText, ...] | None = None
    offence_data: bool | None = None
    offence_law: NonEmptyText | None = None
    review_due: StatedDate | None = None
    residual_risk: words.ResidualRisk | None = None
    dpia_triggers: tuple[words.DpiaTrigger, ...] | None = None
    measures: tuple[words.ProtectiveMeasure, ...] | None = None
    model_status: words.ModelStatus | None = None
    deidentification: words.Deidentification | None = None
    attack_model: words.AttackModel | None = None
    high_risk: bool | None = None
    remote_biometric: bool | None = None
    bias_correction: bool | None = None
    min_participants: PositiveCount | None = None
    max_dropouts: Seed | None = None
    none_known: tuple[words.NoneKnown, ...] = ()
    special: Mapping[NonEmptyText, SpecialTable] = Field(default_factory=dict)
    retention: RetentionTable = RetentionTable()
    transforms: TransformsTable = TransformsTable()
    pseudonymisation: PseudonymisationTable | None = None


class GroupsTable(ConfigTable):
    """The seven groups of a controller's record (GDPR Art. 30(1)(a)-(g))."""

    controller: NonEmptyText | None = None
    purposes: NonEmptyText | None = None
    categories: NonEmptyText | None = None
    recipients: NonEmptyText | None = None
    transfers: NonEmptyText | None = None
    erasure: NonEmptyText | None = None
    security: NonEmptyText | None = None


class RecordTable(GroupsTable):
    """`[audit.record]`: the controller's record of processing."""

    data_categories: tuple[NonEmptyText, ...] | None = None
    bias_correction: NonEmptyText | None = None
    not_applicable: GroupsTable = GroupsTable()


class ProcessorGroupsTable(ConfigTable):
    """The four groups of a processor's record (GDPR Art. 30(2)(a)-(d))."""

    parties: NonEmptyText | None = None
    processing: NonEmptyText | None = None
    transfers: NonEmptyText | None = None
    security: NonEmptyText | None = None


class ProcessorRecordTable(ProcessorGroupsTable):
    """`[audit.processor_record]`: a processor's record of processing."""

    not_applicable: ProcessorGroupsTable = ProcessorGroupsTable()


class AuditTable(ConfigTable):
    """`[audit]`: the log, its keys and witnesses, and what people state."""

    origin: StatedOrigin | None = None
    keys: NonEmptyText = "keys"
    policy: NonEmptyText | None = None
    timestamp: TimestampTable | None = None
    witnesses: Mapping[NonEmptyText, Url] = Field(default_factory=dict)
    governance: GovernanceTable = GovernanceTable()
    record: RecordTable = RecordTable()
    processor_record: ProcessorRecordTable = ProcessorRecordTable()
    documents: Mapping[NonEmptyText, DocumentTable] = Field(default_factory=dict)
    parties: Mapping[NonEmptyText, PartyTable] = Field(default_factory=dict)

    def origin_of(self, run: str) -> str:
        """Return the name that the logs of a run begin with."""
        return self.origin or f"lexfed.example/{run}"

    def party(self, name: str) -> PartyTable:
        """Return what is stated of a site, by its name or for every other site."""
        return self.parties.get(name) or self.parties.get(OTHERS) or PartyTable()


OTHERS = "*"
"""Stands for every site that `[audit.parties]` does not name."""
