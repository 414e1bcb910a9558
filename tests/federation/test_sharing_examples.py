# SPDX-License-Identifier: Apache-2.0
"""The examples of `docs/theory/sketch-sharing.md` run, and print what is shown.

Noise beyond 8 deviations has probability below 1e-10 for a count (`wrap_probability`).
"""

import pytest

from support.shown_examples import check_shown


@pytest.mark.parametrize("name", ["example:sums", "example:overlaps"])
def test_examples_print_what_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check_shown("theory/sketch-sharing.md", name, capsys)
