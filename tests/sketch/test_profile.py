# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.sketch.estimates.intervals import from_variance
from lexfed.sketch.profile.answers import (
    ProfiledHistogram,
    ProfiledNumber,
    ProfiledQuantile,
)
from lexfed.sketch.profile.federation_profile import (
    MOST_BYTES,
    ColumnProfile,
    FederationProfile,
    ProfiledColumn,
    best,
    build_profile,
)
from lexfed.tiers import Tier
from support.sketch.profile_samples import PEOPLE, SITES, category, number, whole
from support.sketch.profile_tables import Federation


def column(profile: FederationProfile, name: str) -> ColumnProfile:
    found = profile.column(name)
    assert found is not None
    return found


def test_open_ranges_and_lists_are_found() -> None:
    profile = whole()
    age = column(profile, "age")
    assert age.found
    assert age.range is not None
    assert 0 <= age.range[0] < 30
    assert 75 < age.range[1] < 110
    assert age.missing is not None
    assert age.missing.value == pytest.approx(0.1, abs=0.01)
    kind = column(profile, "kind")
    assert kind.words == ("urgent", "planned")
    assert kind.found
    assert kind.notes == ()


def test_declared_ranges_and_lists_stay() -> None:
    profile = whole()
    assert column(profile, "height").range == (0.0, 128.0)
    assert not column(profile, "height").found
    assert column(profile, "ward").words == ("a", "b")
    assert column(profile, "smoker").words == ("no", "yes")
    assert column(profile, "smoker").other is not None


def test_sites_are_compared_where_each_has_its_own_table() -> None:
    profile = whole()
    (height,) = column(profile, "height").distances
    (ward,) = column(profile, "ward").distances
    assert height.distance.low is not None
    assert height.distance.low > 0
    assert ward.distance.low == 0
    assert column(profile, "age").distances == ()
    assert [pair.left for pair in profile.overlaps] == ["north"]
    assert [site.site for site in profile.elsewhere] == list(SITES)


def test_columns_without_an_answer_say_why() -> None:
    profile = whole()
    assert column(profile, "nothing").notes == ("no-range",)
    assert column(profile, "unasked").notes == ("nothing-seen",)
    assert profile.column("another") is None
    draw = Federation(8.0, 2)
    lost = build_profile(
        [
            draw.bins("age", [np.full(50, np.nan)], (0.0, 1.0)),
            draw.codes("ward", [np.full(50, np.nan)], 2),
            *draw.words("kind", {}),
            *draw.words("long", {"abcdefghijklmnopq": 500}),
            *draw.words("many", {f"{i:02}!": 99 for i in range(36)}),
        ],
        [number("age"), category("ward", ("a", "b")), category("kind"),
         category("long"), category("many")],
        ("north",),
        50,
    )  # fmt: skip
    assert [each.notes for each in lost.columns] == [
        ("nothing-seen",),
        ("nothing-seen",),
        ("no-values",),
        ("long-values",),
        ("many-values",),
    ]
    assert lost.columns[0].range is None
    assert lost.columns[3].words == ()


def test_missing_values_are_told_best_from_all_tables() -> None:
    parts = [from_variance(10.0, 4.0), from_variance(20.0, 1.0)]
    assert best(parts).value == pytest.approx(18.0)
    assert best(parts).variance == pytest.approx(0.8)
    assert best([from_variance(3.0, 0.0), *parts]).value == 3.0


@pytest.mark.no_cover
def test_missing_shares_are_covered() -> None:
    ages = np.append(np.full(3600, 40.0), np.full(400, np.nan))
    held = 0
    for seed in range(500):
        told = Federation(30.0, seed).number("age", ages)
        missing = build_profile(told, [number("age")], (), PEOPLE).columns[0].missing
        assert missing is not None
        assert missing.low is not None
        assert missing.high is not None
        held += missing.low <= 0.1 <= missing.high
    # Outside 91 to 98.6 % of 500 with probability 1e-4.
    assert 455 < held < 493


def test_bytes_are_read_back() -> None:
    profile = whole()
    data = profile.to_bytes()
    assert FederationProfile.from_bytes(data) == profile
    assert FederationProfile.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda plain: plain | {"more": 1}, "canonical"),
        (lambda plain: plain | {"lexfed_profile": 2}, "lexfed_profile"),
        (lambda plain: plain | {"people": -1}, "people"),
        (lambda plain: plain | {"people": "4000"}, "people"),
        (lambda plain: plain | {"columns": plain["columns"][:1] * 2}, "once"),
        (lambda plain: {"people": plain["people"]}, "sites"),
        (lambda plain: [plain], "an object"),
    ],
)
def test_what_is_no_profile_is_refused(edit, says: str) -> None:  # type: ignore[no-untyped-def]
    from lexfed.canonical import canonical_bytes

    changed = canonical_bytes(edit(json.loads(whole().to_bytes())))
    with pytest.raises(DataError, match=says) as refused:
        FederationProfile.from_bytes(changed, "there.json")
    assert refused.value.problems[0].where == "there.json"


@given(st.binary(max_size=50))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(DataError):
        FederationProfile.from_bytes(data)


def test_other_spellings_of_the_same_profile_are_refused() -> None:
    data = whole().to_bytes()
    for other in (data + b"\n", data.replace(b'"people":4000', b'"people":4e3')):
        with pytest.raises(DataError, match="canonical"):
            FederationProfile.from_bytes(other)
    huge = b" " * (MOST_BYTES + 1)
    with pytest.raises(DataError, match="more than any profile"):
        FederationProfile.from_bytes(huge)
    with pytest.raises(DataError, match="people"):
        FederationProfile.from_bytes(data.replace(b'"people":4000', b'"people":NaN'))


def test_answers_check_themselves() -> None:
    one = ProfiledNumber(1.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="low <= value"):
        ProfiledNumber(3.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="finite"):
        ProfiledNumber(float("nan"), None, None)
    with pytest.raises(ValueError, match="share"):
        ProfiledQuantile(1.0, one)
    bars = ProfiledHistogram((0.0, 1.0), (5.0,), (1.0,), one, one)
    for change, says in (
        ({"edges": (0.0,)}, "one more edge"),
        ({"edges": (1.0, 0.0)}, "rise"),
        ({"reaches": ()}, "each bar"),
        ({"reaches": (-1.0,)}, "around"),
        ({"counts": (float("inf"),)}, "finite"),
    ):
        with pytest.raises(ValueError, match=says):
            replace(bars, **change)
    with pytest.raises(ValueError, match="range that rises"):
        ColumnProfile("x", "number", "personal", range=(2.0, 1.0))
    with pytest.raises(ValueError, match="all quantiles"):
        ColumnProfile(
            "x", "number", "personal", quantiles=(ProfiledQuantile(0.5, one),)
        )
    with pytest.raises(ValueError, match="expected one of"):
        ColumnProfile("x", "number", "secret")


def test_declarations_check_themselves() -> None:
    with pytest.raises(ValueError, match="no `range` of a flag"):
        ProfiledColumn("x", "flag", Tier.PERSONAL, range=(0.0, 1.0))
    with pytest.raises(ValueError, match="no `values` of a number"):
        ProfiledColumn("x", "number", Tier.PERSONAL, values=("a",))
