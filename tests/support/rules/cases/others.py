# SPDX-License-Identifier: Apache-2.0
"""CCPA, AI Act, NIST and ISO."""

from lexfed.audit.entries import Deletion, Document, PolicyEntry
from support.rules.cases.health import BY_CATALOGUE, BY_PEOPLE
from support.rules.cases.words import (
    BARE,
    NO,
    NO_BUDGET,
    NOT_CCPA,
    OUT,
    UNRECORDED,
    UP,
    WRONG_SUMS,
)
from support.rules.statements import ONE, governance, policy
from support.rules.world import Case, dated, late, let, put, state, then, without

NOTHING = let(governance={})
LOW_RISK = state(high_risk=False)
LATER = then(Document(what="notice", digest=ONE, issued="2026-01-01"))
OLD_BIAS = {**governance()["retention"], "bias-data": "2026-11-14"}
NOBODY = {"sites": 3, "colluders": 2, "dropouts": 1}
FOUR = {"sites": 5, "colluders": 0, "dropouts": 1}
SHARED = put(
    "policy", trust="distributed", accountant="rdp", sampling="none",
    noise="skellam-shares", cohort={"sites": 3, "colluders": 0, "dropouts": 1},
)  # fmt: skip
"""Distributed trust, whole."""
LOW: Case = ("not high-risk", OUT, (LOW_RISK,))

