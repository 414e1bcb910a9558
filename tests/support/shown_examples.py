# SPDX-License-Identifier: Apache-2.0
"""Examples in documents: marked blocks, and what they print when they run."""

import re
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[2] / "docs"


def block(text: str, name: str) -> str:
    """Return the code between `<!-- name -->` and `<!-- /name -->`."""
    found = re.search(
        rf"<!-- {name} -->\n```\w+\n(.*?\n)```\n<!-- /{name} -->", text, re.DOTALL
    )
    assert found is not None, name
    return found.group(1)


def check_shown(document: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An example prints what the document shows after it."""
    text = (DOCUMENTS / document).read_text(encoding="utf-8")
    exec(compile(block(text, name), name, "exec"), {"__name__": "example"})  # noqa: S102
    assert capsys.readouterr().out == block(text, f"{name}:printed")
