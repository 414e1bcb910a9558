# SPDX-License-Identifier: Apache-2.0
"""The examples of `docs/theory/secure-aggregation.md` run, and print what is shown."""

import pytest

from support.shown_examples import DOCUMENTS, block, check_shown

DOCUMENT = "theory/secure-aggregation.md"


@pytest.mark.parametrize("name", ["example:masks", "example:operators"])
def test_examples_print_what_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check_shown(DOCUMENT, name, capsys)


@pytest.mark.parametrize("lost", [(), (0,), (1, 3), (0, 4)])
def test_the_example_survives_two_lost_operators_of_five(
    lost: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """As the comment in it says."""
    document = (DOCUMENTS / DOCUMENT).read_text(encoding="utf-8")
    text = block(document, "example:operators")
    five = '("ministry", "university", "c", "d", "e")'
    text = text.replace('("ministry", "university")', five)
    text = text.replace("AdditiveSharing(2, Ring(32), 4)", "PolynomialSharing(5, 3, 4)")
    text = text.replace("import AdditiveSharing", "import PolynomialSharing")
    text = text.replace("from lexfed.secagg.primitives.ring import Ring\n", "")
    gone = f"for gone in {lost}:\n    del aggregators[operators[gone].name]\n"
    start = "# Both sign the list"
    text = text.replace(start, gone + start)
    exec(compile(text, "example", "exec"), {"__name__": "example"})  # noqa: S102
    sites = "('east', 'south')" if 1 not in lost else "('east', 'south', 'west')"
    total = "[ 11  22  33 -44]" if 1 not in lost else "[ 111  222  333 -444]"
    assert capsys.readouterr().out == f"{sites} {total}\n"
