# SPDX-License-Identifier: Apache-2.0
"""Backups put back, copies continued: never a second release under one charge.

A thousand random histories, as one line of JSON:

    LEXFED_HISTORIES=1000 pytest -s --timeout 0 tests/run/test_restored_runs.py \\
        -k test_random_histories
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed import train
from lexfed.config import load
from lexfed.errors import AuditError, LedgerError, Refused
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.purse import LedgerPlace, Purse, SitePurse
from lexfed.privacy.run_ledger import FileLedger
from lexfed.run import resume
from lexfed.run import train as train_rounds
from lexfed.run.api import priced_file
from lexfed.run.driver.site_accounts import SiteAccounts, charge_terms
from lexfed.run.folder import RunFolder
from support.ledger.purse_checks import resumed
from support.ledger.restored_histories import histories
from support.ledger.site_ledgers import book_of, ledgers, limited, writer


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """A writer of configurations beside the data of two sites."""
    return writer(tmp_path)


class Stop(Exception):
    """Ends a training."""


def stop(*_: object) -> None:
    raise Stop


def stopped(path: Path, at: int) -> None:
    """Begin a run, and end it after so many rounds."""

    def look(report: object) -> None:
        if getattr(report, "round", 0) == at:
            raise Stop

    with pytest.raises(Stop):
        train(path, on_round=look)


@pytest.mark.parametrize(
    ("engine", "trust"),
    [("simulation", "central"), ("inprocess", "central"), ("inprocess", "local")],
)
def test_a_backup_put_back_gives_no_second_history(
    made: Callable[..., Path], engine: str, trust: str
) -> None:
    path = made(engine, {"privacy.trust": trust})
    base = path.parent
    stopped(path, 1)
    for name in ("runs", "keys"):  # the run folder with its log, keys and pins
        shutil.copytree(base / name, base / "backup" / name)
    assert train(path, resume=True).rounds > 2
    before = book_of(base / "ledgers", "north")
    for name in ("runs", "keys"):
        shutil.rmtree(base / name)
        shutil.copytree(base / "backup" / name, base / name)
    with pytest.raises(Refused, match="it is an old copy") as caught:
        train(path, resume=True)
    assert caught.value.exit_code == 3
    assert "start another run" in caught.value.hint
    assert book_of(base / "ledgers", "north") == before


def test_a_round_that_died_before_its_noise_was_kept_is_asked_again(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made("inprocess")
    stopped(path, 1)
    with monkeypatch.context() as patch:
        patch.setattr(SiteAccounts, "publish", stop)  # noise was drawn, in memory only
        with pytest.raises(Stop):
            train(path, resume=True)
    before = book_of(path.parent / "ledgers", "north").meters["label:gdp"]
    result = train(path, resume=True)
    assert result.lost == 0
    after = book_of(path.parent / "ledgers", "north").meters["label:gdp"]
    assert before.committed + before.reserved == after.committed


def test_a_round_that_died_after_it_could_be_seen_is_lost(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made("inprocess")
    stopped(path, 1)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "stage", stop)  # nothing of it is in the folder
        with pytest.raises(Stop):
            train(path, resume=True)
    assert train(path, resume=True).lost == 1


def test_of_two_copies_at_once_one_releases_a_round(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made("simulation")
    other = path.parent / "runs/copy"
    real, seen = SiteAccounts.publish, list[Path]()
    stage = RunFolder.stage

    def publish(accounts: SiteAccounts, query: object) -> None:
        if not other.exists():  # the other copy goes on while this one computes
            shutil.copytree(path.parent / "runs/small", other)
            (other / "lock").unlink()
            priced = accounts._priced
            opened = resume(priced, other, path.read_text(), path.parent)
            train_rounds(priced, opened)
        real(accounts, query)  # type: ignore[arg-type]

    def staged(folder: RunFolder, progress: object) -> bytes:
        seen.append(folder.path)
        return stage(folder, progress)  # type: ignore[arg-type]

    monkeypatch.setattr(SiteAccounts, "publish", publish)
    monkeypatch.setattr(RunFolder, "stage", staged)
    # The ledger refuses; and the log, which would say so, is behind its pin.
    with pytest.raises(AuditError, match="were pinned") as caught:
        train(path)
    assert "another process has gone on" in str(caught.value.__context__)
    assert set(seen) == {other}


def test_ledgers_that_went_back_with_their_pins_are_paid_again(
    made: Callable[..., Path],
) -> None:
    path = made("simulation")
    base, state = path.parent, Path(os.environ["XDG_STATE_HOME"])
    train(made("simulation", name="first"))
    for name, place in (("ledgers", base / "ledgers"), ("state", state)):
        shutil.copytree(place, base / "backup" / name)
    stopped(path, 2)
    run = json.loads((base / "runs/small/events.jsonl").read_text().splitlines()[0])
    for name, place in (("ledgers", base / "ledgers"), ("state", state)):
        shutil.rmtree(place)
        shutil.copytree(base / "backup" / name, place)
    for ledger in ledgers(base / "ledgers").values():
        assert not ledger.rounds(run["log"]).paid
        ledger.close()
    result = train(path, resume=True)
    for ledger in ledgers(base / "ledgers").values():
        paid = ledger.rounds(run["log"]).paid
        assert paid == frozenset(range(1, result.rounds + 1))
        ledger.close()


def test_a_ledger_that_bounds_the_record_refuses_replace_one(
    made: Callable[..., Path],
) -> None:
    path = made("simulation")
    stopped(path, 1)
    folder = path.parent / "ledgers"
    with pytest.raises(Refused, match="tells the exact number of records"):
        limited(folder, "north", 9.0, "record")
    for file in folder.glob("*"):
        file.unlink()
    state = Path(os.environ["XDG_STATE_HOME"])
    shutil.rmtree(state)
    LedgerPlace(folder, "north", "north.csv").open().close()
    limited(folder, "north", 9.0, "record")
    with pytest.raises(Refused, match="tells the exact number of records") as caught:
        train(made("simulation", name="second"))
    assert caught.value.exit_code == 3


def test_a_site_elsewhere_pays_for_no_older_copy_of_its_state(
    made: Callable[..., Path], tmp_path: Path
) -> None:
    path = made("inprocess")
    priced = priced_file(path, load(path))
    rules, place = priced.site_ledger("north"), tmp_path / "own.jsonl"
    assert rules is not None
    charges = priced.programme.charges(0)
    [(first, _), (second, _), *_] = charges
    lasting = LastingLedger.open(tmp_path / "lasting", "north", "north.csv")
    notes: list[str] = []
    own: list[FileLedger] = []

    terms = charge_terms(priced, "run", again=False)

    def purse(ledger: LastingLedger) -> SitePurse:
        own.append(FileLedger(place, rules))
        return SitePurse(own[-1], Purse(ledger, terms), note=notes.append)

    opened = purse(lasting)
    resumed(opened, charges)
    opened.charge(first)
    copy = place.read_bytes()
    opened.charge(second)
    whole = place.read_bytes()
    place.write_bytes(copy)
    with pytest.raises(Refused, match="2 answers were paid for"):
        resumed(purse(lasting), charges)
    # Nor does a process that is past that look, with the same numbers as another.
    other = LastingLedger.open(tmp_path / "lasting", "north", "north.csv")
    with pytest.raises(Refused, match="does not pay"):
        purse(other).charge(second)
    assert "may have been released" in notes[-1]
    assert place.read_bytes() == copy
    place.write_bytes(whole)
    # What the lasting one has lost is paid again, and then room is kept for the rest.
    empty = LastingLedger.open(tmp_path / "empty", "north", "north.csv")
    resumed(purse(empty), charges)
    assert empty.rounds("run").paid == {1, 2}
    for ledger in (lasting, other, empty):
        ledger.close()
    for each in own:
        each.close()


# Random histories

OLD: dict[str, list[tuple[type, str, Any]]] = {
    "a repeated commit is accepted": [
        (LastingLedger, "_require_open", lambda *_, **__: None),
        (SiteAccounts, "have_left", lambda *_: False),
        (SiteAccounts, "publish", lambda *_: None),
    ],
    "nothing says that a round may have left": [
        (SiteAccounts, "publish", lambda *_: None)
    ],
    "forgotten rounds are not paid again": [
        (SiteAccounts, "catch_up", lambda *_: None)
    ],
}


def test_a_few_random_histories() -> None:
    found = histories(4, seed=7, steps=2)
    assert found["releases"] > 0


@pytest.mark.slow
def test_random_histories() -> None:
    count = int(os.environ.get("LEXFED_HISTORIES", "60"))
    found = histories(count, seed=0)
    sys.stdout.write(json.dumps(found) + "\n")
    # Control: things were put back, attempts killed and refused, rounds released.
    assert min(found["restored"].values()) > count / 10
    assert found["ends"]["killed"] > count / 10
    assert found["ends"]["Refused"] > 0
    assert found["releases"] > count


@pytest.mark.slow
@pytest.mark.parametrize("name", OLD)
def test_what_was_wrong_before_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, attribute, broken in OLD[name]:
        monkeypatch.setattr(owner, attribute, broken)
    with pytest.raises((AssertionError, LedgerError)):
        histories(120, seed=0)
