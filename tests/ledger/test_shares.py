# SPDX-License-Identifier: Apache-2.0
"""Noise in shares in a lasting ledger: counted apart, priced by `rdp`, never by `gdp`.

What it costs is Theorem D of `lexfed.privacy.noise.shares`.
"""

import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

from ledger.conftest import START, Place, release
from lexfed.cli.commands.evidence.ledger import plain, table
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.book import Amounts, Book
from lexfed.ledger.bookkeeping.ceilings import Ceiling, reached_by_squares
from lexfed.ledger.bookkeeping.prices import SCALE, costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import restore_ledger, set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.scopes import record_epsilon
from lexfed.report.wording.rounding import round_up
from lexfed.tiers import Tier

LATER = START + 10**6
SHARES = replace(release(), noise="skellam")
RENYI = Ceiling.of(1.0, 1e-6, "rdp")
SQUARES = Ceiling.of(1.0, 1e-6)


def test_squares_are_counted_apart_and_divergences_as_a_gaussians() -> None:
    orders = {"record": 8, "label": 5, "identifier": 3}
    shares = costs_of([(SHARES, 3)], "record", orders, neighbours="add-remove")
    gaussian = costs_of([(release(), 3)], "record", orders, neighbours="add-remove")
    assert {
        name.replace(":shares", ":gdp"): n for name, n in shares.items()
    } == gaussian
    assert not any(name.endswith(":gdp") for name in shares)
    [divergence] = rdp.curve([Step(20.0, 1.0, 3)], "add-remove", (8,))
    assert shares["record:rdp"] / SCALE == pytest.approx(divergence)
    nobody = replace(SHARES, sampling_rate=0.0)
    assert set(
        costs_of([(nobody, 3)], "record", orders, neighbours="add-remove").values()
    ) == {0}


def test_a_ceiling_by_gdp_refuses_with_words(ledger: LastingLedger) -> None:
    set_ceiling(ledger, "special", SQUARES, "test")
    rows = len(ledger.rows())
    for ask in (
        lambda: ledger.reserve(
            "a", [(release(), 1), (SHARES, 2)], LATER, "record", neighbours="add-remove"
        ),
        lambda: ledger.commit("a", 1, SHARES, "record", neighbours="add-remove"),
        lambda: ledger.would_exceed("a", 1, SHARES, "record", neighbours="add-remove"),
    ):
        with pytest.raises(Refused, match="no price by `gdp`") as caught:
            ask()
        assert "ceiling of `special`" in caught.value.message
        assert "--kind rdp" in caught.value.hint
        assert caught.value.scope == "site"
    assert len(ledger.rows()) == rows
    # Releases that this ceiling does not concern pass, and so do Gaussian ones.
    ledger.commit(
        "a", 1, replace(SHARES, reads=Tier.PERSONAL), "record", neighbours="add-remove"
    )
    ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_a_ceiling_by_rdp_takes_as_many_as_gaussians(place: Place) -> None:
    paid = []
    for noise in ("gaussian", "skellam"):
        path = place.folder / noise
        ledger = LastingLedger.open(
            path, "north", "patients", state=place.state, clock=lambda: place.time
        )
        set_ceiling(ledger, "record", RENYI, "test")
        one = replace(release(), noise=noise)
        ledger.reserve("a", [(one, 5)], LATER, "record", neighbours="add-remove")
        rounds = 0
        while (
            ledger.would_exceed("a", rounds + 1, one, "record", neighbours="add-remove")
            is None
        ):
            rounds += 1
            ledger.commit("a", rounds, one, "record", neighbours="add-remove")
        with pytest.raises(Refused, match="`record` would reach"):
            ledger.commit("a", rounds + 1, one, "record", neighbours="add-remove")
        verify_ledger(ledger.database)
        ledger.close()
        paid.append(rounds)
    assert paid[0] == paid[1] > 5
    cost = record_epsilon([(SHARES, paid[1])], 1e-6, "add-remove", "rdp")
    assert cost <= 1.0


def test_no_ceiling_by_gdp_after_shares(ledger: LastingLedger) -> None:
    ledger.reserve("a", [(SHARES, 2)], LATER, "record", neighbours="add-remove")
    with pytest.raises(Refused, match="no price by `gdp`"):
        set_ceiling(ledger, "record", SQUARES, "reserved")
    ledger.release("a")
    set_ceiling(ledger, "record", SQUARES, "free again")
    # The other kind of ceiling may have room where this one has none.
    set_ceiling(ledger, "record", RENYI, "shares are planned", raising=True)
    ledger.commit("a", 1, SHARES, "record", neighbours="add-remove")
    with pytest.raises(Refused, match="no price by `gdp`"):
        set_ceiling(ledger, "record", SQUARES, "back", raising=True)
    verify_ledger(ledger.database)


def test_a_ceiling_by_rdp_counts_shares_of_before(ledger: LastingLedger) -> None:
    ledger.commit("a", 1, SHARES, "record", neighbours="add-remove")
    ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    ledger.reserve("b", [(SHARES, 3)], LATER, "record", neighbours="add-remove")
    set_ceiling(ledger, "record", RENYI, "test")
    one = costs_of(
        [(SHARES, 1)], "record", {"record": RENYI.order or 0}, neighbours="add-remove"
    )["record:rdp"]
    book = verify_ledger(ledger.database)
    assert book.meters["record:rdp"] == Amounts(2 * one, 3 * one)
    assert book.limits["record"].counted == 2 * one


