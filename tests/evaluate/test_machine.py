# SPDX-License-Identifier: Apache-2.0
"""The machine and the software that a figure was measured with."""

import platform
import re
from pathlib import Path

import pytest

from lexfed.evaluate.harness import machine as measured


def test_the_machine_is_named_without_names_of_people_or_places() -> None:
    said = measured.machine()
    assert re.search(r", \d+ cores, \d+ GiB$", said)
    assert platform.node() not in said
    assert "/home" not in said


def test_a_library_that_is_missing_is_said_to_be() -> None:
    said = measured.software(("numpy", "no-such-library"))
    assert re.search(r"lexfed [\d.]+, Python [\d.]+, numpy [\d.]+", said)
    assert said.endswith("no-such-library not installed")


def test_the_date_is_a_date() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured.today())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: A Processor\n", "A Processor"),
        ("processor\t: 0\n", platform.machine()),
        (None, platform.machine()),
    ],
)
def test_the_processor_is_read_where_the_system_tells_it(
    tmp_path: Path, text: str | None, name: str
) -> None:
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    assert measured._processor(file) == name
