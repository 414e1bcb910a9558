# SPDX-License-Identifier: Apache-2.0
"""The page of a profile in a real browser: silent, offline, whole at every width."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lexfed.report.documents.run_documents import print_pdf
from lexfed.report.profile.page import profile_html
from lexfed.sketch.profile.federation_profile import FederationProfile
from support.browser import (
    IN_BROWSER,
    check_nothing_sticks_out,
    check_silent_and_offline,
)
from support.sketch.profile_samples import HOSTILE, empty, odd, whole

pytestmark = IN_BROWSER
PROFILES: dict[str, Callable[[], FederationProfile]] = {
    "whole": whole,
    "odd": odd,
    "empty": empty,
}


@pytest.fixture(scope="module", params=PROFILES, ids=str)
def page_file(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("profiled") / "profile.html"
    page = profile_html(PROFILES[request.param](), ["Paid.", HOSTILE])
    path.write_text(page, encoding="utf-8")
    return path


def test_the_page_says_nothing_and_asks_nobody(
    browser: Browser, page_file: Path
) -> None:
    check_silent_and_offline(browser, page_file)


@pytest.mark.parametrize(("width", "media"), [(1400, "screen"), (1100, "screen"),
                                              (700, "screen"), (360, "screen"),
                                              (673, "print")])  # fmt: skip
def test_nothing_sticks_out(
    width: int, media: str, browser: Browser, page_file: Path
) -> None:
    check_nothing_sticks_out(browser, page_file, width, media)


def test_labels_of_an_axis_do_not_overlap(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(page_file.as_uri())
    met = page.evaluate(
        """() => [...document.querySelectorAll('section.column svg')].flatMap(svg => {
            const all = [...svg.querySelectorAll('text[text-anchor=middle]')]
                .map(e => e.getBoundingClientRect())
            return all.slice(1).filter((box, at) => box.left < all[at].right + 2)
        }).length"""
    )
    assert met == 0
    page.close()


def test_a_column_prints_on_paper(page_file: Path) -> None:
    paper = page_file.with_suffix(".pdf")
    print_pdf(page_file, paper)
    assert paper.read_bytes().startswith(b"%PDF-")
