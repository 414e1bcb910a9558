# SPDX-License-Identifier: Apache-2.0
"""Witnesses are added with their shares, and doubt asks a person."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.law.tagger.fusion import (
    FusedTag,
    dominant_tier,
    fused_probabilities,
    fused_tag,
    probabilities,
    raised_to_table_tier,
)
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    CATEGORIES_OF,
    TIER_OF,
    TIERS,
    TaggerSettings,
)

ODDS = st.dictionaries(st.sampled_from(CATEGORIES), st.floats(-20.0, 20.0))
EVEN = dict.fromkeys(CATEGORIES, 1.0 / len(CATEGORIES))


DEFAULTS = TaggerSettings()


def judge(odds: Mapping[str, float], settings: TaggerSettings = DEFAULTS) -> FusedTag:
    strongest = max(odds.values(), default=0.0)
    return fused_tag(probabilities(odds), strongest, settings)


def sure_of(category: str) -> dict[str, float]:
    return {one: 1.0 if one == category else 0.0 for one in CATEGORIES}


def test_every_category_belongs_to_one_tier() -> None:
    assert len(CATEGORIES) == len(set(CATEGORIES)) == 27
    assert {TIER_OF[c] for c in CATEGORIES} == set(TIERS)


@given(ODDS, st.sampled_from((3, 4)))
@hypothesis_settings(max_examples=300)
def test_the_score_is_between_0_and_1(odds: dict[str, float], tiers: int) -> None:
    assert sum(probabilities(odds).values()) == pytest.approx(1.0)
    assert 0.0 <= judge(odds, TaggerSettings(tiers=tiers)).score <= 1.0


@given(ODDS, st.sampled_from(["special", "personal", "non_personal"]))
@hypothesis_settings(max_examples=300)
def test_a_column_under_review_has_at_least_the_dominant_tier(
    odds: dict[str, float], dominant: str
) -> None:
    before = judge(odds)
    found = raised_to_table_tier(
        before, probabilities(odds), dominant, TaggerSettings()
    )
    assert found.category in CATEGORIES_OF[found.tier]
    if found.review and found.tier != "identifier":
        assert TIERS.index(found.tier) <= TIERS.index(dominant)
        assert found.tier != "non_personal"
    else:
        assert found == before


def test_the_dominant_tier_is_that_of_most_sure_answers() -> None:
    sure = [FusedTag("special", "health", 1.0, False)] * 2
    other = FusedTag("personal", "location", 0.5, False)
    keys = [FusedTag("identifier", "person_key", 1.0, False)] * 5
    doubtful = [FusedTag("personal", "location", 0.5, True)] * 5
    assert dominant_tier([*sure, other, *keys, *doubtful]) == "special"
    assert dominant_tier([*keys, *doubtful]) == "personal"


@pytest.mark.parametrize("dominant", TIERS)
def test_no_evidence_is_never_non_personal_and_goes_to_review(dominant: str) -> None:
    found = raised_to_table_tier(
        judge({}), probabilities({}), dominant, TaggerSettings()
    )
    assert found.review
    assert found.tier != "non_personal"
    assert TIERS.index(found.tier) <= TIERS.index(dominant)


@pytest.mark.parametrize("category", CATEGORIES)
def test_strong_evidence_decides(category: str) -> None:
    found = judge({category: 8.0})
    assert (found.category, found.tier) == (category, TIER_OF[category])
    assert not found.review


def test_two_strong_witnesses_against_each_other_ask_a_person() -> None:
    assert judge({"health": 6.0, "technical": 6.0}).review


def test_the_bounds_of_doubt_are_settings() -> None:
    unlikely, likely = {"business": 4.0, "health": 2.0}, {"health": 4.0}
    assert not judge(unlikely).review
    assert judge(unlikely, TaggerSettings(low=0.02)).review
    assert not judge(likely).review
    assert judge(likely, TaggerSettings(high=0.99)).review


def test_with_three_tiers_identifiers_count_as_special() -> None:
    found = judge({"person_key": 8.0}, TaggerSettings(tiers=3))
    assert (found.tier, found.category) == ("special", "person_key")


def test_alpha_is_the_share_of_metadata_against_the_network() -> None:
    names, network = {"health": 30.0}, sure_of("technical")
    found = fused_probabilities(names, {}, network, TaggerSettings(alpha=0.7))
    assert found["health"] == pytest.approx(0.7)
    assert found["technical"] == pytest.approx(0.3)


def test_statistics_is_the_share_of_values_against_the_network() -> None:
    values, network = {"contact": 30.0}, sure_of("technical")
    found = fused_probabilities(
        values, values, network, TaggerSettings(alpha=0.0, statistics=0.8)
    )
    assert found["contact"] == pytest.approx(0.8)
    assert found["technical"] == pytest.approx(0.2)


def test_a_part_that_is_missing_takes_no_share() -> None:
    odds = {"health": 3.0}
    assert fused_probabilities(
        odds, {}, None, TaggerSettings(alpha=0.1)
    ) == probabilities(odds)
    weak = fused_probabilities(odds, {"contact": 0.1}, EVEN, TaggerSettings(alpha=0.0))
    assert weak == pytest.approx(EVEN)


def test_no_network_talks_over_facts() -> None:
    values, network = {"account_credential": 6.0}, sure_of("technical")
    found = fused_probabilities(values, values, network, TaggerSettings())
    assert max(found, key=lambda category: found[category]) == "account_credential"


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"statistics": -0.1}, "statistics"),
        ({"low": 0.8}, "low"),
        ({"high": 2.0}, "high"),
        ({"tiers": 5}, "tiers"),
    ],
)
def test_settings_out_of_range_are_refused(
    given_: dict[str, float], named: str
) -> None:
    with pytest.raises(ConfigError, match=f"`{named}`"):
        TaggerSettings(**given_)  # type: ignore[arg-type]
