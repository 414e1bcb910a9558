# SPDX-License-Identifier: Apache-2.0
"""The documents of the repository, read once."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def documents(root: Path) -> dict[Path, str]:
    """Every Markdown file and notebook of the repository with its text."""
    paths = [*root.glob("*.md"), *(root / "docs").glob("**/*.md")]
    found = {path: path.read_text(encoding="utf-8") for path in paths}
    found |= {path: _notebook(path) for path in (root / "docs").glob("**/*.ipynb")}
    return dict(sorted(found.items()))


def _notebook(path: Path) -> str:
    """Return the cells of a notebook as Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [
        source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for cell in cells
        for source in ["".join(cell["source"])]
    ]
    return "\n\n".join(texts)
