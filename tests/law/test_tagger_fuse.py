# SPDX-License-Identifier: Apache-2.0
"""Witnesses are added with their shares, and doubt asks a person."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.law.tagger.column import CATEGORIES, CATEGORIES_OF, TIER_OF, TIERS
from lexfed.law.tagger.fuse import (
    Answer,
    answer,
    dominant_tier,
    floored,
    pool,
    probabilities,
)
from lexfed.law.tagger.settings import Settings

ODDS = st.dictionaries(st.sampled_from(CATEGORIES), st.floats(-20.0, 20.0))


def test_every_category_belongs_to_one_tier() -> None:
    assert len(CATEGORIES) == len(set(CATEGORIES)) == 27
    assert {TIER_OF[c] for c in CATEGORIES} == set(TIERS)


@given(ODDS, st.sampled_from(TIERS), st.sampled_from((3, 4)))
@hypothesis_settings(max_examples=300, derandomize=True)
def test_the_score_is_between_0_and_1(
    odds: dict[str, float], dominant: str, tiers: int
) -> None:
    assert sum(probabilities(odds).values()) == pytest.approx(1.0)
    found = answer(odds, Settings(tiers=tiers))
    assert 0.0 <= found.score <= 1.0


@given(ODDS, st.sampled_from(["special", "personal", "non_personal"]))
@hypothesis_settings(max_examples=300, derandomize=True)
def test_a_column_under_review_has_at_least_the_dominant_tier(
    odds: dict[str, float], dominant: str
) -> None:
    before = answer(odds, Settings())
    found = floored(before, odds, dominant, Settings())
    assert found.category in CATEGORIES_OF[found.tier]
    if found.review:
        assert TIERS.index(found.tier) <= TIERS.index(dominant)
        assert found.tier != "non_personal"
    else:
        assert found == before


def test_the_dominant_tier_is_that_of_most_sure_answers() -> None:
    sure = [Answer("special", "health", 1.0, False)] * 2
    other = Answer("personal", "location", 0.5, False)
    keys = [Answer("identifier", "person_key", 1.0, False)] * 5
    doubtful = [Answer("personal", "location", 0.5, True)] * 5
    assert dominant_tier([*sure, other, *keys, *doubtful]) == "special"
    assert dominant_tier([*keys, *doubtful]) == "personal"


@pytest.mark.parametrize("dominant", TIERS)
def test_no_evidence_is_never_non_personal_and_goes_to_review(dominant: str) -> None:
    found = floored(answer({}, Settings()), {}, dominant, Settings())
    assert found.review
    assert found.tier != "non_personal"
    assert TIERS.index(found.tier) <= TIERS.index(dominant)


@pytest.mark.parametrize("category", CATEGORIES)
def test_strong_evidence_decides(category: str) -> None:
    found = answer({category: 8.0}, Settings())
    assert (found.category, found.tier) == (category, TIER_OF[category])
    assert not found.review


def test_two_strong_witnesses_against_each_other_ask_a_person() -> None:
    found = answer({"health": 6.0, "technical": 6.0}, Settings())
    assert found.review


def test_the_bounds_of_the_score_are_settings() -> None:
    odds = {"business": 4.0, "health": 2.0}
    assert not answer(odds, Settings()).review
    assert answer(odds, Settings(low=0.05)).review
    personal = {"demographic": 5.0, "health": 4.0}
    assert answer(personal, Settings(high=0.55, margin=0.0)).review


def test_the_margin_is_a_setting() -> None:
    odds = {"health": 3.0}
    assert not answer(odds, Settings(margin=0.1, high=0.6)).review
    assert answer(odds, Settings(margin=0.95, high=0.6)).review


def test_with_three_tiers_identifiers_count_as_special() -> None:
    found = answer({"person_key": 8.0}, Settings(tiers=3))
    assert (found.tier, found.category) == ("special", "person_key")


def test_alpha_shifts_weight_from_metadata_to_semantics() -> None:
    metadata, network = {"health": 3.0}, {"technical": 3.0}
    even = pool(metadata, {}, network, Settings(alpha=0.5))
    assert even["health"] == even["technical"] == 3.0
    names = pool(metadata, {}, network, Settings(alpha=1.0))
    assert (names["health"], names["technical"]) == (6.0, 0.0)
    meaning = pool(metadata, {}, network, Settings(alpha=0.0))
    assert (meaning["health"], meaning["technical"]) == (0.0, 6.0)


def test_statistics_shifts_weight_from_the_network_to_the_values() -> None:
    values, network = {"contact": 2.0}, {"technical": 2.0}
    settings = Settings(alpha=0.5, statistics=0.75)
    found = pool({}, values, network, settings)
    assert found["contact"] == pytest.approx(3.0)
    assert found["technical"] == pytest.approx(1.0)


def test_metadata_alone_count_in_full() -> None:
    assert pool({"health": 3.0}, {}, {}, Settings(alpha=0.1)) == {"health": 3.0}


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"statistics": -0.1}, "statistics"),
        ({"low": 0.8}, "low"),
        ({"high": 2.0}, "high"),
        ({"margin": 7.0}, "margin"),
        ({"tiers": 5}, "tiers"),
    ],
)
def test_settings_out_of_range_are_refused(
    given_: dict[str, float], named: str
) -> None:
    with pytest.raises(ConfigError, match=f"`{named}`"):
        Settings(**given_)  # type: ignore[arg-type]
