# SPDX-License-Identifier: Apache-2.0
"""The store: durable appends, one history, and no second chance after an error."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lexfed.audit.storage import write_protocol
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.reader import read_log
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.checkpoint import Checkpoint, cosign, open_checkpoint, sign
from lexfed.audit.tree.tiles import encode_bundle
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.signing.notes import NoteSignature, parse_note
from support.log.folders import (
    KEYS,
    ORIGIN,
    OTHER,
    SIGNER,
    entries,
    files_of,
    grow,
    make_log,
    memory_folder,
    tree_of,
)
from support.log.judge import Judge


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


@pytest.fixture
def log(place: Path) -> Path:
    return make_log(place / "log", 1, 3)


def test_appends_are_there_under_a_signed_checkpoint(place: Path) -> None:
    with Store.create(place / "log", SIGNER, ORIGIN) as store:
        assert store.origin == ORIGIN
        assert store.folder == place / "log"
        assert store.append(entries(0, 3)) == range(3)
        assert store.append([]) == range(3, 3)
        assert store.append(entries(3, 4)) == range(3, 4)
        assert store.size == 4
        assert list(store.entries) == entries(0, 4)
        assert store.root == store.tree.root() == tree_of(4).root()
        signed = open_checkpoint(store.checkpoint, *KEYS)
        assert signed.checkpoint == Checkpoint(ORIGIN, 4, store.root)
        assert (place / "log" / "checkpoint").read_bytes() == store.checkpoint
    assert list(read_log(place / "log", KEYS).entries) == entries(0, 4)


def test_what_a_log_holds_on_disk(log: Path) -> None:
    assert sorted(files_of(log)) == [
        *("checkpoint", "lock", "signed/0", "signed/1", "signed/3"),
        *("tile/0/000.p/1", "tile/0/000.p/3"),
        "tile/entries/000.p/3",
    ]


def test_a_long_log_holds_its_entries_once(place: Path) -> None:
    with Store.create(place / "log", SIGNER, ORIGIN) as store:
        for number in range(1, 301):
            grow(store, number)
    held = files_of(place / "log")
    bundles = sorted(name for name in held if name.startswith("tile/entries/"))
    assert bundles == ["tile/entries/000", "tile/entries/001.p/44"]
    # Hashes stay for every size that was signed.
    assert sum(name.startswith("tile/0/001.p/") for name in held) == 44
    assert read_log(place / "log", KEYS).size == 300


def test_bundles_that_logs_of_before_kept_are_allowed_and_removed(log: Path) -> None:
    old = log / "tile" / "entries" / "000.p" / "1"
    old.write_bytes(encode_bundle(entries(0, 1)))
    assert read_log(log, KEYS).size == 3
    Store.open(log, SIGNER).close()
    assert not old.exists()
    assert (old.parent / "3").exists()
    assert read_log(log, KEYS).size == 3


def test_partial_tiles_go_when_the_full_one_is_there(log: Path) -> None:
    with Store.open(log, SIGNER) as store:
        grow(store, 255, 258)
    assert sorted(name for name in files_of(log) if name.startswith("tile/")) == [
        *("tile/0/000", "tile/0/001.p/2", "tile/1/000.p/1"),
        *("tile/entries/000", "tile/entries/001.p/2"),
    ]
    assert not (log / "tile" / "0" / "000.p").exists()


def test_partial_tiles_that_a_crash_left_are_removed(log: Path) -> None:
    left = files_of(log)
    with Store.open(log, SIGNER) as store:
        grow(store, 256)
    for name, content in left.items():
        if name.startswith("tile/"):
            (log / name).parent.mkdir(exist_ok=True)
            (log / name).write_bytes(content)
    assert read_log(log, KEYS).size == 256
    Store.open(log, SIGNER).close()
    assert not (log / "tile" / "0" / "000.p").exists()
    assert not (log / "tile" / "entries" / "000.p").exists()


def test_creating_where_something_is(log: Path, place: Path) -> None:
    with pytest.raises(RunFolderError, match="log` is not empty"):
        Store.create(log, SIGNER, ORIGIN)
    (log / "checkpoint").unlink()
    shutil.rmtree(log / "tile")
    with pytest.raises(RunFolderError, match="is not empty"):
        Store.create(log, SIGNER, ORIGIN)  # more than size 0 was signed
    (place / "file").touch()
    with pytest.raises(RunFolderError, match=r"cannot create `.*file`: file exists"):
        Store.create(place / "file", SIGNER, ORIGIN)
    with pytest.raises(RunFolderError, match="is not empty"):
        Store.create(place, SIGNER, ORIGIN)
    (place / "lock").unlink()


def test_creating_again_after_a_crash(place: Path) -> None:
    log = make_log(place / "log")
    (log / "checkpoint").rename(log / "part")
    (log / "blobs").mkdir()
    with Store.create(log, SIGNER, ORIGIN) as store:
        grow(store, 2)
    assert read_log(log, KEYS).size == 2


def test_origin_is_the_name_of_the_key(place: Path) -> None:
    with pytest.raises(AuditError, match="is signed by the key of"):
        Store.create(place / "log", SIGNER, "other.example/log")
    assert not (place / "log").exists()


def test_opening_what_is_not_sound(log: Path) -> None:
    (log / "tile" / "0" / "000.p" / "3").write_bytes(bytes(96))
    with pytest.raises(AuditError, match="hash 0 of 3"):
        Store.open(log, SIGNER)
    with pytest.raises(AuditError, match="hash 0 of 3"):  # the lock is free again
        Store.open(log, SIGNER)


def test_a_restored_backup_is_not_signed_again(log: Path, place: Path) -> None:
    # Row 3 of the fault table, on the writer's side.
    shutil.copytree(log, place / "backup")
    with Store.open(log, SIGNER) as store:
        grow(store, 5)
    with pytest.raises(AuditError, match="has 3 entries, but 5 were published") as old:
        Store.open(place / "backup", SIGNER, floor=5)
    assert "backup" in old.value.hint
    assert files_of(place / "backup")["checkpoint"] == read_bytes(place, "signed/3")
    Store.open(log, SIGNER, floor=5).close()
    # Without a floor nothing here can tell: that is what pins and witnesses are for.
    Store.open(place / "backup", SIGNER).close()


def read_bytes(place: Path, name: str) -> bytes:
    return (place / "backup" / name).read_bytes()


def test_a_stage_does_not_lift_a_log_over_the_floor(log: Path) -> None:
    stage = StagedAppend(ORIGIN, 3, tree_of(3).root(), tuple(entries(3, 5)))
    (log / "stage").write_bytes(stage.to_bytes(SIGNER))
    with pytest.raises(AuditError, match="has 3 entries, but 5 were published"):
        Store.open(log, SIGNER, floor=5)


def test_a_log_put_back_in_part_is_refused(log: Path, place: Path) -> None:
    shutil.copytree(log, place / "backup")
    with Store.open(log, SIGNER) as store:
        grow(store, 5)
    for name in ("checkpoint", "tile"):
        path = log / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        (place / "backup" / name).rename(path)
    with pytest.raises(AuditError, match="5 entries were signed, but only 3 are here"):
        Store.open(log, SIGNER)


def test_no_size_is_signed_twice(log: Path) -> None:
    # Another root for size 4 was signed, and all trace of it removed but one.
    tree = tree_of(3)
    tree.append(b"another")
    note = sign(Checkpoint(ORIGIN, 4, tree.root()), SIGNER)
    with Store.open(log, SIGNER) as store:
        (log / "signed" / "4").write_bytes(note)
        with pytest.raises(AuditError, match=r"signed/4`: another root was signed"):
            grow(store, 4)
    assert (log / "signed" / "4").read_bytes() == note
    assert (
        open_checkpoint((log / "checkpoint").read_bytes(), *KEYS).checkpoint.size == 3
    )


def test_a_size_that_was_signed_with_this_root_is_published(log: Path) -> None:
    note = sign(Checkpoint(ORIGIN, 4, tree_of(4).root()), SIGNER)
    with Store.open(log, SIGNER) as store:
        (log / "signed" / "4").write_bytes(note)
        grow(store, 4)
    assert read_log(log, KEYS).size == 4


def test_signing_comes_after_everything_it_covers(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    for name in ("write_part", "rename_part", "link_part", "sync", "remove"):
        monkeypatch.setattr(Folder, name, watched(steps, name, getattr(Folder, name)))
    publish = write_protocol.publish

    def signed(folder: Folder, note: bytes) -> None:
        steps.append("signed")
        publish(folder, note)

    monkeypatch.setattr(write_protocol, "publish", signed)
    with Store.open(log, SIGNER) as store:
        grow(store, 5)
    assert steps == [
        *("write_part", "rename_part stage", "sync"),
        *("write_part", "rename_part tile/entries/000.p/5"),
        *("write_part", "rename_part tile/0/000.p/5", "sync"),
        *("signed", "write_part", "link_part signed/5", "sync"),
        *("rename_part checkpoint", "sync", "remove stage"),
        "remove tile/entries/000.p/3",
    ]


def watched(
    steps: list[str], name: str, real: Callable[..., object]
) -> Callable[..., object]:
    def call(self: Folder, *args: object) -> object:
        named = args if name != "write_part" else ()
        steps.append(" ".join([name, *map(str, named)]))
        return real(self, *args)

    return call


@pytest.mark.parametrize("step", ["write_part", "rename_part", "link_part", "sync"])
def test_after_an_error_the_store_refuses_everything(
    log: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = Store.open(log, SIGNER)

    def fail(self: Folder, *args: object) -> None:
        raise RunFolderError("cannot write `x`: input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, step, fail)
        with pytest.raises(RunFolderError, match="input/output error"):
            grow(store, 5)
    for use in (
        lambda: store.append([b"x"]),
        lambda: store.append([]),
        lambda: store.add_signatures([]),
        *(lambda: store.size, lambda: store.root, lambda: store.tree),
        *(lambda: store.entries, lambda: store.checkpoint),
    ):
        with pytest.raises(RunFolderError, match="was closed by an error") as refused:
            use()
        assert refused.value.hint == "open it again"
    store.close()
    with Store.open(log, SIGNER) as store:
        grow(store, 6)
    assert list(read_log(log, KEYS).entries) == entries(0, 6)


def test_an_interrupt_within_an_append_ends_the_store_too(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(log, SIGNER)

    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            grow(store, 5)
    with pytest.raises(RunFolderError, match=r"error \(KeyboardInterrupt\)"):
        grow(store, 5)
    Store.open(log, SIGNER).close()


def test_a_closed_store_refuses(log: Path) -> None:
    store = Store.open(log, SIGNER)
    store.close()
    store.close()
    with pytest.raises(RunFolderError, match="log` was closed"):
        store.append([b"x"])


def test_an_entry_that_is_too_long_changes_nothing(log: Path) -> None:
    before = files_of(log)
    with Store.open(log, SIGNER) as store:
        with pytest.raises(AuditError, match="entry 4 has 65536 bytes") as refused:
            store.append([b"", bytes(65_536)])
        assert "blob" in refused.value.hint
        assert files_of(log) == before
        store.append([bytes(65_535)])
    assert read_log(log, KEYS).entries[3] == bytes(65_535)


def test_cosignatures_are_kept_beside_the_signature(log: Path) -> None:
    with Store.open(log, SIGNER) as store:
        plain = store.checkpoint
        body = parse_note(plain).body
        mark = cosign(body, OTHER, 17)
        store.add_signatures([mark])
        store.add_signatures([mark])
        assert store.checkpoint == plain + mark.line.encode()
        later = cosign(body, OTHER, 18)
        store.add_signatures([later])
        assert store.checkpoint == plain + later.line.encode()
    assert (log / "signed" / "3").read_bytes() == plain
    with Store.open(log, SIGNER) as store:
        assert store.checkpoint == plain + later.line.encode()
        grow(store, 4)  # a new checkpoint has no cosignatures yet
        assert len(parse_note(store.checkpoint).signatures) == 1


def test_signatures_that_would_spoil_the_checkpoint(log: Path) -> None:
    key_id = SIGNER.verifier.key_id
    with Store.open(log, SIGNER) as store:
        before = store.checkpoint
        with pytest.raises(AuditError, match="is wrong"):
            store.add_signatures([NoteSignature(ORIGIN, key_id, bytes(64))])
        with pytest.raises(AuditError, match="more than 100"):
            store.add_signatures(
                [NoteSignature(f"w{n}", bytes(4), bytes(72)) for n in range(100)]
            )
        assert store.checkpoint == before
        grow(store, 4)  # nothing was written, so the store is well


def test_a_finished_stage_that_came_back_is_done_again(log: Path) -> None:
    with Store.open(log, SIGNER) as store:
        grow(store, 5)
        mark = cosign(parse_note(store.checkpoint).body, OTHER, 17)
        store.add_signatures([mark])
        cosigned = store.checkpoint
    stage = StagedAppend(ORIGIN, 3, tree_of(3).root(), tuple(entries(3, 5)))
    (log / "stage").write_bytes(stage.to_bytes(SIGNER))
    with Store.open(log, SIGNER) as store:
        assert store.checkpoint == cosigned
    assert not (log / "stage").exists()
    assert read_log(log, KEYS).size == 5


def test_an_old_stage_that_came_back_is_dropped(log: Path) -> None:
    with Store.open(log, SIGNER) as store:
        grow(store, 5, 6)
        before = store.checkpoint
    stage = StagedAppend(ORIGIN, 3, tree_of(3).root(), tuple(entries(3, 5)))
    (log / "stage").write_bytes(stage.to_bytes(SIGNER))
    with Store.open(log, SIGNER) as store:
        assert store.checkpoint == before
    assert not (log / "stage").exists()


def test_a_stage_that_nobody_signed_gets_nothing_signed(log: Path) -> None:
    # Whoever may write into the folder may not choose what is appended.
    stage = StagedAppend(ORIGIN, 3, tree_of(3).root(), (b"forged",))
    (log / "stage").write_bytes(stage.to_bytes(OTHER))
    with pytest.raises(AuditError, match="`stage`: note is not signed by"):
        Store.open(log, SIGNER)
    assert not (log / "signed" / "4").exists()


def test_a_new_key_goes_on_where_the_old_one_ended(log: Path, judge: Judge) -> None:
    with pytest.raises(AuditError, match="is not signed by"):
        Store.open(log, OTHER)
    with Store.open(log, OTHER, former=KEYS) as store:
        body = parse_note(store.checkpoint).body
        store.add_signatures(
            [NoteSignature(ORIGIN, OTHER.verifier.key_id, OTHER.sign(body))]
        )
        both = store.checkpoint
        grow(store, 5)
    for signer in (SIGNER, OTHER):
        assert open_checkpoint(both, signer.verifier).checkpoint.size == 3
    keys = [OTHER.verifier, *KEYS]
    assert read_log(log, keys).size == 5
    with pytest.raises(AuditError):
        read_log(log, KEYS)
    assert judge.accepts("log", log, *(key.vkey for key in keys))


@pytest.mark.parametrize("name", ["tile", "tile/0", "tile/0/000.p", "signed", "stage"])
def test_a_link_planted_under_a_writer_is_not_followed(
    log: Path, place: Path, name: str
) -> None:
    # Row 18 of the fault table, on the writer's side.
    outside = place / "outside"
    with Store.open(log, SIGNER) as store:
        path = log / name
        if path.exists():
            path.rename(outside)
        else:
            outside.mkdir()
        path.symlink_to(outside)
        before = sorted(outside.rglob("*"))
        if name == "stage":
            grow(store, 5)  # replaced by name, never followed
        else:
            with pytest.raises(LexfedError, match="link, a special file"):
                grow(store, 5)
        assert sorted(outside.rglob("*")) == before


def test_a_lock_that_is_a_link(log: Path, place: Path) -> None:
    (log / "lock").unlink()
    (log / "lock").symlink_to(place / "elsewhere")
    with pytest.raises(RunFolderError, match=r"cannot open `.*lock`"):
        Store.open(log, SIGNER)
    assert not (place / "elsewhere").exists()
