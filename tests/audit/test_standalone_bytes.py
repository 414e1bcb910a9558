# SPDX-License-Identifier: Apache-2.0
"""Changed bytes, missing files, links and strange names, by both verifiers.

Mutations are drawn from fixed seeds, so a failure repeats.
"""

import os
import random
import shutil
from pathlib import Path

import pytest

from lexfed.audit.entries import Document, Genesis, RoundEntry
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.tree.checkpoint import Checkpoint, sign
from support.audit.two_verifiers import compared, failed, tables
from support.audit.worlds import LOG, ORIGIN, FakeRun, fake_run, place, write_log

BYTES = tables(Path(__file__).with_name("test_verify_bytes.py"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = fake_run(witnesses=b"quorum none\n")
    folder = tmp_path_factory.mktemp("sound") / "run"
    write_log(folder / "log", run.sealed()[:5])
    return run.write(folder)


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "run"))


def assert_noticed(folder: Path, seed: int, count: int) -> None:
    """Let the standalone verifier find mutations of files of every class."""
    classes: dict[str, list[Path]] = {}
    for path in BYTES.files_of(folder):
        classes.setdefault(BYTES.kind_of(path, folder), []).append(path)
    chance = random.Random(seed)
    for number in range(count):
        path = chance.choice(list(classes.values())[number % len(classes)])
        before = path.read_bytes()
        after = BYTES.mutated(before, chance)
        path.write_bytes(after)
        verdict = standalone.verify(str(folder), None, None)
        assert verdict["ok"] == (after == before), f"{path} (seed {seed}, {number})"
        path.write_bytes(before)
    assert failed(compared(folder)) == []


