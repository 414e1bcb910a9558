# SPDX-License-Identifier: Apache-2.0
"""The documents as a site: it is built without a warning, and asks for nothing."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_is_built_and_asks_for_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    folders = [
        "-d",
        str(tmp_path / "read"),
        "-c",
        "docs/site",
        ".",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(
        [*command, *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
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
