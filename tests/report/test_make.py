# SPDX-License-Identifier: Apache-2.0
"""Making the documents: what is written, what is logged, what is refused."""

import json
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from lexfed.audit.entries import Export, Genesis, PolicyEntry
from lexfed.audit.log.access import open_for_appending
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import verify_run
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.privacy.claim.proof import load_claim
from lexfed.report.documents.run_documents import (
    FORMATS,
    NAMES,
    ReportSource,
    make_report,
)
from report.conftest import broken_run, measured, refused_run, write_keys
from support.audit.worlds import CONFIG, LOG, START, fake_run, signer


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return measured(fake_run()).write(tmp_path / "run")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write_keys(tmp_path / "keys")


def _exports(run: Path) -> list[Export]:
    return [found.entry for found in read_evidence(run).of(Export)]


def test_everything_is_written_by_default(run: Path) -> None:
    made = make_report(ReportSource(run))
    assert sorted(path.name for path in made.paths) == sorted(NAMES.values())
    assert all(path.stat().st_size for path in made.paths)
    assert made.verdict.ok
    assert made.sentence.startswith("The log verifies")


def test_formats_are_those_asked_for(run: Path, tmp_path: Path) -> None:
    made = make_report(ReportSource(run), ["card"], out=tmp_path / "a" / "b")
    assert [path.name for path in made.paths] == ["model-card.md"]
    assert not (run / "model-card.md").exists()


def test_formats_of_the_configuration_are_the_default(tmp_path: Path) -> None:
    fake = fake_run()
    config = CONFIG + b'[report]\nformats = ["csv", "html", "unknown"]\n'
    digest = fake.put(config)
    fake.files["config.toml"] = config
    fake.edit(Genesis, config=digest)
    fake.edit(PolicyEntry, config=digest)
    made = make_report(ReportSource(fake.write(tmp_path / "run")))
    assert [path.name for path in made.paths] == [NAMES["html"], NAMES["csv"]]


def test_the_statement_is_the_claim_as_logged(run: Path) -> None:
    make_report(ReportSource(run), ["statement"])
    content = (run / "privacy-statement.json").read_bytes()
    assert content == (run / "claim.json").read_bytes()
    assert load_claim(content).epsilon > 0


@pytest.mark.parametrize(
    ("fake", "why"),
    [
        (broken_run(), "the run is not finished"),
        (refused_run(), "the run is not finished"),
        (fake_run(mechanism="none"), "nothing is guaranteed"),
    ],
    ids=["interrupted", "refused", "none"],
)
def test_without_a_claim_there_is_no_statement(
    fake: object, why: str, tmp_path: Path
) -> None:
    folder = fake.write(tmp_path / "run")  # type: ignore[attr-defined]
    made = make_report(ReportSource(folder))
    assert f"no `privacy-statement.json`: {why}" in made.notes
    assert len(made.paths) == len(FORMATS) - 1


def test_report_and_bundle_are_logged(run: Path, keys: Path) -> None:
    before = read_evidence(run).view
    made = make_report(ReportSource(run, keys=keys))
    assert made.notes == ()
    report, bundle = _exports(run)
    assert report.what == "report"
    assert report.digest == sha256((run / "report.html").read_bytes()).hexdigest()
    assert (report.size, report.root) == (before.size, before.tree.root().hex())
    assert bundle.what == "evidence"
    assert bundle.digest == sha256((run / "evidence.zip").read_bytes()).hexdigest()
    verdict = verify_run(run)
    assert verdict.ok
    assert "`report.html` is the one of entry 9" in " ".join(map(str, verdict.checks))


def test_a_report_can_be_made_again(run: Path, keys: Path) -> None:
    make_report(ReportSource(run, keys=keys), ["html"])
    first = (run / "report.html").read_bytes()
    make_report(ReportSource(run, keys=keys), ["html"])
    assert (run / "report.html").read_bytes() != first  # another salt
    assert len(_exports(run)) == 2
    assert verify_run(run).ok


def test_an_edited_page_is_replaced_by_a_true_one(run: Path, keys: Path) -> None:
    make_report(ReportSource(run, keys=keys), ["html"])
    (run / "report.html").write_text("all is well")
    assert not verify_run(run).ok
    assert make_report(ReportSource(run, keys=keys), ["html"]).verdict.ok
    assert verify_run(run).ok


