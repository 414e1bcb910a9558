# SPDX-License-Identifier: Apache-2.0
"""Chromium for tests of pages, and the checks that every page has to pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from lexfed.report.documents.run_documents import find_browser

CHROMIUM = find_browser()
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]
"""Marks of a module whose tests open pages."""


@contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def check_silent_and_offline(browser: Browser, path: Path) -> None:
    """The page logs nothing, opens no dialog and fetches nothing; it has one title."""
    page = browser.new_page(viewport={"width": 1100, "height": 1400})
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert page.locator("h1").count() == 1
    page.close()


def check_accessible(browser: Browser, path: Path) -> None:
    """No rule of axe-core is violated, on a desk and a phone, by day and by night."""
    for (width, height), scheme in product(((1280, 900), (390, 844)), SCHEMES):
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        page.goto(path.as_uri())
        found = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
        page.close()


def check_nothing_sticks_out(
    browser: Browser, path: Path, width: int, media: str
) -> None:
    """No element ends right of the window, except in boxes that scroll."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.emulate_media(media=media)  # type: ignore[arg-type]
    page.goto(path.as_uri())
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


def check_words_of_charts(browser: Browser, path: Path, width: int) -> None:
    """Words in charts keep their size at every width, and meet no other word."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    sizes, meeting = page.evaluate(
        """() => {
            const charts = [...document.querySelectorAll('svg.chart')]
            const boxes = charts.map(c => [...c.querySelectorAll('text')].map(
                t => [t.textContent, t.getBoundingClientRect()]))
            const meets = (a, b) => a.left < b.right && b.left < a.right
                && a.top + 3 < b.bottom && b.top + 3 < a.bottom
            return [
                boxes.flat().map(([_, box]) => box.height),
                boxes.flatMap(all => all.flatMap(([s, a], i) => all.slice(i + 1)
                    .filter(([_, b]) => meets(a, b)).map(([t, _]) => s + ' | ' + t))),
            ]
        }"""
    )
    assert meeting == []
    assert all(11 <= size <= 17 for size in sizes)
    page.close()
