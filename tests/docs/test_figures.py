# SPDX-License-Identifier: Apache-2.0
"""Figures in documents are those of the extract of the results."""

import re
from pathlib import Path

from benchmarks import documents as figures


def test_pages_and_blocks_say_what_the_extract_says(root: Path) -> None:
    differing = figures.stale(root)
    assert not differing, f"{differing}: run `python -m benchmarks.documents`"


def test_there_are_blocks_of_results(documents: dict[Path, str], root: Path) -> None:
    assert "<!-- results:" in documents[root / "README.md"]


def test_every_block_is_closed(documents: dict[Path, str]) -> None:
    for path, text in documents.items():
        opened = re.findall(r"<!-- results:([\w-]+) -->", text)
        assert opened == re.findall(r"<!-- /results:([\w-]+) -->", text), path.name


def test_a_changed_figure_is_found(tmp_path: Path, root: Path) -> None:
    for name in ("README.md", "docs/results.md", "docs/results/tables.jsonl"):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((root / name).read_text("utf-8"), "utf-8")
    for page in (root / "docs" / "results").glob("*.md"):
        (tmp_path / "docs" / "results" / page.name).write_text(page.read_text("utf-8"))
    assert figures.stale(tmp_path) == []
    readme = tmp_path / "README.md"
    block = re.search(r"<!-- results:.*?<!-- /results", readme.read_text("utf-8"), re.S)
    assert block is not None
    figure = re.findall(r"0\.\d{3}", block[0])[0]
    changed = block[0].replace(figure, "0.999", 1)
    readme.write_text(readme.read_text("utf-8").replace(block[0], changed), "utf-8")
    page = tmp_path / "docs" / "results" / "alpha.md"
    page.write_text(page.read_text("utf-8").replace("0.", "1.", 1), "utf-8")
    assert figures.stale(tmp_path) == ["docs/results/alpha.md", "README.md"]