CASES: dict[str, list[Case]] = {
    "ccpa.spi": [
        ("people name no articles", NO, (let(tags=BY_PEOPLE),)),
        ("people name a category of the catalogues", UP, (let(tags=BY_CATALOGUE),)),
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("no tags", NO, (let(features={}),)),
        ("another law", OUT, (NOT_CCPA,)),
    ],
    "ccpa.limit": [
        ("no exclusion", NO, (let(answers=set()),)),
        ("no requests, nobody says so", NO, (let(withdrawals=["consent"]),)),
        (
            "stated to be none",
            OUT,
            (let(withdrawals=["consent"]), state(none_known=("limits",))),
        ),
        ("another law", OUT, (NOT_CCPA,)),
    ],
    "ccpa.purpose": [
        ("no purpose", NO, (state(purpose=None),)),
        ("no deadline", NO, (state(retention={}),)),
        ("no notice", NO, (without("notice"),)),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_CCPA,)),
    ],
    "ccpa.deid": [
        ("no commitment", NO, (without("deidentification-commitment"),)),
        ("not stated", NO, (state(deidentification=None),)),
        ("not called so", OUT, (state(deidentification="none"),)),
        ("another law", OUT, (NOT_CCPA,)),
    ],
    "ccpa.ra": [
        ("no assessment", NO, (without("ccpa-risk-assessment"),)),
        ("an assessment after the fact", NO, (late("ccpa-risk-assessment"),)),
        ("three years old", UP, (dated("ccpa-risk-assessment", issued="2023-11-15"),)),
        ("older", NO, (dated("ccpa-risk-assessment", issued="2023-11-14"),)),
        ("not yet reviewed", UP, (let(answers=set()),)),
        (
            "not reviewed on the last day",
            UP,
            (let(answers=set(), last_time="2026-12-30T00:00:00Z"), LATER),
        ),
        (
            "not reviewed in time",
            NO,
            (let(answers=set(), last_time="2026-12-31T00:00:00Z"), LATER),
        ),
        ("reviewed, a year later", UP, (let(last_time="2027-12-31T00:00:00Z"), LATER)),
        (
            "at no day",
            NO,
            (let(answers=set(), last_time="2026-11-31T00:00:00Z"), LATER),
        ),
        ("another law", OUT, (NOT_CCPA,)),
    ],
    "aiact.12.1": [
        ("not over yet", NO, (let(completed={}),)),
        ("a gap", NO, (let(rounds=[1, 3]),)),
        ("no rounds", NO, (let(rounds=[]),)),
        LOW,
    ],
    "aiact.12.2": [
        ("a hidden change", NO, (let(changes=[]), then(PolicyEntry(**policy())))),
        ("no rounds", NO, (let(rounds=[]),)),
        ("no policy", NO, (let(policy={}),)),
        LOW,
    ],
    "aiact.12.3": [
        ("biometric", NO, ()),
        ("not stated", NO, (state(remote_biometric=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("not biometric", UP, (state(remote_biometric=False),)),
        LOW,
    ],
    "aiact.19-26": [
        ("six years for health", UP, (state(retention={"log": "2032-11-15"}),)),
        ("less for health", NO, (state(retention={"log": "2032-11-14"}),)),
        ("six months", UP, (NOT_CCPA, state(retention={"log": "2027-05-15"}))),
        ("less", NO, (NOT_CCPA, state(retention={"log": "2027-05-14"}))),
        ("no tags", UP, (let(features={}), state(retention={"log": "2027-05-15"}))),
        ("not stated", NO, (state(retention={}),)),
        LOW,
    ],
    "aiact.10.2": [("a section is missing", NO, (without("data-sheet-gaps"),)), LOW],
    "aiact.10.3-4": [("no statistics", NO, (without("dataset-statistics"),)), LOW],
    "aiact.10.5": [
        ("no reason", NO, (put("record", bias_reason=False),)),
        ("no record", NO, (let(record={}),)),
        ("no list", NO, (without("access-list"),)),
        ("no deadline", NO, (state(retention={}),)),
        ("overdue", NO, (state(retention=OLD_BIAS),)),
        (
            "deleted",
            UP,
            (
                state(retention=OLD_BIAS),
                then(Deletion(artefact="bias-data", digest=None)),
            ),
        ),
        ("not stated", NO, (state(bias_correction=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("not done", OUT, (state(bias_correction=False),)),
        LOW,
    ],
    "aiact.11-18": [
        ("no documentation", NO, (without("technical-documentation"),)),
        ("ten years", UP, (state(retention={"documentation": "2036-11-15"}),)),
        ("less", NO, (state(retention={"documentation": "2036-11-14"}),)),
        LOW,
    ],
    "nist.226.guarantee": [
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("no claim", NO, (put("completed", claim=None),)),
        ("not over yet", NO, (let(completed={}),)),
        ("budgets nobody recomputed", NO, (let(checks=NO_BUDGET),)),
    ],
    "nist.226.impl": [
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("an unknown sampler", NO, (put("policy", noise="none"),)),
        ("seeded", NO, (put("policy", randomness="seeded"),)),
        ("no tests", NO, (without("software-tests"),)),
    ],
    "nist.226.trust": [
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("central", UP, (put("policy", trust="central"),)),
        ("distributed", UP, (SHARED,)),
        ("distributed, sums were seen", NO, (SHARED, put("round", aggregation=BARE))),
        ("distributed, no record", NO, (SHARED, put("round", aggregation=UNRECORDED))),
        ("distributed, wrong signatures", NO, (SHARED, let(checks=WRONG_SUMS))),
        ("distributed, no cohort", NO, (put("policy", trust="distributed"),)),
        ("distributed, by PLD", NO, (SHARED, put("policy", accountant="pld"))),
        ("distributed and sampled", NO, (SHARED, put("policy", sampling="poisson"))),
        (
            "distributed, noise of one",
            NO,
            (SHARED, put("policy", noise="rounded-gaussian")),
        ),
        ("distributed, no masks", NO, (SHARED, put("policy", aggregation="none"))),
        ("distributed, nobody honest", NO, (SHARED, put("policy", cohort=NOBODY))),
        ("distributed, too few in a sum", NO, (SHARED, put("policy", cohort=FOUR))),
        ("shares without saying so", NO, (SHARED, put("policy", trust="central"))),
        ("shares without a cohort", NO, (put("policy", noise="skellam-shares"),)),
    ],
    "nist.226.base": [("no collection", NO, (without("data-collection"),))],
    "nist.pf": [
        ("no record", NO, (let(record={}),)),
        ("a missing group", NO, (put("record", groups={}),)),
        ("no policy", NO, (let(policy={}),)),
        ("tags that cannot be read", NO, (let(readable=False),)),
    ],
    "iso.27559.6": [("no threat model", NO, (without("threat-model"),))],
    "iso.27559.7": [
        ("no attack model", NO, (state(attack_model=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("tags that cannot be read", NO, (let(readable=False),)),
    ],
    "iso.27559.8": [
        ("no attacks", NO, (let(attacks=[]),)),
        ("no attack before a change", NO, (let(early_attack=False),)),
        ("nothing changed", UP, (let(early_attack=False, changes=[]),)),
        ("another site", UP, (let(early_attack=False, changes=["site-added"]),)),
    ],
    "iso.27559.9": [("no monitoring", NO, (without("monitoring-plan"),))],
}
