# SPDX-License-Identifier: Apache-2.0
"""Sites pay from lasting ledgers: before the first round, every round, and once."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed import train
from lexfed.audit.entries import RefusalEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.config import load
from lexfed.errors import LedgerError, Refused
from lexfed.federation.engines.clear_sums import InProcess, Simulation
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.run.api import priced_file
from lexfed.run.driver.open_run import start
from lexfed.run.driver.training_loop import train as train_run
from support.ledger.site_ledgers import (
    book_of,
    ledgers,
    limited,
    planned,
    writer,
)
from support.run.distributed_runs import Line


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """A writer of configurations beside the data of two sites."""
    return writer(tmp_path)


@pytest.mark.parametrize("engine", ["simulation", "inprocess"])
def test_every_site_pays_for_every_run(made: Callable[..., Path], engine: str) -> None:
    path = made(engine)
    result = train(path)
    assert result.rounds > 2
    folder = path.parent / "ledgers"
    expected = planned(priced_file(path, load(path)))
    for site in ("north", "south"):
        book = book_of(folder, site)
        paid = {name: sums.committed for name, sums in book.meters.items()}
        assert {name: paid[name] for name in expected} == expected
        assert all(sums.reserved == 0 for sums in book.meters.values())
    train(made(engine, name="second"))
    again = book_of(folder, "north")
    assert again.meters["label:gdp"].committed == 2 * expected["label:gdp"]
    assert len(again.runs) == 2


@pytest.mark.parametrize("engine", ["simulation", "inprocess"])
def test_a_site_that_cannot_pay_stops_the_run_before_it_starts(
    made: Callable[..., Path], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(made(engine))
    path = made(engine, name="second")
    limited(path.parent / "ledgers", "south", 1.1)
    before = book_of(path.parent / "ledgers", "north").meters

    def computed(*_: object) -> None:
        raise AssertionError("somebody computed")

    monkeypatch.setattr(InProcess, "ask", computed)
    monkeypatch.setattr(Simulation, "ask", computed)
    with pytest.raises(Refused, match="ledger of `south` refuses run") as caught:
        train(path)
    assert caught.value.exit_code == 3
    assert caught.value.scope == "site"
    run = path.parent / "runs/second"
    assert not run.exists()
    assert book_of(path.parent / "ledgers", "north").meters == before
    # Another run may be faster after that, so a run asks again when it begins.
    with pytest.raises(Refused, match="ledger of `south` refuses run"):
        begun(path)
    [refusal] = [
        record.entry
        for record in read_evidence(run).records
        if isinstance(record.entry, RefusalEntry)
    ]
    assert (refusal.by, refusal.scope, refusal.would_reach) == ("site", "site", None)
    # Nobody keeps room for a run that does not take place.
    assert book_of(path.parent / "ledgers", "north").meters == before


def begun(path: Path) -> None:
    """Start and train a run without asking for room beforehand."""
    priced, out = priced_file(path, load(path)), path.parent / "runs" / path.stem
    train_run(priced, start(priced, out, path.read_text(), path.parent))


def test_a_run_without_noise_is_refused_by_a_ceiling_before_it_has_a_folder(
    made: Callable[..., Path],
) -> None:
    train(made())
    limited(made().parent / "ledgers", "south", 1.1)
    path = made(changes={"privacy": {"mechanism": "none"}}, name="bare")
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        train(path)
    assert not (path.parent / "runs/bare").exists()


def test_a_lost_ledger_is_found_out_before_a_run_has_a_folder(
    made: Callable[..., Path],
) -> None:
    train(made())
    for file in (made().parent / "ledgers").glob("*south*"):
        file.unlink()
    path = made(name="second")
    with pytest.raises(LedgerError, match="is missing"):
        train(path)
    assert not (path.parent / "runs/second").exists()


def test_a_refused_run_goes_on_once_there_is_room(made: Callable[..., Path]) -> None:
    train(made())
    path = made(name="second")
    folder = path.parent / "ledgers"
    limited(folder, "south", 1.1)
    with pytest.raises(Refused):
        begun(path)
    opened = ledgers(folder)
    ceiling = Ceiling.of(5.0, 1e-5)
    set_ceiling(opened["south"], "label", ceiling, "agreed", raising=True)
    for ledger in opened.values():
        ledger.close()
    assert train(path, resume=True).rounds > 2


class Stop(Exception):
    """Ends a training between two rounds."""


@pytest.mark.parametrize("engine", ["simulation", "inprocess"])
def test_after_an_interruption_nothing_is_paid_twice(
    made: Callable[..., Path], engine: str
) -> None:
    path = made(engine)

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        train(path, on_round=stop)
    folder = path.parent / "ledgers"
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder, "north").meters["label:gdp"]
    assert sums.committed + sums.reserved == expected["label:gdp"]
    assert sums.reserved > 0
    with pytest.raises(Stop):
        train(path, resume=True, on_round=stop)
    train(path, resume=True)
    sums = book_of(folder, "north").meters["label:gdp"]
    assert (sums.committed, sums.reserved) == (expected["label:gdp"], 0)


def test_a_ceiling_lowered_during_a_run_ends_it(made: Callable[..., Path]) -> None:
    path = made("inprocess")
    folder = path.parent / "ledgers"

    def lower(report: object) -> None:
        opened = ledgers(folder)
        set_ceiling(opened["north"], "label", Ceiling.of(0.01, 1e-5), "stop")
        for ledger in opened.values():
            ledger.close()

    result = train(path, on_round=lower)
    assert "ledger of `north` refuses round 2" in result.stopped
    assert result.rounds == 1
    book = book_of(folder, "south")
    assert all(sums.reserved == 0 for sums in book.meters.values())


def test_a_site_asks_its_ledger_whatever_the_coordinator_does(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made("inprocess")
    folder = path.parent / "ledgers"
    train(path)
    limited(folder, "south", 1.1)
    # A coordinator that neither reserves nor commits for anybody.
    monkeypatch.setattr("lexfed.python.training.require_room", lambda *_: None)
    monkeypatch.setattr(
        "lexfed.run.driver.training_loop.SiteAccounts.reserve", lambda _: None
    )
    monkeypatch.setattr(
        "lexfed.run.driver.training_loop.SiteAccounts.commit", lambda *_: None
    )
    result_or_refusal = made("inprocess", name="second")
    try:
        stopped = train(result_or_refusal).stopped
    except Refused as refusal:
        stopped = refusal.message
    assert "site `south` refused: `label` would reach" in stopped
    limit = book_of(folder, "south").limits["label"]
    assert limit.counted <= limit.ceiling.bound


def test_a_ledger_that_cannot_be_used_stops_the_run(made: Callable[..., Path]) -> None:
    path = made()
    train(path)
    [north, _] = sorted((path.parent / "ledgers").glob("*.ledger"))
    newer = sqlite3.connect(north)
    newer.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(LedgerError, match="newer version"):
        train(made(name="second"))


SHARES = {"privacy": {"trust": "distributed", "accountant": "rdp"}}


def test_sites_that_add_shares_pay_for_what_was_asked(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that a site never heard of is paid once, like all others."""
    path = made("inprocess", changes=SHARES)
    line = Line(lambda query, step, _: query == 2 and step == "survivors")
    monkeypatch.setattr("lexfed.run.driver.engine_choice.InProcessChannel", line)
    result = train(path)
    assert result.lost == 1
    folder = path.parent / "ledgers"
    expected = planned(priced_file(path, load(path)))
    for site in ("north", "south"):
        book = book_of(folder, site)
        paid = {name: sums.committed for name, sums in book.meters.items()}
        assert expected.items() <= paid.items()
        assert all(sums.reserved == 0 for sums in book.meters.values())
    assert expected
