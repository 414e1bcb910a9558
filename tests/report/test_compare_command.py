# SPDX-License-Identifier: Apache-2.0
"""`lexfed compare`: table to stdout, talk to stderr, exit codes as promised."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.errors import RunFolderError
from report.compared import write_runs


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_table_is_on_stdout_and_the_page_beside_it(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain", "more", "none")
    found = CliRunner().invoke(app, ["compare", *map(str, runs)])
    assert found.exit_code == 0, found.stderr
    header, first, second, third = found.stdout.splitlines()[:4]
    assert header.split() == [
        "run", "ε", "δ", "per", "neighbours", "by", "trust", "AUC",
    ]  # fmt: skip
    assert first.split() == [
        "1", "plain", "1.75", "1e-6", "person", "add/remove", "PLD", "central", "0.836",
    ]  # fmt: skip
    assert second.split()[:2] == ["2", "more"]
    assert third.split() == ["3", "none", "–", "0.836"]
    assert "3  NOT PRIVATE: no noise was added" in found.stdout
    assert "AUC outside the guarantee" in found.stdout
    assert "together: runs 1, 2: (ε, δ) = (" in found.stderr
    assert "Run 3 comes on top" in found.stderr
    assert "choosing: Choosing the best run" in found.stderr
    assert max(map(len, found.stdout.splitlines())) <= 80
    page = (tmp_path / "compare.html").read_text()
    assert "<h1>3 runs: 2 with a guarantee, 1 without</h1>" in page


def test_a_damaged_run_is_said_and_ends_with_one(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain", "damaged", "missing")
    found = CliRunner().invoke(app, ["compare", *map(str, runs), "--out", "p.html"])
    assert found.exit_code == 1
    assert "2  does not verify: files: " in found.stdout
    assert "3  cannot be read: no log in its folder" in found.stdout
    assert (tmp_path / "p.html").exists()


def test_json_is_all_of_it(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain", "more")
    found = CliRunner().invoke(app, ["compare", *map(str, runs), "--json"])
    plain = json.loads(found.stdout)
    assert plain["page"] == "compare.html"
    assert plain["together"]["epsilon"] > max(
        run["claim"]["epsilon"] for run in plain["runs"]
    )


def test_one_run_is_nothing_to_compare(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain")
    found = CliRunner().invoke(app, ["compare", *map(str, runs)])
    assert isinstance(found.exception, RunFolderError)
    assert "needs two runs" in found.exception.message
    assert not (tmp_path / "compare.html").exists()


def test_runs_without_metrics_have_a_table(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "bare", "refused")
    found = CliRunner().invoke(app, ["compare", *map(str, runs)])
    assert found.exit_code == 0
    assert found.stdout.splitlines()[-1] == "ε of the whole record, rounded up"


def test_hostile_names_stay_on_their_line(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain", "hostile")
    found = CliRunner().invoke(app, ["compare", *map(str, runs)])
    assert found.exit_code == 0
    assert "\u202e" not in found.stdout
    assert len(found.stdout.splitlines()) == 5


def test_a_page_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, "plain", "more")
    place = ["--out", str(tmp_path / "no" / "page.html")]
    found = CliRunner().invoke(app, ["compare", *map(str, runs), *place])
    assert isinstance(found.exception, RunFolderError)


def test_comparing_needs_no_torch() -> None:
    modules = "lexfed.cli.commands.evidence.compare, lexfed.report.comparison.page"
    code = f"import {modules}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
