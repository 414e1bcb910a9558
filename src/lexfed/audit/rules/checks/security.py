# SPDX-License-Identifier: Apache-2.0
"""Security of processing (GDPR Art. 32) and of the log, and attacks on the model."""

import re
from collections.abc import Iterator
from typing import Any

from lexfed.audit.entries import CompletionEntry, Export, PrivacyTest, RoundEntry
from lexfed.audit.entries.lifecycle import Pseudonymisation
from lexfed.audit.rules.catalogue import CheckAnswer, Missing, Rule, met, require
from lexfed.audit.rules.checks.principles import quorum_gaps
from lexfed.audit.rules.checks.statements import stated
from lexfed.audit.rules.facts import DatedEntry, LogFacts, days_between

_WORD = re.compile(r"[\x21-\x7e]*")
_KEYED = ("random", "hmac-sha256", "aes")
_MITIGATIONS = (
    "budget-raised", "budget-lowered", "feature-added", "feature-removed", "software",
)  # fmt: skip


def intact(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The log verifies; on one that does not, no rule is evaluated at all."""
    return met("every entry is signed and in the tree of the checkpoint", *facts.start)


def encrypted(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Messages travel encrypted, and pseudonyms cannot be undone by guessing."""
    policy, at = facts.policy, facts.governance
    gaps = []
    if policy is None or policy.entry.transport not in rule.parameters["transports"]:
        gaps.append("messages did not travel by an encrypted transport")
    if at is None or at.entry.pseudonymisation is None:
        gaps.append("not stated: `[audit.governance.pseudonymisation]`")
    elif at.entry.pseudonymisation.algorithm not in _KEYED:
        gaps.append("a bare hash can be undone by guessing")
    evidence = [each.index for each in (policy, at) if each is not None]
    require(not gaps, "; ".join(gaps), *evidence)
    return met("an encrypted transport and keyed or random pseudonyms", *evidence)


def resilient(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Enough sites answered in every round, and witnesses hold the log's state."""
    at = facts.governance
    if at is None or at.entry.min_participants is None or at.entry.max_dropouts is None:
        raise Missing(
            "not stated: `audit.governance.min_participants`, "
            "`audit.governance.max_dropouts`"
        )
    fewest, most_lost = at.entry.min_participants, at.entry.max_dropouts
    sites = len(facts.sites)
    rounds = facts.of(RoundEntry)
    answered = [each.entry.participation.sites for each in rounds]
    gaps = []
    if not rounds or any(count is None for count in answered):
        gaps.append("who answered is secret or not logged")
    elif any(c is None or c < fewest or sites - c > most_lost for c in answered):
        gaps.append("in some round too few sites answered")
    gaps += quorum_gaps(facts)
    require(not gaps, "; ".join(gaps), at.index, *facts.span)
    return met("enough sites in every round, and a quorum", at.index, *facts.span)


def restored(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """A recent drill: the root of a restored copy was that of the log."""
    drills = [at for at in facts.of(Export) if at.entry.what == "restore-drill"]
    require(drills, "no `export` entry `restore-drill` is logged")
    last = drills[-1]
    same = last.entry.digest == last.entry.root
    require(same, "the restored copy had another root", last.index)
    age = days_between(last.day, facts.now)
    recent = age is not None and age <= rule.parameters["days"]
    require(recent, "the last drill is too old", last.index)
    return met("a restored copy had the same root", last.index)


def _pseudonymisation(facts: LogFacts) -> tuple[int, Pseudonymisation]:
    at = facts.governance
    if at is None or at.entry.pseudonymisation is None:
        raise Missing("not stated: `[audit.governance.pseudonymisation]`")
    return at.index, at.entry.pseudonymisation


def pseudonyms(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Pseudonyms need a secret that somebody else keeps."""
    index, made = _pseudonymisation(facts)
    require(made.algorithm in _KEYED, "a bare hash can be undone by guessing", index)
    separate = made.custodian == "separate"
    require(separate, "whoever runs the log also keeps the secret", index)
    return met("a domain, a secret, and a separate custodian are stated", index)


def codes(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Codes for persons are not made from what is known about them."""
    index, made = _pseudonymisation(facts)
    at = facts.governance
    expert = at is not None and at.entry.deidentification == "expert"
    require(
        made.algorithm == "random" or (expert and made.algorithm in _KEYED),
        "codes made from identifiers, even with a key, need an expert determination",
        index,
    )
    return met("codes are random, or keyed and judged by an expert", index)


def free_of_text(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """No entry holds free text: only code words, digests, numbers and dates.

    Releases are called by several words (`tower special`), all of a closed list.
    """
    known = frozenset(rule.parameters["words"])
    for at in facts.entries:
        for text in _texts(at.entry.model_dump(mode="json")):
            coded = _WORD.fullmatch(text) or known.issuperset(text.split(" "))
            require(coded, "an entry holds text that is no code word", at.index)
    return met("entries hold code words, digests, numbers and dates only", *facts.start)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _on_final_model(facts: LogFacts) -> list[DatedEntry[PrivacyTest]]:
    done = facts.last(CompletionEntry)
    if done is None or done.entry.model is None:
        return []
    return [at for at in facts.of(PrivacyTest) if at.entry.model == done.entry.model]


def attacked(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """The released model was attacked, in each of the ways that the rule names."""
    documented = stated(facts, rule).evidence
    tests = _on_final_model(facts)
    evidence = [*documented, *(at.index for at in tests)]
    attacks = {at.entry.attack for at in tests}
    unseen = [
        name for name in rule.parameters.get("attacks", ()) if name not in attacks
    ]
    names = ", ".join(f"`{name}`" for name in unseen)
    which = f" of {names}" if unseen else ""
    why = f"no `privacy-test` entry{which} on the final model"
    require(tests and not unseen, why, *evidence)
    return met("the final model was attacked, and the results are logged", *evidence)


def retested(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The final model was attacked, and so were models around every mitigation."""
    require(_on_final_model(facts), "no `privacy-test` entry on the final model")
    tests = [at.index for at in facts.of(PrivacyTest)]
    for change in facts.changes:
        around = min(tests) < change.index < max(tests)
        require(
            around or change.entry.what not in _MITIGATIONS,
            f"no `privacy-test` entries before and after entry {change.index}",
            change.index,
            *tests,
        )
    return met("tests before and after every mitigation, and of the final", *tests)
