# SPDX-License-Identifier: Apache-2.0
"""Sites tag alone; together they are as strict as the strictest of them."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.law.site_tags import MergedTag, SiteTag, merge_site_tags
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    TIER_OF,
    TIERS,
    DescribedColumn,
    Suggestion,
    TagEvidence,
)
from lexfed.tiers import Tier


def tag(column: str, category: str, review: bool = False) -> SiteTag:
    return SiteTag("t", column, TIER_OF[category], category, review)


def test_the_strictest_counts_and_disagreement_is_shown() -> None:
    (found,) = merge_site_tags(
        {"north": [tag("x", "technical")], "south": [tag("x", "health")]}
    )
    assert (found.tier, found.category, found.review) == ("special", "health", True)
    assert found.disagree
    assert {site: by_site.tier for site, by_site in found.by_site.items()} == {
        "north": "non_personal",
        "south": "special",
    }


def test_an_identifier_at_one_site_is_one_for_all() -> None:
    (found,) = merge_site_tags({"a": [tag("x", "health")], "b": [tag("x", "contact")]})
    assert (found.tier, found.category) == ("identifier", "contact")


def test_sites_that_agree_need_no_review_unless_one_asks() -> None:
    (calm,) = merge_site_tags({"a": [tag("x", "health")], "b": [tag("x", "health")]})
    assert not calm.review
    assert not calm.disagree
    (asked,) = merge_site_tags(
        {"a": [tag("x", "health")], "b": [tag("x", "health", True)]}
    )
    assert asked.review
    assert not asked.disagree


def test_most_sites_of_the_tier_name_the_category() -> None:
    by_site = {"a": "genetic", "b": "health", "c": "health", "d": "location"}
    (found,) = merge_site_tags(
        {site: [tag("x", each)] for site, each in by_site.items()}
    )
    assert found.category == "health"
    (tied,) = merge_site_tags({"a": [tag("x", "health")], "b": [tag("x", "genetic")]})
    assert tied.category == "genetic"


def test_a_column_that_some_sites_lack() -> None:
    first, second = merge_site_tags(
        {"b": [tag("y", "health")], "a": [tag("x", "health"), tag("y", "health")]}
    )
    assert (first.column, first.missing) == ("x", ("b",))
    assert (second.column, second.missing) == ("y", ())
    assert merge_site_tags({}) == ()


def test_only_tier_category_and_review_leave_a_site() -> None:
    evidence = TagEvidence("statistics", "special", "health", 1.0, "entropy 3.7 bits")
    column = DescribedColumn("t", "x", "about it", "int", ("17",))
    suggestion = Suggestion(column, "special", "health", 0.97, True, (evidence,), "en")
    told = SiteTag.of(suggestion)
    assert {field.name for field in fields(SiteTag)} == {
        "table", "column", "tier", "category", "review",
    }  # fmt: skip
    assert told == SiteTag("t", "x", "special", "health", True)
    assert {field.name for field in fields(MergedTag)} == {
        "table", "column", "tier", "category", "review", "by_site", "missing",
    }  # fmt: skip


def test_what_a_site_may_not_say() -> None:
    with pytest.raises(DataError, match="column `x` is there twice"):
        merge_site_tags({"a": [tag("x", "health"), tag("x", "health")]})
    with pytest.raises(DataError, match="unknown category `wealth`"):
        SiteTag("t", "x", "special", "wealth", False)
    with pytest.raises(DataError, match="expected one of"):
        SiteTag("t", "x", "public", "health", False)


SITES = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(
        st.builds(
            SiteTag,
            st.just("t"),
            st.sampled_from(["x", "y", "z"]),
            st.sampled_from(TIERS),
            st.sampled_from(CATEGORIES),
            st.booleans(),
        ),
        unique_by=lambda by_site: by_site.column,
    ),
)


@given(SITES, st.randoms(use_true_random=False))
def test_no_site_is_above_and_order_changes_nothing(
    sites: dict[str, list[SiteTag]],
    random: "st.randoms",  # type: ignore[valid-type]
) -> None:
    found = merge_site_tags(sites)
    for merged in found:
        tiers = [Tier.parse(by_site.tier) for by_site in merged.by_site.values()]
        assert Tier.parse(merged.tier) == max(tiers)
        assert merged.review or not merged.disagree
        assert set(merged.by_site) | set(merged.missing) == set(sites)
    names = list(sites)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert merge_site_tags({name: sites[name] for name in names}) == found
