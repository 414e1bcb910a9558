# SPDX-License-Identifier: Apache-2.0
"""The page of an evaluation in a browser: silent, offline, whole at every width."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from lexfed.evaluate.own.page import evaluation_html
from lexfed.evaluate.own.questions import Omission
from lexfed.report.documents.run_documents import find_browser
from support.evaluation.own import measured

CHROMIUM = find_browser()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_nothing_sticks_out_and_nothing_is_fetched(tmp_path: Path) -> None:
    left = [Omission("A part", "a reason without any blank " + "x" * 90)]
    path = tmp_path / "evaluation.html"
    text = evaluation_html("n" * 64, list(measured().values()), left, "a machine")
    path.write_text(text, encoding="utf-8")
    asked, said = [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"]
        )
        for width in (360, 768, 1280):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert said == []
    assert set(asked) <= {path.as_uri(), "data:,"}
