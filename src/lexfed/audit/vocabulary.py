# SPDX-License-Identifier: Apache-2.0
"""The words in which people state what software cannot find out by itself.

They are closed lists: a word that nobody knows would be evidence of nothing, so it is
refused where it is written.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

LegalBasis = Literal["6.1.a", "6.1.b", "6.1.c", "6.1.d", "6.1.e", "6.1.f"]
"""GDPR Art. 6(1): consent, contract, legal obligation, vital interests, public task,
legitimate interests."""

SpecialException = Literal[
    "9.2.a", "9.2.b", "9.2.c", "9.2.d", "9.2.e", "9.2.f", "9.2.g", "9.2.h", "9.2.i",
    "9.2.j",
]  # fmt: skip
"""GDPR Art. 9(2): explicit consent, employment and social law, vital interests,
non-profit bodies, made public, legal claims, substantial public interest, health care,
public health, research and statistics."""

NEEDS_LAW: frozenset[SpecialException] = frozenset(
    {"9.2.b", "9.2.g", "9.2.h", "9.2.i", "9.2.j"}
)
"""Exceptions that rest on Union or Member State law (or a contract under it)."""

AbortCause = Literal[
    "interrupted", "site-refused", "site-lost", "site-blamed", "sum-out-of-bound",
    "receipt-invalid",
]  # fmt: skip
KeyRole = Literal["coordinator", "log"]
LegalRole = Literal["controller", "joint-controller", "processor"]
TransferTool = Literal[
    "adequacy", "standard-clauses", "binding-rules", "code-of-conduct",
    "certification", "authorised-clauses", "derogation",
]  # fmt: skip
"""GDPR Art. 45, 46(2)(c)-(d), 47, 46(2)(e), 46(2)(f), 46(3), 49."""

DpiaTrigger = Literal[
    "special-data-at-scale", "systematic-evaluation", "public-monitoring",
    "new-technology", "other",
]  # fmt: skip
"""GDPR Art. 35(1) and (3): why an impact assessment is needed."""

ProtectiveMeasure = Literal[
    "noise", "clipping", "budget", "local-noise", "secret-sampling",
    "secure-aggregation", "receipts", "witnesses",
]  # fmt: skip
"""Measures that leave a trace in the log, so that a rule can look for it."""

ResidualRisk = Literal["low", "medium", "high"]
ModelStatus = Literal["personal", "anonymity-claimed"]
Deidentification = Literal["safe-harbor", "expert", "none"]
AttackModel = Literal["prosecutor", "journalist", "marketer"]
NoneKnown = Literal["incidents", "withdrawals", "limits"]
ZipTransform = Literal["zip3-above-20000", "removed"]
DateTransform = Literal["year-only", "removed"]
AgeTransform = Literal["90-and-over", "removed"]
PseudonymAlgorithm = Literal["random", "hmac-sha256", "aes", "hash"]
Custodian = Literal["separate", "log-operator"]
Artefact = Literal["data", "model", "log", "documentation", "bias-data"]
ARTEFACTS: tuple[Artefact, ...] = get_args(Artefact)
DocumentSubject = Literal["policy", "feature-tags", "budget-plan"]

DOCUMENTS: Mapping[str, str] = {
    "notice": "what data subjects were told",
    "compatibility-assessment": "why a further purpose is compatible",
    "data-quality": "accuracy and age of a site's data; needs an end date",
    "consent-registry": "how consents and their withdrawals are kept",
    "proxy-review": "which other columns could reveal special data",
    "data-protection-policy": "the controller's policies",
    "dpia": "the data protection impact assessment",
    "dpia-not-needed": "why no impact assessment is needed",
    "dpia-description": "its section on the processing and its purposes",
    "dpia-necessity": "its section on necessity and proportionality",
    "dpia-risks": "its section on risks to data subjects",
    "dpia-measures": "its section on measures against them",
    "dpo-advice": "advice of the data protection officer",
    "no-dpo": "why there is no data protection officer",
    "views": "views of data subjects or their representatives",
    "views-not-sought": "why their views were not sought",
    "prior-consultation": "answer of the supervisory authority",
    "transfer-safeguards": "what a transfer to a third country rests on",
    "threat-model": "who could attack, how, and what it would harm",
    "lifecycle-measures": "protection of the model after its release",
    "theoretical-resistance": "analysis of resistance to attacks",
    "test-reports": "reports on attack tests",
    "deployer-information": "what those who use the model are told",
    "model-status-analysis": "whether the model itself is personal data",
    "privacy-parameters": "why epsilon, delta and unit fit the context",
    "pets-not-combined": "why protections are not combined",
    "no-actual-knowledge": "attestation under HIPAA Safe Harbor",
    "expert-determination": "the expert's statement; needs an end date",
    "access-control": "who may access what, and how they prove who they are",
    "risk-analysis": "security risk analysis",
    "security-policy": "technical and organisational security",
    "data-collection": "how the data came about",
    "deidentification-commitment": "public commitment not to re-identify",
    "deidentification-contract": "the same duty on recipients",
    "ccpa-risk-assessment": "risk assessment under the CCPA regulations",
    "data-sheet-design": "section (a) of a site's data sheet: design choices",
    "data-sheet-origin": "(b): collection, origin, original purpose",
    "data-sheet-preparation": "(c): labelling, cleaning, enrichment",
    "data-sheet-assumptions": "(d): what the data are assumed to represent",
    "data-sheet-suitability": "(e): availability, quantity, suitability",
    "data-sheet-bias": "(f): examination of possible bias",
    "data-sheet-bias-measures": "(g): measures against bias",
    "data-sheet-gaps": "(h): gaps and how to close them",
    "dataset-statistics": "statistics on relevance and representativeness",
    "access-list": "who may see special data used against bias",
    "technical-documentation": "technical documentation under Annex IV",
    "software-tests": "results of the software's test suite",
    "monitoring-plan": "how the model is watched after release",
    "incident-procedure": "what is done about an incident",
    "release-governance": "roles and responsibilities around the release",
}
"""Documents that a run can name before it starts, and what each is."""

DATA_SHEET = tuple(name for name in DOCUMENTS if name.startswith("data-sheet-"))
"""The sections of a data sheet, one for each letter of AI Act Art. 10(2)(a)-(h)."""

LATER_DOCUMENTS: Mapping[str, str] = {
    "exclusion": "confirmation that a withdrawn record is excluded",
    "model-impact-decision": "what a withdrawal means for the model",
    "dpia-review": "review of the impact assessment after a change",
    "ccpa-risk-review": "review of the risk assessment after a change",
}
"""Documents about another entry, which exist only after it."""

EEA = frozenset(
    {
        "AT", "BE", "BG", "HR", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR",
        "HU", "IE", "IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT",
        "RO", "SE", "SI", "SK",
    }
)  # fmt: skip
"""The European Union and Iceland, Liechtenstein, Norway (ISO 3166)."""

_NOT_IN_A_CODE = re.compile(r"[^a-z0-9]+")


def category_code(category: str) -> str:
    """Return the code word of a category as tags name it; empty if it has none.

    >>> category_code("ethnic origin"), category_code("Health"), category_code("?")
    ('ethnic-origin', 'health', '')
    """
    return _NOT_IN_A_CODE.sub("-", category.lower()).strip("-")[:96].rstrip("-")
