# SPDX-License-Identifier: Apache-2.0
"""GDPR Art. 24 to 33: design, records, security, breaches."""

from lexfed.audit.entries import (
    ChangeEntry,
    Document,
    FeatureTags,
    Governance,
    PolicyEntry,
)
from support.rules.cases.words import (
    NO,
    NO_BUDGET,
    NO_QUORUM,
    NOT_GDPR,
    OUT,
    SECRET,
    TWO_SITES,
    UP,
    WRONG_BUDGET,
)
from support.rules.statements import (
    ONE,
    ZERO,
    features,
    governance,
    incidents,
    party,
    policy,
)
from support.rules.world import Case, Spoil, let, put, state, then, without

NOTHING = let(governance={})


def notified(when: str | None, reason: str | None = None) -> Spoil:
    """Change when an incident was notified."""
    incident = {**incidents()[0], "notified_at": when, "delay_reason": reason}
    return let(incidents=[incident])


CASES: dict[str, list[Case]] = {
    "gdpr.24.1": [
        ("no date", NO, (state(review_due=None),)),
        ("overdue", NO, (state(review_due="2026-11-14"),)),
        ("the last day", UP, (state(review_due="2026-11-15"),)),
        ("no policy", NO, (let(policy={}),)),
        ("nothing stated", NO, (NOTHING,)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.24.2": [
        ("no policies", NO, (without("data-protection-policy"),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.25.1.config": [
        ("no policy", NO, (let(policy={}),)),
        ("no genesis", NO, (let(genesis={}),)),
        ("no noise", NO, (put("policy", mechanism="none", epsilon=None),)),
        ("no epsilon", NO, (put("policy", epsilon=None),)),
        ("seeded noise", NO, (put("policy", randomness="seeded"),)),
        ("a test", NO, (put("genesis", test=True),)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("no review of a change", NO, (let(answers=set()),)),
        ("a review too late", NO, (let(late_answers=True),)),
        ("nothing changed", UP, (let(changes=[]),)),
        ("a lower budget", UP, (let(changes=["budget-lowered"], answers=set()),)),
        ("another policy", NO, (then(PolicyEntry(**policy())), let(changes=[]))),
        (
            "another policy, with its change",
            UP,
            (
                then(
                    ChangeEntry(what="budget-lowered", before=ZERO, after=ONE),
                    PolicyEntry(**policy()),
                ),
            ),
        ),
        ("other tags in rounds", NO, (put("round", tags=ONE),)),
        ("no tags", NO, (let(features={}),)),
        (
            "other tags",
            NO,
            (let(changes=[]), then(FeatureTags(**features(), tags=ONE))),
        ),
        (
            "another purpose",
            NO,
            (let(changes=[]), then(Governance(purpose="marketing"))),
        ),
        (
            "another purpose, openly",
            UP,
            (
                let(changes=[]),
                then(
                    ChangeEntry(what="site-removed", before=None, after=None),
                    Governance(purpose="marketing"),
                ),
            ),
        ),
        ("the same purpose again", UP, (then(Governance(purpose="research")),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.25.1.enforce": [
        ("wrong budgets", NO, (let(checks=WRONG_BUDGET),)),
        ("budgets nobody recomputed", NO, (let(checks=NO_BUDGET),)),
        ("no noise", NO, (put("policy", mechanism="none"),)),
        ("a test", NO, (put("genesis", test=True),)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("not over yet", UP, (let(completed={}),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.25.1.suff": [("another law", OUT, (NOT_GDPR,))],
    "gdpr.25.2": [
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("other tags in rounds", NO, (put("round", tags=ONE),)),
        ("no tags", NO, (let(features={}),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.26-28": [
        ("no roles", NO, (put("genesis", parties=(party("a", legal_role=None),)),)),
        ("no parties", NO, (put("genesis", parties=()),)),
        ("no genesis", NO, (let(genesis={}),)),
        ("no contract", NO, (put("genesis", parties=(party("a", contract=None),)),)),
        (
            "a controller",
            UP,
            (
                put(
                    "genesis",
                    parties=(party("a", contract=None, legal_role="controller"),),
                ),
            ),
        ),
        (
            "a joint controller",
            NO,
            (
                put(
                    "genesis",
                    parties=(
                        party("a"),
                        party("b", contract=None, legal_role="joint-controller"),
                    ),
                ),
            ),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.30.1": [
        ("no record", NO, (let(record={}),)),
        ("a missing group", NO, (put("record", groups={"controller": "stated"}),)),
        ("other categories", NO, (put("record", categories=("health",)),)),
        ("no categories", NO, (put("record", categories=None),)),
        ("tags that cannot be read", NO, (let(readable=False),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.30.2": [
        ("no record", NO, (let(processor={}),)),
        ("a missing group", NO, (put("processor", groups={"security": "missing"}),)),
        (
            "nobody is a processor",
            OUT,
            (put("genesis", parties=(party("a", legal_role="controller"),)),),
        ),
        (
            "roles are unknown",
            UP,
            (put("genesis", parties=(party("a", legal_role=None),)),),
        ),
    ],
    "gdpr.30.3-4": [
        ("no record", NO, (let(record={}),)),
        ("no report", NO, (let(exports=[]),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.32.1.a": [
        ("no encryption", NO, (put("policy", transport="in-process"),)),
        ("no policy", NO, (let(policy={}),)),
        ("no pseudonyms", NO, (state(pseudonymisation=None),)),
        ("nothing stated", NO, (NOTHING,)),
        (
            "a bare hash",
            NO,
            (
                state(
                    pseudonymisation=governance()["pseudonymisation"].model_copy(
                        update={"algorithm": "hash"}
                    )
                ),
            ),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.32.1.b": [
        ("no minimum", NO, (state(min_participants=None),)),
        ("no limit", NO, (state(max_dropouts=None),)),
        ("nothing stated", NO, (NOTHING,)),
        ("too few", NO, (put("round", participation=TWO_SITES),)),
        (
            "few enough lost, but too few",
            NO,
            (state(max_dropouts=1), put("round", participation=TWO_SITES)),
        ),
        (
            "enough, but too many lost",
            NO,
            (state(min_participants=2), put("round", participation=TWO_SITES)),
        ),
        (
            "enough, and few enough lost",
            UP,
            (
                state(min_participants=2, max_dropouts=1),
                put("round", participation=TWO_SITES),
            ),
        ),
        ("secret participants", NO, (put("round", participation=SECRET),)),
        ("no rounds", NO, (let(rounds=[]),)),
        ("no quorum", NO, (let(checks=NO_QUORUM),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.32.1.c": [
        ("no drill", NO, (let(exports=[]),)),
        (
            "another root",
            NO,
            (let(exports=[{"what": "restore-drill", "digest": ONE, "size": 3,
                           "root": ZERO}]),),
        ),
        (
            "too long ago",
            NO,
            (
                then(Document(what="notice", digest=ONE, issued="2027-01-01")),
                let(last_time="2027-11-16T12:00:00Z"),
            ),
        ),
        (
            "at a time of no calendar",
            NO,
            (
                then(Document(what="notice", digest=ONE, issued="2027-01-01")),
                let(last_time="2027-02-31T12:00:00Z"),
            ),
        ),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.32.1.d": [
        ("no attacks", NO, (let(attacks=[]),)),
        ("one attack", UP, (let(attacks=["membership"]),)),
        ("another model", NO, (put("completed", model=ONE, claim=None),
                               let(early_attack=False))),
        ("no model", NO, (put("completed", model=None),)),
        ("not over yet", NO, (let(completed={}),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
    "gdpr.33": [
        ("none, and nobody says so", NO, (let(incidents=[]),)),
        (
            "stated to be none",
            OUT,
            (let(incidents=[]), state(none_known=("incidents",))),
        ),
        ("stated to be none, though logged", UP, (state(none_known=("incidents",)),)),
        ("on the last hour", UP, (notified("2026-11-19T00:00:00Z"),)),
        ("too late", NO, (notified("2026-11-19T00:00:01Z"),)),
        ("too late, with a reason", UP, (notified("2026-12-19T00:00:00Z", ONE),)),
        ("never", NO, (notified(None),)),
        ("never, with a reason", UP, (notified(None, ONE),)),
        ("before anybody knew", NO, (notified("2026-11-15T00:00:00Z"),)),
        ("at no time", NO, (notified("2026-02-31T00:00:00Z", ONE),)),
        ("another law", OUT, (NOT_GDPR,)),
    ],
}  # fmt: skip
