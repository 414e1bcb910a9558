# SPDX-License-Identifier: Apache-2.0
"""The page of an evaluation in a browser: silent, offline, whole at every width."""

from pathlib import Path

from playwright.sync_api import Browser

from lexfed.evaluate.own.page import evaluation_html
from lexfed.evaluate.own.questions import Omission
from support.browser import IN_BROWSER, check_accessible
from support.evaluation.own import measured

pytestmark = IN_BROWSER


def test_nothing_sticks_out_and_nothing_is_fetched(
    browser: Browser, tmp_path: Path
) -> None:
    left = [Omission("A part", "a reason without any blank " + "x" * 90)]
    path = tmp_path / "evaluation.html"
    text = evaluation_html("n" * 64, list(measured().values()), left, "a machine")
    path.write_text(text, encoding="utf-8")
    asked, said = [], []
    for width in (360, 768, 1280):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    check_accessible(browser, path)
    assert said == []
    assert set(asked) <= {path.as_uri(), "data:,"}
