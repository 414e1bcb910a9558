# SPDX-License-Identifier: Apache-2.0
"""Values with which every rule finds what it looks for; `rules_world` makes entries."""

from dataclasses import replace
from typing import Any

from lexfed.audit.entries import (
    Aggregation,
    ChargedEvent,
    Participation,
    Party,
    Pseudonymisation,
    PublicKeyRecord,
    SpecialBasis,
    Transforms,
)
from lexfed.audit.entries.lifecycle import (
    CONTROLLER_GROUPS,
    PROCESSOR_GROUPS,
    names_digest,
)
from lexfed.audit.entries.rounds import GroupEvent
from lexfed.audit.vocabulary import DOCUMENTS
from lexfed.data.schema import Column, Schema
from lexfed.law.explanations import Consultation
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.tiers import Tier

Values = dict[str, Any]

ZERO, ONE, MODEL = "0" * 64, "1" * 64, "2" * 64
INPUTS = ("age", "diagnosis", "record", "ward", "zip")
CATEGORIES = ("demographic", "health", "location", "offences", "pseudonym")
ATTACKS = (
    "membership", "attribute", "exfiltration", "regurgitation", "inversion",
    "reconstruction",
)  # fmt: skip


def key(letter: str) -> PublicKeyRecord:
    return PublicKeyRecord(keyid=letter * 64, public="AAAA")


def party(letter: str, **changes: Any) -> Party:
    stated: Values = {
        "key": key(letter), "role": "site", "legal_role": "processor",
        "country": "US", "contract": ONE, "transfer_tool": "standard-clauses",
    }  # fmt: skip
    return Party(**{**stated, **changes})


def tag(tier: Tier, category: str, *articles: str, by: Any = "rule") -> Tag:
    obligations = tuple(
        Obligation(article.split(" ")[0].lower(), article) for article in articles
    )
    return Tag(tier, category, obligations, "a reason", by)


def tagged(**changes: Tag) -> TaggedSchema:
    schema = Schema(
        (
            Column("patient_id", "text"),
            Column("zip", "category", values=("a", "b")),
            Column("age", "number", range=(0.0, 120.0)),
            Column("diagnosis", "flag"),
            Column("record", "flag"),
            Column("ward", "category", values=("a", "b")),
            Column("outcome", "flag"),
        ),
        target="outcome",
        person="patient_id",
    )
    health = tag(Tier.SPECIAL, "health", "GDPR Art. 9(1)")
    tags = {
        "patient_id": tag(Tier.IDENTIFIER, "pseudonym"),
        "zip": tag(Tier.PERSONAL, "location", "HIPAA 45 CFR 164.514(b)(2)(i)(B)"),
        "age": tag(Tier.PERSONAL, "demographic", "HIPAA 45 CFR 164.514(b)(2)(i)(C)"),
        "diagnosis": health,
        "record": tag(Tier.SPECIAL, "offences", "GDPR Art. 10"),
        "ward": tag(Tier.NON_PERSONAL, "operational"),
        "outcome": health,
    }
    return TaggedSchema(schema, {**tags, **changes})


def looked_up(**changes: Tag) -> TaggedSchema:
    """Return tags about which the catalogues of three laws were asked."""
    laws = tuple((law, ZERO) for law in ("gdpr", "hipaa", "ccpa"))
    return replace(tagged(**changes), asked=Consultation(laws))


def genesis() -> Values:
    return {
        "software": "lexfed-1", "catalogue": ZERO, "config": ZERO,
        "coordinator": key("d"), "log": "vkey",
        "parties": (party("a"), party("b"), party("c")),
        "witnesses": ONE, "previous": None, "test": False,
    }  # fmt: skip


def policy() -> Values:
    return {
        "config": ZERO, "programme": ZERO, "mechanism": "cascade", "unit": "record",
        "neighbours": "add-remove", "epsilon": "2.0", "delta": "1e-06", "caps": {},
        "accountant": "pld", "trust": "local", "noise": "rounded-gaussian",
        "randomness": "operating-system", "sampling": "poisson",
        "secret_sampling": False, "aggregation": "masking", "transport": "tls-1.3",
        "records_per_person": 1, "sites_per_person": 1, "policy": None,
    }  # fmt: skip


