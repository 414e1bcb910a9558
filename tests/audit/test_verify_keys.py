# SPDX-License-Identifier: Apache-2.0
"""The owner of a log: keys, rotation (row 9), policies, witnesses, pins, clocks."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import Genesis, KeyRotation
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.checkpoint import Checkpoint, cosign, sign
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.verify import Check, Status, verify_run
from lexfed.audit.witness.time_stamps import TimeStamp, load_roots, stamp
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import parse_note
from support.audit.authority import make_authority
from support.audit.worlds import (
    COORDINATOR,
    LOG,
    ORIGIN,
    START,
    FakeRun,
    fake_run,
    place,
    public_key,
    signer,
    time_of,
    write_log,
)
from support.loopback import answering

NEW_LOG = signer(ORIGIN, "new")
NEW_COORDINATOR = signer("coordinator", "new")
WITNESSES = tuple(signer(f"witness-{number}.example") for number in (1, 2, 3))


def policy(
    *logs: Signer, quorum: str = "none", witnesses: Sequence[Signer] = ()
) -> bytes:
    lines = [f"log {log.verifier.vkey}" for log in logs]
    lines += [f"witness w{n} {w.cosigner.vkey}" for n, w in enumerate(witnesses)]
    if witnesses:
        names = " ".join(f"w{n}" for n in range(len(witnesses)))
        lines.append(f"group two 2 {names}")
    return "".join(f"{line}\n" for line in [*lines, f"quorum {quorum}"]).encode()


def checked(folder: Path, **how: Any) -> dict[str, Check]:
    return {c.claim: c for c in verify_run(folder, **how).checks}


def failed(folder: Path, **how: Any) -> dict[str, str]:
    checks = checked(folder, **how).values()
    return {c.claim: c.detail for c in checks if c.status is Status.FAIL}


# Rotation


def log_rotation(**changes: Any) -> KeyRotation:
    fields: dict[str, Any] = {
        "role": "log",
        "old": LOG.fingerprint,
        "new": public_key(NEW_LOG),
        "vkey": NEW_LOG.verifier.vkey,
    }
    return KeyRotation(**fields | changes)


def coordinator_rotation(**changes: Any) -> KeyRotation:
    fields: dict[str, Any] = {
        "role": "coordinator",
        "old": COORDINATOR.fingerprint,
        "new": public_key(NEW_COORDINATOR),
        "vkey": None,
    }
    return KeyRotation(**fields | changes)


def with_new_log_key() -> FakeRun:
    run = fake_run()
    run.add(log_rotation(), "rotation/1", COORDINATOR, LOG, NEW_LOG)
    run.log_signers = (NEW_LOG,)
    return run


def test_a_rotated_log_key_is_followed(tmp_path: Path) -> None:
    run = with_new_log_key()
    old_note = sign(checkpoint_of(run.sealed()[:6]), LOG)
    folder = run.write(tmp_path / "run")
    assert failed(folder) == {}
    # Who knows only the old key, the new one, or an old checkpoint, gets there too.
    for known in (LOG, NEW_LOG):
        found = checked(folder, policy=policy(known), pin=old_note)
        assert found["log key"].status is Status.OK
        assert found["pin"].status is Status.OK


def test_the_first_checkpoint_after_a_rotation_may_carry_both(tmp_path: Path) -> None:
    run = with_new_log_key()
    run.log_signers = (LOG, NEW_LOG)
    assert failed(run.write(tmp_path / "run"), policy=policy(LOG)) == {}


def test_old_checkpoints_keep_their_old_signature(tmp_path: Path) -> None:
    run = with_new_log_key()
    write_log(tmp_path / "run/log", run.sealed()[:6], (LOG,))
    assert failed(run.write(tmp_path / "run")) == {}


def test_a_new_key_without_a_rotation_is_nobodys(tmp_path: Path) -> None:
    run = fake_run()
    run.log_signers = (NEW_LOG,)
    assert "not signed by" in failed(run.write(tmp_path / "run"))["log"]


def test_a_retired_key_does_not_sign(tmp_path: Path) -> None:
    run = with_new_log_key()
    run.log_signers = (LOG,)
    found = failed(run.write(tmp_path / "run"))["log"]
    assert "not signed with the log's key in force" in found


def test_a_rotation_that_is_still_in_the_stage(tmp_path: Path) -> None:
    run = with_new_log_key()
    *entries, last = run.sealed()
    del run.drafts[-1]
    run.log_signers = (LOG,)
    folder = run.write(tmp_path / "run")
    checkpoint = checkpoint_of(entries)
    stage = StagedAppend(ORIGIN, checkpoint.size, checkpoint.root, (last,))
    place(folder / "log/stage", stage.to_bytes(NEW_LOG))
    found = checked(folder)["log"]
    assert found.status is Status.OK
    assert "1 unfinished entry" in found.detail


def test_a_rotated_coordinator_signs_from_then_on(tmp_path: Path) -> None:
    run = fake_run()
    rotation = coordinator_rotation()
    run.add(rotation, "rotation/1", COORDINATOR, NEW_COORDINATOR)
    run.drafts.insert(5, run.drafts.pop())
    for draft in run.drafts[6:]:
        draft.signers = (NEW_COORDINATOR,)
    found = checked(run.write(tmp_path / "1"))["entry signatures"]
    assert (found.status, "1 key rotation" in found.detail) == (Status.OK, True)
    run.drafts[7].signers = (COORDINATOR,)
    found = checked(run.write(tmp_path / "2"))["entry signatures"]
    assert (found.status, found.index) == (Status.FAIL, 7)


@pytest.mark.parametrize(
    "signers",
    [
        (COORDINATOR,),
        (COORDINATOR, NEW_LOG),
        (COORDINATOR, LOG),
        (LOG, NEW_LOG),
        (COORDINATOR, LOG, NEW_LOG, signer("x")),
    ],
    ids=["coordinator", "new only", "old only", "no coordinator", "one too many"],
)
def test_a_rotation_is_signed_by_old_and_new(
    signers: tuple[Signer, ...], tmp_path: Path
) -> None:
    run = with_new_log_key()
    run.drafts[-1].signers = signers
    found = checked(run.write(tmp_path / "run"))["entry signatures"]
    assert (found.status, found.index) == (Status.FAIL, 9)


@pytest.mark.parametrize(
    ("rotation", "message"),
    [
        (log_rotation(old="0" * 64), "`old` is not the log key in force"),
        (log_rotation(vkey=None), "`vkey`"),
        (log_rotation(vkey=LOG.verifier.vkey), "different keys"),
        (log_rotation(vkey=signer("x").verifier.vkey), "not an Ed25519 key named"),
        (log_rotation(vkey=NEW_LOG.cosigner.vkey), "not an Ed25519 key named"),
        (log_rotation(new=public_key(NEW_COORDINATOR)), "different keys"),
        (
            log_rotation(
                new=public_key(NEW_LOG).model_copy(update={"keyid": "0" * 64})
            ),
            "not the one its id names",
        ),
        (coordinator_rotation(old="0" * 64), "`old` is not the coordinator key"),
        (coordinator_rotation(vkey=LOG.verifier.vkey), "is for the key of a log"),
    ],
    ids=[
        "from another", "no vkey", "vkey of the old", "another name", "a cosigner's",
        "two keys", "wrong id", "coordinator from another", "coordinator with vkey",
    ],
)  # fmt: skip
def test_rotations_that_do_not_fit(
    rotation: KeyRotation, message: str, tmp_path: Path
) -> None:
    run = fake_run()
    run.add(rotation, "rotation/1", COORDINATOR, LOG, NEW_LOG)
    found = failed(run.write(tmp_path / "run"))["log"]
    assert message in found
    assert "entry 9" in found


@pytest.mark.parametrize("vkey", ["", "no key", signer("x").verifier.vkey])
def test_entry_0_names_the_key_of_this_log(vkey: str, tmp_path: Path) -> None:
    run = fake_run()
    run.edit(Genesis, log=vkey)
    folder = run.write(tmp_path / "run")
    assert list(failed(folder)) == ["log"]
    assert list(failed(folder, policy=policy(LOG))) == ["log"]


def test_the_first_entry_is_a_genesis(tmp_path: Path) -> None:
    run = fake_run()
    del run.drafts[0]
    folder = run.write(tmp_path / "run")
    with pytest.raises(AuditError, match="entry 0 is not a genesis"):
        read_evidence(folder, [LOG.verifier])


def test_an_empty_log_has_no_genesis(tmp_path: Path) -> None:
    folder = FakeRun().write(tmp_path / "run")
    with pytest.raises(AuditError, match="entry 0 is not a genesis"):
        read_evidence(folder, [LOG.verifier])


# Policies and witnesses


def test_only_a_policy_says_whose_log_it_is(tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    assert checked(folder)["log key"].status is Status.NOTE
    assert checked(folder, policy=policy(LOG))["log key"].status is Status.OK
    found = failed(folder, policy=policy(signer("other.example/log")))
    assert "never signed with a key that you trust" in found["log"]


def test_a_malformed_policy_is_an_error(tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    with pytest.raises(AuditError, match="policy:1"):
        verify_run(folder, policy=b"trust everyone\n")


def witnessed(count: int, **settings: Any) -> FakeRun:
    run = fake_run(**settings)
    run.cosigners = tuple(
        (witness, START + timedelta(minutes=5)) for witness in WITNESSES[:count]
    )
    return run


def test_a_quorum_of_witnesses_excludes_a_split_view(tmp_path: Path) -> None:
    asked = policy(LOG, quorum="two", witnesses=WITNESSES)
    found = checked(witnessed(2).write(tmp_path / "2"), policy=asked)
    assert found["witnesses"].status is Status.OK
    assert "2026-11-15T12:05:00Z" in found["witnesses"].detail
    assert found["times"].status is Status.OK
    found = checked(witnessed(1).write(tmp_path / "1"), policy=asked)
    assert found["witnesses"].status is Status.FAIL
    assert "split view cannot be excluded" in found["witnesses"].detail


def test_a_policy_without_witnesses_leaves_a_split_view_open(tmp_path: Path) -> None:
    found = checked(fake_run().write(tmp_path / "run"), policy=policy(LOG))
    assert found["witnesses"].status is Status.NOTE
    assert "split view cannot be excluded" in found["witnesses"].detail


def test_witnesses_that_the_log_names_itself_are_only_a_note(tmp_path: Path) -> None:
    own = policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2, witnesses=own)
    found = checked(run.write(tmp_path / "1"))["witnesses"]
    assert found.status is Status.NOTE
    assert "quorum `two` met" in found.detail
    del run.blobs[next(d for d, content in run.blobs.items() if content == own)]
    assert checked(run.write(tmp_path / "2"))["witnesses"].status is Status.FAIL


def test_a_wrong_cosignature_fails(tmp_path: Path) -> None:
    folder = witnessed(2).write(tmp_path / "run")
    path = folder / "log/checkpoint"
    lines = path.read_bytes().split(b"\n")
    name, _, value = lines[-2].rpartition(b" ")
    changed = value[:40] + (b"A" if value[40:41] != b"A" else b"B") + value[41:]
    path.write_bytes(b"\n".join([*lines[:-2], name + b" " + changed, b""]))
    asked = policy(LOG, quorum="two", witnesses=WITNESSES)
    assert "witnesses" in failed(folder, policy=asked)
    # Nobody vouches for the witness where no policy names it.
    assert failed(folder) == {}


# Pins


def checkpoint_of(entries: Sequence[bytes], origin: str = ORIGIN) -> Checkpoint:
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    return Checkpoint(origin, tree.size, tree.root())


def test_a_pin_shows_what_was_cut_off_or_replaced(tmp_path: Path) -> None:
    whole, short, other = fake_run(), fake_run(), fake_run(sites=2)
    note = sign(checkpoint_of(whole.sealed()), LOG)
    assert failed(whole.write(tmp_path / "whole"), pin=note) == {}
    del short.drafts[-1:]
    folder = short.write(tmp_path / "short")
    # The older log is sound by itself: without a pin nobody can tell, and it says so.
    assert failed(folder) == {}
    assert "cut off" in checked(folder)["pin"].detail
    assert "8 entries, but 9 were pinned" in failed(folder, pin=note)["pin"]
    found = failed(other.write(tmp_path / "other"), pin=note)["pin"]
    assert "is not the pinned one" in found


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"pin",
        sign(checkpoint_of([b"x"]), signer(ORIGIN, "thief")),
        sign(checkpoint_of([b"x"], "other.example"), signer("other.example")),
    ],
    ids=["empty", "no note", "another key", "another log"],
)
def test_a_pin_is_a_signed_checkpoint_of_this_log(note: bytes, tmp_path: Path) -> None:
    assert list(failed(fake_run().write(tmp_path / "run"), pin=note)) == ["pin"]


# Clocks


def test_entries_dated_after_their_cosignature_are_named(tmp_path: Path) -> None:
    asked = policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2)
    run.drafts[6].place["time"] = "2027-11-15T12:00:00Z"
    found = checked(run.write(tmp_path / "run"), policy=asked)["times"]
    assert (found.status, found.index) == (Status.FAIL, 6)
    assert failed(tmp_path / "run", policy=asked, skew=10**9) == {}


def test_entries_dated_before_an_earlier_cosignature_are_named(tmp_path: Path) -> None:
    asked = policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2)
    folder = run.write(tmp_path / "run")
    assert checked(folder, policy=asked)["times"].status is Status.OK
    # The witness saw five entries a year later than the sixth says of itself.
    tree = Tree()
    for entry in run.sealed()[:5]:
        tree.append(entry)
    early = Checkpoint(ORIGIN, 5, tree.root())
    seen = datetime(2027, 11, 15, tzinfo=UTC)
    mark = cosign(early.body(), WITNESSES[0], int(seen.timestamp()))
    note = parse_note(sign(early, LOG)).with_signatures([mark])
    place(folder / "log" / "cosigned" / "5", note.to_bytes())
    found = checked(folder, policy=asked)["times"]
    assert (found.status, found.index) == (Status.FAIL, 5)


def test_a_clock_that_went_back_is_noted(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[6].place["time"] = "2025-11-15T12:00:00Z"
    found = checked(run.write(tmp_path / "run"))["times"]
    assert found.status is Status.NOTE
    assert "went back at entry 6" in found.detail


def test_a_time_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[6].place["time"] = "2026-19-39T29:59:69Z"
    found = checked(run.write(tmp_path / "run"))["times"]
    assert (found.status, found.index) == (Status.FAIL, 6)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_time_stamps_date_the_entries_before_them(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "tsa")
    run = fake_run()
    for draft in run.drafts:
        draft.place["time"] = "2020-01-01T00:00:00Z"
    folder = run.write(tmp_path / "run")
    roots = load_roots(authority.roots)
    with answering(authority.over_http()) as url:
        assert isinstance(stamp(folder / "log", 9, url, roots), TimeStamp)
    found = checked(folder, authorities=authority.roots)["times"]
    assert (found.status, "1 times that others" in found.detail) == (Status.OK, True)
    token = (folder / "log/timestamps/9.tsr").read_bytes()
    run.drafts[6].place["time"] = "2999-01-01T00:00:00Z"
    later = run.write(tmp_path / "later")
    with answering(authority.over_http()) as url:
        assert isinstance(stamp(later / "log", 9, url, roots), TimeStamp)
    found = checked(later, authorities=authority.roots)["times"]
    assert (found.status, found.index) == (Status.FAIL, 6)
    place(later / "log/timestamps/9.tsr", token)
    assert "times" in failed(later, authorities=authority.roots)


def test_a_witness_from_the_far_future_is_shown_as_a_number(tmp_path: Path) -> None:
    asked = policy(LOG, quorum="two", witnesses=WITNESSES)

    class Far(datetime):
        def timestamp(self) -> float:
            return float(2**62)

    run = fake_run()
    far = Far(2026, 1, 1)
    run.cosigners = tuple((witness, far) for witness in WITNESSES[:2])
    found = checked(run.write(tmp_path / "run"), policy=asked)["witnesses"]
    assert f"second {2**62}" in found.detail


def test_times_are_those_of_the_entries(tmp_path: Path) -> None:
    found = checked(fake_run().write(tmp_path / "run"))["times"]
    assert found.detail.startswith(f"{time_of(0)} to {time_of(8)}")
