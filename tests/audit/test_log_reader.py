# SPDX-License-Identifier: Apache-2.0
"""Reading a log: what is returned was checked, and what is odd is refused."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lexfed.audit.standalone import verify as standalone
from lexfed.audit.storage import reader
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.reader import LogView, read_log
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.checkpoint import Checkpoint, sign
from lexfed.audit.tree.tiles import encode_bundle, outgrown, partial_tiles
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.notes import VerifierKey
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


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


@pytest.fixture
def log(place: Path) -> Path:
    return make_log(place / "log", 1, 3)


def test_a_view_is_of_one_tree(log: Path) -> None:
    view = read_log(log, KEYS)
    assert list(view.entries) == entries(0, 3)
    assert view.size == 3
    assert view.tree.root() == view.signed.checkpoint.root == tree_of(3).root()
    assert view.tree.leaves == tree_of(3).leaves
    assert view.stage is None


def test_reading_changes_nothing(log: Path) -> None:
    (log / "lock").unlink()
    before = files_of(log)
    times = [path.stat().st_mtime_ns for path in sorted(log.rglob("*"))]
    read_log(log, KEYS)
    assert files_of(log) == before
    assert [path.stat().st_mtime_ns for path in sorted(log.rglob("*"))] == times


@pytest.mark.parametrize("key", [OTHER.verifier, SIGNER.cosigner])
def test_a_log_of_another_key(log: Path, key: VerifierKey) -> None:
    with pytest.raises(AuditError, match="checkpoint`: "):
        read_log(log, [key])
    assert read_log(log, [*KEYS, OTHER.verifier]).size == 3
    with pytest.raises(AuditError, match="not signed by any known key"):
        read_log(log, [])


def test_no_log(place: Path) -> None:
    with pytest.raises(RunFolderError, match="no such file"):
        read_log(place / "nothing", KEYS)
    (place / "empty").mkdir()
    with pytest.raises(AuditError, match="empty/checkpoint` is missing"):
        read_log(place / "empty", KEYS)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "x",
            "checkpoint.part",
            "tile/x",
            "tile/0/x",
            "tile/0/000.p/0",
            "tile/00/000",
        ),
        *("tile/0/x000/000", "tile/entries/1", "tile/64/000", "signed/x", "signed/007"),
        *("signed/9/9", "cosigned/x", "cosigned/9/9", "blobs/x", "blobs/sha512/x"),
        *("blobs", "timestamps", "tile", "\udcff", "new\nline"),
        "tile/" + "d/" * 40 + "file",
    ],
)
def test_names_no_log_has(log: Path, name: str) -> None:
    path = log / name
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with pytest.raises(AuditError, match=r"no part of a log|not a decimal") as refused:
        read_log(log, KEYS)
    refused.value.message.encode()  # can be printed
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("name", ["checkpoint", "lock", "stage", "part"])
def test_folders_in_place_of_files(log: Path, name: str) -> None:
    (log / name).unlink(missing_ok=True)
    (log / name).mkdir()
    with pytest.raises(
        AuditError, match=rf"not what belongs|'{name}', which is no part"
    ):
        read_log(log, KEYS)


def test_links_are_refused_wherever_they_are(place: Path, log: Path) -> None:
    # Row 18 of the fault table; every link leads to the very content it replaces.
    everything = sorted(log.rglob("*"))
    assert len(everything) > 10
    for path in everything:
        aside = place / "aside"
        path.rename(aside)
        path.symlink_to(aside)
        with pytest.raises(AuditError, match="link, a special file"):
            read_log(log, KEYS)
        path.unlink()
        aside.rename(path)
    assert read_log(log, KEYS).size == 3


def test_pipes_are_refused_without_waiting(log: Path) -> None:
    for name in ("checkpoint", "stage", "tile/0/000.p/3"):
        path = log / name
        content = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        with pytest.raises(AuditError, match=f"{name}` is a link, a special file"):
            read_log(log, KEYS)
        path.unlink()
        if content is not None:
            path.write_bytes(content)


def test_a_checkpoint_that_claims_too_much(log: Path) -> None:
    # Nothing may be allocated for entries that are not there.
    note = sign(Checkpoint(ORIGIN, 2**63 - 1, bytes(32)), SIGNER)
    (log / "checkpoint").write_bytes(note)
    with pytest.raises(AuditError, match="tile/entries/000` is missing"):
        read_log(log, KEYS)


def test_an_older_checkpoint_is_noticed_by_what_is_beyond_it(log: Path) -> None:
    shutil.copy(log / "signed" / "1", log / "checkpoint")
    with pytest.raises(
        AuditError, match="signed/3`: 3 entries were signed, but only 1"
    ):
        read_log(log, KEYS)
    (log / "signed" / "3").unlink()
    with pytest.raises(AuditError, match=r"entries/000.p/1` is missing"):
        read_log(log, KEYS)
    bundle = log / "tile" / "entries" / "000.p" / "1"
    bundle.write_bytes(encode_bundle(entries(0, 1)))
    with pytest.raises(AuditError, match=r"000.p/3` is beyond the 1 entries"):
        read_log(log, KEYS)


def test_signed_sizes_of_other_logs(log: Path) -> None:
    for content, message in [
        (sign(Checkpoint(ORIGIN, 1, tree_of(2).root()), SIGNER), "does not begin with"),
        (
            sign(Checkpoint(ORIGIN, 2, tree_of(2).root()), SIGNER),
            "checkpoint of 2 entr",
        ),
        (b"", "signed/1`: note"),
    ]:
        (log / "signed" / "1").write_bytes(content)
        with pytest.raises(AuditError, match=message):
            read_log(log, KEYS)


def test_a_partial_tile_without_a_checkpoint(log: Path) -> None:
    (log / "tile" / "0" / "000.p" / "2").write_bytes(b"".join(tree_of(2).leaves))
    with pytest.raises(AuditError, match=r"000.p/2` belongs to no checkpoint"):
        read_log(log, KEYS)


def test_a_partial_tile_that_went_before_its_time(log: Path) -> None:
    (log / "tile" / "0" / "000.p" / "1").unlink()
    with pytest.raises(AuditError, match=r"000.p/1` is missing: .* from entry 0 on"):
        read_log(log, KEYS)


def test_tiles_that_differ_are_named_with_the_hash(log: Path) -> None:
    path = log / "tile" / "0" / "000.p" / "3"
    content = path.read_bytes()
    for changed, hash_number in [
        (content[:32] + bytes(32) + content[64:], 1),
        (content[:64], 2),
        (content + bytes(32), 3),
    ]:
        path.write_bytes(changed)
        with pytest.raises(AuditError, match=f"p/3`: hash {hash_number} of 3 is not"):
            read_log(log, KEYS)


def test_an_unfinished_append_is_read_as_not_there(log: Path) -> None:
    stage = StagedAppend(ORIGIN, 3, tree_of(3).root(), tuple(entries(3, 5)))
    (log / "stage").write_bytes(stage.to_bytes(SIGNER))
    view = read_log(log, KEYS)
    assert view.size == 3
    assert view.stage == stage


def test_a_stage_of_another_log(log: Path) -> None:
    other = type(SIGNER)("other.example/log", SIGNER.private)
    stage = StagedAppend(other.name, 3, tree_of(3).root(), ())
    (log / "stage").write_bytes(stage.to_bytes(other))
    with pytest.raises(AuditError, match=r"`stage` is of another log, `other"):
        read_log(log, [*KEYS, other.verifier])


def test_a_signed_stage_of_another_history(log: Path) -> None:
    stage = StagedAppend(ORIGIN, 4, tree_of(4).root(), (b"x",))
    (log / "stage").write_bytes(stage.to_bytes(SIGNER))
    with pytest.raises(AuditError, match="only 3 are here"):
        read_log(log, KEYS)


def test_reads_again_when_a_writer_came_in_between(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The writer fills the tile after the checkpoint was read: partial tiles go.
    with Store.open(log, SIGNER) as store:
        attempts = []

        read, entries_of = reader._read, reader._entries

        def counting(folder: Folder, log_keys: Sequence[VerifierKey]) -> LogView:
            attempts.append(store.size)
            return read(folder, log_keys)

        def late(folder: Folder, size: int) -> Iterator[bytes]:
            if len(attempts) == 1:
                grow(store, 256)
            return entries_of(folder, size)

        monkeypatch.setattr(reader, "_read", counting)
        monkeypatch.setattr(reader, "_entries", late)
        assert read_log(log, KEYS).size == 256
        assert attempts == [3, 256]


def test_reads_again_when_only_partial_tiles_went(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The writer has published already, and tidies up while we read.
    partial = log / "tile" / "0" / "000.p" / "3"
    content = partial.read_bytes()
    with Store.open(log, SIGNER) as store:
        grow(store, 256)
    partial.parent.mkdir(exist_ok=True)
    partial.write_bytes(content)
    entries_of = reader._entries

    def tidying(folder: Folder, size: int) -> Iterator[bytes]:
        partial.unlink(missing_ok=True)
        return entries_of(folder, size)

    monkeypatch.setattr(reader, "_entries", tidying)
    assert read_log(log, KEYS).size == 256


def test_gives_up_on_a_log_that_never_rests(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    first = (log / "checkpoint").read_bytes()

    def never(folder: Folder, log_keys: object) -> LogView:
        attempts.append(1)
        (log / "checkpoint").write_bytes(first + b"x" * len(attempts))
        raise AuditError("no")

    monkeypatch.setattr(reader, "_read", never)
    with pytest.raises(AuditError, match="no"):
        read_log(log, KEYS)
    assert len(attempts) == 5


def test_partial_tiles_of_a_size() -> None:
    # The example of the specification [tlog-tiles]: 273 full tiles and a partial one.
    paths = [name.path for name in partial_tiles(70_000)]
    assert paths == [
        *("tile/entries/273.p/112", "tile/0/273.p/112", "tile/1/001.p/17"),
        "tile/2/000.p/1",
    ]
    assert list(partial_tiles(0)) == []
    assert [name.path for name in partial_tiles(65_536)] == ["tile/2/000.p/1"]


def test_partial_tiles_that_a_growth_replaces() -> None:
    assert list(outgrown(3, 255)) == []
    assert list(outgrown(255, 256)) == ["tile/entries/000.p", "tile/0/000.p"]
    assert list(outgrown(256, 700)) == []
    assert list(outgrown(65_535, 65_536)) == [
        *("tile/entries/255.p", "tile/0/255.p", "tile/1/000.p"),
    ]


AUDITOR = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from lexfed.audit.storage.reader import read_log
from lexfed.errors import LexfedError
from support.log.folders import KEYS
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
os.umask(0o777)
try:
    os.mkdir(Path(sys.argv[2]) / "x")
except OSError:
    pass
else:
    sys.exit("the folder is not read-only")
try:
    print(read_log(Path(sys.argv[2]), KEYS).tree.root().hex())
except LexfedError as error:
    print(error.message)
"""


