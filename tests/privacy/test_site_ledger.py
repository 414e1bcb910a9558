# SPDX-License-Identifier: Apache-2.0
"""A site's ledger on disk: written before acknowledged, never with a gap."""

import os
from pathlib import Path

import pytest

from lexfed.errors import Refused, RunFolderError
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import FileLedger, Ledger, Limits, SiteLedger
from lexfed.tiers import Tier

RELEASE = Release("tower", (ReleaseGroup("all", 1.0, 10.0),), 1.0, Tier.SPECIAL, 10)


def rules(count: int = 3) -> Ledger:
    return Ledger.planned(Limits(5.0, 1e-6), [(RELEASE, count)])


def opened(path: Path, count: int = 3) -> FileLedger:
    return FileLedger(path, rules(count))


def test_charges_survive_and_count(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    first = opened(path)
    ledger: SiteLedger = first
    ledger.charge(RELEASE)
    ledger.charge(RELEASE)
    first.close()
    again = opened(path)
    assert again.events() == (RELEASE, RELEASE)
    again.charge(RELEASE)
    assert again.would_exceed(RELEASE) is not None
    with pytest.raises(Refused, match="tower"):
        again.charge(RELEASE)
    assert len(path.read_bytes().splitlines()) == 3
    again.close()


def test_on_disk_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = opened(path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.stat().st_size))
    ledger.charge(RELEASE)
    assert synced[-1] == path.stat().st_size > 0
    ledger.close()


def test_a_charge_that_cannot_be_written_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path / "ledger.jsonl")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunFolderError, match="no space"):
            ledger.charge(RELEASE)
    assert ledger.events() == ()
    ledger.charge(RELEASE)
    assert len(ledger.events()) == 1
    ledger.close()


def test_a_half_written_last_line_was_never_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = opened(path)
    ledger.charge(RELEASE)
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    again = opened(path)
    assert again.events() == (RELEASE,)
    again.charge(RELEASE)
    again.close()
    assert path.read_bytes() == whole + whole


@pytest.mark.parametrize(
    "damage",
    [b"garbage\n", b'{"version": 9}\n', b"[]\n"],
    ids=["text", "version", "list"],
)
def test_a_damaged_earlier_line_is_an_error(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = opened(path)
    ledger.charge(RELEASE)
    ledger.close()
    path.write_bytes(damage + path.read_bytes())
    with pytest.raises(RunFolderError, match=r"ledger\.jsonl:1"):
        opened(path)


def test_events_that_do_not_fit_the_budget_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = opened(path)
    for _ in range(3):
        ledger.charge(RELEASE)
    ledger.close()
    with pytest.raises(RunFolderError, match=r"ledger\.jsonl:3"):
        opened(path, count=2)
