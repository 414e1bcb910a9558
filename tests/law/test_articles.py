# SPDX-License-Identifier: Apache-2.0
"""Columns meet their articles: by category, by words in any language, law by law."""

from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.law.articles import load_catalogues, with_articles, words_of
from lexfed.law.catalogue import BUILT_IN
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    TIER_OF,
    DescribedColumn,
    Suggestion,
    TagEvidence,
)

LAWS = load_catalogues(BUILT_IN)
MINE = """\
version = 1
jurisdiction = "mine"
title = "A law of our own"
[[rule]]
id = "mine.1"
reference = "Mine 1"
obligation = "o"
categories = ["health"]
"""


def suggestion(
    column: DescribedColumn, category: str, *evidence: TagEvidence
) -> Suggestion:
    return Suggestion(column, TIER_OF[category], category, 0.9, False, evidence, "en")


def ids(column: DescribedColumn, category: str, *evidence: TagEvidence) -> set[str]:
    (found,) = with_articles([suggestion(column, category, *evidence)], LAWS)
    return {article.id for article in found.articles}


@pytest.mark.parametrize(
    ("name", "category", "expected"),
    [
        ("ssn", "direct_identifier", {"gdpr.art87", "hipaa.G"}),
        ("first_name", "direct_identifier", {"hipaa.A"}),
        ("LastName", "direct_identifier", {"hipaa.A"}),
        ("passportNo", "direct_identifier", {"gdpr.art87", "hipaa.K"}),
        ("email", "contact", {"hipaa.F"}),
        ("mobile_phone", "contact", {"hipaa.D"}),
        ("date_of_birth", "demographic", {"hipaa.C"}),
        ("geburtsdatum", "demographic", {"hipaa.C"}),
        ("fecha_nacimiento", "demographic", {"hipaa.C"}),
        ("date_naissance", "demographic", {"hipaa.C"}),
        ("data_nascimento", "demographic", {"hipaa.C"}),
        ("patient_id", "person_key", {"hipaa.H"}),
        ("versichertennummer", "person_key", {"hipaa.I"}),
        ("loan_id", "person_key", {"hipaa.R"}),
        ("ip_address", "online_identifier", {"hipaa.O"}),
        ("hiv_status", "health", {"gdpr.art9.health", "hipaa.phi", "ccpa.spi.health"}),
        ("lat", "precise_geolocation", {"ccpa.spi.geolocation"}),
        ("party", "political", {"gdpr.art9.political", "ccpa.political"}),
    ],
)
def test_names_of_any_language_meet_their_articles(
    name: str, category: str, expected: set[str]
) -> None:
    assert expected <= ids(DescribedColumn("people", name), category)


def test_a_description_is_read_too() -> None:
    assert "hipaa.G" not in ids(DescribedColumn("t", "sn"), "direct_identifier")
    described = DescribedColumn("t", "sn", "social security number of the person")
    assert "hipaa.G" in ids(described, "direct_identifier")


def test_a_bare_key_is_that_of_its_table() -> None:
    assert "hipaa.H" in ids(DescribedColumn("patients", "Id"), "person_key")
    assert "hipaa.I" in ids(DescribedColumn("members", "key"), "person_key")
    assert "hipaa.R" in ids(DescribedColumn("people", "Id"), "person_key")
    assert "hipaa.R" in ids(DescribedColumn("patients", "loan_id"), "person_key")


def test_the_type_of_a_date_is_a_date() -> None:
    assert "hipaa.C" not in ids(DescribedColumn("t", "admitted"), "behavioural")
    for dtype in ("date", "datetime64[ns]", "TIMESTAMP WITH TIME ZONE"):
        assert "hipaa.C" in ids(
            DescribedColumn("t", "admitted", "", dtype), "behavioural"
        )
    assert "hipaa.C" not in ids(
        DescribedColumn("t", "x", "", "candidate"), "behavioural"
    )


def test_a_standard_explains_its_cryptic_names() -> None:
    pack = TagEvidence(
        "pack", "identifier", "person_key", 5.0, "the table looks like it"
    )
    assert "hipaa.I" in ids(DescribedColumn("x", "DESYNPUF_ID"), "person_key", pack)
    assert "hipaa.R" in ids(DescribedColumn("x", "DESYNPUF_ID"), "person_key")
    other = TagEvidence("pack", "special", "health", 5.0, "the table looks like it")
    assert "hipaa.R" in ids(DescribedColumn("x", "DESYNPUF_ID"), "person_key", other)


