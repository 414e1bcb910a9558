# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: silent, offline, and whole on A4 paper."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from lexfed.report.documents.run_documents import ReportSource, make_report
from report.conftest import (
    broken_run,
    certified,
    early_run,
    hostile_run,
    measured,
    refused_run,
    told_run,
)
from report.effects import EFFECTS, explained, many_columns, of_classes
from support.audit.worlds import FakeRun, fake_run
from support.browser import (
    IN_BROWSER,
    check_accessible,
    check_nothing_sticks_out,
    check_silent_and_offline,
    check_words_of_charts,
)

pytestmark = IN_BROWSER
RUNS: dict[str, FakeRun] = {
    "certified": certified(told_run()),
    "long": measured(fake_run(rounds=(60, 60), mechanism="none")),
    "early": early_run(),
    "refused": refused_run(),
    "interrupted": broken_run(),
    "test": fake_run(test=True),
    "hostile": hostile_run(),
    "explained": explained(many_columns(EFFECTS)),
    "explained classes": explained(many_columns(of_classes(3))),
}
A4 = (595.0, 842.0)
"""Points; PDF files may be off by one."""


@pytest.fixture(scope="module", params=RUNS, ids=str)
def report_files(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, ...]:
    """The page of a run and the same on paper, which all tests look at."""
    folder = RUNS[request.param].write(tmp_path_factory.mktemp("reported") / "run")
    return make_report(ReportSource(folder), ["html"], pdf=True).paths


@pytest.fixture
def page_file(report_files: tuple[Path, ...]) -> Path:
    return report_files[0]


def test_the_page_says_nothing_and_asks_nobody(
    browser: Browser, page_file: Path
) -> None:
    check_silent_and_offline(browser, page_file)


@pytest.mark.parametrize(("width", "media"), [(1100, "screen"), (360, "screen"),
                                              (673, "print")])  # fmt: skip
def test_nothing_sticks_out(
    width: int, media: str, browser: Browser, page_file: Path
) -> None:
    check_nothing_sticks_out(browser, page_file, width, media)


def test_everybody_can_read_it(browser: Browser, page_file: Path) -> None:
    check_accessible(browser, page_file)


@pytest.mark.parametrize("width", [1280, 360])
def test_words_in_charts_keep_their_size_and_their_distance(
    width: int, browser: Browser, page_file: Path
) -> None:
    check_words_of_charts(browser, page_file, width)


def test_text_is_dark_on_light_and_needs_no_colour(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    found = page.evaluate(
        """() => [...new Set([...document.querySelectorAll('body *')]
            .filter(e => !e.closest('.stamp, .status.FAIL'))
            .map(e => getComputedStyle(e).color))]"""
    )
    for colour in found:
        red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
        # Seven to one against white is what WCAG calls enhanced contrast.
        assert _contrast(red, green, blue) >= 6.8, colour
    page.close()


def _contrast(*channels: int) -> float:
    """Return the contrast against white [WCAG 2.1, 1.4.6]."""
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in channels)
    ]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (light + 0.05)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext")
def test_a4_cuts_no_table(report_files: tuple[Path, ...]) -> None:
    paper = report_files[-1]
    words = _words(paper)
    assert len(words) > 1
    for number, page in enumerate(words):
        assert page["size"] == pytest.approx(A4, abs=1.5)
        for left, top, right, bottom, word in page["words"]:
            assert left >= 40, (number, word)
            assert right <= A4[0] - 40, (number, word)
            assert top >= 15, (number, word)
            assert bottom <= A4[1] - 15, (number, word)
    # A table that goes on has its header again on the next page.
    laid_out = subprocess.run(
        ["pdftotext", "-layout", str(paper), "-"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\f")
    listed = [page for page in laid_out if re.search(r" leaf [0-9a-f]{64}", page)]
    assert listed
    assert all(re.search(r"No\.\s+Time \(UTC\)\s+Entry", page) for page in listed)


def _words(path: Path) -> list[dict[str, Any]]:
    found = subprocess.run(
        ["pdftotext", "-bbox", str(path), "-"], capture_output=True, check=True
    )
    tree = ElementTree.fromstring(found.stdout)  # noqa: S314 - of our own file
    space = "{http://www.w3.org/1999/xhtml}"
    pages: list[dict[str, Any]] = []
    for page in tree.iter(f"{space}page"):
        rows = []
        for word in page.iter(f"{space}word"):
            box = [float(word.attrib[k]) for k in ("xMin", "yMin", "xMax", "yMax")]
            rows.append((*box, word.text or ""))
        size = (float(page.attrib["width"]), float(page.attrib["height"]))
        pages.append({"size": size, "words": rows})
    return pages


def test_no_row_is_cut_and_short_tables_stay_whole(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(page_file.as_uri())
    cut = page.evaluate(
        """() => [...document.querySelectorAll('tr, figure, table.facts')]
            .filter(e => getComputedStyle(e).breakInside !== 'avoid').length"""
    )
    repeated = page.evaluate(
        """() => [...document.querySelectorAll('thead')]
            .every(e => getComputedStyle(e).display === 'table-header-group')"""
    )
    assert cut == 0
    assert repeated
    page.close()
