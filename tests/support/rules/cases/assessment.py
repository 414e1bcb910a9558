# SPDX-License-Identifier: Apache-2.0
"""GDPR Art. 35 to 49: impact assessment, consultation, transfers."""

from lexfed.audit.entries import PolicyEntry
from support.rules.cases.words import (
    BARE,
    NO,
    NO_RECEIPTS,
    NOT_GDPR,
    OUT,
    UP,
    WRONG_SUMS,
)
from support.rules.statements import ONE, ZERO, party, policy
from support.rules.world import (
    Case,
    Spoil,
    World,
    dated,
    late,
    let,
    put,
    state,
    then,
    without,
)

NOTHING = let(governance={})
NONE_NEEDED = state(dpia_triggers=())
NO_SPECIAL = put("features", columns={"personal": 2})
NOT_NEEDED: list[Case] = [
    ("no trigger, and a reason", OUT, (NONE_NEEDED,)),
    (
        "no trigger, no special data",
        OUT,
        (NONE_NEEDED, NO_SPECIAL, without("dpia-not-needed")),
    ),
    ("another law", OUT, (NOT_GDPR,)),
]


def safeguards(*letters: str) -> Case:
    """Cover some sites with safeguards of their own."""

    def spoil(world: World) -> None:
        del world.documents["transfer-safeguards"]
        for letter in letters:
            world.documents[f"transfer-safeguards/{letter}"] = {
                "issued": "2026-01-01",
                "site": letter * 64,
            }

    outcome = UP if letters == ("a", "b", "c") else NO
    return f"safeguards for {letters}", outcome, (spoil,)


def parties(**changes: object) -> Spoil:
    return put("genesis", parties=(party("a", **changes), party("b")))


CASES: dict[str, list[Case]] = {
    "gdpr.35.1-3": [
        ("no assessment", NO, (without("dpia"),)),
        ("an assessment after the fact", NO, (late("dpia"),)),
        ("from the future", NO, (dated("dpia", issued="2026-11-16"),)),
        ("expired", NO, (dated("dpia", expires="2026-11-01"),)),
        ("no end", UP, (dated("dpia", expires=None),)),
        ("nothing else stated", UP, (NOTHING,)),
        (
            "no trigger, special data, no reason",
            NO,
            (NONE_NEEDED, without("dpia-not-needed", "dpia")),
        ),
        (
            "no trigger, special data, a reason after the fact",
            NO,
            (NONE_NEEDED, late("dpia-not-needed"), without("dpia")),
        ),
        ("no triggers stated", NO, (state(dpia_triggers=None), without("dpia"))),
        ("no trigger, no tags", UP, (NONE_NEEDED, let(features={}))),
        *NOT_NEEDED,
    ],
    "gdpr.35.2": [
        ("neither", NO, (without("dpo-advice", "no-dpo"),)),
        ("no officer", UP, (without("dpo-advice"),)),
        *NOT_NEEDED,
    ],
    "gdpr.35.7.a": [
        ("no section", NO, (without("dpia-description"),)),
        ("other columns", NO, (state(approved_inputs=ZERO),)),
        ("no columns", NO, (state(approved_inputs=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("no tags", NO, (let(features={}),)),
        *NOT_NEEDED,
    ],
    "gdpr.35.7.b": [("no section", NO, (without("dpia-necessity"),)), *NOT_NEEDED],
    "gdpr.35.7.c": [
        ("no section", NO, (without("dpia-risks"),)),
        ("a section after the fact", NO, (late("dpia-risks"),)),
        *NOT_NEEDED,
    ],
    "gdpr.35.7.d": [
        ("no section", NO, (without("dpia-measures"),)),
        ("no measures", NO, (state(measures=()),)),
        ("measures unknown", NO, (state(measures=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("no event", NO, (put("round", event=None),)),
        ("no budget", NO, (put("round", budgets={}),)),
        ("central noise", NO, (put("policy", trust="central"),)),
        ("no sampling", NO, (put("policy", sampling="none"),)),
        ("no aggregation", NO, (put("round", aggregation=BARE),)),
        ("signatures of sums that are wrong", NO, (let(checks=WRONG_SUMS),)),
        ("no receipts", NO, (put("round", participation=NO_RECEIPTS),)),
        ("no witnesses", NO, (put("genesis", witnesses=None),)),
        ("no policy", NO, (let(policy={}),)),
        (
            "no witnesses, and none named",
            UP,
            (put("genesis", witnesses=None), state(measures=("noise", "budget"))),
        ),
        *NOT_NEEDED,
    ],
    "gdpr.35.9": [
        ("neither", NO, (without("views", "views-not-sought"),)),
        ("not sought", UP, (without("views"),)),
        *NOT_NEEDED,
    ],
    "gdpr.35.11": [
        ("no review", NO, (let(answers=set()),)),
        ("a review too late", NO, (let(late_answers=True),)),
        ("nothing changed", OUT, (let(changes=[]),)),
        ("less risk", OUT, (let(changes=["feature-removed"]),)),
        ("nothing happened yet", NO, (let(changes=[], rounds=[]),)),
        ("a hidden change", NO, (let(changes=[]), then(PolicyEntry(**policy())))),
        ("other tags in rounds", NO, (let(changes=[]), put("round", tags=ONE))),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.36": [
        ("no consultation", NO, (without("prior-consultation"),)),
        ("a consultation after the fact", NO, (late("prior-consultation"),)),
        ("risk not stated", NO, (state(residual_risk=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("a medium risk", OUT, (state(residual_risk="medium"),)),
        ("a low risk", OUT, (state(residual_risk="low"),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.44-49": [
        ("no country", NO, (parties(country=None),)),
        ("no tool", NO, (parties(transfer_tool=None),)),
        ("no safeguards", NO, (without("transfer-safeguards"),)),
        safeguards("a", "b", "c"),
        safeguards("a", "b"),
        (
            "adequacy",
            UP,
            (
                without("transfer-safeguards"),
                put("genesis", parties=(party("a", transfer_tool="adequacy"),)),
            ),
        ),
        (
            "adequacy for one",
            NO,
            (without("transfer-safeguards"), parties(transfer_tool="adequacy")),
        ),
        ("no parties", NO, (put("genesis", parties=()),)),
        (
            "all in the area",
            OUT,
            (put("genesis", parties=(party("a", country="DE", transfer_tool=None),)),),
        ),
        ("one outside", NO, (parties(country="GB", transfer_tool=None),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
}  # fmt: skip
