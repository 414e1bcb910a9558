# SPDX-License-Identifier: Apache-2.0
"""`lexfed report`: paths to stdout, talk to stderr, exit codes as promised."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.errors import RunFolderError
from lexfed.report.documents import run_documents
from report.conftest import write_keys
from support.audit.worlds import LOG, fake_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return fake_run().write(tmp_path / "run")


def test_paths_go_to_stdout(run: Path) -> None:
    found = CliRunner().invoke(app, ["report", str(run), "--formats", "html, csv"])
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        str(run / "report.html"),
        str(run / "record-of-processing.csv"),
    ]
    assert "The log verifies" in found.stderr
    assert "note: the report is not in the log" in found.stderr


def test_json_carries_the_verdict(run: Path, tmp_path: Path) -> None:
    keys = write_keys(tmp_path / "keys")
    policy, pin = tmp_path / "policy", run / "log" / "checkpoint"
    policy.write_text(f"log {LOG.verifier.vkey}\nquorum none\n")
    arguments = ["--keys", keys, "--policy", policy, "--pin", pin, "--json"]
    found = CliRunner().invoke(app, ["report", str(run), *map(str, arguments)])
    assert found.exit_code == 0, found.stderr
    plain = json.loads(found.stdout)
    assert plain["verdict"]["ok"] is True
    assert plain["notes"] == []
    assert str(run / "evidence.zip") in plain["files"]


def test_a_failed_check_ends_with_one(run: Path) -> None:
    (run / "model.safetensors").write_bytes(b"another")
    found = CliRunner().invoke(app, ["report", str(run)])
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [str(run / "report.html")]
    assert "This log does not verify" in found.stderr


def test_an_unknown_format_is_refused(run: Path) -> None:
    found = CliRunner().invoke(app, ["report", str(run), "--formats", "html,nope"])
    assert isinstance(found.exception, RunFolderError)
    assert "got: `nope`" in found.exception.message


def test_pdf_without_a_browser_says_so(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_documents, "find_browser", lambda: None)
    found = CliRunner().invoke(app, ["report", str(run), "--formats", "csv", "--pdf"])
    assert isinstance(found.exception, RunFolderError)
    assert "no Chromium" in found.exception.message
    assert (run / "report.html").exists()


def test_the_report_needs_no_torch() -> None:
    modules = (
        "lexfed.cli.commands.evidence.report, lexfed.report.documents.run_documents"
    )
    code = f"import {modules}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
