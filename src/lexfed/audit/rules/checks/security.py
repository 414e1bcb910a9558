# SPDX-License-Identifier: Apache-2.0
"""Security of processing (GDPR Art. 32) and of the log, and attacks on the model.

That an attack was run shows that it was run, and nothing more.
"""

import re
from collections.abc import Iterator
from typing import Any

from lexfed.audit.entries import CompletionEntry, Export, PrivacyTest, RoundEntry
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, missing
from lexfed.audit.rules.checks.statements import stated
from lexfed.audit.rules.fact_queries import days_between
from lexfed.audit.rules.facts import DatedEntry, LogFacts

_WORD = re.compile(r"[\x21-\x7e]*")
_KEYED = ("random", "hmac-sha256", "aes")


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
    evidence = [found.index for found in (policy, at) if found is not None]
    if gaps:
        return missing("; ".join(gaps), *evidence)
    return met("an encrypted transport and keyed or random pseudonyms", *evidence)


def resilient(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Enough sites answered in every round, and witnesses hold the log's state."""
    at = facts.governance
    if at is None or at.entry.min_participants is None or at.entry.max_dropouts is None:
        return missing(
            "not stated: `audit.governance.min_participants`, "
            "`audit.governance.max_dropouts`"
        )
    fewest, most_lost = at.entry.min_participants, at.entry.max_dropouts
    sites = sum(party.role == "site" for party in facts.parties)
    rounds = facts.of(RoundEntry)
    answered = [found.entry.participation.sites for found in rounds]
    gaps = []
    if not rounds or any(count is None for count in answered):
        gaps.append("who answered is secret or not logged")
    elif any(c is None or c < fewest or sites - c > most_lost for c in answered):
        gaps.append("in some round too few sites answered")
    if facts.checks.quorum is not True:
        gaps.append(
            "no quorum of witnesses was seen (`audit.policy`, `audit.witnesses`; "
            "checked by `lexfed verify --policy`, not by certificates)"
        )
    if gaps:
        return missing("; ".join(gaps), at.index, *facts.span)
    return met("enough sites in every round, and a quorum", at.index, *facts.span)


def restored(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """A recent drill: the root of a restored copy was that of the log."""
    drills = [at for at in facts.of(Export) if at.entry.what == "restore-drill"]
    if not drills:
        return missing("no `export` entry `restore-drill` is logged")
    last = drills[-1]
    if last.entry.digest != last.entry.root:
        return missing("the restored copy had another root", last.index)
    age = days_between(last.day, facts.now)
    if age is None or age > rule.parameters["days"]:
        return missing("the last drill is too old", last.index)
    return met("a restored copy had the same root", last.index)


def pseudonyms(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Pseudonyms need a secret that somebody else keeps."""
    at = facts.governance
    stated = None if at is None else at.entry.pseudonymisation
    if at is None or stated is None:
        return missing("not stated: `[audit.governance.pseudonymisation]`")
    if stated.algorithm not in _KEYED:
        return missing("a bare hash can be undone by guessing", at.index)
    if stated.custodian != "separate":
        return missing("whoever runs the log also keeps the secret", at.index)
    return met("a domain, a secret, and a separate custodian are stated", at.index)


def codes(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Codes for persons are not made from what is known about them."""
    at = facts.governance
    stated = None if at is None else at.entry.pseudonymisation
    if at is None or stated is None:
        return missing("not stated: `[audit.governance.pseudonymisation]`")
    expert = at.entry.deidentification == "expert"
    if stated.algorithm == "random" or (expert and stated.algorithm in _KEYED):
        return met("codes are random, or keyed and judged by an expert", at.index)
    return missing(
        "codes made from identifiers, even with a key, need an expert determination",
        at.index,
    )


def free_of_text(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """No entry holds free text: only code words, digests, numbers and dates.

    Releases are called by several words (`tower special`), all of a closed list.
    """
    known = frozenset(rule.parameters["words"])
    for at in facts.entries:
        for text in _texts(at.entry.model_dump(mode="json")):
            if not _WORD.fullmatch(text) and not known.issuperset(text.split(" ")):
                return missing("an entry holds text that is no code word", at.index)
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


_MITIGATIONS = (
    "budget-raised",
    "budget-lowered",
    "feature-added",
    "feature-removed",
    "software",
)


def _on_final_model(facts: LogFacts) -> list[DatedEntry[PrivacyTest]]:
    done = facts.last(CompletionEntry)
    if done is None or done.entry.model is None:
        return []
    tests = facts.of(PrivacyTest)
    return [at for at in tests if at.entry.model == done.entry.model]


def attacked(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """The released model was attacked, in each of the ways that the rule names."""
    written = stated(facts, rule)
    if written.outcome == "NOT_EVIDENCED":
        return written
    found = _on_final_model(facts)
    evidence = [*written.evidence, *(at.index for at in found)]
    wanted = rule.parameters.get("attacks", ())
    unseen = [name for name in wanted if name not in {at.entry.attack for at in found}]
    if not found or unseen:
        names = ", ".join(f"`{name}`" for name in unseen)
        of = f" of {names}" if unseen else ""
        return missing(f"no `privacy-test` entry{of} on the final model", *evidence)
    return met("the final model was attacked, and the results are logged", *evidence)


def retested(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The final model was attacked, and so were models around every mitigation."""
    found = _on_final_model(facts)
    if not found:
        return missing("no `privacy-test` entry on the final model")
    tests = [at.index for at in facts.of(PrivacyTest)]
    for change in facts.changes:
        around = min(tests) < change.index < max(tests)
        if change.entry.what in _MITIGATIONS and not around:
            return missing(
                f"no `privacy-test` entries before and after entry {change.index}",
                change.index,
                *tests,
            )
    return met("tests before and after every mitigation, and of the final", *tests)
