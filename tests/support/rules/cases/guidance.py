# SPDX-License-Identifier: Apache-2.0
"""Guidance on the GDPR: EDPB, CNIL, ICO."""

from typing import Any

from support.rules.cases.words import (
    BARE,
    NO,
    NOT_GDPR,
    OUT,
    PAPER,
    PEOPLE,
    UP,
)
from support.rules.statements import ATTACKS, a_round, governance
from support.rules.world import Case, Spoil, let, put, state, without

NOTHING = let(governance={})
PERSONAL = state(model_status="personal")
FEWER = [attack for attack in ATTACKS if attack != "regurgitation"]


def pseudonyms(**changes: Any) -> Spoil:
    """Change how pseudonyms were made."""
    stated = governance()["pseudonymisation"]
    return state(pseudonymisation=stated.model_copy(update=changes))


def named(name: str) -> Spoil:
    """Give the group of an event a name."""
    event = a_round()["event"]
    group = event.groups[0].model_copy(update={"name": name})
    return put("round", event=event.model_copy(update={"groups": (group,)}))


CASES: dict[str, list[Case]] = {
    "edpb.28-2024.claim": [
        ("personal", OUT, (PERSONAL,)),
        ("not stated", PEOPLE, (NOTHING,)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "edpb.28-2024.docs": [
        ("no threat model", NO, (without("threat-model"),)),
        ("no assessment", NO, (without("dpia", "dpia-not-needed"),)),
        ("no assessment needed", UP, (without("dpia"),)),
        ("not stated", NO, (NOTHING,)),
        ("personal", OUT, (PERSONAL,)),
    ],
    "edpb.28-2024.tests": [
        ("a class is missing", NO, (let(attacks=FEWER),)),
        ("no attacks", NO, (let(attacks=[]),)),
        ("not stated", NO, (NOTHING,)),
        ("personal", OUT, (PERSONAL,)),
    ],
    "edpb.01-2025": [
        ("a bare hash", NO, (pseudonyms(algorithm="hash"),)),
        ("a keyed hash", UP, (pseudonyms(algorithm="hmac-sha256"),)),
        ("the operator keeps the secret", NO, (pseudonyms(custodian="log-operator"),)),
        ("not stated", NO, (state(pseudonymisation=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "edpb.02-2025": [
        ("a name with a space", NO, (named("blood type"),)),
        ("a name with an accent", NO, (named("\u00e9tage"),)),
        ("a name without", UP, (named("blood-type"),)),
        ("words of the list", UP, (named("tower non_personal"),)),
        ("words of the list and others", NO, (named("tower of Ms. Smith"),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "cnil.ai-status": [
        ("no analysis", NO, (without("model-status-analysis"),)),
        ("a class is missing", NO, (let(attacks=FEWER),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "ico.pets.dp": [
        ("no reasons", NO, (without("privacy-parameters"),)),
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "ico.pets.fl": [
        (
            "no aggregation",
            NO,
            (put("round", aggregation=BARE), without("pets-not-combined")),
        ),
        ("no aggregation, with a reason", PAPER, (put("round", aggregation=BARE),)),
        ("no noise, with a reason", PAPER, (put("policy", mechanism="none"),)),
        (
            "no noise",
            NO,
            (put("policy", mechanism="none"), without("pets-not-combined")),
        ),
        ("no rounds", NO, (let(rounds=[]), without("pets-not-combined"))),
        ("another law", OUT, (NOT_GDPR,)),
    ],
}
