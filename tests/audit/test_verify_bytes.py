# SPDX-License-Identifier: Apache-2.0
"""Tampering with bytes, cutting off and parser bombs (rows 1, 2 and 19).

Mutations are drawn from fixed seeds, so a failure repeats.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexfed.audit.entries import Document, RoundEntry
from lexfed.audit.tree.tiles import MAX_ENTRY
from lexfed.audit.verify import Check, Status, verify_run
from lexfed.signing.dsse import PAYLOAD_TYPE, SignedEnvelope
from lexfed.signing.strict_text import encode_base64
from support.audit.worlds import COORDINATOR, FakeRun, fake_run, sha256, write_log


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_run(witnesses=b"quorum none\n").write(
        tmp_path_factory.mktemp("sound") / "run"
    )


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "run"))


def failures(folder: Path) -> list[Check]:
    verdict = verify_run(folder)
    found = [check for check in verdict.checks if check.status is Status.FAIL]
    assert verdict.ok == (not found)
    return found


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# Tampering


def kind_of(path: Path, folder: Path) -> str:
    """Return the class of a file: mutations are spread over all of them."""
    parts = path.relative_to(folder).parts
    return "/".join(parts[:-1][:3]) or parts[0]


def mutated(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    match chance.randrange(4):
        case 0:
            return content[:at] + content[at + 1 :]
        case 1:
            return content[:at] + bytes([chance.randrange(256)]) + content[at:]
        case 2:
            return content[:at]
        case _:
            flipped = content[at] ^ (1 << chance.randrange(8))
            return content[:at] + bytes([flipped]) + content[at + 1 :]


def assert_noticed(folder: Path, seed: int, count: int) -> None:
    classes: dict[str, list[Path]] = {}
    for path in files_of(folder):
        classes.setdefault(kind_of(path, folder), []).append(path)
    assert len(classes) >= 12
    chance = random.Random(seed)
    for number in range(count):
        paths = list(classes.values())[number % len(classes)]
        path = chance.choice(paths)
        before = path.read_bytes()
        after = mutated(before, chance)
        if after == before:
            continue
        path.write_bytes(after)
        found = failures(folder)
        assert found, f"{path}: a mutation was accepted (seed {seed}, {number})"
        assert all(check.detail for check in found)
        path.write_bytes(before)
    assert failures(folder) == []


def test_every_class_of_bytes_is_guarded(run: Path) -> None:
    assert_noticed(run, seed=0, count=150)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_ten_thousand_mutations_are_noticed(seed: int, run: Path) -> None:
    assert_noticed(run, seed, count=1000)


def test_the_first_changed_entry_is_named(run: Path) -> None:
    [bundle] = (run / "log/tile/entries").rglob("9")
    content = bundle.read_bytes()
    at = 0
    for index in range(9):
        size = int.from_bytes(content[at : at + 2], "big")
        place = at + 2 + size // 2
        bundle.write_bytes(content[:place] + b"\x00" + content[place + 1 :])
        [found] = failures(run)
        assert f"entry {index} " in found.detail
        at += 2 + size


def test_a_changed_blob_is_named_with_its_entry(run: Path) -> None:
    digest = sha256((run / "tags.json").read_bytes())
    (run / "log/blobs/sha256" / digest).write_bytes(b"{}")
    found = {check.claim: check for check in failures(run)}
    assert found["blobs"].index == 2
    assert digest in found["blobs"].detail


# Cutting off


@pytest.fixture(scope="module")
def long_run() -> FakeRun:
    """More entries than fit into one tile."""
    run = fake_run()
    for number in range(600):
        document = Document(what="note", digest="0" * 64, issued="2026-01-01")
        run.add(document, f"document/{number}")
    return run


@pytest.fixture(scope="module")
def long_folder(long_run: FakeRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = long_run.write(tmp_path_factory.mktemp("long") / "run")
    assert failures(folder) == []
    return folder


LOST = {
    "the first bundle": "tile/entries/000",
    "a bundle in the middle": "tile/entries/001",
    "the last bundle": "tile/entries/002.p/97",
    "a tile in the middle": "tile/0/001",
    "the last tile": "tile/0/002.p/97",
    "the tile above": "tile/1/000.p/2",
    "the checkpoint": "checkpoint",
    "what was signed": "signed/609",
}


@pytest.mark.parametrize("name", LOST)
def test_a_file_that_is_missing_or_cut(
    name: str, long_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(long_folder, tmp_path / "run"))
    path = folder / "log" / LOST[name]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    [found] = failures(folder)
    assert path.name in found.detail
    path.unlink()
    [found] = failures(folder)
    assert str(path) in found.detail


def test_entries_cut_off_below_the_checkpoint(
    long_run: FakeRun, long_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(long_folder, tmp_path / "run"))
    checkpoint = (folder / "log/checkpoint").read_bytes()
    shutil.rmtree(folder / "log/tile")
    write_log(folder / "log", long_run.sealed()[:400])
    (folder / "log/checkpoint").write_bytes(checkpoint)
    [found] = failures(folder)
    assert "entry 256" in found.detail or "entries from" in found.detail


# Parser bombs


def enveloped(payload: bytes) -> bytes:
    return SignedEnvelope.sign(payload, COORDINATOR).to_bytes()


def payloads() -> Iterator[tuple[str, bytes]]:
    good = SignedEnvelope.parse(fake_run().sealed()[5]).payload
    deep = b'{"a":' * 8_000 + b"1" + b"}" * 8_000
    yield "deep", deep
    yield "deep list", b"[" * 40_000
    yield "duplicate key", good.replace(b'"round":2,', b'"round":2,"round":2,')
    yield "not a number", good.replace(b'"round":2', b'"round":NaN')
    yield "infinite", good.replace(b'"round":2', b'"round":1e999')
    yield "huge integer", good.replace(b'"round":2', b'"round":' + b"9" * 5_000)
    yield "fraction", good.replace(b'"round":2', b'"round":2.0')
    yield "negative", good.replace(b'"round":2', b'"round":-2')
    yield "lone surrogate", good.replace(b'"round/2"', b'"\\ud800"')
    yield "not UTF-8", good.replace(b'"round/2"', b'"\xff"')
    yield "byte order mark", b"\xef\xbb\xbf" + good
    yield "white space", good + b" "
    yield "unsorted", b'{"subject":[],' + good[1:]
    yield "unknown field", good.replace(b'"round":2', b'"rounds":2')
    yield "unknown kind", good.replace(b"/audit/round/v1", b"/audit/secret/v1")
    yield "unknown version", good.replace(b"/audit/round/v1", b"/audit/round/v2")
    yield "other subject", good.replace(b'"name":"update"', b'"name":"upgrade"')
    yield "a sentence", good.replace(b'"stage":"personal"', b'"stage":"a name here"')
    yield "text for a number", good.replace(b'"round":2', b'"round":"2"')
    yield "null", b"null"
    yield "empty", b""


PAYLOADS = dict(payloads())


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_that_means_two_things(name: str, tmp_path: Path) -> None:
    run = fake_run()
    run.of(RoundEntry)[1].raw = enveloped(PAYLOADS[name])
    [found] = failures(run.write(tmp_path / "run"))
    assert found.claim == "log"
    assert found.detail.startswith("entry 5: ")


ENVELOPES = {
    "nothing": b"x",
    "longest": b"[" * MAX_ENTRY,
    "no signatures": b'{"payload":"","payloadType":"a/b","signatures":[]}',
    "other type": SignedEnvelope.sign(
        b"{}", COORDINATOR, payload_type="text/plain"
    ).to_bytes(),
    "spaced": enveloped(b"{}").replace(b",", b", "),
    "two payloads": enveloped(b"{}").replace(b'{"payload"', b'{"payload":"","payload"'),
    "not base64": enveloped(b"{}").replace(encode_base64(b"{}").encode(), b"*"),
    "another type of type": enveloped(b"{}").replace(
        f'"{PAYLOAD_TYPE}"'.encode(), b"1"
    ),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_an_envelope_that_is_none(name: str, tmp_path: Path) -> None:
    run = fake_run()
    run.of(RoundEntry)[1].raw = ENVELOPES[name]
    [found] = failures(run.write(tmp_path / "run"))
    assert found.claim == "log"
    assert found.detail.startswith("entry 5: ")


def test_files_in_the_place_of_others_are_noticed(run: Path) -> None:
    chance = random.Random(0)
    paths = files_of(run)
    contents = {path: path.read_bytes() for path in paths}
    for _ in range(60):
        path, other = chance.choice(paths), chance.choice(paths)
        if contents[path] == contents[other]:
            continue
        path.write_bytes(contents[other])
        assert failures(run), f"{other} in place of {path}"
        path.write_bytes(contents[path])
