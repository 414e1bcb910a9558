# SPDX-License-Identifier: Apache-2.0
"""Real runs and their evidence bundles, by both verifiers and by the bundled copy."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lexfed
from lexfed.audit import standalone
from lexfed.audit.entries import RoundEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.report.documents.run_documents import ReportSource, make_report
from lexfed.run import RoundReport
from support.audit.two_verifiers import compared, failed, tables

RUNS = tables(Path(__file__).parents[1] / "report/test_real_run.py")


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS.CASES)
def test_a_real_run_and_its_bundle(case: str, tmp_path: Path) -> None:
    folder = lexfed.train(RUNS._config(tmp_path, RUNS.CASES[case])).folder
    assert failed(compared(folder)) == []
    make_report(ReportSource(folder))
    rows = compared(folder)
    assert failed(rows) == []
    assert rows["report"]["status"] == "OK"
    if case in ("cascade", "uniform", "grouped", "distributed"):
        assert rows["claim"]["status"] == rows["budgets spent"]["status"] == "OK"
    masked = rows["secure aggregation"]
    assert (masked["status"] == "OK") == (case == "distributed")
    bundle = tmp_path / "auditor"
    with zipfile.ZipFile(folder / "evidence.zip") as archive:
        archive.extractall(bundle)
    assert failed(compared(bundle)) == []
    [copy] = bundle.rglob("verify.py")
    assert copy.read_bytes() == standalone.source()
    done = subprocess.run(
        [sys.executable, "-I", str(copy), str(bundle)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(b"OK   log  ")


@pytest.mark.slow
def test_a_changed_record_of_a_real_masked_sum_shows(tmp_path: Path) -> None:
    folder = lexfed.train(RUNS._config(tmp_path, RUNS.CASES["distributed"])).folder
    [first, *_] = read_evidence(folder).of(RoundEntry)
    path = folder / f"log/blobs/sha256/{first.entry.aggregation.evidence}"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes().replace(b'"epoch":1', b'"epoch":2'))
    assert {"blobs", "secure aggregation"} <= set(failed(compared(folder)))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["cascade", "distributed"])
def test_a_run_that_was_interrupted_and_continued(case: str, tmp_path: Path) -> None:
    config = RUNS._config(tmp_path, RUNS.CASES[case])

    def stop(report: RoundReport) -> None:
        if report.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.train(config, on_round=stop)
    folder = tmp_path / "runs" / "small"
    assert failed(compared(folder)) == []
    lexfed.train(config, resume=True)
    assert failed(compared(folder)) == []