def test_a_name_of_many_standards_is_explained_by_none() -> None:
    place = TagEvidence("pack", "personal", "location", 5.0, "known to standards")
    (law,) = load_catalogues(["hipaa"])
    rule = replace(law.rules[0], categories=frozenset({"location"}), words=("user",))
    found = suggestion(DescribedColumn("x", "timezone"), "location", place)
    (tagged,) = with_articles([found], [replace(law, rules=(rule,))])
    assert tagged.articles == ()


@pytest.mark.parametrize(
    ("seen", "category", "expected"),
    [
        ("e-mail addresses", "contact", "hipaa.F"),
        ("street addresses", "contact", "hipaa.B.address"),
        ("international telephone numbers", "contact", "hipaa.D"),
        ("personal names from a list", "direct_identifier", "hipaa.A"),
        ("US social security numbers", "direct_identifier", "hipaa.G"),
        ("Swedish personal numbers", "direct_identifier", "gdpr.art87"),
        ("licence plates", "direct_identifier", "hipaa.L"),
        ("vehicle numbers (VIN)", "person_key", "hipaa.L"),
        ("IPv4 addresses", "online_identifier", "hipaa.O"),
        ("device numbers (IMEI)", "online_identifier", "hipaa.M"),
    ],
)
def test_what_was_recognised_in_values_counts(
    seen: str, category: str, expected: str
) -> None:
    text = f"at least 90% of the sample are {seen}, as the name or description says"
    item = TagEvidence("values", TIER_OF[category], category, 4.0, text)
    column = DescribedColumn("t", "c17")
    found = ids(column, category, item)
    assert expected in found
    assert expected not in ids(column, category)
    assert ("hipaa.A" in found) == (expected == "hipaa.A")
    assert ("hipaa.B.address" in found) == (expected == "hipaa.B.address")


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_law_answers_for_itself_and_nothing_else_changes(category: str) -> None:
    found = suggestion(DescribedColumn("t", "x"), category)
    (whole,) = with_articles([found], LAWS)
    assert whole.suggestion is found
    alone = [with_articles([found], [law])[0].articles for law in LAWS]
    assert whole.articles == tuple(a for articles in alone for a in articles)


def test_two_laws_that_disagree_both_stand_and_the_tier_is_the_strictest() -> None:
    (found,) = with_articles(
        [suggestion(DescribedColumn("t", "lat"), "precise_geolocation")], LAWS
    )
    assert found.suggestion.tier == "special"
    assert {"gdpr.art35.location", "ccpa.spi.geolocation"} <= {
        article.id for article in found.articles
    }
    (gdpr,) = with_articles([found.suggestion], load_catalogues(["gdpr"]))
    assert gdpr.suggestion.tier == "special"


def test_json_has_exactly_these_keys_and_no_value() -> None:
    column = DescribedColumn("t", "mail", "", "", ("secret@example.org",))
    item = TagEvidence("name", "identifier", "contact", 1.23456, "because")
    (found,) = with_articles([suggestion(column, "contact", item)], LAWS)
    plain = found.to_dict()
    assert list(plain) == [
        "table", "column", "tier", "category", "score", "review", "articles",
        "evidence",
    ]  # fmt: skip
    assert all(set(a) == {"id", "jurisdiction", "reference"} for a in plain["articles"])
    assert plain["evidence"] == [
        {
            "kind": "name", "tier": "identifier", "category": "contact",
            "weight": 1.2346, "text": "because",
        }
    ]  # fmt: skip
    assert "secret" not in repr(plain)


def test_words_come_in_runs_and_columns_in_order() -> None:
    first, second = words_of(
        [DescribedColumn("a", "sozialversicherungsnummer"), DescribedColumn("b", "x")]
    )
    assert {"social security", "social security number"} <= first
    assert second == frozenset({"x"})
    assert words_of([]) == []


def test_catalogues_by_name_and_by_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    found = load_catalogues(["hipaa", "hipaa", "gdpr"], [path, path])
    assert [law.jurisdiction for law in found] == ["hipaa", "gdpr", "mine"]
    (tagged,) = with_articles(
        [suggestion(DescribedColumn("t", "hiv"), "health")], found
    )
    assert tagged.articles[-1].id == "mine.1"
    assert load_catalogues([]) == ()


def test_an_unknown_law_and_a_name_that_is_taken(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no law `lgpd` is known") as caught:
        load_catalogues(["gdpr", "lgpd"])
    assert "gdpr, hipaa, ccpa" in caught.value.hint
    path = tmp_path / "mine.toml"
    path.write_text(MINE.replace("mine.1", "gdpr.art10"))
    with pytest.raises(ConfigError, match=r"`gdpr\.art10` is in another catalogue too"):
        load_catalogues(["gdpr"], [path])
