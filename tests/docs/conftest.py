# SPDX-License-Identifier: Apache-2.0
"""The documents of the repository, read once."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def documents(root: Path) -> dict[Path, str]:
    """Every Markdown file of the repository with its text."""
    paths = [*root.glob("*.md"), *(root / "docs").glob("**/*.md")]
    return {path: path.read_text(encoding="utf-8") for path in sorted(paths)}
