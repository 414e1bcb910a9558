# SPDX-License-Identifier: Apache-2.0
"""An evaluation from tables to files: killed, resumed, refused, never half shown."""

import csv
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.errors import ConfigError, RunFolderError
from lexfed.evaluate.harness.machine import machine, today
from lexfed.evaluate.harness.tables import Job, ResultTable, code_digest
from lexfed.evaluate.results.extract import measured_table
from lexfed.evaluate.results.files import ALL, PAGE, write_all
from lexfed.evaluate.suite import RESULTS, Evaluation
from support.evaluation.results import SMALL, prepare_small, table_of

KILLED = """
import sys
from pathlib import Path
from lexfed.evaluate.suite import Evaluation
from support.evaluation.results import SMALL, prepare_small
if __name__ == "__main__":
    found = Evaluation([SMALL], Path(sys.argv[1]), 1, prepare=prepare_small)
    for step in found.run():
        print(step.done, flush=True)
"""


def opened(
    folder: Path, resume: bool = False, table: ResultTable = SMALL
) -> Evaluation:
    return Evaluation([table], folder, 1, resume, prepare=prepare_small)


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    folder = tmp_path / "out"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(RunFolderError, match="holds the results"):
        opened(folder)
    with closing(opened(folder, resume=True)) as found:
        begun = len(found.left)
        assert begun < found.jobs == 4
        (half,) = found.summaries()
        assert not half.whole
        assert half.lines == ()
        write_all(folder, [half], [measured_table(half, "a machine")])
        assert not (folder / "small.csv").exists()
        assert "**Not whole**" in (folder / PAGE).read_text()
        steps = list(found.run())
        assert [step.done for step in steps] == list(range(5 - begun, 5))
        assert steps[-1].left == 0.0
        assert found.left == ()
        (whole,) = found.summaries()
        write_all(folder, [whole], [measured_table(whole, "a machine")])
    assert whole.whole
    by_method = {line.facts["method"]: line for line in whole.lines}
    assert by_method["none"].values["auc"].count == 2
    assert by_method["none"].values["retention"].mean == 1.0
    rows = list(csv.DictReader((folder / ALL).read_text().splitlines()))
    assert len(rows) == 4
    assert all(result["took"] > 0.0 for result in whole.results)
    assert {result["date"] for result in whole.results} == {today()}
    assert (folder / RESULTS).read_text().count("\n") == 4
    lines = list(csv.DictReader((folder / "small.csv").read_text().splitlines()))
    assert [line["method"] for line in lines] == ["none", "cascade"]
    assert "| small | none |" in (folder / PAGE).read_text()
    assert machine() in (folder / PAGE).read_text()


def test_refusals_are_results_and_defects_are_not(tmp_path: Path) -> None:
    table = table_of(
        Job("train", "one-class", "none", 0), Job("train", "small", "no-method", 0)
    )
    with closing(opened(tmp_path, table=table)) as found:
        steps = {step.job.dataset: step for step in found.run()}
        refused, defect = steps["one-class"].failure, steps["small"].failure
        assert refused is not None
        assert refused.expected
        assert "class" in refused.words
        assert defect is not None
        assert not defect.expected
        assert [job.method for job in found.left] == ["no-method"]
        (summary,) = found.summaries()
        assert (summary.done, summary.whole) == (1, False)
    with closing(opened(tmp_path, resume=True, table=table)) as found:
        assert len(found.left) == 2  # a refusal may have lost its reason


def test_too_little_memory_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too little memory"):
        Evaluation([SMALL], tmp_path, 1, memory=1, prepare=prepare_small)
    with closing(opened(tmp_path)) as found:  # and the folder is free again
        assert len(found.left) == found.jobs


def test_other_settings_rows_and_data_have_other_keys(tmp_path: Path) -> None:
    data = prepare_small("small", tmp_path, None)
    job = Job("train", "small", "none", 0, None, {"tiers": 4})
    others = [
        replace(job, seed=1),
        replace(job, method="cascade"),
        replace(job, setting={"tiers": 3}),
        replace(job, rows=10),
        replace(job, kind="plan"),
    ]
    keys = {job.key(data), job.key(replace(data, digest="1"))}
    keys |= {other.key(data) for other in others}
    assert len(keys) == 7
    assert job.key(data) == replace(job).key(data)


def test_other_code_has_another_digest(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "same", "other", "moved")]
    for folder, name, text in zip(
        folders, ("a.py", "a.py", "a.py", "b.py"), ("1", "1", "2", "1"), strict=True
    ):
        folder.mkdir()
        (folder / name).write_text(text)
        (folder / "notes.txt").write_text(folder.name)  # no part of the code
    first, same, other, moved = map(code_digest, folders)
    assert first == same
    assert len({first, other, moved}) == 3
