# SPDX-License-Identifier: Apache-2.0
"""Sites pay from lasting ledgers: before the first round, every round, and once."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lexfed.audit.entries import Refusal
from lexfed.audit.evidence import read_evidence
from lexfed.config import load
from lexfed.errors import LedgerError, Refused
from lexfed.federation.engines import InProcess, Simulation
from lexfed.ledger.book import Book
from lexfed.ledger.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.lasting import LastingLedger
from lexfed.ledger.prices import costs_of
from lexfed.ledger.verify import verify
from lexfed.run import Priced
from lexfed.run.api import priced_file, train
from lexfed.run.site_accounts import Holder, holders

CONFIG = """\
version = 1

[run]
name = "small"
TEST

[data]
SOURCE
target = "ill"
test_size = 0.0

[data.columns]
age = { kind = "number", range = [0, 100] }
ward = { kind = "category", values = ["a", "b"] }
ill = { kind = "flag" }

[law.columns]
age = { tier = "personal", reason = "a person's age" }
ward = { tier = "non_personal", reason = "which ward" }
ill = { tier = "special", reason = "health" }

[budget]
epsilon = 1.0
delta = 1e-5
neighbours = "replace-one"
MORE

[federation]
engine = "ENGINE"
rounds = 1
"""
FILES = 'sites = { files = ["north.csv", "south.csv"] }'
PARTS = 'source = "north.csv"\nsites = { count = 2 }'


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration and its data; return the configuration."""
    chance = np.random.default_rng(5)
    for name in ("north", "south"):
        lines = [
            f"{chance.integers(0, 100)},{chance.choice(['a', 'b'])},"
            f"{chance.integers(0, 2)}"
            for _ in range(60)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,ward,ill", *lines, ""]))

    def write(
        engine: str = "simulation",
        source: str = FILES,
        more: str = "",
        test: str = "",
        name: str = "small",
    ) -> Path:
        text = CONFIG.replace("ENGINE", engine).replace("SOURCE", source)
        text = text.replace("MORE", more).replace("TEST", test)
        path = tmp_path / f"{name}.toml"
        path.write_text(text.replace('"small"', f'"{name}"'))
        return path

    return write


def ledgers(folder: Path) -> dict[str, LastingLedger]:
    found = [LastingLedger.open(path) for path in sorted(folder.glob("*.ledger"))]
    return {ledger.site: ledger for ledger in found}


def book_of(folder: Path, site: str) -> Book:
    opened = ledgers(folder)
    book = verify(opened[site].database)
    for ledger in opened.values():
        ledger.close()
    return book


def planned(priced: Priced) -> dict[str, int]:
    return costs_of(priced.programme.charges(), "record", {})


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
    assert again.meters["record:gdp"].committed == 2 * expected["record:gdp"]
    assert len(again.runs) == 2


def limited(folder: Path, site: str, epsilon: float, scope: str = "label") -> None:
    opened = ledgers(folder)
    set_ceiling(opened[site], scope, Ceiling.of(epsilon, 1e-5), "test")
    for ledger in opened.values():
        ledger.close()


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
    [refusal] = [
        record.entry
        for record in read_evidence(run).records
        if isinstance(record.entry, Refusal)
    ]
    assert (refusal.by, refusal.scope, refusal.would_reach) == ("site", "site", None)
    # Nobody keeps room for a run that does not take place.
    assert book_of(path.parent / "ledgers", "north").meters == before


def test_a_refused_run_goes_on_once_there_is_room(made: Callable[..., Path]) -> None:
    train(made())
    path = made(name="second")
    folder = path.parent / "ledgers"
    limited(folder, "south", 1.1)
    with pytest.raises(Refused):
        train(path)
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
    sums = book_of(folder, "north").meters["record:gdp"]
    assert sums.committed + sums.reserved == expected["record:gdp"]
    assert sums.reserved > 0
    with pytest.raises(Stop):
        train(path, resume=True, on_round=stop)
    train(path, resume=True)
    sums = book_of(folder, "north").meters["record:gdp"]
    assert (sums.committed, sums.reserved) == (expected["record:gdp"], 0)


def test_a_ceiling_lowered_during_a_run_ends_it(made: Callable[..., Path]) -> None:
    path = made("inprocess")
    folder = path.parent / "ledgers"

    def lower(report: object) -> None:
        opened = ledgers(folder)
        set_ceiling(opened["north"], "record", Ceiling.of(0.01, 1e-5), "stop")
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
    monkeypatch.setattr("lexfed.run.training.SiteAccounts.reserve", lambda _: None)
    monkeypatch.setattr("lexfed.run.training.SiteAccounts.commit", lambda *_: None)
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


def test_parts_of_one_file_share_a_ledger(made: Callable[..., Path]) -> None:
    path = made("inprocess", PARTS, 'ledgers = "../shared ledgers"')
    train(path)
    folder = path.parent / "../shared ledgers"
    [file] = folder.glob("*")
    assert file.name.startswith("north-csv-all-parts-")
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder, "all parts").meters["record:gdp"]
    assert (sums.committed, sums.reserved) == (expected["record:gdp"], 0)


