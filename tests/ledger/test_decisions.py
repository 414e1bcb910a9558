# SPDX-License-Identifier: Apache-2.0
"""Ceilings: what they count, in which measure and period, and who may change them."""

import pytest

from ledger.amounts import ROUND, limit, rounds, sums
from ledger.conftest import DAY, START, Place, release
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.tiers import Tier

LATER = START + 30 * DAY


def test_each_scope_counts_what_concerns_it(ledger: LastingLedger) -> None:
    limit(ledger, 2, "special")
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    for number in range(3, 9):
        ledger.commit(
            "a", number, release(reads=Tier.PERSONAL), "record", neighbours="add-remove"
        )
    with pytest.raises(Refused, match="`special` would reach"):
        ledger.commit("a", 9, release(), "record", neighbours="add-remove")
    assert sums(ledger, "special") == rounds(2, 0, "special")
    assert sums(ledger, "personal") == rounds(8, 0, "personal")


def test_a_period_begins_at_zero(place: Place, ledger: LastingLedger) -> None:
    one = Ceiling.of(0.5, 1e-6, days=7)
    set_ceiling(ledger, "record", one, "weekly")
    paid = 0
    while (
        ledger.would_exceed("a", paid + 1, release(), "record", neighbours="add-remove")
        is None
    ):
        paid += 1
        ledger.commit("a", paid, release(), "record", neighbours="add-remove")
    assert paid > 1
    with pytest.raises(Refused, match="in every 7 days"):
        ledger.commit("a", paid + 1, release(), "record", neighbours="add-remove")
    # Set again, it counts the same.
    set_ceiling(ledger, "record", one, "again")
    assert (
        ledger.would_exceed("a", paid + 1, release(), "record", neighbours="add-remove")
        is not None
    )
    place.time = (START // (7 * DAY) + 1) * 7 * DAY
    with pytest.raises(Refused) as caught:
        ledger.reserve(
            "b",
            [(release(), paid + 1)],
            place.time + 1,
            "record",
            neighbours="add-remove",
        )
    assert caught.value.hint.startswith("ε = 0 is spent")
    ledger.reserve(
        "b", [(release(), paid)], place.time + 1, "record", neighbours="add-remove"
    )
    assert sums(ledger).committed == paid * ROUND["record:gdp"]
    verify_ledger(ledger.database)


def test_a_ceiling_binds_what_was_before(ledger: LastingLedger) -> None:
    for number in range(1, 4):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    ledger.reserve(
        "b",
        [(release(), 2), (release(reads=None), 1)],
        LATER,
        "record",
        neighbours="add-remove",
    )
    limit(ledger, 6)
    with pytest.raises(Refused):
        ledger.commit("a", 4, release(), "record", neighbours="add-remove")
    ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_a_ceiling_of_another_measure(ledger: LastingLedger) -> None:
    sampled = release(2.0, rate=0.05)
    set_ceiling(ledger, "record", Ceiling.of(6.0, 1e-6), "first")
    ledger.commit("a", 1, sampled, "record", neighbours="add-remove")
    ledger.commit("a", 2, release(reads=None), "record", neighbours="add-remove")
    ledger.reserve("b", [(sampled, 2)], LATER, "record", neighbours="add-remove")
    ledger.reserve("c", [(sampled, 1)], LATER, "record", neighbours="add-remove")
    ledger.release("c")
    # Sampled releases cost far less by `rdp`.
    many = [(sampled, 40)]
    with pytest.raises(Refused):
        ledger.reserve("d", many, LATER, "record", neighbours="add-remove")
    for scope in ("record", "special"):
        ceiling = Ceiling.of(2.0, 1e-6, "rdp")
        set_ceiling(ledger, scope, ceiling, "sampled", raising=True)
    ledger.reserve("d", many, LATER, "record", neighbours="add-remove")
    ledger.commit("b", 1, sampled, "record", neighbours="add-remove")
    book = verify_ledger(ledger.database)
    assert book.orders == {"record": 12, "special": 12}
    ten = Ceiling.of(1.9, 1e-6, "rdp", order=10)
    set_ceiling(ledger, "special", ten, "order", raising=True)
    assert verify_ledger(ledger.database).orders == {"record": 12, "special": 10}
    set_ceiling(ledger, "record", Ceiling.of(1.0, 1e-6), "back", raising=True)
    book = verify_ledger(ledger.database)
    assert "record:rdp" not in book.meters
    assert all("record:rdp" not in run.amounts for run in book.runs.values())


@pytest.mark.parametrize(
    ("old", "new", "rate"),
    [
        (Ceiling.of(1.9, 1e-6, "rdp"), Ceiling.of(1.9, 1e-6), 1.0),
        (Ceiling.of(1.9, 1e-6, "rdp", order=64), Ceiling.of(1.9, 1e-6, "rdp"), 1.0),
        (Ceiling.of(1.9, 1e-6), Ceiling.of(1.9, 1e-6, "rdp"), 0.05),
    ],
)
def test_another_measure_is_a_decision(
    ledger: LastingLedger, old: Ceiling, new: Ceiling, rate: float
) -> None:
    one, paid = release(10.0, rate=rate), 0
    set_ceiling(ledger, "record", old, "start")
    while (
        ledger.would_exceed("a", paid + 1, one, "record", neighbours="add-remove")
        is None
    ):
        paid += 1
        ledger.commit("a", paid, one, "record", neighbours="add-remove")
    # Under the same epsilon the other has room, and results may have chosen it.
    with pytest.raises(Refused, match="lets more pass"):
        set_ceiling(ledger, "record", new, "another measure")
    set_ceiling(ledger, "record", new, "agreed", raising=True)
    ledger.commit("a", paid + 1, one, "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_ceilings_change_by_decision_only(ledger: LastingLedger) -> None:
    set_ceiling(ledger, "record", Ceiling.of(2.0, 1e-6), "board of 3 May")
    with pytest.raises(Refused, match="lets more pass than the old one") as caught:
        set_ceiling(ledger, "record", Ceiling.of(3.0, 1e-6), "more")
    assert "--raise" in caught.value.hint
    with pytest.raises(Refused, match="lets more pass"):
        set_ceiling(ledger, "record", None, "none")
    set_ceiling(ledger, "record", Ceiling.of(1.0, 1e-6), "stricter")
    set_ceiling(ledger, "record", Ceiling.of(3.0, 1e-6), "agreed", raising=True)
    assert ledger.book().limits["record"].ceiling.epsilon == 3.0
    set_ceiling(ledger, "record", None, "agreed", raising=True)
    set_ceiling(ledger, "record", None, "there is none")
    assert ledger.book().limits == {}
    reasons = [row.body["reason"] for row in ledger.rows()[1:]]
    assert reasons[0] == "board of 3 May"
    with pytest.raises(LedgerError, match="no scope `speical`") as wrong:
        set_ceiling(ledger, "speical", None, "x")
    assert "`special`" in wrong.value.hint
    with pytest.raises(LedgerError, match="needs a reason"):
        set_ceiling(ledger, "record", None, "  ")
    verify_ledger(ledger.database)


def test_a_lowered_ceiling_stops_what_was_reserved(ledger: LastingLedger) -> None:
    ledger.reserve("a", [(release(), 8)], LATER, "record", neighbours="add-remove")
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    set_ceiling(ledger, "special", Ceiling.of(0.01, 1e-6), "stop")
    with pytest.raises(Refused, match="`special`"):
        ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    ledger.commit(
        "a", 2, release(reads=Tier.PERSONAL), "record", neighbours="add-remove"
    )  # another tier goes on
    verify_ledger(ledger.database)
