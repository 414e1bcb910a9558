# SPDX-License-Identifier: Apache-2.0
"""Checks on the tags of columns, by GDPR Art. 9-10, HIPAA, CCPA and ISO."""

import re

from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, require
from lexfed.audit.rules.facts import (
    LogFacts,
    all_articles_known,
    categories,
    cites,
    decided,
    tags_in,
)
from lexfed.audit.vocabulary import NEEDS_LAW
from lexfed.law.decisions import articles_known
from lexfed.law.tags import Tag, TaggedSchema
from lexfed.tiers import Tier

_IDENTIFIER = re.compile(r"164\.514\(b\)\(2\)\(i\)\(([A-R])\)")
_OFFENCES = "Art. 10"
_BY_PEOPLE = "people tagged some columns and named no category"


def exceptions(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every special category has an exception, and its law where one is needed."""
    at = facts.intended
    features, tagged = facts.tags_at_hand()
    gaps, evidence = [], [features.index]
    if at is None or at.entry.legal_basis is None:
        gaps.append("`audit.governance.legal_basis`")
    stated = {} if at is None else at.entry.special
    for code, name in categories(_special(tagged)).items():
        key = f'`audit.governance.special."{name}"`'
        if code not in stated:
            gaps.append(key)
        elif stated[code].exception in NEEDS_LAW and stated[code].law is None:
            gaps.append(f"{key} with `law`")
    if at is not None:
        evidence.append(at.index)
    why = f"not stated before the first round: {', '.join(gaps)}"
    require(not gaps, why, *evidence)
    return met("every special category has an exception and a basis", *evidence)


def _special(tagged: TaggedSchema) -> list[Tag]:
    """Return the special tags that Art. 9 covers: all but those of Art. 10 alone.

    A person who calls a column special and names no category that the catalogue of
    the GDPR knows leaves the article open; then it is Art. 9. Where the catalogue
    was asked, it has the word: exact positions are special in other laws only.
    """
    asked = any(law == "gdpr" for law, _ in tagged.asked.catalogues)

    def elsewhere(tag: Tag) -> bool:
        by_catalogue = asked and any(each.rule for each in tag.obligations)
        known = by_catalogue and articles_known(tag, tagged.asked)
        return known or cites(tag, _OFFENCES)

    tags = tags_in(tagged, Tier.SPECIAL)
    return [tag for tag in tags if cites(tag, "Art. 9(") or not elsewhere(tag)]


def offences(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Data on offences is used under a named authority or law."""
    at, features = decided(facts.intended, "offence_data"), facts.features
    why = "a column's tag names Art. 10, yet none is stated"
    require(at.entry.offence_data, why, at.index)
    decided(at, "offence_law", at.index)
    evidence = [at.index] if features is None else [at.index, features.index]
    return met("an authority or law is named", *evidence)


def cites_offences(facts: LogFacts) -> bool:
    """Return True if a column's tag names GDPR Art. 10."""
    tags = () if facts.tagged is None else facts.tagged.tags.values()
    return any(cites(tag, _OFFENCES) for tag in tags)


def identifiers(facts: LogFacts, _: Rule) -> CheckAnswer:
    """No identifier enters the model, but for places and dates that were coarsened."""
    at = decided(facts.governance, "deidentification")
    features, tagged = facts.tags_at_hand(at.index)
    require(all_articles_known(tagged), _BY_PEOPLE, at.index, features.index)
    transforms = at.entry.transforms
    allowed = set()
    if transforms.zip is not None:
        allowed.add("B")
    if transforms.date is not None and transforms.age is not None:
        allowed.add("C")
    # Classes (A)-(R) of columns that may enter a model.
    matches = [
        _IDENTIFIER.search(obligation.reference)
        for column in tagged.features()
        for obligation in tagged.tags[column.name].obligations
        if obligation.jurisdiction == "hipaa"
    ]
    left = sorted({match[1] for match in matches if match} - allowed)
    names = ", ".join(f"({letter})" for letter in left)
    require(not left, f"columns of class {names} enter the model", features.index)
    why = "no column of classes (A)-(R) enters the model as it was"
    return met(why, at.index, features.index)


def places(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Places were coarsened by a logged census table, or removed."""
    at = decided(facts.governance, "deidentification")
    transforms, unstated = at.entry.transforms, "not stated: `audit.governance."
    require(transforms.zip, f"{unstated}transforms.zip`", at.index)
    coarsened = transforms.zip == "removed" or transforms.zip_table is not None
    require(coarsened, f"{unstated}transforms.zip_table`", at.index)
    return met("places were coarsened or removed, as stated", at.index)


def dates(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Dates and high ages were coarsened or removed."""
    at = decided(facts.governance, "deidentification")
    require(
        at.entry.transforms.date and at.entry.transforms.age,
        "not stated: `audit.governance.transforms.date`, "
        "`audit.governance.transforms.age`",
        at.index,
    )
    return met("dates and ages were coarsened or removed, as stated", at.index)


def articles(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column was looked at, and the articles that apply are in its tag."""
    features, tagged = facts.tags_at_hand()
    require(all_articles_known(tagged), _BY_PEOPLE, features.index)
    return met("every column's tag names the articles that apply", features.index)


def attributes(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column is tagged, and it is stated whom re-identification assumes."""
    features = facts.tags_at_hand()[0]
    at = decided(facts.governance, "attack_model", features.index)
    return met("tags and attack model are stated", at.index, features.index)