def features() -> Values:
    return {
        "encoding": ZERO, "inputs": names_digest(INPUTS),
        "columns": {"special": 3, "personal": 2},
        "jurisdictions": ("gdpr", "hipaa", "ccpa"), "obligations": (),
    }  # fmt: skip


def governance() -> Values:
    return {
        "purpose": "research", "allowed_purposes": ("research",),
        "legal_basis": "6.1.a",
        "special": {"health": SpecialBasis(exception="9.2.j", law=ONE)},
        "approved_inputs": names_digest(INPUTS), "offence_data": True,
        "offence_law": ONE, "review_due": "2027-01-01", "residual_risk": "high",
        "dpia_triggers": ("special-data-at-scale",),
        "measures": (
            "noise", "clipping", "budget", "local-noise", "secret-sampling",
            "secure-aggregation", "receipts", "witnesses",
        ),
        "model_status": "anonymity-claimed", "deidentification": "safe-harbor",
        "attack_model": "prosecutor", "high_risk": True, "bias_correction": True,
        "remote_biometric": True, "min_participants": 3, "max_dropouts": 0,
        "retention": {
            "data": "2027-01-01", "model": "2030-01-01", "log": "2040-01-01",
            "documentation": "2040-01-01", "bias-data": "2027-01-01",
        },
        "transforms": Transforms(
            zip="zip3-above-20000", zip_table=ONE, date="year-only", age="90-and-over"
        ),
        "pseudonymisation": Pseudonymisation(
            domain="all", algorithm="random", custodian="separate"
        ),
    }  # fmt: skip


def record() -> Values:
    groups: Values = dict.fromkeys(CONTROLLER_GROUPS, "stated")
    return {
        "role": "controller", "text": ZERO, "bias_reason": True,
        "groups": {**groups, "transfers": "not-applicable"}, "categories": CATEGORIES,
    }  # fmt: skip


def processor() -> Values:
    groups: Values = dict.fromkeys(PROCESSOR_GROUPS, "stated")
    return {"role": "processor", "text": ZERO, "groups": groups}


def documents() -> dict[str, Values]:
    dates = {"issued": "2026-01-01", "expires": "2027-12-31"}
    found: dict[str, Values] = {what: dict(dates) for what in DOCUMENTS}
    found["expert-determination"]["about"] = 1
    return found


def a_round() -> Values:
    event = ChargedEvent(
        name="special",
        groups=(GroupEvent(name="special", clip="1.0", sigma="2.0"),),
        sampling_rate="0.5",
        reads="special",
        samples=10,
    )
    return {
        "stage": "gradient", "event": event, "epsilon": "0.1",
        "epsilon_so_far": "0.1", "tiers_so_far": {}, "delta": "1e-06",
        "accountant": "rdp", "budgets": {"record": "2.0"}, "update": ZERO,
        "state": ZERO,
        "participation": Participation(sites=3, receipts="open", digest=ZERO),
        "aggregation": Aggregation(
            protocol="masking", threshold=2, survivors=3, cohort=3, epoch=1,
            list=ZERO, evidence=ZERO,
        ),
    }  # fmt: skip


def completed() -> Values:
    return {
        "rounds": 3, "released": 3, "early": False, "claim": ZERO, "model": MODEL,
    }  # fmt: skip


def incidents() -> list[Values]:
    return [
        {
            "what": "lost-laptop",
            "aware_at": "2026-11-16T00:00:00Z",
            "notified_at": "2026-11-18T00:00:00Z",
            "delay_reason": None,
        }
    ]


def exports() -> list[Values]:
    return [
        {"what": "report", "digest": ONE, "size": 3, "root": ZERO},
        {"what": "restore-drill", "digest": ZERO, "size": 3, "root": ZERO},
    ]
