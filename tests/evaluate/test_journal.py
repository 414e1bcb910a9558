# SPDX-License-Identifier: Apache-2.0
"""Results survive a kill, and a folder belongs to one evaluation at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lexfed.errors import RunFolderError
from lexfed.evaluate.suite import RESULTS, ResultJournal

ENDLESS = """
import itertools, sys
from pathlib import Path
from lexfed.evaluate.suite import ResultJournal
journal = ResultJournal(Path(sys.argv[1]), resume=True)
for number in itertools.count():
    journal.add({"key": str(number), "value": "x" * 5000})
    print(number, flush=True)
"""


def test_results_are_found_again(tmp_path: Path) -> None:
    journal = ResultJournal(tmp_path / "new", resume=False)
    assert journal.get("a") is None
    journal.add({"key": "a", "values": {"auc": 0.7}})
    journal.close()
    again = ResultJournal(tmp_path / "new", resume=True)
    assert again.get("a") == {"key": "a", "values": {"auc": 0.7}}
    again.close()


def test_a_later_result_takes_the_place_of_an_earlier(tmp_path: Path) -> None:
    journal = ResultJournal(tmp_path, resume=False)
    journal.add({"key": "a", "status": "refused"})
    journal.add({"key": "a", "status": "done"})
    journal.close()
    again = ResultJournal(tmp_path, resume=True)
    assert (again.get("a") or {})["status"] == "done"
    again.close()


def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(20):
            last = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    journal = ResultJournal(tmp_path, resume=True)
    assert all(journal.get(str(number)) for number in range(last + 1))
    journal.close()


def test_a_line_that_was_cut_off_runs_again(tmp_path: Path) -> None:
    journal = ResultJournal(tmp_path, resume=False)
    journal.add({"key": "a"})
    journal.add({"key": "b"})
    journal.close()
    path = tmp_path / RESULTS
    path.write_bytes(path.read_bytes()[:-3])
    again = ResultJournal(tmp_path, resume=True)
    assert again.get("a") is not None
    assert again.get("b") is None
    again.add({"key": "b"})
    again.close()
    assert path.read_text().count("\n") == 2


def test_nothing_is_overwritten_by_accident(tmp_path: Path) -> None:
    journal = ResultJournal(tmp_path, resume=False)
    journal.add({"key": "a"})
    journal.close()
    with pytest.raises(RunFolderError, match="holds the results") as caught:
        ResultJournal(tmp_path, resume=False)
    assert "--resume" in caught.value.hint


def test_two_evaluations_do_not_share_a_folder(tmp_path: Path) -> None:
    journal = ResultJournal(tmp_path, resume=False)
    with pytest.raises(RunFolderError, match="another evaluation"):
        ResultJournal(tmp_path, resume=True)
    journal.close()
    ResultJournal(tmp_path, resume=True).close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot write"):
        ResultJournal(tmp_path / "file" / "below", resume=False)
