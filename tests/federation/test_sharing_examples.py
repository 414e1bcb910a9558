# SPDX-License-Identifier: Apache-2.0
"""The examples of `docs/sketch-sharing.md` run, and print what is shown.

Noise beyond 8 deviations has probability below 1e-10 for a count (`wrap_probability`).
"""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "sketch-sharing.md"


def _block(name: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(
        rf"<!-- {name} -->\n```\w+\n(.*?\n)```\n<!-- /{name} -->", text, re.DOTALL
    )
    assert found is not None, name
    return found.group(1)


@pytest.mark.parametrize("name", ["example:sums", "example:overlaps"])
def test_examples_print_what_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(_block(name), name, "exec"), {"__name__": "example"})  # noqa: S102
    assert capsys.readouterr().out == _block(f"{name}:printed")
