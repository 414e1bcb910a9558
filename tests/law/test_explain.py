# SPDX-License-Identifier: Apache-2.0
"""Sentences that a person can disagree with; none repeats what values showed."""

import json

import pytest

from lexfed.law.articles import load_catalogues, with_articles
from lexfed.law.catalogue import BUILT_IN
from lexfed.law.explanations import (
    NOTHING_KNOWN,
    PUBLIC_KINDS,
    Proposal,
    decision_of,
    explain,
    reason_of,
    rule_of,
)
from lexfed.law.site_tags import SiteTag
from lexfed.law.tagger.suggestions import (
    DescribedColumn,
    Proxy,
    Suggestion,
    TagEvidence,
)
from lexfed.report.documents.tag_sheet import tag_csv, tag_page

LAWS = load_catalogues(BUILT_IN)
NAME = TagEvidence("name", "special", "health", 4.0, "the name says `hiv`")
PACK = TagEvidence("pack", "special", "health", 6.0, "known to standards")
AGAINST = TagEvidence("table", "personal", "location", 2.0, "a table of places")
COUNTED = TagEvidence("statistics", "special", "health", 9.0, "3.7 bits of entropy")
SEEN = TagEvidence(
    "values", "special", "health", 8.0, "83 % of the values are ICD codes"
)


def suggestion(*evidence: TagEvidence, review: bool = False) -> Suggestion:
    column = DescribedColumn("patients", "hiv_status", "", "", ("positive",))
    proxy = Proxy("origin", "ethnicity", "cramers_v", 0.81)
    return Suggestion(
        column, "special", "health", 0.97, review, evidence, "en", (proxy,)
    )


def test_what_a_name_says_comes_before_how_often_it_was_seen() -> None:
    assert reason_of(suggestion(PACK, NAME, AGAINST)) == NAME.text
    assert reason_of(suggestion(PACK, AGAINST)) == PACK.text
    weak = TagEvidence("name", "special", "health", 1.0, "perhaps")
    assert reason_of(suggestion(PACK, weak)) == PACK.text


def test_reasons_are_those_for_the_category_then_for_the_tier() -> None:
    tier = TagEvidence("pack", "special", "genetic", 3.0, "of the tier")
    assert reason_of(suggestion(AGAINST, tier)) == "of the tier"
    assert reason_of(suggestion(AGAINST)) == NOTHING_KNOWN
    doubt = TagEvidence("name", "special", "health", -3.0, "speaks against it")
    assert reason_of(suggestion(doubt)) == NOTHING_KNOWN
    assert reason_of(suggestion(COUNTED, PACK), PUBLIC_KINDS) == PACK.text


def test_a_decision_names_rule_and_evidence() -> None:
    (tagged,) = with_articles([suggestion(PACK, NAME)], LAWS)
    assert decision_of(tagged) == (
        "health by `gdpr.art9.health` (GDPR Art. 9(1), 4(15)): the name says `hiv`"
    )
    (nobody,) = with_articles([suggestion(NAME)], [])
    assert rule_of(nobody) is None
    assert decision_of(nobody).startswith("health by no rule of the laws asked: ")


def test_a_decision_tells_nothing_that_was_counted_or_seen_in_values() -> None:
    for evidence in ((SEEN, COUNTED), (SEEN, COUNTED, NAME)):
        (tagged,) = with_articles([suggestion(*evidence)], LAWS)
        told = decision_of(tagged)
        assert "83" not in told
        assert "bits" not in told
    (tagged,) = with_articles([suggestion(SEEN)], LAWS)
    assert decision_of(tagged).endswith("recognised by its values, on the machine "
                                        "that holds them")  # fmt: skip
    (empty,) = with_articles([suggestion()], LAWS)
    assert decision_of(empty).endswith(NOTHING_KNOWN)


def test_the_whole_chain() -> None:
    (tagged,) = with_articles([suggestion(NAME, PACK, SEEN, review=True)], LAWS)
    text = explain(tagged, LAWS)
    for part in (
        "patients.hiv_status: special, health", "score 0.97", "REVIEW",
        "+4.0  name, for health: the name says `hiv`", "+6.0  standard, for health",
        "proxy risk: it gives away `origin` (ethnicity) strongly",
        "[gdpr.art9.health]", "[hipaa.phi]", "[ccpa.spi.health]",
    ):  # fmt: skip
        assert part in text
    flat = " ".join(text.split())
    for article in tagged.articles:
        assert article.obligation in flat
    assert max(map(len, text.splitlines())) <= 88
    assert "positive" not in text


def test_the_strength_of_a_proxy_is_nowhere_told_as_a_figure() -> None:
    """It was counted in the data: only a word of it is shown, and none leaves."""
    found = suggestion(NAME)
    (tagged,) = with_articles([found], LAWS)
    shown = (explain(tagged, LAWS), json.dumps(tagged.to_dict()), tag_csv([tagged]))
    for text in (*shown, "".join(tag_page([tagged], LAWS, "x.csv"))):
        assert "strongly" in text
        assert "0.81" not in text
    sent = (SiteTag.of(found), Proposal.of(found).to_dict(), decision_of(tagged))
    for text in map(str, sent):
        assert "origin" not in text
        assert "0.81" not in text
    assert "0.81" not in repr(found)


@pytest.mark.parametrize(
    ("strength", "word"),
    [(1.0, "almost fully"), (0.9, "almost fully"), (0.89, "strongly"),
     (0.6, "strongly"), (0.59, "in part"), (0.3, "in part")],
)  # fmt: skip
def test_the_strength_of_a_proxy_is_one_of_three_words(
    strength: float, word: str
) -> None:
    proxy = Proxy("origin", "ethnicity", "pearson", strength)
    assert proxy.words == f"it gives away `origin` (ethnicity) {word}"


def test_laws_that_are_silent_say_so() -> None:
    column = DescribedColumn("", "row_id")
    found = Suggestion(column, "non_personal", "technical", 0.0, False, (), "en")
    (tagged,) = with_articles([found], LAWS)
    text = explain(tagged, LAWS)
    assert text.startswith("row_id: non_personal, technical\n")
    assert text.count("no rule of this law speaks of such a column") == 2
    assert NOTHING_KNOWN in text
    assert "REVIEW" not in text
