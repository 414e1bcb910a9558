# SPDX-License-Identifier: Apache-2.0
"""Suggested tags for a data-protection officer to check line by line.

A page to read and print, and a table to work in. Both leave room for a decision beside
every column. Names and descriptions come from outside: they are made visible
(`escaping`) and are shown as text.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from lexfed.law.articles import TaggedColumn
from lexfed.law.catalogue import Article, LawCatalogue
from lexfed.law.explanations import (
    KIND_WORDS,
    decision_of,
    fingerprint,
    reason_of,
)
from lexfed.law.tagger.suggestions import CATEGORIES, TIERS
from lexfed.report.markup import page_templates
from lexfed.report.markup.escaping import csv_cell, visible

HEADER = (
    "table", "column", "tier", "category", "score", "review", "articles", "obligations",
    "evidence", "decision", "reason of the decision",
)  # fmt: skip
"""Fields of the table; the last two are left empty, for a person to fill in."""


def tag_csv(columns: Sequence[TaggedColumn]) -> str:
    """Return the suggestions as CSV.

    Guarantees:
        No cell begins like a formula of a spreadsheet.
        One line for every column, in their order.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    for tagged in columns:
        suggestion = tagged.suggestion
        cells = (
            suggestion.column.table,
            suggestion.column.name,
            suggestion.tier,
            suggestion.category,
            f"{suggestion.score:.2f}",
            "review" if suggestion.review else "",
            "; ".join(article.reference for article in tagged.articles),
            " ".join(article.obligation for article in tagged.articles),
            "; ".join(
                [item.text for item in suggestion.evidence]
                + [f"proxy risk: {proxy.words}" for proxy in suggestion.proxies]
            ),
            "",
            "",
        )
        writer.writerow([csv_cell(cell) for cell in cells])
    return out.getvalue()


def tag_page(
    columns: Sequence[TaggedColumn],
    catalogues: Sequence[LawCatalogue],
    source: str,
    open_names: Collection[str] | None = None,
) -> Iterator[str]:
    """Yield the page in parts, because a schema may have very many columns.

    `source` names the tagged table, such as a file; `open_names` are the columns that
    are still to be decided, None for all. People decide on the page and download their
    decisions as TOML, which `lexfed tag --decisions` reads.

    Guarantees:
        One script, ours, and no address that a browser would fetch: the policy of the
        page lets nothing else run, and nothing leave.
        Text of others is shown as text, whatever it looks like.
        No value of a column is on it.
    """
    counts = Counter(tagged.suggestion.tier for tagged in columns)
    script = page_templates.PageScript.named("tags.js")
    return page_templates.pieces(
        "tags.html",
        source=source,
        columns=columns,
        count=len(columns),
        counts={tier: counts[tier] for tier in TIERS if counts[tier]},
        review=sum(tagged.suggestion.review for tagged in columns),
        local=any(_rests_on_values(tagged) for tagged in columns),
        articles=_articles(columns, catalogues),
        catalogues=catalogues,
        tagger=fingerprint(),
        kinds=KIND_WORDS,
        reason=reason_of,
        decision=lambda tagged: visible(decision_of(tagged))[:1000],
        is_open=lambda name: open_names is None or name in open_names,
        tiers=TIERS,
        categories=CATEGORIES,
        script=script.code,
        script_hash=script.allowed,
    )


def _rests_on_values(tagged: TaggedColumn) -> bool:
    kinds = {item.kind for item in tagged.suggestion.evidence}
    return bool(tagged.suggestion.proxies) or not kinds.isdisjoint(
        {"values", "statistics"}
    )


def _articles(
    columns: Sequence[TaggedColumn], catalogues: Sequence[LawCatalogue]
) -> list[tuple[str, list[tuple[Article, int]]]]:
    """Return the articles that apply to any column, by law, with numbers of columns."""
    uses = Counter(article.id for tagged in columns for article in tagged.articles)
    return [
        (
            catalogue.title,
            [
                (rule.article, uses[rule.article.id])
                for rule in catalogue.rules
                if uses[rule.article.id]
            ],
        )
        for catalogue in catalogues
    ]