def test_an_export_of_another_state_is_kept_as_a_failure(
    tmp_path: Path, keys: Path
) -> None:
    fake = fake_run()
    fake.add(Export(what="report", digest="0" * 64, size=3, root="0" * 64), "export/x")
    made = make_report(ReportSource(fake.write(tmp_path / "run"), keys=keys))
    assert not made.verdict.ok
    assert "does not verify" in made.sentence


def test_without_keys_it_says_that_nothing_was_logged(run: Path) -> None:
    made = make_report(ReportSource(run), ["html"])
    assert made.notes == (
        f"the report is not in the log: `{run}` does not say where its keys are",
    )
    assert _exports(run) == []


def test_a_logged_page_is_not_replaced_by_an_unlogged_one(
    run: Path, keys: Path, tmp_path: Path
) -> None:
    make_report(ReportSource(run, keys=keys), ["html"])
    before = (run / "report.html").read_bytes()
    with pytest.raises(RunFolderError, match="a new one would not be"):
        make_report(ReportSource(run), ["html"])
    assert (run / "report.html").read_bytes() == before
    made = make_report(ReportSource(run), ["html"], out=tmp_path / "elsewhere")
    assert made.paths == (tmp_path / "elsewhere" / "report.html",)


def test_while_somebody_writes_nothing_is_logged(run: Path, keys: Path) -> None:
    log = open_for_appending(run, keys)
    try:
        made = make_report(ReportSource(run, keys=keys), ["html"])
    finally:
        log.close()
    assert made.notes[0].startswith("the report is not in the log: ")
    assert (run / "report.html").exists()


def test_a_failing_log_gives_only_the_page(run: Path, keys: Path) -> None:
    (run / "model.safetensors").write_bytes(b"another model")
    made = make_report(ReportSource(run, keys=keys))
    assert [path.name for path in made.paths] == ["report.html"]
    assert not made.verdict.ok
    assert "a check failed: only the page is written" in made.notes
    assert _exports(run) == []


def test_a_log_that_cannot_be_read_gives_nothing(run: Path) -> None:
    (run / "log" / "checkpoint").write_bytes(b"nonsense")
    files = set(run.iterdir())
    with pytest.raises(AuditError):
        make_report(ReportSource(run))
    assert set(run.iterdir()) == files


def test_the_readers_policy_and_pin_are_used(run: Path) -> None:
    policy = f"log {LOG.verifier.vkey}\nquorum none\n".encode()
    pin = (run / "log" / "checkpoint").read_bytes()
    made = make_report(ReportSource(run, policy, pin), ["html"])
    details = {check.claim: check.detail for check in made.verdict.checks}
    assert "by your policy" in details["log key"]
    assert details["pin"] == "extends your checkpoint of 9 entries"
    with pytest.raises(AuditError):
        make_report(ReportSource(run, b"nonsense\n"), ["html"])


def test_a_run_that_keeps_growing_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = replace(verify_run(run), size=1)
    monkeypatch.setattr("lexfed.report.dossier.verify_run", lambda *_: verdict)
    with pytest.raises(RunFolderError, match="is being written"):
        make_report(ReportSource(run))


@pytest.mark.parametrize("blocked", ["folder", "file"])
def test_a_place_that_cannot_be_written_is_an_error_of_ours(
    blocked: str, run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    if blocked == "folder":
        out.write_text("a file")
    else:
        (out / "report.html").mkdir(parents=True)
        (out / "report.html" / "x").touch()
    with pytest.raises(LexfedError, match="cannot"):
        make_report(ReportSource(run), ["html"], out=out)


def test_metrics_are_on_the_page_and_not_in_the_log(run: Path, keys: Path) -> None:
    make_report(ReportSource(run, keys=keys))
    assert b"0.836" in (run / "report.html").read_bytes()
    entries = json.dumps([e.decode() for e in read_evidence(run).view.entries])
    assert "0.836" not in entries


def test_a_quorum_of_witnesses_excludes_a_split_view(tmp_path: Path) -> None:
    witness = signer("witness.example/a")
    fake = fake_run()
    fake.cosigners = ((witness, START + timedelta(minutes=5)),)
    policy = (
        f"log {LOG.verifier.vkey}\nwitness a {witness.cosigner.vkey}\nquorum a\n"
    ).encode()
    run = fake.write(tmp_path / "run")
    make_report(ReportSource(run, policy), ["html"])
    page = (run / "report.html").read_text()
    assert "quorum <code>a</code> met" in page
    assert "split view" not in page
    make_report(ReportSource(run), ["html"])
    assert "split view) cannot be excluded" in (run / "report.html").read_text()
