# SPDX-License-Identifier: Apache-2.0
"""The page of a profile in a real browser: silent, offline, whole at every width."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from lexfed.report.documents.run_documents import find_browser, print_pdf
from lexfed.report.profile.page import profile_html
from lexfed.sketch.profile.federation_profile import FederationProfile
from support.sketch.profile_samples import HOSTILE, empty, odd, whole

CHROMIUM = find_browser()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]
PROFILES: dict[str, Callable[[], FederationProfile]] = {
    "whole": whole,
    "odd": odd,
    "empty": empty,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield running
        running.close()


@pytest.fixture(params=PROFILES, ids=str)
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "profile.html"
    page = profile_html(PROFILES[request.param](), ["Paid.", HOSTILE])
    path.write_text(page, encoding="utf-8")
    return path


def test_the_page_says_nothing_and_asks_nobody(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 1400})
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri(), wait_until="networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [page_file.as_uri()]
    assert page.locator("h1").count() == 1
    page.close()


@pytest.mark.parametrize(("width", "media"), [(1400, "screen"), (1100, "screen"),
                                              (700, "screen"), (360, "screen"),
                                              (673, "print")])  # fmt: skip
def test_nothing_sticks_out(
    width: int, media: str, browser: Browser, page_file: Path
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.emulate_media(media=media)  # type: ignore[arg-type]
    page.goto(page_file.as_uri())
    wide = page.evaluate(
        """() => [...document.querySelectorAll('body *')]
            .filter(e => !e.closest('.wide') || matchMedia('print').matches)
            .filter(e => !e.closest('svg'))
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""
    )
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


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
