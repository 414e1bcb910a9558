# SPDX-License-Identifier: Apache-2.0
"""HIPAA."""

from lexfed.audit.entries import Transforms
from lexfed.tiers import Tier
from support.rules.cases.guidance import pseudonyms
from support.rules.cases.words import NO, NOT_HIPAA, OUT, UP
from support.rules.statements import looked_up, party, tag, tagged
from support.rules.world import Case, dated, let, put, state, without

NOTHING = let(governance={})
EXPERT = state(deidentification="expert")
NEITHER = state(deidentification="none")
UNSTATED = state(deidentification=None)
PHONE = tagged(ward=tag(Tier.PERSONAL, "phone", "HIPAA 45 CFR 164.514(b)(2)(i)(D)"))
BY_PEOPLE = tagged(ward=tag(Tier.PERSONAL, "phone", by="person"))
BY_CATALOGUE = looked_up(ward=tag(Tier.NON_PERSONAL, "business", by="person"))
NO_ZIP = Transforms(date="year-only", age="90-and-over")
NO_AGE = Transforms(zip="removed", date="year-only")
NO_DATE = Transforms(zip="removed", age="removed")
REMOVED = Transforms(zip="removed", date="removed", age="removed")
NO_TABLE = Transforms(zip="zip3-above-20000", date="removed", age="removed")
SAFE_HARBOR: list[Case] = [
    ("an expert instead", OUT, (EXPERT,)),
    ("neither", OUT, (NEITHER,)),
    ("another law", OUT, (NOT_HIPAA,)),
]
CONTROLLER = party("a", legal_role="controller", contract=None)

CASES: dict[str, list[Case]] = {
    "hipaa.sh.list": [
        ("a phone number", NO, (let(tags=PHONE),)),
        ("places as they were", NO, (state(transforms=NO_ZIP),)),
        ("ages as they were", NO, (state(transforms=NO_AGE),)),
        ("people name no articles", NO, (let(tags=BY_PEOPLE),)),
        ("people name a category of the catalogues", UP, (let(tags=BY_CATALOGUE),)),
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("method not stated", NO, (UNSTATED,)),
        ("nothing stated", NO, (NOTHING,)),
        *SAFE_HARBOR,
    ],
    "hipaa.sh.zip": [
        ("not stated", NO, (state(transforms=NO_ZIP),)),
        ("no table", NO, (state(transforms=NO_TABLE),)),
        ("removed", UP, (state(transforms=REMOVED),)),
        ("method not stated", NO, (UNSTATED,)),
        ("nothing stated", NO, (NOTHING,)),
        *SAFE_HARBOR,
    ],
    "hipaa.sh.date": [
        ("ages not stated", NO, (state(transforms=NO_AGE),)),
        ("dates not stated", NO, (state(transforms=NO_DATE),)),
        ("removed", UP, (state(transforms=REMOVED),)),
        ("method not stated", NO, (UNSTATED,)),
        ("nothing stated", NO, (NOTHING,)),
        *SAFE_HARBOR,
    ],
    "hipaa.sh.know": [
        ("no attestation", UP, (without("no-actual-knowledge"),)),
        *SAFE_HARBOR,
    ],
    "hipaa.ed": [
        ("an expert", UP, (EXPERT,)),
        ("no statement", NO, (EXPERT, without("expert-determination"))),
        ("no end", NO, (EXPERT, dated("expert-determination", expires=None))),
        ("expired", NO, (EXPERT, dated("expert-determination", expires="2026-11-14"))),
        ("about something else", NO, (EXPERT, dated("expert-determination", about=2))),
        ("about nothing", NO, (EXPERT, dated("expert-determination", about=None))),
        ("no policy", NO, (EXPERT, let(policy={}))),
        ("method not stated", NO, (UNSTATED,)),
        ("safe harbor instead", OUT, ()),
        ("neither", OUT, (NEITHER,)),
        ("another law", OUT, (EXPERT, NOT_HIPAA)),
    ],
    "hipaa.code": [
        ("made from identifiers", NO, (pseudonyms(algorithm="hmac-sha256"),)),
        (
            "made from identifiers, judged by an expert",
            UP,
            (EXPERT, pseudonyms(algorithm="hmac-sha256")),
        ),
        ("a bare hash", NO, (EXPERT, pseudonyms(algorithm="hash"))),
        ("not stated", NO, (state(pseudonymisation=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("not called de-identified", OUT, (NEITHER,)),
        ("another law", OUT, (NOT_HIPAA,)),
    ],
    "hipaa.audit": [("another law", OUT, (NOT_HIPAA,))],
    "hipaa.access": [
        ("no control", NO, (without("access-control"),)),
        ("no analysis", NO, (without("risk-analysis"),)),
        ("another law", OUT, (NOT_HIPAA,)),
    ],
    "hipaa.retain": [
        ("six years", UP, (state(retention={"log": "2032-11-15"}),)),
        ("less", NO, (state(retention={"log": "2032-11-14"}),)),
        ("not stated", NO, (state(retention={}),)),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_HIPAA,)),
    ],
    "hipaa.ba": [
        (
            "no agreement",
            NO,
            (put("genesis", parties=(party("a"), party("b", contract=None))),),
        ),
        (
            "a controller beside it",
            UP,
            (put("genesis", parties=(party("a"), CONTROLLER)),),
        ),
        ("unknown", NO, (put("genesis", parties=(party("a", legal_role=None),)),)),
        ("nobody", NO, (put("genesis", parties=()),)),
        ("no associates", OUT, (put("genesis", parties=(CONTROLLER,)),)),
        ("another law", OUT, (NOT_HIPAA,)),
    ],
}
