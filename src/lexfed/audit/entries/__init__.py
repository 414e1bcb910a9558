# SPDX-License-Identifier: Apache-2.0
"""Typed, versioned entries; `recorded` puts them into signed envelopes and back.

`KINDS` is the whole vocabulary: whatever is not in it is refused on reading.
"""

from lexfed.audit.entries.base import Entry, decimal
from lexfed.audit.entries.governance import (
    Governance,
    Pseudonymisation,
    RecordOfProcessing,
    SpecialBasis,
    Transforms,
)
from lexfed.audit.entries.later import (
    Certificate,
    Change,
    Correction,
    Deletion,
    Document,
    Export,
    Incident,
    KeyRotation,
    PrivacyTest,
    RuleResult,
    Withdrawal,
)
from lexfed.audit.entries.opening import (
    BudgetPlan,
    Cohort,
    FeatureTags,
    Genesis,
    Party,
    Policy,
    Previous,
    PublicKey,
)
from lexfed.audit.entries.rounds import (
    Aggregation,
    Completed,
    Event,
    Participation,
    Refusal,
    Resumed,
    Round,
    RoundAborted,
)

KINDS: dict[str, type[Entry]] = {
    model.kind: model
    for model in (
        Genesis, Policy, FeatureTags, BudgetPlan, Governance, RecordOfProcessing,
        Document, Round, RoundAborted, Refusal, Resumed, Completed, Certificate,
        PrivacyTest, Change, KeyRotation, Withdrawal, Deletion, Incident, Correction,
        Export,
    )
}  # fmt: skip

__all__ = [
    "KINDS",
    "Aggregation",
    "BudgetPlan",
    "Certificate",
    "Change",
    "Cohort",
    "Completed",
    "Correction",
    "Deletion",
    "Document",
    "Entry",
    "Event",
    "Export",
    "FeatureTags",
    "Genesis",
    "Governance",
    "Incident",
    "KeyRotation",
    "Participation",
    "Party",
    "Policy",
    "Previous",
    "PrivacyTest",
    "Pseudonymisation",
    "PublicKey",
    "RecordOfProcessing",
    "Refusal",
    "Resumed",
    "Round",
    "RoundAborted",
    "RuleResult",
    "SpecialBasis",
    "Transforms",
    "Withdrawal",
    "decimal",
]
