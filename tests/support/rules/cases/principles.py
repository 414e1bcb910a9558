# SPDX-License-Identifier: Apache-2.0
"""GDPR Art. 5 to 21: principles, special data, rights of persons."""

from dataclasses import replace

from lexfed.audit.entries import (
    AbortedRoundEntry,
    Certificate,
    Deletion,
    Governance,
    RuleResult,
    SpecialBasis,
)
from lexfed.tiers import Tier
from support.rules.cases.words import (
    BARE,
    FEW,
    NO,
    NO_QUORUM,
    NOT_GDPR,
    OTHERWISE,
    OUT,
    UNKNOWN,
    UNRECORDED,
    UP,
    WRONG_SUMS,
)
from support.rules.statements import (
    ONE,
    ZERO,
    governance,
    looked_up,
    party,
    tag,
    tagged,
)
from support.rules.world import (
    Case,
    World,
    dated,
    late,
    let,
    put,
    state,
    then,
    without,
)

OVERDUE = {"data": "2026-11-14", "model": "2030-01-01", "log": "2040-01-01"}
UNKNOWN_LOG = {"data": "2027-01-01", "model": "2030-01-01"}
NOTHING = let(governance={})


def certificate(*evidence: int, last: int = 3) -> Certificate:
    result = RuleResult(rule="gdpr.5.2", outcome="EVIDENCED", evidence=evidence)
    return Certificate(
        catalogue=ZERO, first=0, last=last, results=(result,), at_ceiling=1,
        applicable=1,
    )  # fmt: skip


def aborted(number: int) -> AbortedRoundEntry:
    return AbortedRoundEntry(
        round=number, cause="interrupted", released="no", event=None
    )


def for_sites(*letters: str, expires: str | None = "2027-01-01") -> Case:
    """Cover some sites with data-quality reports of their own."""

    def spoil(world: World) -> None:
        del world.documents["data-quality"]
        for letter in letters:
            world.documents[f"data-quality/{letter}"] = {
                "issued": "2026-01-01",
                "expires": expires,
                "site": letter * 64,
            }

    whole = letters == ("a", "b", "c") and expires is not None
    return f"documents of {letters} until {expires}", UP if whole else NO, (spoil,)


ETHNIC = tagged(age=tag(Tier.SPECIAL, "ethnic origin", "GDPR Art. 9(1)"))
NAMELESS = tagged(age=tag(Tier.SPECIAL, "??", "GDPR Art. 9(1)"))
BY_PEOPLE = tagged(
    record=tag(Tier.SPECIAL, "offences", by="person"),
    diagnosis=tag(Tier.SPECIAL, "health", by="person"),
)
POSITION = tag(
    Tier.SPECIAL, "precise_geolocation", "GDPR Art. 4(1), 35(1)", by="person"
)
POSITION = replace(POSITION, obligations=(replace(POSITION.obligations[0], rule="r"),))
NO_OFFENCES = tagged(record=tag(Tier.SPECIAL, "health", "GDPR Art. 9(1)"))
FREE = SpecialBasis(exception="9.2.e", law=None)
NEEDS = SpecialBasis(exception="9.2.h", law=None)
CONSENT = SpecialBasis(exception="9.2.a", law=None)