def test_everybody_sees_what_shares_came_to(ledger: LastingLedger) -> None:
    ledger.commit("a", 1, release(2.0), "record", neighbours="add-remove")
    before = plain(ledger, 1e-6)["scopes"]["record"]
    ledger.commit(
        "a",
        2,
        replace(release(2.0), noise="skellam"),
        "record",
        neighbours="add-remove",
    )
    ledger.reserve("b", [(SHARES, 3)], LATER, "record", neighbours="add-remove")
    found = plain(ledger, 1e-6)["scopes"]["record"]
    assert found["committed"] == before["committed"]
    assert found["shares"][0] == found["committed"]
    both = [(release(2.0), 1), (replace(release(2.0), noise="skellam"), 1)]
    exact = record_epsilon(both, 1e-6, "add-remove", "rdp")
    assert exact <= found["epsilon"] <= exact * (1 + 1e-9)
    assert found["epsilon"] > before["epsilon"]
    assert f" {round_up(found['epsilon'])} " in table(ledger, 1e-6, False)
    set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6, "rdp"), "test")
    assert plain(ledger, 1e-6)["scopes"]["record"]["ceiling"]["reached"] > exact * 0.99
    assert "by rdp at order" in table(ledger, 1e-6, False)


def test_epsilons_of_squares() -> None:
    assert reached_by_squares(0, 0, 1e-6) == 0.0
    alone = reached_by_squares(SCALE, 0, 1e-6)
    assert alone == SQUARES.reached(SCALE)
    assert reached_by_squares(0, SCALE, 1e-6) > alone
    huge = 10**400 * SCALE
    assert reached_by_squares(huge, 0, 1e-6) == float("inf")
    assert reached_by_squares(0, huge, 1e-6) == float("inf")


def test_a_lost_file_does_not_forget_shares(place: Place) -> None:
    ledger = place.open()
    ledger.commit("a", 1, SHARES, "record", neighbours="add-remove")
    full = ledger.book()
    ledger.close()
    place.path.unlink()
    done = restore_ledger(place.path, "disk died", place.state, place.time)
    assert done.charged["record:shares"] == full.meters["record:shares"].committed
    again = place.open()
    assert again.book().meters == full.meters
    # Known as squares only: at an order they are what the release cost there.
    set_ceiling(again, "record", RENYI, "test")
    one = costs_of(
        [(SHARES, 1)], "record", {"record": RENYI.order or 0}, neighbours="add-remove"
    )["record:rdp"]
    assert abs(again.book().limits["record"].counted - one) <= (RENYI.order or 0)
    with pytest.raises(Refused, match="no price by `gdp`"):
        set_ceiling(again, "special", SQUARES, "test")
    verify_ledger(again.database)


def test_two_histories_leave_no_room_where_shares_have_no_price(place: Place) -> None:
    ledger = place.open()
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.close()
    old = place.folder / "old"
    shutil.copy(place.path, old)
    ledger = place.open()
    set_ceiling(ledger, "record", SQUARES, "test")
    ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    pinned = next(place.state.glob("*.json"))
    kept = pinned.read_text()
    ledger.close()
    # Another history of the same file, as long, with shares in it.
    shutil.copy(old, place.path)
    pinned.write_text(json.dumps({**json.loads(kept), **_head(place)}))
    other = place.open()
    for number in (2, 3):
        other.commit("a", number, SHARES, "record", neighbours="add-remove")
    other.close()
    pinned.write_text(kept)
    restore_ledger(place.path, "two disks", place.state, place.time)
    found = place.open()
    limit = found.book().limits["record"]
    assert limit.ceiling == SQUARES
    assert limit.counted >= SQUARES.bound
    with pytest.raises(Refused):
        found.commit("b", 1, release(), "record", neighbours="add-remove")
    verify_ledger(found.database)


def _head(place: Place) -> dict[str, object]:
    """The head of the file as it is, for a pin that knows no more."""
    with sqlite3.connect(place.path) as database:
        sequence, head = database.execute(
            "SELECT sequence, hash FROM rows ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
    return {"sequence": sequence, "hash": head.hex(), "limits": {}}


@pytest.mark.parametrize("first", ["ceiling", "commit"])
def test_files_that_mix_them_are_damaged(
    ledger: LastingLedger, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a ledger without the refusal would write it.
    with monkeypatch.context() as patch:
        patch.setattr(Book, "unpriced", lambda *_: None)
        patch.setattr(Book, "unpriced_before", lambda *_: None)
        if first == "ceiling":
            set_ceiling(ledger, "record", SQUARES, "test")
            ledger.commit("a", 1, SHARES, "record", neighbours="add-remove")
        else:
            ledger.commit("a", 1, SHARES, "record", neighbours="add-remove")
            set_ceiling(ledger, "record", SQUARES, "test")
    with pytest.raises(LedgerError, match="has no price"):
        verify_ledger(ledger.database)