@pytest.mark.parametrize("locale", ["C", "tr_TR.ISO-8859-9", "xx"])
def test_same_verdict_on_a_read_only_folder_anywhere(
    place: Path, log: Path, locale: str
) -> None:
    # Row 23 of the fault table: another user, locale and umask; no network is used.
    def verdict() -> str:
        for path in [place, log, *log.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        tests = Path(__file__).parent.parent
        done = subprocess.run(
            [sys.executable, "-c", AUDITOR, tests, log],
            env={**os.environ, "LC_ALL": locale, "TZ": "Asia/Kathmandu"},
            capture_output=True,
            text=True,
            check=True,
        )
        for path in [place, log, *log.rglob("*")]:
            path.chmod(0o755)
        return done.stdout.strip()

    assert verdict() == tree_of(3).root().hex()
    (log / "tile" / "0" / "000.p" / "3").write_bytes(bytes(96))
    with pytest.raises(AuditError) as refused:
        read_log(log, KEYS)
    assert verdict() == refused.value.message


def test_a_file_that_may_not_be_read(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # root may read everything, so the kernel's answer is given here.
    real = os.open

    def refuse(path: object, *args: int, **options: int) -> int:
        if path == "000.p":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RunFolderError, match=r"000.p.*: permission denied"):
        read_log(log, KEYS)


def test_a_bundle_that_goes_while_it_is_read_was_not_needed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = log / "tile" / "entries" / "000.p" / "1"
    old.write_bytes(encode_bundle(entries(0, 1)))
    listed = standalone.list_files(str(log))
    real, theirs = Folder.read, standalone.read_file

    def read(self: Folder, name: str, most: int) -> bytes | None:
        return None if name.endswith("entries/000.p/1") else real(self, name, most)

    def read_file(folder: str, name: str) -> bytes | None:
        return None if name.endswith("entries/000.p/1") else theirs(folder, name)

    monkeypatch.setattr(Folder, "read", read)
    assert read_log(log, KEYS).size == 3
    monkeypatch.setattr(standalone, "read_file", read_file)
    stored = standalone.read_entries(str(log), 3)
    tree = standalone.Tree([standalone.sha256(b"\x00" + each) for each in stored])
    assert standalone.check_files(str(log), stored, tree) == listed


def test_a_cosigned_checkpoint_beyond_the_log_is_noticed(log: Path) -> None:
    (log / "cosigned").mkdir(exist_ok=True)
    shutil.copy(log / "signed" / "3", log / "cosigned" / "9")
    with pytest.raises(AuditError, match="cosigned/9`: 9 entries were signed, but"):
        read_log(log, KEYS)
