# SPDX-License-Identifier: Apache-2.0
"""Reports of real runs: every mechanism, finished and interrupted, bundled."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import lexfed
from lexfed.audit.verify import verify_run
from lexfed.report.documents.run_documents import ReportSource, make_report
from lexfed.run import RoundReport
from support.configurations import configuration

REPORTED: dict[str, object] = {
    "run": {"name": "small", "seed": 3},
    "federation.engine": "inprocess",
    "report.controller": "Example Hospital",
}


def _config(folder: Path, changes: Mapping[str, object]) -> Path:
    path = folder / "lexfed.toml"
    path.write_text(configuration({**REPORTED, **changes}))
    return path


CASES: dict[str, dict[str, object]] = {
    "cascade": {"privacy.mechanism": "cascade"},
    "uniform": {"privacy.mechanism": "uniform"},
    "grouped": {"privacy.mechanism": "grouped", "federation.learning_rate": 0.5},
    "none": {"privacy.mechanism": "none"},
    "clients": {
        "budget.unit": "client",
        "privacy.mechanism": "uniform",
        "federation.sampling_rate": 0.5,
        "federation.learning_rate": 0.5,
    },
    # Sites share the noise and mask their sums.
    "distributed": {
        "privacy.mechanism": "cascade",
        "privacy.trust": "distributed",
        "privacy.accountant": "rdp",
        "federation.dropouts": 1,
        "federation.setup_rounds": 3,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_real_run_is_reported_and_logged(case: str, tmp_path: Path) -> None:
    folder = lexfed.train(_config(tmp_path, CASES[case])).folder
    made = make_report(ReportSource(folder))
    assert made.verdict.ok, [str(c) for c in made.verdict.checks]
    assert not any("not in the log" in note for note in made.notes)
    verdict = verify_run(folder)
    assert verdict.ok
    assert "`report.html` is the one of entry" in " ".join(map(str, verdict.checks))
    page = (folder / "report.html").read_text()
    assert ("NOT PRIVATE" in page) == (case == "none")
    assert "Example Hospital" in page
    assert ("need not be trusted" in page) == (case == "distributed")
    bundle = tmp_path / "auditor"
    with zipfile.ZipFile(io.BytesIO((folder / "evidence.zip").read_bytes())) as archive:
        archive.extractall(bundle)
    assert verify_run(bundle).ok


@pytest.mark.slow
def test_an_interrupted_run_is_reported_and_continued(tmp_path: Path) -> None:
    config = _config(tmp_path, CASES["cascade"])

    def stop(report: RoundReport) -> None:
        if report.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.train(config, on_round=stop)
    folder = tmp_path / "runs" / "small"
    made = make_report(ReportSource(folder))
    assert made.verdict.ok
    assert "The run is not finished: 3 of 7 planned rounds" in made.sentence
    assert lexfed.train(config, resume=True).rounds == 7
    again = make_report(ReportSource(folder), ["html"])
    assert again.sentence.endswith("Every budget recomputed from it was kept.")
    assert "started again after round 3" in (folder / "report.html").read_text()