CASES: dict[str, list[Case]] = {
    "gdpr.5.1.a": [
        ("no basis", NO, (state(legal_basis=None),)),
        ("no purpose", NO, (state(purpose=None),)),
        ("no notice", NO, (without("notice"),)),
        ("a notice after the fact", NO, (late("notice"),)),
        ("nothing stated", NO, (NOTHING,)),
        (
            "stated after the fact",
            NO,
            (NOTHING, then(Governance(**governance()))),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.1.b": [
        ("another purpose, assessed", UP, (state(purpose="marketing"),)),
        (
            "another purpose",
            NO,
            (state(purpose="marketing"), without("compatibility-assessment")),
        ),
        (
            "another purpose, assessed later",
            NO,
            (state(purpose="marketing"), late("compatibility-assessment")),
        ),
        ("no allowed purposes", NO, (state(allowed_purposes=None),)),
        ("no purpose", NO, (state(purpose=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.1.c": [
        ("other columns", NO, (state(approved_inputs=ZERO),)),
        ("nothing approved", NO, (state(approved_inputs=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("no tags", NO, (let(features={}),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.1.d": [
        ("no report", NO, (without("data-quality"),)),
        ("no end", NO, (dated("data-quality", expires=None),)),
        ("expired", NO, (dated("data-quality", expires="2026-11-14"),)),
        ("last day", UP, (dated("data-quality", expires="2026-11-15"),)),
        ("from the future", NO, (dated("data-quality", issued="2026-11-16"),)),
        for_sites("a", "b", "c"),
        for_sites("a", "b"),
        for_sites("a", "b", "c", expires=None),
        for_sites("a", "b", "d"),
        (
            "sites without keys",
            NO,
            (
                for_sites("a", "b", "c")[2][0],
                put("genesis", parties=(party("a", key=None),)),
            ),
        ),
        ("no parties", NO, (without("data-quality"), put("genesis", parties=()))),
        ("no genesis", NO, (without("data-quality"), let(genesis={}))),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.1.e": [
        ("no deadline of the log", NO, (state(retention=UNKNOWN_LOG),)),
        ("overdue", NO, (state(retention=OVERDUE),)),
        (
            "deleted",
            UP,
            (state(retention=OVERDUE), then(Deletion(artefact="data", digest=None))),
        ),
        (
            "something else deleted",
            NO,
            (state(retention=OVERDUE), then(Deletion(artefact="blob", digest=ONE))),
        ),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.1.f": [
        ("no aggregation", NO, (put("round", aggregation=BARE),)),
        ("too few survivors", NO, (put("round", aggregation=FEW),)),
        ("no record of a masked sum", NO, (put("round", aggregation=UNRECORDED),)),
        ("another protocol", UP, (put("round", aggregation=OTHERWISE),)),
        ("signatures that are wrong", NO, (let(checks=WRONG_SUMS),)),
        ("an unknown threshold", NO, (put("round", aggregation=UNKNOWN),)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("no quorum", NO, (let(checks=NO_QUORUM),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.5.2": [
        ("a gap", NO, (let(rounds=[1, 3]),)),
        ("a repeated round", NO, (let(rounds=[1, 2, 2]),)),
        ("no first round", NO, (let(rounds=[2, 3]),)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("another number of rounds", NO, (put("completed", rounds=4),)),
        ("not over yet", UP, (let(completed={}),)),
        ("a certificate", UP, (then(certificate(1, 3)),)),
        ("a certificate of unknown entries", NO, (then(certificate(4)),)),
        ("a certificate of the future", NO, (then(certificate(1, last=500)),)),
        ("a lost round", UP, (put("completed", rounds=4), then(aborted(4)))),
        ("a logged round that was lost", UP, (then(aborted(3)),)),
        ("lost twice", NO, (then(aborted(3), aborted(3)),)),
        ("lost before it began", NO, (put("completed", rounds=5), then(aborted(5)))),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.7": [
        ("no registry", NO, (without("consent-registry"),)),
        ("a registry after the fact", NO, (late("consent-registry"),)),
        ("no basis", NO, (state(legal_basis=None),)),
        ("no exclusion", NO, (let(answers={"model-impact-decision"}),)),
        ("an exclusion too late", NO, (let(late_answers=True),)),
        ("nobody withdrew", UP, (let(withdrawals=[]),)),
        ("nothing stated", NO, (NOTHING,)),
        ("a public task", OUT, (state(legal_basis="6.1.e"),)),
        (
            "a public task, but explicit consent",
            UP,
            (state(legal_basis="6.1.e", special={"health": CONSENT}),),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.9": [
        ("no exception", NO, (state(special={}),)),
        ("no basis", NO, (state(legal_basis=None),)),
        ("no law", NO, (state(special={"health": NEEDS}),)),
        ("needs no law", UP, (state(special={"health": FREE}),)),
        ("one more category", NO, (let(tags=ETHNIC),)),
        (
            "one more, with its exception",
            UP,
            (
                let(tags=ETHNIC),
                state(special={"health": FREE, "ethnic-origin": FREE}),
            ),
        ),
        ("a category without a name", NO, (let(tags=NAMELESS),)),
        ("people name no articles", NO, (let(tags=BY_PEOPLE),)),
        ("positions, by people", NO, (let(tags=tagged(ward=POSITION)),)),
        ("positions, by the catalogue", UP, (let(tags=looked_up(ward=POSITION)),)),
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("no tags", NO, (let(features={}),)),
        ("nothing stated", NO, (NOTHING,)),
        ("no special columns", OUT, (put("features", columns={"personal": 2}),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.9.proxy": [
        ("no review", NO, (without("proxy-review"),)),
        ("a review after the fact", NO, (late("proxy-review"),)),
        ("no special columns", OUT, (put("features", columns={"special": 0}),)),
    ],
    "gdpr.10": [
        ("no law", NO, (state(offence_law=None),)),
        ("contradicts the tags", NO, (state(offence_data=False),)),
        ("not stated", NO, (state(offence_data=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("stated, tags unknown", UP, (let(features={}),)),
        (
            "stated to be absent",
            OUT,
            (let(tags=NO_OFFENCES), state(offence_data=False)),
        ),
        ("stated to be there", UP, (let(tags=NO_OFFENCES),)),
        (
            "not found where all articles are known",
            OUT,
            (let(tags=NO_OFFENCES), NOTHING),
        ),
        ("people name no articles", NO, (let(tags=BY_PEOPLE), NOTHING)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.13-14": [
        ("no notice", NO, (without("notice"),)),
        ("a notice after the fact", NO, (late("notice"),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.17-21": [
        ("no decision", NO, (let(answers={"exclusion"}),)),
        ("no exclusion", NO, (let(answers={"model-impact-decision"}),)),
        ("an exclusion too late", NO, (let(late_answers=True),)),
        ("nobody asked, nobody says so", NO, (let(withdrawals=[]),)),
        (
            "stated to be none",
            OUT,
            (let(withdrawals=[]), state(none_known=("withdrawals",))),
        ),
        (
            "stated to be none, though logged",
            UP,
            (state(none_known=("withdrawals",)),),
        ),
        (
            "requests to limit are others",
            OUT,
            (let(withdrawals=["limit"]), state(none_known=("withdrawals",))),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
}  # fmt: skip
