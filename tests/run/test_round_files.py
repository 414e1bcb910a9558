# SPDX-License-Identifier: Apache-2.0
"""How many source files one round runs through: what a reader of it has to open."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lexfed
from lexfed.run.driver.training_loop import RoundReport

PACKAGE = Path(lexfed.__file__).parent
MOST = 56
"""Files with a function that one in-process round runs; this only gets smaller."""


class _Enough(Exception):
    """The round that is looked at has ended."""


@contextmanager
def files_that_run() -> Iterator[set[str]]:
    """Collect the files of the package in which a function begins to run."""
    codes: set[Any] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    found: set[str] = set()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        paths = {Path(code.co_filename) for code in codes}
        inside = (path for path in paths if path.is_relative_to(PACKAGE))
        found |= {str(path.relative_to(PACKAGE)) for path in inside}


def test_one_round_runs_through_few_files(config_file: Path) -> None:
    text = config_file.read_text().replace('"simulation"', '"inprocess"')
    config_file.write_text(text)
    look = files_that_run()
    opened: list[set[str]] = []

    def on_round(report: RoundReport) -> None:
        # From the end of one round to the end of the next lies exactly one.
        if report.round == 3:
            opened.append(look.__enter__())
        elif report.round == 4:
            look.__exit__(None, None, None)  # what closes the run is no part of it
            raise _Enough

    with suppress(_Enough):
        lexfed.train(config_file, on_round=on_round)
    (found,) = opened
    assert "federation/site/data_holder.py" in found
    assert "run/audit_log/logbook.py" in found
    listed = "\n".join(sorted(found))
    assert len(found) <= MOST, f"{len(found)} files:\n{listed}"
