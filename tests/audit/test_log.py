# SPDX-License-Identifier: Apache-2.0
"""The log of a run: appended once, durable, bound to its place, pinned."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexfed.audit.entries import (
    Certificate,
    ChangeEntry,
    Deletion,
    Document,
    Genesis,
    Incident,
    ResumptionEntry,
    RuleResult,
)
from lexfed.audit.log.audit_log import AuditLog, LogKeys, utc_now
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.storage.pins import pin_path, read_pin
from lexfed.audit.storage.reader import read_log
from lexfed.audit.tree.checkpoint import open_checkpoint, sign
from lexfed.audit.tree.merkle import leaf_hash
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.notes import parse_note
from support.audit.worlds import COORDINATOR, LOG, ORIGIN, RUN, fake_run, signer

KEYS = LogKeys(COORDINATOR, LOG)
OPENING = [(draft.entry, draft.key) for draft in fake_run().drafts[:4]]
RESUMED = ResumptionEntry(rounds=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run" / "log"


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def log(folder: Path, pins: Path) -> Iterator[AuditLog]:
    """A log with the entries that come before the first round."""
    made = AuditLog.create(folder, ORIGIN, KEYS, pins)
    made.append_all(OPENING)
    yield made
    made.close()


def reopened(log: AuditLog, pins: Path | None = None) -> AuditLog:
    log.close()
    return AuditLog.open(log.folder, KEYS, pins=pins)


def pinned(pins: Path) -> int:
    pin = read_pin(pins, ORIGIN, LOG.verifier)
    return -1 if pin is None else pin.checkpoint.size


def log_note(folder: Path) -> bytes:
    return (folder / "checkpoint").read_bytes()


def contents(folder: Path) -> dict[Path, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


# Appending


def test_on_return_the_entry_is_on_disk_under_a_checkpoint(
    log: AuditLog, folder: Path
) -> None:
    record = log.append(RESUMED, "resumed/4")
    view = read_log(folder, [LOG.verifier])
    assert view.signed.checkpoint.size == 5 == log.size
    assert leaf_hash(view.entries[record.index]) == record.leaf


def test_what_was_acknowledged_survives_a_kill(log: AuditLog, folder: Path) -> None:
    log.close()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        grown = AuditLog.open(folder, KEYS)
        record = grown.append(RESUMED, "resumed/4")
        os.write(writing, record.leaf)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(writing)
    acknowledged = os.read(reading, 32)
    os.close(reading)
    assert leaf_hash(read_log(folder, [LOG.verifier]).entries[4]) == acknowledged


def test_the_same_event_is_appended_once(log: AuditLog) -> None:
    first = log.append(RESUMED, "resumed/4")
    assert log.append(RESUMED, "resumed/4") == first
    again = reopened(log)
    assert again.append(RESUMED, "resumed/4") == first
    assert again.append_all(OPENING) == again.records[:4]
    assert again.size == 5
    again.close()


def test_the_same_event_twice_in_one_batch(log: AuditLog) -> None:
    change = ChangeEntry(what="purpose", before=None, after=None)
    found = log.append_all(
        [(RESUMED, "resumed/4"), (change, "change/1"), (RESUMED, "resumed/4")]
    )
    assert [record.index for record in found] == [4, 5, 4]
    assert log.size == 6


OTHER = [
    pytest.param(ResumptionEntry(rounds=1), id="other content"),
    pytest.param(Deletion(artefact="blob", digest=None), id="other kind"),
]


@pytest.mark.parametrize("other", OTHER)
def test_the_same_key_with_other_content_is_refused_and_nothing_written(
    log: AuditLog, folder: Path, other: ResumptionEntry | Deletion
) -> None:
    log.append(RESUMED, "resumed/4")
    before = contents(folder)
    incident = Incident(
        what="outage", aware_at=utc_now(), notified_at=None, delay_reason=None
    )
    with pytest.raises(AuditError, match="entry 4 has the key `resumed/4` already"):
        log.append_all([(incident, "incident/1"), (other, "resumed/4")])
    with pytest.raises(AuditError, match="entry 5 has the key `new` already"):
        log.append_all([(RESUMED, "new"), (other, "new")])
    assert contents(folder) == before
    assert log.append(incident, "incident/1").index == 5  # it goes on


def test_an_entry_that_does_not_fit_is_refused_and_nothing_written(
    log: AuditLog, folder: Path
) -> None:
    results = tuple(
        RuleResult(rule=f"r{n}", outcome="PARTIAL", evidence=tuple(range(60)))
        for n in range(400)
    )
    large = Certificate(
        catalogue="0" * 64, first=0, last=3, results=results, at_ceiling=0, applicable=0
    )
    before = contents(folder)
    with pytest.raises(AuditError, match=r"entry 5 \(`c`\) has \d+ bytes") as refused:
        log.append_all([(RESUMED, "resumed/4"), (large, "c")])
    assert "into a blob" in refused.value.hint
    assert contents(folder) == before


@pytest.mark.parametrize("key", ["", "Upper", "two words", "a" * 129, "../x\n"])
def test_a_key_in_no_form_is_refused(log: AuditLog, key: str) -> None:
    with pytest.raises(AuditError, match="entry 4: `key`"):
        log.append(RESUMED, key)


def test_entries_are_bound_to_their_place(log: AuditLog, folder: Path) -> None:
    log.append_all([(ResumptionEntry(rounds=n), f"resumed/{n}") for n in range(3)])
    before = ""
    for index, record in enumerate(read_evidence(folder.parent).records):
        assert (record.origin, record.run) == (ORIGIN, RUN)
        assert (record.index, record.previous) == (index, before)
        record.envelope.verify(
            {COORDINATOR.fingerprint: COORDINATOR.public}, {COORDINATOR.fingerprint}
        )
        before = record.leaf.hex()
    assert [entry.rounds for entry in log.entries(ResumptionEntry)] == [0, 1, 2]


def test_nothing_to_append_changes_nothing(log: AuditLog, folder: Path) -> None:
    before = contents(folder)
    assert log.append_all([]) == ()
    assert contents(folder) == before


def test_the_clock_is_given(folder: Path) -> None:
    log = AuditLog.create(folder, ORIGIN, KEYS, clock=lambda: "2026-11-15T12:00:00Z")
    assert log.append_all(OPENING)[0].time == "2026-11-15T12:00:00Z"
    log.close()


# Keys


def test_keys_that_are_not_in_force_do_not_open_it(log: AuditLog, folder: Path) -> None:
    log.close()
    before = contents(folder)
    strangers = {
        "coordinator": LogKeys(signer("coordinator", "other"), LOG),
        "log": LogKeys(COORDINATOR, signer(ORIGIN, "other")),
    }
    for role, keys in strangers.items():
        with pytest.raises(RunFolderError, match=f"the {role}'s key is not the one in"):
            AuditLog.open(folder, keys, former=[LOG.verifier])
    with pytest.raises(AuditError, match="not signed by"):
        AuditLog.open(folder, strangers["log"])
    assert contents(folder) == before
    AuditLog.open(folder, KEYS).close()  # it was let go every time


def test_a_log_that_does_not_begin_with_a_genesis_is_not_opened(folder: Path) -> None:
    log = AuditLog.create(folder, ORIGIN, KEYS)
    log.append(OPENING[1][0], "policy")
    with pytest.raises(AuditError, match="entry 0 is not a genesis"):
        reopened(log)


def test_an_empty_log_is_opened(folder: Path, pins: Path) -> None:
    log = reopened(AuditLog.create(folder, ORIGIN, KEYS, pins), pins)
    assert log.append(OPENING[0][0], "genesis").index == 0
    assert isinstance(log.records[0].entry, Genesis)
    log.close()


def test_one_writer_at_a_time(log: AuditLog, folder: Path) -> None:
    with pytest.raises(RunFolderError, match="writes"):
        AuditLog.open(folder, KEYS)
    with pytest.raises(RunFolderError, match=r"is not empty|writes"):
        AuditLog.create(folder, ORIGIN, KEYS)


# Pins


def test_every_append_is_pinned(log: AuditLog, pins: Path, folder: Path) -> None:
    assert pinned(pins) == 4
    log.append(RESUMED, "resumed/4")
    assert pinned(pins) == 5
    pin = pin_path(pins, ORIGIN).read_bytes()
    assert parse_note(pin).body == parse_note(log.store.checkpoint).body
    # Control: without a folder for pins there are none.
    log.close()
    shutil.rmtree(pins)
    AuditLog.open(folder, KEYS).append(RESUMED, "resumed/5")
    assert not pins.exists()


def test_a_crash_between_an_append_and_its_pin_is_made_good(
    log: AuditLog, pins: Path
) -> None:
    before = pin_path(pins, ORIGIN).read_bytes()
    log.append(RESUMED, "resumed/4")
    pin_path(pins, ORIGIN).write_bytes(before)
    again = reopened(log, pins)
    assert pinned(pins) == 5
    again.close()


def test_what_cannot_be_pinned_closes_the_log(
    log: AuditLog, pins: Path, folder: Path
) -> None:
    shutil.move(pins / "pins", pins / "aside")
    (pins / "pins").write_text("a file")
    with pytest.raises(RunFolderError, match="cannot use pin"):
        log.append(RESUMED, "resumed/4")
    # It is in the log, and nothing more gets there unpinned.
    with pytest.raises(RunFolderError, match="was closed"):
        log.append(RESUMED, "resumed/5")
    with pytest.raises(RunFolderError, match="cannot use pin"):
        AuditLog.open(folder, KEYS, pins=pins)
    (pins / "pins").unlink()
    shutil.move(pins / "aside", pins / "pins")
    again = AuditLog.open(folder, KEYS, pins=pins)
    assert again.append(RESUMED, "resumed/4").index == 4
    assert (again.size, pinned(pins)) == (5, 5)
    again.close()


def test_a_restored_older_copy_is_refused(
    log: AuditLog, pins: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "backup")
    log.append(RESUMED, "resumed/4")
    log.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    before = contents(folder)
    with pytest.raises(AuditError, match="4 entries, but 5 were published") as refused:
        AuditLog.open(folder, KEYS, pins=pins)
    assert "restored from a backup" in refused.value.hint
    assert contents(folder) == before
    # What others have seen counts as much as what was pinned here.
    with pytest.raises(AuditError, match="4 entries, but 7 were published"):
        AuditLog.open(folder, KEYS, floor=7)
    # Control: whoever has forgotten everything cannot tell.
    AuditLog.open(folder, KEYS).close()


def test_an_emptied_log_is_refused(log: AuditLog, pins: Path, folder: Path) -> None:
    log.close()
    shutil.rmtree(folder)
    AuditLog.create(folder, ORIGIN, KEYS).close()
    with pytest.raises(AuditError, match="0 entries, but 4 were published"):
        AuditLog.open(folder, KEYS, pins=pins)


def test_another_history_is_refused_before_anything_is_signed(
    log: AuditLog, pins: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "fork")
    log.append(RESUMED, "resumed/4")
    log.close()
    fork = AuditLog.open(tmp_path / "fork", KEYS)
    for number in (1, 2):
        fork.append(ResumptionEntry(rounds=number), f"resumed/{number}")
    fork.close()
    before = contents(tmp_path / "fork")
    with pytest.raises(AuditError, match="is not the pinned one"):
        AuditLog.open(tmp_path / "fork", KEYS, pins=pins)
    assert contents(tmp_path / "fork") == before


def test_a_pin_that_nobody_signed_is_refused(
    log: AuditLog, pins: Path, folder: Path
) -> None:
    log.close()
    AuditLog.open(folder, KEYS, pins=pins).close()  # control: it is at its pin
    other = signer(ORIGIN, "other")
    note = sign(open_checkpoint(log_note(folder), LOG.verifier).checkpoint, other)
    pin_path(pins, ORIGIN).write_bytes(note)
    with pytest.raises(AuditError, match=r"pin .* note is not signed by") as refused:
        AuditLog.open(folder, KEYS, pins=pins)
    assert "from before its key was replaced" in refused.value.hint


def test_documents_and_blobs_lie_beside_it(log: AuditLog) -> None:
    digest = log.blobs.put(b"text")
    document = Document(what="dpia", digest=digest, issued="2026-11-15")
    assert log.append(document, "document/dpia").entry == document
    assert log.blobs.get(digest) == b"text"
