# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from lexfed.report.profile import plots
from lexfed.report.profile.page import profile_html
from lexfed.report.profile.wording import gist, interval, number, persons, value_text
from lexfed.sketch.profile.answers import ProfiledHistogram, ProfiledNumber, ValueCount
from lexfed.sketch.profile.federation_profile import ColumnProfile, FederationProfile
from support.sketch.profile_samples import HOSTILE, LONG, empty, odd, whole

ZERO = ProfiledNumber(0.0, 0.0, 0.0)


class Tags(HTMLParser):
    """All tags, with what they would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("href", "src")
        ]


@pytest.mark.parametrize("make", [whole, odd, empty])
def test_the_page_runs_nothing_and_fetches_nothing(make) -> None:  # type: ignore[no-untyped-def]
    tags = Tags(profile_html(make(), ["Paid: `2`.", HOSTILE]))
    assert "script" not in tags.names
    assert all(each.startswith(("#", "data:,")) for each in tags.addresses)
    assert tags.names.count("h1") == 1


def test_text_of_others_is_shown_as_text() -> None:
    page = profile_html(odd(), [HOSTILE])
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert "\\u202eabc" in page


def test_every_number_stands_with_its_interval() -> None:
    profile = whole()
    page = profile_html(profile, ["Paid."])
    for column in profile.columns:
        for quantile in column.quantiles:
            assert interval(quantile.at) in page
        for listed in column.values:
            assert interval(listed.count) in page
        for pair in column.distances:
            assert interval(pair.distance) in page
    for overlap in profile.overlaps:
        assert f"{value_text(overlap.persons)}</td>" in page
        assert interval(overlap.persons) in page


def test_a_test_run_is_stamped() -> None:
    page = profile_html(empty(), ["NOT PRIVATE", "ε 2.00", "special 1.34"])
    assert '<p class="stamp">NOT PRIVATE</p>' in page
    assert '<p class="lede">ε 2.00</p>' in page
    assert "<p>special 1.34</p>" in page


def test_every_link_leads_somewhere() -> None:
    page = profile_html(whole(), [])
    for address in Tags(page).addresses:
        assert address == "data:," or f'id="{address[1:]}"' in page


def test_long_lists_are_cut_and_say_so() -> None:
    few = tuple(ValueCount(f"v{at}", ZERO) for at in range(45))
    column = ColumnProfile("ward", "category", "personal", values=few)
    page = profile_html(FederationProfile(5.0, (), (column,)), [])
    assert "5 more values are in the file" in page
    assert "v39" in page
    assert "v41" not in page
    crowded = profile_html(odd(), [])
    assert "38 more pairs" in crowded
    assert "38 more, with smaller distances" in crowded


def test_notes_say_what_to_do() -> None:
    page = profile_html(whole(), [])
    assert "No range stands out of the noise: declare one, or pay more." in page
    assert "Nothing stands out of the noise: pay more to see it." in page


def test_bars_are_put_together_until_noise_is_small() -> None:
    calm = ProfiledHistogram(
        tuple(map(float, range(65))), (100.0,) * 64, (5.0,) * 64, ZERO, ZERO
    )
    assert plots.put_together(calm) is calm
    noisy = plots.put_together(replace(calm, reaches=(50.0,) * 64))
    assert len(noisy.counts) == 8
    assert noisy.counts[0] == 800.0
    assert noisy.reaches[0] == pytest.approx(50 * 8**0.5)
    assert noisy.edges == tuple(map(float, range(0, 65, 8)))
    by_size = replace(calm, reaches=(50.0,) * 64, by_size=True)
    assert plots.put_together(by_size) is by_size


def test_bars_without_quantiles_have_no_box() -> None:
    bars = ProfiledHistogram((0.0, 1.0, 2.0), (5.0, -1.0), (2.0, 2.0), ZERO, ZERO)
    drawn = plots.histogram(bars, (), None, "x")
    assert 'class="box"' not in drawn
    assert drawn.count('class="soft"') == 2
    column = ColumnProfile("x", "number", "personal", histogram=bars)
    assert "Share of values" not in profile_html(
        FederationProfile(5.0, (), (column,)), []
    )


def test_drawings_stay_inside() -> None:
    for profile in (whole(), odd()):
        for column in profile.columns:
            if column.histogram is None:
                continue
            drawn = plots.histogram(
                column.histogram, column.quantiles, column.range, "x"
            )
            for name, value in re.findall(r' (x1|x2|x|cx)="([^"]*)"', drawn):
                assert -1 <= float(value) <= plots.WIDTH, (column.name, name, value)
            for name, value in re.findall(r' (y1|y2|y|cy)="([^"]*)"', drawn):
                assert -1 <= float(value) <= 220, (column.name, name, value)


def test_whiskers_of_unknown_ends_go_to_the_edge() -> None:
    drawn = plots.whisker(ProfiledNumber(5.0, None, None), 10.0, "x", bar=False)
    assert 'x1="1" y1="8" x2="199" y2="8" class="whisker"' in drawn


@pytest.mark.parametrize(
    ("value", "precision", "shown"),
    [
        (0.0, 0.03, "0"),
        (1234.56, 0.0, "1,234.56"),
        (-1234.5, 120.0, "-1,230"),
        (2.5e-9, 1e-10, "2.50e-09"),
        (4.2e15, 1e14, "4.20e+15"),
        (12345678.0, 1e9, "1.2e+07"),
        (5.0, 1e-12, "5.0000000"),
        (12.3, 300.0, "12"),
        (0.00123, 0.0004, "0.0012"),
    ],
)
def test_numbers_have_the_digits_that_they_bear(
    value: float, precision: float, shown: str
) -> None:
    assert number(value, precision) == shown


def test_what_is_not_known_is_said() -> None:
    assert interval(ProfiledNumber(1.0, None, None)) == "not known"
    assert interval(ProfiledNumber(1.0, None, 2.0)).endswith("or less")
    assert persons(1.0) == "1 person"
    blank = ColumnProfile("x", "category", "personal")
    assert gist(blank) == "not known"
    values = tuple(ValueCount(LONG[:16], ZERO, whole=False) for _ in range(8))
    assert gist(replace(blank, values=values)).endswith("… and 2 more")