def test_every_class_of_bytes_is_guarded(folder: Path) -> None:
    assert_noticed(folder, seed=0, count=100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_five_thousand_mutations_are_noticed(seed: int, folder: Path) -> None:
    assert_noticed(folder, seed, count=1000)


def test_the_first_changed_entry_is_named(folder: Path) -> None:
    bundle = folder / "log/tile/entries/000.p/9"
    content, at = bundle.read_bytes(), 0
    for index in range(9):
        size = int.from_bytes(content[at : at + 2], "big")
        middle = at + 2 + size // 2
        bundle.write_bytes(content[:middle] + b"\x00" + content[middle + 1 :])
        found = standalone.verify(str(folder), None, None)["checks"][0]
        assert (found["status"], found["index"]) == ("FAIL", index)
        at += 2 + size


def test_any_file_of_the_log_may_go_missing(folder: Path) -> None:
    genesis = fake_run().drafts[0].entry
    assert isinstance(genesis, Genesis)
    for path in BYTES.files_of(folder / "log"):
        content = path.read_bytes()
        path.unlink()
        # The rules ship with lexfed, too, and the newest bundle begins as older ones.
        newest = path.parent.name != "000.p" or path.name == str(len(fake_run().drafts))
        older = path.parent.parent.name == "entries" and not newest
        needed = path.name != genesis.catalogue and not older
        assert bool(failed(compared(folder))) == needed, path
        path.write_bytes(content)
    assert failed(compared(folder)) == []


STRANGE = {
    "an unknown file": "notes.txt",
    "an unknown folder": "extra/checkpoint",
    "a tile of another spelling": "tile/0/x000/000",
    "a tile beyond the log": "tile/0/000.p/200",
    "a bundle beyond the log": "tile/entries/001",
    "a full width": "tile/0/000.p/256",
    "a width of none": "tile/0/000.p/0",
    "a level beyond the log": "tile/1/000",
    "a signed size beyond the log": "signed/10",
    "a name that is no size": "signed/x",
    "a blob that is no digest": "blobs/sha256/abc",
    "a blob elsewhere": "blobs/" + "0" * 64,
    "very deep": "/".join(["tile"] * 14),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_part_of_a_log_is_refused(name: str, folder: Path) -> None:
    place(folder / "log" / STRANGE[name], b"\x00" * 32)
    assert not standalone.verify(str(folder), None, None)["ok"]


@pytest.mark.parametrize(
    "name", ["checkpoint", "tile/0/000.p/9", "signed/9", "tile", "blobs", ""]
)
def test_links_are_not_followed(name: str, folder: Path, tmp_path: Path) -> None:
    path = folder / "log" / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert failed(compared(folder)) == ["log"]


@pytest.mark.parametrize("name", ["log/checkpoint", "claim.json"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_devices_are_not_waited_for(name: str, kind: str, folder: Path) -> None:
    path = folder / name
    path.unlink()
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    assert failed(compared(folder)) in (["log"], ["files"])


def test_a_lock_holds_nothing(folder: Path) -> None:
    place(folder / "log/lock", b"")
    assert failed(compared(folder)) == []
    place(folder / "log/lock", b"more")
    assert failed(compared(folder)) == ["log"]


def test_files_are_read_to_a_bound(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standalone, "MAX_FILE", 1000)
    found = standalone.verify(str(folder), None, None)["checks"][0]
    assert found["status"] == "FAIL"
    assert "more than 1000 bytes" in found["detail"]


def test_a_size_that_nothing_backs_costs_nothing(folder: Path) -> None:
    checkpoint = (folder / "log/checkpoint").read_text()
    text = checkpoint.replace("\n9\n", f"\n{2**63 - 1}\n")
    (folder / "log/checkpoint").write_text(text)
    assert failed(compared(folder)) == ["log"]


def long_run(size: int) -> FakeRun:
    run = fake_run()
    for number in range(size - len(run.drafts)):
        document = Document(what="note", digest="0" * 64, issued="2026-01-01")
        run.add(document, f"document/{number}")
    return run


@pytest.mark.no_cover
@pytest.mark.parametrize("size", [255, 256, 257, 600])
def test_logs_of_more_than_one_tile(size: int, tmp_path: Path) -> None:
    run = long_run(size)
    entries = run.sealed()
    write_log(tmp_path / "run/log", entries[:200], (LOG,))
    folder = run.write(tmp_path / "run")
    assert failed(compared(folder)) == []
    if size >= 256:  # the full tile has replaced it
        (folder / "log/tile/0/000.p/200").unlink()
        assert failed(compared(folder)) == []
    upper = folder / f"log/tile/1/000.p/{size // 256}"
    if upper.exists():
        upper.write_bytes(b"\x00" * upper.stat().st_size)
        rows = compared(folder)
        assert rows["log"]["index"] == 0


def test_an_erased_blob_is_gone_even_if_it_is_still_there(folder: Path) -> None:
    blob = next((folder / "log/blobs/sha256").iterdir())
    blob.with_name(blob.name + ".erased").write_bytes(b"")
    assert "blobs" in failed(compared(folder))


# Everything else is right, and one thing is not


def test_a_tile_or_bundle_that_goes_on(folder: Path) -> None:
    for name in ("tile/0/000.p/9", "tile/entries/000.p/9", "tile/entries/000.p/5"):
        path = folder / "log" / name
        content = path.read_bytes()
        path.write_bytes(content + b"\x00\x00")
        assert failed(compared(folder)) == ["log"]
        path.write_bytes(content)


def test_entries_and_tiles_that_were_replaced_together(folder: Path) -> None:
    checkpoint = (folder / "log/checkpoint").read_bytes()
    run = fake_run(sites=2)
    shutil.rmtree(folder / "log")
    run.write(folder)
    (folder / "log/checkpoint").write_bytes(checkpoint)
    row = compared(folder)["log"]
    assert "not those that the checkpoint signs" in row["detail"]


def test_another_history_that_was_signed_before(folder: Path) -> None:
    other = sign(Checkpoint(ORIGIN, 5, bytes(32)), LOG)
    (folder / "log/signed/5").write_bytes(other)
    row = compared(folder)["log"]
    assert "does not begin with what was signed" in row["detail"]


@pytest.mark.parametrize("name", ["checkpoint", "signed/9", "signed/5"])
def test_a_signature_under_a_checkpoint_that_is_wrong(name: str, folder: Path) -> None:
    path = folder / "log" / name
    content = path.read_bytes()
    other = b"A" if content[-20:-19] != b"A" else b"B"
    path.write_bytes(content[:-20] + other + content[-19:])
    row = compared(folder)["log"]
    assert f"the signature of `{ORIGIN}` is wrong" in row["detail"]


def test_a_signature_under_an_entry_that_is_wrong(tmp_path: Path) -> None:
    run = fake_run()
    before = run.sealed()[5]
    run.edit(RoundEntry, 1, epsilon="9.0")
    after = run.sealed()[5]
    mark = b'"sig"'
    run.drafts[5].raw = after[: after.index(mark)] + before[before.index(mark) :]
    rows = compared(run.write(tmp_path / "run"))
    assert (rows["entry signatures"]["status"], rows["entry signatures"]["index"]) == (
        "FAIL",
        5,
    )
