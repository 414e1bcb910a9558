# SPDX-License-Identifier: Apache-2.0
"""Edge cases of the purse; `support.ledger.purse_checks` has its promises."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import lexfed
from lexfed.errors import LedgerError, Refused, RunFolderError
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.purse import LedgerPlace, SitePurse
from support.ledger.purse_checks import OTHER, PLAN, ROUND, TERMS, books, resumed


def test_only_the_purse_charges_lasting_ledgers() -> None:
    """Elsewhere nobody calls `commit`, `reserve` or `would_exceed` with a relation."""
    package = Path(lexfed.__file__).parent
    found = set()
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "neighbours=" in text else ():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr
                in ("commit", "reserve", "require_room", "would_exceed")
                and any(word.arg == "neighbours" for word in node.keywords)
            ):
                found.add(path.relative_to(package).as_posix())
    assert found == {"ledger/purse.py"}


def test_a_refusal_has_no_numbers_beside_its_sentence() -> None:
    with books() as made:
        purse = made.purse()
        set_ceiling(purse.ledger, "label", Ceiling.of(0.01, 1e-6), "little")
        asks: list[Callable[[], None]] = [
            lambda: purse.reserve(PLAN),
            lambda: purse.require_room(PLAN),
            lambda: purse.pay(1, ROUND),
        ]
        for ask in asks:
            with pytest.raises(Refused, match="ledger of `north` refuses") as caught:
                ask()
            assert (caught.value.would_reach, caught.value.limit) == (None, None)
            assert caught.value.scope == "site"
        excess = SitePurse(made.own(), purse).would_exceed(ROUND)
        assert excess is not None
        assert excess.would_reach > 0.01


def test_a_ledger_is_opened_only_where_there_is_one(tmp_path: Path) -> None:
    place = LedgerPlace(tmp_path, "north", "patients")
    assert place.open_if_made() is None
    assert not place.path.exists()
    place.open().close()
    made = place.open_if_made()
    assert made is not None
    made.commit("run", 1, ROUND, "record", neighbours="add-remove")
    made.close()
    place.path.unlink()
    with pytest.raises(LedgerError, match="is missing, with 2 rows on record"):
        place.open_if_made()


def test_where_refusals_leave_the_site_they_say_nothing() -> None:
    with books() as made:
        purse, notes = made.purse(), list[str]()
        set_ceiling(purse.ledger, "label", Ceiling.of(0.01, 1e-6), "little")
        site = SitePurse(made.own(), purse, note=notes.append)
        assert site.would_exceed(ROUND) is None
        with pytest.raises(Refused) as caught:
            site.charge(ROUND)
        assert caught.value.message == "its ledger does not pay for it"
        assert "would reach" in notes[0]
        assert site.events() == ()


def test_without_a_lasting_ledger_the_run_has_its_own() -> None:
    with books() as made:
        own = made.own(rounds=1)
        site = SitePurse(own, None, pending=made.pending)
        resumed(site, PLAN)
        site.charge(ROUND)
        assert site.would_exceed(ROUND) is not None
        site.give_back()
        assert own.events() == (ROUND,)
        assert not made.pending.exists()


def test_room_is_reserved_for_the_rest_and_given_back() -> None:
    with books() as made:
        purse = made.purse()
        site = SitePurse(made.own(), purse)
        resumed(site, PLAN)
        site.charge(ROUND)
        sums = purse.ledger.book().meters["label:gdp"]
        assert sums.reserved == 5 * sums.committed
        site.give_back()
        assert purse.ledger.book().meters["label:gdp"].reserved == 0


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_commit_whose_pin_failed_is_settled(
    monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """The charge is in the ledger although the purse heard an error."""
    with books() as made:
        site = made.site() if elsewhere else SitePurse(made.own(), made.purse())
        with monkeypatch.context() as patch:

            def failed(*_: object) -> None:
                raise LedgerError("no pin")

            patch.setattr("lexfed.ledger.charging.LastingLedger._pin", failed)
            with pytest.raises(LedgerError):
                site.charge(ROUND)
        site.charge(OTHER)
        assert made.paid() == [1, 2]
        assert site.events() == (ROUND, OTHER)


def test_a_commit_that_failed_in_one_process_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with books() as made:
        site = SitePurse(made.own(), made.purse())
        with monkeypatch.context() as patch:

            def failed(*_: object, **__: object) -> None:
                raise LedgerError("no disk")

            patch.setattr("lexfed.ledger.charging.LastingLedger.commit", failed)
            with pytest.raises(LedgerError):
                site.charge(ROUND)
        site.charge(ROUND)
        assert made.paid() == [1]
        assert site.events() == (ROUND,)


def test_a_charge_that_was_refused_leaves_nothing_to_settle() -> None:
    with books() as made:
        site = made.site()
        ledger = made.lasting()
        set_ceiling(ledger, "label", Ceiling.of(0.01, 1e-6), "little")
        with pytest.raises(Refused):
            site.charge(ROUND)
        big = Ceiling.of(9.0, 1e-6)
        set_ceiling(ledger, "label", big, "agreed", raising=True)
        again = made.site()
        again.charge(OTHER)
        assert (made.paid(), again.events()) == ([1], (OTHER,))


@pytest.mark.parametrize(
    "text",
    [
        "[]\n",
        '{"number": 1.9, "release": {}}\n',
        '{"number": 1}\n',
        '{"number": 1, "release": 2}\n',
        "{\n",
    ],
)
def test_a_damaged_pending_charge_is_an_error(text: str) -> None:
    with books() as made:
        made.pending.write_text(text)
        with pytest.raises(RunFolderError):
            made.site()


def test_a_place_names_one_file_for_each_holder(tmp_path: Path) -> None:
    place = LedgerPlace(tmp_path, "north", "patients.csv")
    assert place.path.name.startswith("patients-csv-north-")
    assert LedgerPlace(tmp_path, "north-patients", "csv").path != place.path
    purse = place.purse(TERMS)
    purse.unprotected()
    purse.close()
    assert place.path.exists()
