# SPDX-License-Identifier: Apache-2.0
"""The kinds of entries a log may hold, and the blobs that they cite.

`KINDS` is the whole vocabulary; reading refuses anything else. Start with `opening`.

Logs are never edited: no field may be renamed, retyped or removed. A field that
comes later is a `later_field()`, left out where it is None, so that old bytes
stay the same. No names, free text or values of anybody go into an entry. Class
names are free; `kind` and `version` are part of the format.
"""

from lexfed.audit.entries.fields import Entry, decimal
from lexfed.audit.entries.lifecycle import (
    Certificate,
    ChangeEntry,
    Correction,
    Deletion,
    Document,
    Export,
    Governance,
    Incident,
    KeyRotation,
    PrivacyTest,
    Pseudonymisation,
    RecordOfProcessing,
    RuleResult,
    SpecialBasis,
    Transforms,
    Withdrawal,
)
from lexfed.audit.entries.opening import (
    BudgetPlan,
    CohortAssumptions,
    FeatureTags,
    Genesis,
    Party,
    PolicyEntry,
    PredecessorLog,
    PublicKeyRecord,
)
from lexfed.audit.entries.rounds import (
    AbortedRoundEntry,
    Aggregation,
    ChargedEvent,
    CompletionEntry,
    Participation,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)

KINDS: dict[str, type[Entry]] = {
    model.kind: model
    for model in (
        Genesis, PolicyEntry, FeatureTags, BudgetPlan, Governance, RecordOfProcessing,
        Document, RoundEntry, AbortedRoundEntry, RefusalEntry, ResumptionEntry,
        CompletionEntry, Certificate, PrivacyTest, ChangeEntry, KeyRotation, Withdrawal,
        Deletion, Incident, Correction, Export,
    )
}  # fmt: skip

__all__ = [
    "KINDS", "AbortedRoundEntry", "Aggregation", "BudgetPlan", "Certificate",
    "ChangeEntry", "ChargedEvent", "CohortAssumptions", "CompletionEntry", "Correction",
    "Deletion", "Document", "Entry", "Export", "FeatureTags", "Genesis", "Governance",
    "Incident", "KeyRotation", "Participation", "Party", "PolicyEntry",
    "PredecessorLog", "PrivacyTest", "Pseudonymisation", "PublicKeyRecord",
    "RecordOfProcessing", "RefusalEntry", "ResumptionEntry", "RoundEntry", "RuleResult",
    "SpecialBasis", "Transforms", "Withdrawal", "decimal",
]  # fmt: skip