def test_who_holds_the_data(made: Callable[..., Path]) -> None:
    def found(**words: str) -> tuple[Holder, ...]:
        path = made(**words)
        return holders(priced_file(path, load(path)))

    assert [holder.site for holder in found()] == ["north", "south"]
    assert [holder.data_set for holder in found()] == ["north.csv", "south.csv"]
    [one] = found(source=PARTS)
    assert one == Holder("all parts", "north.csv", (0, 1))
    assert found(test="test = true") == ()
    by_column = 'source = "north.csv"\nsites = { column = "ward" }'
    names = [holder.site for holder in found(source=by_column)]
    assert names == ["a", "b"]


def test_made_data_have_no_ledger(tmp_path: Path, config_text: str) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text(config_text.replace("test = true", ""))
    train(path)
    assert not (tmp_path / "ledgers").exists()


def test_a_run_without_noise_is_noted_and_exceeds_every_ceiling(
    made: Callable[..., Path],
) -> None:
    more = '\n[privacy]\nmechanism = "none"'
    path = made(more=more)
    train(path)
    folder = path.parent / "ledgers"
    assert book_of(folder, "north").unprotected == 1
    limited(folder, "south", 5.0)
    with pytest.raises(Refused, match="without noise exceeds every ceiling"):
        train(made(more=more, name="second"))


def test_a_person_at_two_sites_pays_for_both(made: Callable[..., Path]) -> None:
    path = made(more="")
    folder = path.parent
    for name in ("north", "south"):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        keyed = [f"{line},{n if n else 'key'}" for n, line in enumerate(lines)]
        (folder / f"{name}.csv").write_text("\n".join([*keyed, ""]))
    text = path.read_text().replace(
        "[data]", '[data]\nperson = "key"\nrecords_per_person = 2\nsites_per_person = 2'
    )
    path.write_text(text)
    train(path)
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder / "ledgers", "north").meters["record:gdp"]
    # Clips twice as long cost four times as much.
    assert sums.committed == pytest.approx(4 * expected["record:gdp"], rel=1e-9)


def test_whole_sites_as_units(made: Callable[..., Path]) -> None:
    path = made("inprocess", more='unit = "client"')
    text = path.read_text().replace("1e-5", "0.1").replace("rounds = 1", "rounds = 3")
    path.write_text(text.replace('neighbours = "replace-one"', ""))
    train(path)
    rows = ledgers(path.parent / "ledgers")["north"].rows()
    commits = [row.body for row in rows if row.kind == "commit"]
    assert len(commits) == train(path, resume=True).rounds
    assert {body["unit"] for body in commits} == {"client"}
    assert commits[0]["cost"]["record:gdp"] == commits[0]["cost"]["label:gdp"]


def test_sites_that_coins_leave_out_pay_too(made: Callable[..., Path]) -> None:
    path = made("inprocess", more='unit = "client"')
    text = path.read_text().replace("1e-5", "0.1").replace("rounds = 1", "rounds = 6")
    text = text.replace('neighbours = "replace-one"', "")
    path.write_text(text + "sampling_rate = 0.5\n")
    result = train(path)
    for ledger in ledgers(path.parent / "ledgers").values():
        commits = [row for row in ledger.rows() if row.kind == "commit"]
        assert len(commits) == result.rounds
        verify(ledger.database)
        ledger.close()
