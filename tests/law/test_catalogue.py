# SPDX-License-Identifier: Apache-2.0
"""Catalogues of laws: every category has articles, mistakes in a file are named."""

from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.law.catalogue import BUILT_IN, load_catalogue, parse_catalogue
from lexfed.law.tagger.suggestions import CATEGORIES, CATEGORIES_OF, TIER_OF

HEAD = 'version = 1\njurisdiction = "x"\ntitle = "X"\n'
RULE = '[[rule]]\nid = "x.1"\nreference = "X 1"\nobligation = "o"\n'
HEALTH = f'{HEAD}{RULE}categories = ["health"]\n'

ART_9 = {
    "health", "genetic", "biometric", "ethnicity", "political", "religion", "union",
    "sex_life",
}  # fmt: skip


def ids(name: str, category: str, *words: str) -> set[str]:
    found = load_catalogue(name).articles(TIER_OF[category], category, set(words))
    return {article.id for article in found}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_says_where_it_is_written(name: str) -> None:
    catalogue = load_catalogue(name)
    assert catalogue.jurisdiction == name
    for rule in catalogue.rules:
        assert rule.article.id.startswith(f"{name}.")
        assert any(character.isdigit() for character in rule.article.reference)
        assert rule.article.obligation.endswith(".")


@pytest.mark.parametrize("category", [c for c in CATEGORIES if c in ART_9])
def test_special_categories_of_the_gdpr_are_those_of_article_9(category: str) -> None:
    assert any(found.startswith("gdpr.art9.") for found in ids("gdpr", category))


@pytest.mark.parametrize("category", [c for c in CATEGORIES if c not in ART_9])
def test_nothing_else_is_called_article_9(category: str) -> None:
    assert not any(found.startswith("gdpr.art9.") for found in ids("gdpr", category))


def test_every_personal_category_has_an_article_in_every_law() -> None:
    for name in BUILT_IN:
        for tier in ("special", "identifier"):
            for category in CATEGORIES_OF[tier]:
                assert ids(name, category), (name, category)
    assert ids("hipaa", "technical") == set()
    assert ids("ccpa", "business") == set()


@pytest.mark.parametrize(
    ("law", "category", "words", "expected"),
    [
        ("gdpr", "criminal", (), "gdpr.art10"),
        ("gdpr", "direct_identifier", ("ssn",), "gdpr.art87"),
        ("hipaa", "direct_identifier", ("first", "name"), "hipaa.A"),
        ("hipaa", "contact", ("email",), "hipaa.F"),
        ("hipaa", "contact", ("pager",), "hipaa.contact.other"),
        ("hipaa", "person_key", ("patient", "id"), "hipaa.H"),
        ("hipaa", "person_key", ("loan",), "hipaa.R"),
        ("hipaa", "demographic", ("birth", "date"), "hipaa.C"),
        ("hipaa", "online_identifier", ("ip",), "hipaa.O"),
        ("ccpa", "precise_geolocation", (), "ccpa.spi.geolocation"),
        ("ccpa", "citizenship_immigration", (), "ccpa.spi.origin_beliefs"),
        ("ccpa", "health", ("eeg",), "ccpa.spi.neural"),
    ],
)
def test_columns_meet_their_articles(
    law: str, category: str, words: tuple[str, ...], expected: str
) -> None:
    assert expected in ids(law, category, *words)


def test_laws_disagree_and_both_answers_stand() -> None:
    assert any("art9" in found for found in ids("gdpr", "political"))
    assert not any("spi" in found for found in ids("ccpa", "political"))
    assert not any("art9" in found for found in ids("gdpr", "precise_geolocation"))
    assert any("spi" in found for found in ids("ccpa", "precise_geolocation"))


def test_a_rule_with_words_needs_one_of_them() -> None:
    text = f'{HEALTH}words = ["blood"]\n'
    catalogue = parse_catalogue(text.encode(), "x")
    assert catalogue.articles("special", "health", {"blood", "group"})
    assert not catalogue.articles("special", "health", {"bloody"})


def test_otherwise_is_for_columns_that_no_word_met() -> None:
    other = RULE.replace("x.1", "x.2")
    text = f'{HEALTH}words = ["a"]\n{other}categories = ["health"]\notherwise = true\n'
    catalogue = parse_catalogue(text.encode(), "x")
    assert [a.id for a in catalogue.articles("special", "health", {"a"})] == ["x.1"]
    assert [a.id for a in catalogue.articles("special", "health", {"b"})] == ["x.2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml [", "not TOML"),
        ("\xff", "unknown key|not TOML"),
        (HEALTH.replace("version = 1", "version = 2"), "expected `version = 1`"),
        (HEALTH.replace('title = "X"', ""), "`title` is missing"),
        (f"{HEALTH}\n[extra]\n", "unknown key `extra`"),
        (HEAD, "it has no rules"),
        (f"{HEAD}rule = 3\n", "it has no rules"),
        (f"{HEAD}rule = [3]\n", "rule 1: not a table"),
        (HEALTH.replace('reference = "X 1"\n', ""), "rule 1: `reference` is missing"),
        (f"{HEALTH}colour = 1\n", "rule 1: unknown key `colour`"),
        (HEALTH.replace('["health"]', '"health"'), "not a list of texts"),
        (HEALTH.replace("health", "wealth"), "has the unknown `wealth`"),
        (f"{HEAD}{RULE}", "neither `categories` nor `tiers`"),
        (f'{HEALTH}words = ["a"]\notherwise = true\n', "exclude each other"),
        (f"{HEALTH}otherwise = 1\n", "not true or false"),
        (f'{HEALTH}{RULE}tiers = ["special"]\n', "`x.1` is there twice"),
        ("#" * (1 << 20) + "\n", "more than"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = " + "9" * 5000, "not TOML"),
        (HEALTH.replace('"x"', '"my law"'), "`jurisdiction` cannot be a name"),
        (HEALTH.replace('"x"', '"../x"'), "`jurisdiction` cannot be a name"),
    ],
)
def test_mistakes_in_a_file_are_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_catalogue(text.encode(), "x.toml")


def test_all_mistakes_at_once() -> None:
    text = f'{HEAD}{RULE}colour = 1\n{RULE}categories = ["wealth"]\n'
    with pytest.raises(ConfigError) as caught:
        parse_catalogue(text.encode(), "x.toml")
    assert len(caught.value.problems) == 4


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEALTH)
    found = load_catalogue(path)
    assert (found.jurisdiction, len(found.rules), len(found.digest)) == ("x", 1, 64)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_catalogue(tmp_path / "gone.toml")
