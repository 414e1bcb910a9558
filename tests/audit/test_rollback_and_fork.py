# SPDX-License-Identifier: Apache-2.0
"""Rollback, fork, stolen key, wrong clock and bad witnesses, with real parts.

Real stores on disk and real witnesses over HTTP. Every attack is one the operator of
a log could try; the comments say what stops it.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.pins import check_pin, read_pin, write_pin
from lexfed.audit.storage.reader import LogView, read_log
from lexfed.audit.tree.checkpoint import Checkpoint, SignedCheckpoint
from lexfed.audit.tree.trust_policy import TrustPolicy
from lexfed.audit.verify.outside_evidence import times_in_order
from lexfed.audit.witness.client import (
    CheckedCosignature,
    MissingCosignature,
    WitnessTarget,
    gather_cosignatures,
    last_seen_checkpoint,
    submit_checkpoint,
)
from lexfed.audit.witness.conflict_proof import (
    Conflict,
    conflict_of_logs,
    conflict_of_notes,
)
from lexfed.audit.witness.succession import check_succession
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from support.audit.witnessed import ORIGIN, policy_of, served, signer
from support.loopback import Respond, answering, http, raw, silent

KEY = signer().verifier
NAMES = ("witness.example.net/a", "witness.example.net/b", "witness.example.net/c")


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[tuple[WitnessTarget, ...]]:
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(served(tmp_path / name[-1], name)) for name in NAMES
        )


def trusting(targets: Sequence[WitnessTarget], quorum: str = "2") -> TrustPolicy:
    return policy_of(*(target.key for target in targets), quorum=quorum)


def grow(store: Store, *entries: str) -> None:
    store.append([entry.encode() for entry in entries])


def witness(store: Store, targets: Sequence[WitnessTarget]) -> None:
    """Ask the witnesses and add what they give, as a run does after each round."""
    got = gather_cosignatures(targets, store.checkpoint, store.tree, timeout_s=5)
    good = [
        each.signature for each in got.values() if isinstance(each, CheckedCosignature)
    ]
    store.add_signatures(good)


def view(folder: Path) -> LogView:
    return read_log(folder, [KEY])


# Rollback: a copy of the folder at 3 entries is put back after the log grew to 6


@pytest.fixture
def rolled_back(tmp_path: Path, targets: tuple[WitnessTarget, ...]) -> Path:
    folder, backup = tmp_path / "log", tmp_path / "backup"
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    with Store.create(folder, signer(), ORIGIN) as store:
        grow(store, "0", "1", "2")
        witness(store, targets)
    shutil.copytree(folder, backup)
    with Store.open(folder, signer()) as store:
        grow(store, "3", "4", "5")
        witness(store, targets)
        write_pin(keys, store.checkpoint, store.tree, KEY)
    shutil.rmtree(folder)
    backup.rename(folder)
    return folder


def test_a_restored_log_verifies_on_its_own(rolled_back: Path) -> None:
    # The limit that pins and witnesses exist for: its own signatures are real.
    assert view(rolled_back).size == 3


def test_the_writer_refuses_below_its_pin(rolled_back: Path, tmp_path: Path) -> None:
    pin = read_pin(tmp_path / "keys", ORIGIN, KEY)
    assert pin is not None
    with pytest.raises(AuditError, match="3 entries, but 6 were published"):
        Store.open(rolled_back, signer(), floor=pin.checkpoint.size)


def test_the_writer_refuses_below_what_a_witness_proves(
    rolled_back: Path, targets: tuple[WitnessTarget, ...]
) -> None:
    seen = last_seen_checkpoint(targets[0], ORIGIN, KEY)
    assert isinstance(seen, SignedCheckpoint)
    with pytest.raises(AuditError, match="3 entries, but 6 were published"):
        Store.open(rolled_back, signer(), floor=seen.checkpoint.size)


def test_no_witness_cosigns_the_restored_log(
    rolled_back: Path, targets: tuple[WitnessTarget, ...]
) -> None:
    with Store.open(rolled_back, signer()) as store:
        got = submit_checkpoint(targets[0], store.checkpoint, store.tree)
        assert isinstance(got, MissingCosignature)
        assert got.claims == 6
        # Growing past it does not help: the history is another one.
        grow(store, *"abcdef")
        got = submit_checkpoint(targets[0], store.checkpoint, store.tree)
        assert isinstance(got, MissingCosignature)
        assert "status 422" in got.reason


def test_an_auditor_with_a_pin_notices(rolled_back: Path, tmp_path: Path) -> None:
    pin = read_pin(tmp_path / "keys", ORIGIN, KEY)
    assert pin is not None
    with pytest.raises(AuditError, match="3 entries, but 6 were pinned"):
        check_pin(pin.checkpoint, ORIGIN, view(rolled_back).tree)
    with Store.open(rolled_back, signer()) as store:
        grow(store, *"abcdef")
    with pytest.raises(AuditError, match="is not the pinned one"):
        check_pin(pin.checkpoint, ORIGIN, view(rolled_back).tree)


# Fork: two folders, one key


@pytest.fixture
def forked(tmp_path: Path, targets: tuple[WitnessTarget, ...]) -> tuple[Path, Path]:
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    with Store.create(shown, signer(), ORIGIN) as store:
        grow(store, "0", "1", "2")
        witness(store, targets)
    shutil.copytree(shown, hidden)
    for folder, entries in ((shown, "xyz"), (hidden, "uvw")):
        with Store.open(folder, signer()) as store:
            grow(store, *entries)
            witness(store, targets)
    return shown, hidden


def test_both_sides_of_a_fork_verify_without_witnesses(
    forked: tuple[Path, Path],
) -> None:
    alone = policy_of(quorum="none")
    for folder in forked:
        assert view(folder).size == 6
        trusted = alone.check((folder / "checkpoint").read_bytes())
        assert trusted.quorum_met
        assert not trusted.witnessed
        assert "a split view cannot be excluded" in trusted.reason


def test_only_one_side_of_a_fork_has_a_quorum(
    forked: tuple[Path, Path], targets: tuple[WitnessTarget, ...]
) -> None:
    policy = trusting(targets)
    shown, hidden = (policy.check((f / "checkpoint").read_bytes()) for f in forked)
    assert shown.witnessed
    assert not hidden.quorum_met
    assert "not met" in hidden.reason


def test_a_fork_fails_against_a_pin(forked: tuple[Path, Path]) -> None:
    shown, hidden = forked
    pin = view(shown).signed.checkpoint
    check_pin(pin, ORIGIN, view(shown).tree)
    with pytest.raises(AuditError, match="is not the pinned one"):
        check_pin(pin, ORIGIN, view(hidden).tree)


def test_two_checkpoints_of_a_fork_are_proof(
    forked: tuple[Path, Path], tmp_path: Path
) -> None:
    notes = [(folder / "checkpoint").read_bytes() for folder in forked]
    found = conflict_of_notes(notes[0], notes[1], KEY)
    assert found is not None
    exported = tmp_path / "proof.json"
    exported.write_bytes(found.to_bytes())
    said = Conflict.parse(exported.read_bytes()).verify(KEY)
    assert said == f"`{ORIGIN}` signed two roots for size 6"


def test_sides_of_different_sizes_are_proof_too(forked: tuple[Path, Path]) -> None:
    with Store.open(forked[1], signer()) as store:
        grow(store, "longer")
    shown, hidden = map(view, forked)
    found = conflict_of_logs(
        shown.signed.note.to_bytes(),
        shown.tree,
        hidden.signed.note.to_bytes(),
        hidden.tree,
        KEY,
    )
    assert found is not None
    said = Conflict.parse(found.to_bytes()).verify(KEY)
    assert said == f"`{ORIGIN}` signed two entries for index 3"


def test_a_witness_keeps_the_proof(forked: tuple[Path, Path], tmp_path: Path) -> None:
    assert forked
    for name in NAMES:
        (proof,) = (tmp_path / name[-1] / "conflicts").iterdir()
        Conflict.parse(proof.read_bytes()).verify(KEY)


# A stolen key


def test_after_a_theft_only_witnessed_entries_count(
    tmp_path: Path, targets: tuple[WitnessTarget, ...]
) -> None:
    folder, stolen = tmp_path / "log", tmp_path / "stolen"
    with Store.create(folder, signer(), ORIGIN) as store:
        grow(store, "0", "1", "2")
        witness(store, targets)
    shutil.copytree(folder, stolen)
    with Store.open(folder, signer()) as store:
        grow(store, "3")
        witness(store, targets)
        grow(store, "not witnessed any more")
    # The thief has the key and an older copy, and writes another history.
    with Store.open(stolen, signer()) as store:
        grow(store, *"forged")
        got = gather_cosignatures(targets, store.checkpoint, store.tree, timeout_s=5)
        assert all(isinstance(each, MissingCosignature) for each in got.values())
        forged = store.checkpoint
    notes = [(folder / "checkpoint").read_bytes(), forged]
    for target in targets:
        seen = last_seen_checkpoint(target, ORIGIN, KEY)
        assert isinstance(seen, SignedCheckpoint)
        notes.append(seen.note.to_bytes())
    old = view(folder)
    line = Checkpoint(ORIGIN, 4, old.tree.root(4))
    policy = trusting(targets, quorum="all")
    assert check_succession(line, notes, policy).signed.checkpoint == line
    # A new log, new origin and new key, cites it; the thief cannot write there.
    new = signer("audit.example.org/run-1b", seed=50)
    with Store.create(tmp_path / "new", new, new.name) as store:
        store.append([b"continues " + line.body()])
    follower = read_log(tmp_path / "new", [new.verifier])
    cited = Checkpoint.parse(follower.entries[0].removeprefix(b"continues "))
    check_succession(cited, notes, policy)
    with pytest.raises(AuditError, match="not signed by"):
        read_log(stolen, [new.verifier])
    for wrong in (
        Checkpoint(ORIGIN, 5, old.tree.root(5)),
        view(stolen).signed.checkpoint,
    ):
        with pytest.raises(AuditError, match="last witnessed checkpoint"):
            check_succession(wrong, notes, policy)


# A wrong clock


@pytest.mark.parametrize(
    ("shift", "found"), [(0, []), (365 * 86_400, [0, 1]), (-365 * 86_400, [1])]
)
def test_entries_dated_by_a_wrong_clock_are_flagged(
    tmp_path: Path, targets: tuple[WitnessTarget, ...], shift: int, found: list[int]
) -> None:
    claimed, signed = [], []
    with Store.create(tmp_path / "log", signer(), ORIGIN) as store:
        for size in (1, 2):
            claimed.append(int(time.time()) + shift)
            grow(store, f"made at {claimed[-1]}")
            witness(store, targets)
            times = trusting(targets).check(store.checkpoint).witnesses
            signed += [(size, at) for at in times.values()]
        assert len(signed) == 6
        # Nothing dates entry 0 from below, so a clock that is late shows from 1 on.
        wrong = times_in_order(claimed, signed, skew=300)
        assert [each.index for each in wrong] == found
        # The log itself does not care: order is the index.
        assert store.size == 2


# Witnesses that fail


BAD: dict[str, Respond] = {
    "slow": silent,
    "failing": http(500),
    "hangs up": raw(b""),
    "garbage": http(200, b"\xff\x00\n\n\n"),
    "oversized": http(200, b"x" * 100_000),
    "409 loop": http(409, b"0\n", "text/x.tlog.size"),
    "claims more": http(409, b"999\n", "text/x.tlog.size"),
    "lies about its key": http(200, signer("liar").verifier.vkey.encode()),
}


@pytest.mark.parametrize("name", BAD)
def test_a_round_is_durable_whatever_the_witness_does(
    tmp_path: Path, name: str
) -> None:
    liar: Signer = signer("witness.example.net/bad", 60)
    folder = tmp_path / "log"
    with Store.create(folder, signer(), ORIGIN) as store, answering(BAD[name]) as url:
        grow(store, "0", "1")
        target = WitnessTarget("bad", liar.cosigner, url)
        got = gather_cosignatures([target], store.checkpoint, store.tree, timeout_s=1)
        assert isinstance(got["bad"], MissingCosignature)
        assert got["bad"].reason
        grow(store, "2")
    assert [bytes(entry) for entry in view(folder).entries] == [b"0", b"1", b"2"]
    trusted = policy_of(liar.cosigner, quorum="all").check(
        (folder / "checkpoint").read_bytes()
    )
    assert not trusted.quorum_met
    assert "a split view cannot be excluded" in trusted.reason


def test_a_quorum_survives_one_bad_witness(
    tmp_path: Path, targets: tuple[WitnessTarget, ...]
) -> None:
    with answering(silent) as url:
        bad = WitnessTarget(targets[2].name, targets[2].key, url)
        with Store.create(tmp_path / "log", signer(), ORIGIN) as store:
            grow(store, "0")
            got = gather_cosignatures(
                [*targets[:2], bad], store.checkpoint, store.tree, timeout_s=3
            )
            good = [
                e.signature for e in got.values() if isinstance(e, CheckedCosignature)
            ]
            store.add_signatures(good)
            trusted = trusting(targets).check(store.checkpoint)
    assert trusted.witnessed
    assert len(trusted.witnesses) == 2
