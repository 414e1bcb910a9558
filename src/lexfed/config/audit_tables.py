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
from lexfed.config.table import Count, Seed, Table, Text

Code = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:()+-]{0,95}$",
        description="a code word of up to 96 letters, digits, `.`, `_`, `-`",
    ),
]
Date = Annotated[
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
Origin = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._~/-]{0,159}$",
        description="an address without `https://`, of letters, digits, `.`, `_`, `~`, "
        "`/`, `-`",
    ),
]
Country = Annotated[
    str,
    Field(pattern=r"^[A-Z]{2}$", description="two capital letters, such as `DE`"),
]


class TimestampTable(Table):
    """`[audit.timestamp]`: who dates checkpoints, and whose word that is in the end."""

    url: Url
    roots: Text


class DocumentTable(Table):
    """`[audit.documents]`: a document that exists, and from when to when it holds."""

    file: Text
    issued: Date
    expires: Date | None = None
    about: words.About | None = None


class PartyTable(Table):
    """`[audit.parties]`: what a site is in the eyes of the law."""

    role: words.LegalRole | None = None
    country: Country | None = None
    contract: Text | None = None
    transfer_tool: words.TransferTool | None = None
    documents: Mapping[Text, DocumentTable] = Field(default_factory=dict)


class SpecialTable(Table):
    """`[audit.governance.special]`: why a special category may be used at all."""

    exception: words.SpecialException
    law: Text | None = None


class RetentionTable(Table):
    """`[audit.governance.retention]`: until when each sort of artefact is kept."""

    data: Date | None = None
    model: Date | None = None
    log: Date | None = None
    documentation: Date | None = None
    bias_data: Date | None = None


class TransformsTable(Table):
    """`[audit.governance.transforms]`: what was done to places, dates and ages."""

    zip: words.ZipTransform | None = None
    zip_table: Text | None = None
    date: words.DateTransform | None = None
    age: words.AgeTransform | None = None


class PseudonymisationTable(Table):
    """`[audit.governance.pseudonymisation]`: how keys of persons were made."""

    domain: Code
    algorithm: words.PseudonymAlgorithm
    custodian: words.Custodian


class GovernanceTable(Table):
    """`[audit.governance]`: decisions of people, in code words."""

    purpose: Code | None = None
    allowed_purposes: tuple[Code, ...] | None = None
    legal_basis: words.LegalBasis | None = None
    approved_inputs: tuple[Text, ...] | None = None
    offence_data: bool | None = None
    offence_law: Text | None = None
    review_due: Date | None = None
    residual_risk: words.ResidualRisk | None = None
    dpia_triggers: tuple[words.DpiaTrigger, ...] | None = None
    measures: tuple[words.Measure, ...] | None = None
    model_status: words.ModelStatus | None = None
    deidentification: words.Deidentification | None = None
    attack_model: words.AttackModel | None = None
    high_risk: bool | None = None
    remote_biometric: bool | None = None
    bias_correction: bool | None = None
    min_participants: Count | None = None
    max_dropouts: Seed | None = None
    none_known: tuple[words.NoneKnown, ...] = ()
    special: Mapping[Text, SpecialTable] = Field(default_factory=dict)
    retention: RetentionTable = RetentionTable()
    transforms: TransformsTable = TransformsTable()
    pseudonymisation: PseudonymisationTable | None = None


class GroupsTable(Table):
    """The seven groups of a controller's record (GDPR Art. 30(1)(a)-(g))."""

    controller: Text | None = None
    purposes: Text | None = None
    categories: Text | None = None
    recipients: Text | None = None
    transfers: Text | None = None
    erasure: Text | None = None
    security: Text | None = None


class RecordTable(GroupsTable):
    """`[audit.record]`: the controller's record of processing."""

    data_categories: tuple[Text, ...] | None = None
    bias_correction: Text | None = None
    not_applicable: GroupsTable = GroupsTable()


class ProcessorGroupsTable(Table):
    """The four groups of a processor's record (GDPR Art. 30(2)(a)-(d))."""

    parties: Text | None = None
    processing: Text | None = None
    transfers: Text | None = None
    security: Text | None = None


class ProcessorRecordTable(ProcessorGroupsTable):
    """`[audit.processor_record]`: a processor's record of processing."""

    not_applicable: ProcessorGroupsTable = ProcessorGroupsTable()


class AuditTable(Table):
    """`[audit]`: the log, its keys and witnesses, and what people state."""

    origin: Origin | None = None
    keys: Text = "keys"
    policy: Text | None = None
    timestamp: TimestampTable | None = None
    witnesses: Mapping[Text, Url] = Field(default_factory=dict)
    governance: GovernanceTable = GovernanceTable()
    record: RecordTable = RecordTable()
    processor_record: ProcessorRecordTable = ProcessorRecordTable()
    documents: Mapping[Text, DocumentTable] = Field(default_factory=dict)
    parties: Mapping[Text, PartyTable] = Field(default_factory=dict)

    def origin_of(self, run: str) -> str:
        """Return the name that the logs of a run begin with."""
        return self.origin or f"lexfed.example/{run}"

    def party(self, name: str) -> PartyTable:
        """Return what is stated of a site, by its name or for every other site."""
        stated = self.parties.get(name) or self.parties.get(OTHERS)
        return stated or PartyTable()


OTHERS = "*"
"""Stands for every site that `[audit.parties]` does not name."""
