# SPDX-License-Identifier: Apache-2.0
"""Tags of columns: HIPAA identifiers, CCPA articles, ISO attributes."""

import re

from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.fact_queries import articles_known
from lexfed.audit.rules.facts import LogFacts
from lexfed.law.tags import TaggedSchema

_IDENTIFIER = re.compile(r"164\.514\(b\)\(2\)\(i\)\(([A-R])\)")
_UNSTATED = "not stated: `audit.governance.deidentification`"
_UNTAGGED = "the tags of the columns are not at hand"
_BY_PEOPLE = "people tagged some columns and named no category"


def _classes(tagged: TaggedSchema) -> dict[str, str]:
    """Return the classes (A)-(R) of what may enter a model, each with a column."""
    found: dict[str, str] = {}
    for column in tagged.features():
        for obligation in tagged.tags[column.name].obligations:
            match = _IDENTIFIER.search(obligation.reference)
            if obligation.jurisdiction == "hipaa" and match:
                found[match[1]] = column.name
    return found


def identifiers(facts: LogFacts, _: Rule) -> CheckAnswer:
    """No identifier enters the model, but for places and dates that were coarsened."""
    at, features = facts.governance, facts.features
    if at is None or at.entry.deidentification is None:
        return missing(_UNSTATED)
    if features is None or facts.tagged is None:
        return missing(_UNTAGGED, at.index)
    if not articles_known(facts.tagged):
        return missing(_BY_PEOPLE, at.index, features.index)
    transforms = at.entry.transforms
    allowed = set()
    if transforms.zip is not None:
        allowed.add("B")
    if transforms.date is not None and transforms.age is not None:
        allowed.add("C")
    left = sorted(set(_classes(facts.tagged)) - allowed)
    if left:
        names = ", ".join(f"({letter})" for letter in left)
        return missing(f"columns of class {names} enter the model", features.index)
    why = "no column of classes (A)-(R) enters the model as it was"
    return met(why, at.index, features.index)


def places(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Places were coarsened by a logged census table, or removed."""
    at = facts.governance
    if at is None or at.entry.deidentification is None:
        return missing(_UNSTATED)
    transforms = at.entry.transforms
    if transforms.zip is None:
        return missing("not stated: `audit.governance.transforms.zip`", at.index)
    if transforms.zip != "removed" and transforms.zip_table is None:
        return missing("not stated: `audit.governance.transforms.zip_table`", at.index)
    return met("places were coarsened or removed, as stated", at.index)


def dates(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Dates and high ages were coarsened or removed."""
    at = facts.governance
    if at is None or at.entry.deidentification is None:
        return missing(_UNSTATED)
    if at.entry.transforms.date is None or at.entry.transforms.age is None:
        return missing(
            "not stated: `audit.governance.transforms.date`, "
            "`audit.governance.transforms.age`",
            at.index,
        )
    return met("dates and ages were coarsened or removed, as stated", at.index)


def articles(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column was looked at, and the articles that apply are in its tag."""
    features = facts.features
    if features is None or facts.tagged is None:
        return missing(_UNTAGGED)
    if not articles_known(facts.tagged):
        return missing(_BY_PEOPLE, features.index)
    return met("every column's tag names the articles that apply", features.index)


def attributes(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column is tagged, and it is stated whom re-identification assumes."""
    at, features = facts.governance, facts.features
    if features is None or facts.tagged is None:
        return missing(_UNTAGGED)
    if at is None or at.entry.attack_model is None:
        return missing("not stated: `audit.governance.attack_model`", features.index)
    return met("tags and attack model are stated", at.index, features.index)
