# SPDX-License-Identifier: Apache-2.0
"""Suggestions in sentences: the first reason, the whole chain, the words of a decision.

A data-protection officer must be able to disagree with every line. Sentences name
rules and evidence, never a value.
"""

from collections.abc import Sequence
from textwrap import wrap

from lexfed.law.articles import TaggedColumn
from lexfed.law.catalogue import Article, LawCatalogue
from lexfed.law.tagger.suggestions import Suggestion, TagEvidence

KIND_WORDS = {
    "name": "name",
    "description": "description",
    "pack": "standard",
    "values": "values",
    "statistics": "statistics",
    "semantics": "meaning",
    "table": "table",
    "person": "person",
}
"""The source of evidence, in one word."""

PUBLIC_KINDS = ("name", "description", "pack", "semantics", "table")
"""Evidence that rests on the schema alone. Values and what is counted from them stay
at the site that holds them, so no sentence that leaves it may repeat the rest."""

NOTHING_KNOWN = "nothing is known about it, so it is protected like most of its table"
_WIDTH = 88
_PLAIN = ("name", "description")
_ENOUGH = 2.0
"""Weight from which on a reason stands by itself."""


def reason_of(found: Suggestion, kinds: Sequence[str] = tuple(KIND_WORDS)) -> str:
    """Return the strongest reason for a suggestion, of these kinds, in one sentence."""
    strongest = _strongest(found, kinds)
    return NOTHING_KNOWN if strongest is None else strongest.text


def _strongest(found: Suggestion, kinds: Sequence[str]) -> TagEvidence | None:
    """Return the best reason for the category, or else for the tier.

    What a name says by itself convinces people more than how often it was seen.
    """
    told = [item for item in found.evidence if item.kind in kinds and item.weight > 0]
    same = [item for item in told if item.category == found.category]
    near = [item for item in told if item.tier == found.tier]
    best = same or near
    plain = [item for item in best if item.kind in _PLAIN and item.weight >= _ENOUGH]
    return max(plain or best, key=lambda item: item.weight, default=None)


def rule_of(tagged: TaggedColumn) -> Article | None:
    """Return the article that fits a column best: the last of the first law.

    Catalogues begin with what applies to all personal data and go on to what applies
    to few; the more special rule tells more.
    """
    if not tagged.articles:
        return None
    first = tagged.articles[0].jurisdiction
    return [a for a in tagged.articles if a.jurisdiction == first][-1]


def decision_of(tagged: TaggedColumn) -> str:
    """Return the reason to write beside an accepted suggestion.

    Guarantees:
        It names the rule and the evidence.
        It tells nothing that was counted or recognised in values, but that they were.
    """
    found = tagged.suggestion
    rule = rule_of(tagged)
    law = f"`{rule.id}` ({rule.reference})" if rule else "no rule of the laws asked"
    public = _strongest(found, PUBLIC_KINDS)
    if public is not None:
        why = public.text
    elif _strongest(found, tuple(KIND_WORDS)) is not None:
        why = "recognised by its values, on the machine that holds them"
    else:
        why = NOTHING_KNOWN
    return f"{found.category} by {law}: {why}"


def explain(tagged: TaggedColumn, catalogues: Sequence[LawCatalogue]) -> str:
    """Return the whole chain from evidence to articles, for people."""
    found = tagged.suggestion
    lines = [
        f"{full_name(found)}: {found.tier}, {found.category}",
        f"  score {found.score:.2f} of 1 (expected sensitivity), names read as "
        f"`{found.language}`",
    ]
    if found.review:
        lines += _wrapped(
            "REVIEW: the evidence is weak or in conflict. A person must decide; until "
            "then it is protected at least as strongly as most of its table.", "  "
        )  # fmt: skip
    lines += ["", "evidence, the strongest first (weights are log-odds)"]
    for item in found.evidence:
        about = f"{KIND_WORDS[item.kind]}, for {item.category or item.tier or 'none'}"
        lines += _wrapped(f"{item.weight:+.1f}  {about}: {item.text}", "  ", "        ")
    if not found.evidence:
        lines.append(f"  {NOTHING_KNOWN}")
    for proxy in found.proxies:
        lines += _wrapped(f"proxy risk: {proxy.words}", "  ", "        ")
    for catalogue in catalogues:
        lines += ["", *_wrapped(catalogue.title, "")]
        own = {rule.article.id for rule in catalogue.rules}
        articles = [a for a in tagged.articles if a.id in own]
        for article in articles:
            lines.append(f"  {article.reference}  [{article.id}]")
            lines += _wrapped(article.obligation, "    ")
        if not articles:
            lines.append("  no rule of this law speaks of such a column")
    return "\n".join(lines)


def full_name(found: Suggestion) -> str:
    """Return table and name of a column, as one writes it with a dot."""
    column = found.column
    return f"{column.table}.{column.name}" if column.table else column.name


def _wrapped(text: str, indent: str, hanging: str | None = None) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_on_hyphens=False,
    )
