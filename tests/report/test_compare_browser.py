# SPDX-License-Identifier: Apache-2.0
"""The comparison in a real browser: silent, offline, whole at every width."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lexfed.report.comparison.compared_runs import read_runs
from lexfed.report.comparison.page import compare_page
from report.compared import write_runs
from support.browser import (
    IN_BROWSER,
    check_accessible,
    check_nothing_sticks_out,
    check_silent_and_offline,
    check_words_of_charts,
)

pytestmark = IN_BROWSER
PAGES = {
    "alike": ("plain", "more", "none"),
    "apart": (
        "plain", "more", "elsewhere", "clients", "none", "seeded", "bare", "damaged",
        "missing", "interrupted", "refused",
    ),
    "hostile": ("hostile", "plain", "hostile"),
}  # fmt: skip


@pytest.fixture(params=PAGES, ids=str)
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "compare.html"
    runs = read_runs(write_runs(tmp_path, *PAGES[request.param]))
    path.write_text(compare_page(runs, "now"), encoding="utf-8")
    return path


def test_the_page_says_nothing_and_asks_nobody(
    browser: Browser, page_file: Path
) -> None:
    check_silent_and_offline(browser, page_file)


@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (390, "screen"),
                                              (673, "print")])  # fmt: skip
def test_nothing_sticks_out(
    width: int, media: str, browser: Browser, page_file: Path
) -> None:
    check_nothing_sticks_out(browser, page_file, width, media)


def test_everybody_can_read_it(browser: Browser, page_file: Path) -> None:
    check_accessible(browser, page_file)


@pytest.mark.parametrize("width", [1280, 390])
def test_words_in_charts_keep_their_size_and_their_distance(
    width: int, browser: Browser, page_file: Path
) -> None:
    check_words_of_charts(browser, page_file, width)


def test_names_of_rows_stay_in_sight(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(page_file.as_uri())
    left = """() => { const box = document.querySelector('#table .wide')
        box.scrollLeft = 200
        return box.querySelector('tbody tr:nth-child(2) th')
            .getBoundingClientRect().left - box.getBoundingClientRect().left }"""
    assert abs(page.evaluate(left)) < 2
    page.close()
