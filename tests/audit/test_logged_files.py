# SPDX-License-Identifier: Apache-2.0
"""Files of a run folder that the log has a digest of, by both verifiers."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.audit.entries import CompletionEntry, Export
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.log.logged_files import digest_of, read_logged
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.verify import Status, verify_run
from lexfed.errors import AuditError, RunFolderError
from lexfed.plain_files import MOST_OF_A_MODEL
from support.audit.two_verifiers import both, compared, failed
from support.audit.worlds import FakeRun, fake_run, sha256, signer


def handed_out(run: FakeRun, content: bytes) -> None:
    """Log that a bundle was made."""
    tree = Tree()
    for entry in run.sealed():
        tree.append(entry)
    root = tree.root().hex()
    made = Export(what="evidence", digest=sha256(content), size=tree.size, root=root)
    run.add(made, f"export/{tree.size}")


def test_the_statement_is_the_claim(tmp_path: Path) -> None:
    run = fake_run()
    run.files["privacy-statement.json"] = run.files["claim.json"]
    rows = compared(run.write(tmp_path / "1"))
    assert rows["files"]["detail"] == "8 files are the logged ones"
    run.files["privacy-statement.json"] += b"\n"
    ours, rows = both(run.write(tmp_path / "2"))
    assert failed(rows) == ["files"]
    [check] = [check for check in ours.checks if check.status is Status.FAIL]
    assert check.detail.endswith(
        "`privacy-statement.json` is not the file that was logged"
    )
    assert check.index == 8


def test_the_bundle_is_one_that_was_logged(tmp_path: Path) -> None:
    run = fake_run()
    run.files["evidence.zip"] = b"first"
    rows = compared(run.write(tmp_path / "1"))
    said = "the log has no digest of `evidence.zip`"
    assert (rows["other files"]["detail"], failed(rows)) == (said, [])
    handed_out(run, b"first")
    handed_out(run, b"second")
    for number, content in enumerate((b"first", b"second"), start=2):
        run.files["evidence.zip"] = content
        rows = compared(run.write(tmp_path / str(number)))
        assert failed(rows) == []
        assert rows["other files"]["status"] == "OK"
    run.files["evidence.zip"] = b"second, with better numbers"
    assert failed(compared(run.write(tmp_path / "4"))) == ["files"]


OTHERS = (
    "events.jsonl", "sites/1.jsonl", "parties.json", "metrics.csv", "adaptation.csv",
    "result.json", "profile.html", "report.pdf", "dpia.md", "model-card.md",
    "record-of-processing.csv",
)  # fmt: skip


def test_files_without_a_digest_are_listed(tmp_path: Path) -> None:
    run = fake_run()
    assert compared(run.write(tmp_path / "1"))["other files"]["status"] == "OK"
    run.files.update(dict.fromkeys(OTHERS, b"anything"))
    ours, rows = both(run.write(tmp_path / "2"))
    [check] = [check for check in ours.checks if check.claim == "other files"]
    assert (check.status, check.detail) == (Status.NOTE, rows["other files"]["detail"])
    for name in OTHERS:
        assert f"`{name.partition('/')[0]}`" in check.detail, name


def test_files_before_their_entry_have_no_digest_yet(tmp_path: Path) -> None:
    run = fake_run(finished=False)
    run.files |= {"model.safetensors": b"", "claim.json": b""}
    run.files["privacy-statement.json"] = b""
    rows = compared(run.write(tmp_path / "1"))
    said = "`model.safetensors`, `claim.json`, `privacy-statement.json`"
    assert rows["other files"]["detail"] == f"the log has no digest of {said}"
    assert failed(rows) == []
    run = fake_run(mechanism="none")
    run.files |= {"model.safetensors": b"", "privacy-statement.json": b""}
    rows = compared(run.write(tmp_path / "2"))
    assert "`model.safetensors`" in rows["other files"]["detail"]


def test_a_file_is_read_if_it_is_the_logged_one(tmp_path: Path) -> None:
    run = fake_run()
    evidence = read_evidence(run.write(tmp_path / "run"))
    path = tmp_path / "run" / "model.safetensors"
    assert read_logged(evidence, "model.safetensors") == path.read_bytes()
    assert read_logged(evidence, "metrics.csv") is None
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(AuditError, match="is not the file that was logged"):
        read_logged(evidence, "model.safetensors")
    path.unlink()
    assert read_logged(evidence, "model.safetensors") is None
    path.symlink_to("/dev/zero")
    with pytest.raises(AuditError, match="it is a link"):
        read_logged(evidence, "model.safetensors")
    (tmp_path / "run" / "tags.json").unlink()
    (tmp_path / "run" / "tags.json").symlink_to("plan.json")
    with pytest.raises(AuditError, match="it is a link"):
        read_logged(evidence, "tags.json")


def test_a_file_counts_only_by_a_signed_entry(tmp_path: Path) -> None:
    run = fake_run()
    run.of(CompletionEntry)[0].signers = (signer("somebody"),)
    evidence = read_evidence(run.write(tmp_path / "run"))
    with pytest.raises(AuditError, match="which nothing names"):
        read_logged(evidence, "model.safetensors")
    assert read_logged(evidence, "tags.json") is not None  # control: of another entry


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def hole(path: Path) -> None:
    path.touch()
    os.truncate(path, MOST_OF_A_MODEL + 1)


NAMES = (
    "config.toml", "model.safetensors", "report.html", "evidence.zip", "sealed",
    "privacy-statement.json", "log/checkpoint", "log/lock", "log/stage",
)  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [pipe, zeros, hole])
def test_neither_verifier_waits_or_reads_without_end(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    run = fake_run()
    handed_out(run, b"bundle")
    folder = run.write(tmp_path / "run")
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    begin = time.monotonic()
    ours = verify_run(folder)
    found = standalone.verify(str(folder), None, None)
    assert time.monotonic() - begin < 10.0
    # Nobody's receipts are sealed here, and what is staged is no part of a log yet.
    if name not in ("sealed", "log/stage"):
        assert not ours.ok
        assert not found["ok"]


def test_a_file_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").write_bytes(b"")
    assert digest_of(tmp_path / "none") is None
    monkeypatch.setattr("lexfed.audit.log.logged_files.plain", closed)
    with pytest.raises(RunFolderError, match=r"cannot read .*permission denied"):
        digest_of(tmp_path / "file")
