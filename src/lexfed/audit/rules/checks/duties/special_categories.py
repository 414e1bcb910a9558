# SPDX-License-Identifier: Apache-2.0
"""Special categories (GDPR Art. 9) and offences (Art. 10)."""

from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.fact_queries import categories, cites, tags_in
from lexfed.audit.rules.facts import LogFacts
from lexfed.audit.vocabulary import NEEDS_LAW
from lexfed.law.decisions import articles_known
from lexfed.law.tags import Tag, TaggedSchema
from lexfed.tiers import Tier

_OFFENCES = "Art. 10"


def exceptions(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every special category has an exception, and its law where one is needed."""
    at, features = facts.intended, facts.features
    if features is None or facts.tagged is None:
        return missing("the tags of the columns are not at hand")
    gaps, evidence = [], [features.index]
    if at is None or at.entry.legal_basis is None:
        gaps.append("`audit.governance.legal_basis`")
    stated = {} if at is None else at.entry.special
    for code, name in categories(_special(facts.tagged)).items():
        key = f'`audit.governance.special."{name}"`'
        if code not in stated:
            gaps.append(key)
        elif stated[code].exception in NEEDS_LAW and stated[code].law is None:
            gaps.append(f"{key} with `law`")
    if at is not None:
        evidence.append(at.index)
    if gaps:
        why = f"not stated before the first round: {', '.join(gaps)}"
        return missing(why, *evidence)
    return met("every special category has an exception and a basis", *evidence)


def _special(tagged: TaggedSchema) -> list[Tag]:
    """Return the tags that Art. 9 is asked for: special ones that only Art. 10 is not.

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
    at, features = facts.intended, facts.features
    if at is None or at.entry.offence_data is None:
        return missing("not stated: `audit.governance.offence_data`")
    if not at.entry.offence_data:
        return missing("a column's tag names Art. 10, yet none is stated", at.index)
    if at.entry.offence_law is None:
        return missing("not stated: `audit.governance.offence_law`", at.index)
    evidence = [at.index] if features is None else [at.index, features.index]
    return met("an authority or law is named", *evidence)


def cites_offences(facts: LogFacts) -> bool:
    """Return True if a column's tag names GDPR Art. 10."""
    tags = () if facts.tagged is None else facts.tagged.tags.values()
    return any(cites(tag, _OFFENCES) for tag in tags)
