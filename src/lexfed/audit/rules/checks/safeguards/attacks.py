# SPDX-License-Identifier: Apache-2.0
"""Attacks that were run against the model, and what that shows: that they were run."""

from lexfed.audit.entries import CompletionEntry, PrivacyTest
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks.duties.statements import stated
from lexfed.audit.rules.facts import DatedEntry, LogFacts

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
