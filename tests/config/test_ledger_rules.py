# SPDX-License-Identifier: Apache-2.0
"""`budget.ledgers` where nothing would be charged is a mistake."""

from pathlib import Path

import pytest

from lexfed.config import demo_config, examine

GOOD = (Path(__file__).parent / "good.toml").read_text()
KEY = ("epsilon = 2.0", 'epsilon = 2.0\nledgers = "../ledgers"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD, ""),
        (
            GOOD.replace("seed = 7", "seed = 7\ntest = true"),
            "`budget.ledgers` does nothing with `test = true`",
        ),
        (
            demo_config(),
            '`budget.ledgers` does nothing with `source = "synthetic:hospital"`',
        ),
    ],
)
def test_ledgers_are_used(text: str, expected: str) -> None:
    found = [problem.what for problem in examine(text.replace(*KEY, 1)).problems]
    assert found == ([expected] if expected else [])
    assert examine(text).config is not None
