# SPDX-License-Identifier: Apache-2.0
"""Reports of real runs: every mechanism, finished and interrupted, bundled."""

import io
import zipfile
from pathlib import Path

import pytest

import lexfed
from lexfed.audit.verify import verify_run
from lexfed.report.documents.run_documents import ReportSource, make_report
from lexfed.run import RoundReport

CONFIG = """\
version = 1

[run]
name = "small"
seed = 3

[data]
source = "synthetic:hospital"

[data.generator]
patients = 240
sites = 3

[budget]
epsilon = 3.0
delta = 1e-5
{budget}

[privacy]
mechanism = "{mechanism}"
{privacy}

[federation]
engine = "inprocess"
rounds = 1
{federation}

[report]
controller = "Example Hospital"
"""


def _config(
    folder: Path,
    mechanism: str,
    budget: str = "",
    federation: str = "",
    privacy: str = "",
) -> Path:
    path = folder / "lexfed.toml"
    path.write_text(
        CONFIG.format(
            mechanism=mechanism, budget=budget, federation=federation, privacy=privacy
        )
    )
    return path


SHARED = 'trust = "distributed"\naccountant = "rdp"'
"""Sites share the noise and mask their sums."""

CASES: dict[str, tuple[str, ...]] = {
    "cascade": ("cascade", "", ""),
    "uniform": ("uniform", "", ""),
    "grouped": ("grouped", "", "learning_rate = 0.5"),
    "none": ("none", "", ""),
    "clients": (
        "uniform",
        'unit = "client"',
        "sampling_rate = 0.5\nlearning_rate = 0.5",
    ),
    "distributed": ("cascade", "", "dropouts = 1\nsetup_rounds = 3", SHARED),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_real_run_is_reported_and_logged(case: str, tmp_path: Path) -> None:
    folder = lexfed.train(_config(tmp_path, *CASES[case])).folder
    made = make_report(ReportSource(folder))
    assert made.verdict.ok, [str(c) for c in made.verdict.checks]
    assert not any("not in the log" in note for note in made.notes)
    verdict = verify_run(folder)
    assert verdict.ok
    assert "`report.html` is the one of entry" in str(verdict)
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
    config = _config(tmp_path, "cascade")

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
