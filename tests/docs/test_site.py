# SPDX-License-Identifier: Apache-2.0
"""The documents as a site: it is built without a warning, and asks for nothing."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from playwright.sync_api import Browser

from support.browser import CHROMIUM

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "guide").glob("*.ipynb"))
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|embed|object)\b[^>]*\b(?:src|data)=[\"']?(?:https?:)?//"
    r"|<link\b[^>]*\bhref=[\"']?(?:https?:)?//",
    re.IGNORECASE,
)
IN_STYLES = re.compile(r"(?:url\(|@import\s)\s*[\"']?(?:https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def api_pages() -> ModuleType:
    path = ROOT / "docs" / "site" / "api_pages.py"
    found = importlib.util.spec_from_file_location("api_pages", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_docstrings_become_markup(api_pages: ModuleType) -> None:
    text = (
        "Return a `x_` of *all*.\n\n    a   one\n    b   two\n\nMore a|b.\n\n"
        "Args:\n    name: of `it`.\n\nGuarantees:\n    One is\n    so.\n    Two.\n"
    )
    assert "\n".join(api_pages.as_markup(text.split("\n"))).split("\n") == [
        "Return a ``x_`` of \\*all\\*.",
        "",
        ".. code-block:: text",
        "",
        "    a   one",
        "    b   two",
        "",
        "More a\\|b.",
        "",
        "",
        "Args:",
        "    name: of ``it``.",
        "",
        "",
        "Guarantees:",
        "    - One is",
        "      so.",
        "    - Two.",
        "",
    ]


def test_what_is_fetched_is_found() -> None:
    for text in (
        '<script async src="https://cdn.example/x.js">',
        "<link rel=stylesheet href=//fonts.example/x.css>",
        '<img alt="" src="http://example/x.png">',
    ):
        assert FETCHED.search(text), text
    assert IN_STYLES.search("src: url( 'https://fonts.example/x.woff2')")
    assert not FETCHED.search('<a href="https://example.org">, <img src="a.svg">')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `scripts/docs` builds it: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    folders = ["-d", str(folder / "read"), "-c", "docs/site", ".", str(folder / "site")]
    done = subprocess.run(
        [*command, *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_is_whole_and_asks_for_nothing(site: Path) -> None:
    for name in ("index.html", "docs/index.html", "search.html", "searchindex.js"):
        assert (site / name).is_file()
    assert "lexfed.train" in (site / "docs/api/index.html").read_text(encoding="utf-8")
    asking = [
        str(path.relative_to(site))
        for path in site.rglob("*.html")
        if FETCHED.search(path.read_text(encoding="utf-8"))
    ]
    asking += [
        str(path.relative_to(site))
        for path in site.rglob("*.css")
        if IN_STYLES.search(path.read_text(encoding="utf-8"))
    ]
    assert asking == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebooks_are_shown_run(path: Path, site: Path) -> None:
    page = (site / "docs/guide" / f"{path.stem}.html").read_text(encoding="utf-8")
    assert page.count("cell_output") >= 5
    assert "Verified" in page or "<strong>Result</strong>" in page
    assert "Traceback" not in page
    assert not re.search(r"require\.min|html-manager|mathjax", page, re.IGNORECASE)
    assert not re.search(r"(?<![\w.)/:])/(home|tmp|work|root|dev)/", page)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("name", ["index", *(f"guide/{n.stem}" for n in NOTEBOOKS)])
def test_a_browser_asks_for_files_of_the_site_alone(
    name: str, site: Path, browser: Browser
) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / f"docs/{name}.html").as_uri(), wait_until="networkidle")
    page.close()
    assert asked
    allowed = (site.as_uri(), "data:")
    assert [url for url in asked if not url.startswith(allowed)] == []
