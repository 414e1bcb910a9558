# SPDX-License-Identifier: Apache-2.0
"""Documents point to what exists, cite what is listed, and promise nothing false."""

import re
from pathlib import Path

import pytest

from lexfed import __version__

LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"(?<![\w\]])\[([^\[\]\n]*(?:\n[^\[\]\n]*)?)\]")
KEY = re.compile(r"[A-Z][A-Za-z]+\+?\d{2}\b")
LISTED = re.compile(r"\*\*\[([A-Za-z+]+\d{2})\]\*\*")
TEST_PATH = re.compile(r"`(tests/[\w/.]+)`")
MODULE = re.compile(r"`(lexfed\.(?!toml`)[a-z_.]+)`")
SOURCE_PATH = re.compile(r"`(src/[\w/.]+)`")
BENCHMARK = re.compile(r"\bbenchmarks[./](\w+)")

# What must not be said, or must not be there: findings of law, and words that only
# make sense on one machine or to one person.
FORBIDDEN = (
    "gdpr compliant",
    "gdpr-compliant",
    "hipaa compliant",
    "ccpa compliant",
    "fully anonymous",
    "guarantees compliance",
    "localhost",
    "please",
    "simply",
)


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def _keys(text: str) -> set[str]:
    found = set()
    for inner in CITED.findall(text):
        for part in inner.split(";"):
            match = KEY.match(part.strip())
            if match:
                found.add(match.group())
    return found


def test_links_resolve(documents: dict[Path, str], root: Path) -> None:
    broken = []
    for path, text in documents.items():
        for target in LINK.findall(FENCE.sub("", text)):
            if re.match(r"[a-z]+://", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if not other.exists():
                broken.append(f"{path.relative_to(root)}: {target}")
            elif anchor:
                anchors = {_anchor(h) for h in HEADING.findall(documents[other])}
                if anchor not in anchors:
                    broken.append(f"{path.relative_to(root)}: {target}")
    assert broken == []


def test_an_anchor_is_what_github_makes_of_a_heading() -> None:
    assert _anchor("3. `test = true`") == "3-test--true"


def _linked(path: Path, text: str) -> set[Path]:
    targets = (target.partition("#")[0] for target in LINK.findall(text))
    return {(path.parent / name).resolve() for name in targets if "://" not in name}


def test_the_readme_and_the_index_lead_to_every_document(
    documents: dict[Path, str], root: Path
) -> None:
    first, index = root / "README.md", root / "docs" / "index.md"
    results = root / "docs" / "results.md"
    linked = set().union(
        *(_linked(page, documents[page]) for page in (first, index, results))
    )
    assert index in _linked(first, documents[first])
    assert set(documents) - linked - {first} == set()


def test_modules_that_are_named_exist(documents: dict[Path, str], root: Path) -> None:
    named = MODULE.findall("\n".join(documents.values()))
    assert len(named) > 5
    missing = []
    for name in named:
        path = root / "src" / name.replace(".", "/")
        if path.exists() or path.with_suffix(".py").exists():
            continue
        # The last part may be a name of the module or package before it.
        homes = (path.parent.with_suffix(".py"), path.parent / "__init__.py")
        texts = [home.read_text(encoding="utf-8") for home in homes if home.exists()]
        if not any(re.search(rf"\b{path.name}\b", text) for text in texts):
            missing.append(name)
    assert missing == []


def test_source_files_that_are_named_exist(
    documents: dict[Path, str], root: Path
) -> None:
    named = SOURCE_PATH.findall("\n".join(documents.values()))
    assert named
    assert [name for name in named if not (root / name).exists()] == []


def test_every_citation_is_in_the_bibliography(
    documents: dict[Path, str], root: Path
) -> None:
    text = documents[root / "docs" / "theory" / "guarantees.md"]
    listed = set(LISTED.findall(text))
    cited = _keys("\n".join(documents.values()))
    for path in (root / "src").rglob("*.py"):
        cited |= _keys(path.read_text(encoding="utf-8"))
    assert len(listed) > 10
    assert cited - listed == set()


def test_citations_are_found_in_every_form() -> None:
    text = "[MTZ19, Eq. 5] x [Goo15; Li22, Eq. 2] [DGK+22] [Box-Muller 1958] [a][0]"
    assert _keys(text) == {"MTZ19", "Goo15", "Li22", "DGK+22"}


def test_tests_that_are_named_exist(documents: dict[Path, str], root: Path) -> None:
    named = TEST_PATH.findall("\n".join(documents.values()))
    assert named
    assert [name for name in named if not (root / name).exists()] == []


def test_benchmarks_that_are_named_exist(
    documents: dict[Path, str], root: Path
) -> None:
    page = root / "docs" / "internals" / "benchmarks.md"
    named = set(BENCHMARK.findall(documents[page]))
    assert len(named) > 2
    assert {n for n in named if not (root / "benchmarks" / f"{n}.py").exists()} == set()


@pytest.mark.parametrize("phrase", FORBIDDEN)
def test_forbidden_words_are_absent(documents: dict[Path, str], phrase: str) -> None:
    assert [
        path.name for path, text in documents.items() if phrase in text.lower()
    ] == []


def test_no_path_of_a_machine_is_shown(documents: dict[Path, str]) -> None:
    machine = re.compile(r"(?<![\w.)])/(home|tmp|work|root|mnt|Users)/")
    assert machine.search("see /home/me") is not None
    assert [path.name for path, text in documents.items() if machine.search(text)] == []


def test_the_readme_is_one_page(documents: dict[Path, str], root: Path) -> None:
    assert len(documents[root / "README.md"].split()) <= 1000


def test_version_and_changelog_agree(documents: dict[Path, str], root: Path) -> None:
    text = documents[root / "CHANGELOG.md"]
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - (.+)$", text, re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == __version__
    assert re.fullmatch(r"unreleased|\d{4}-\d{2}-\d{2}", newest.group(2))
