# SPDX-License-Identifier: Apache-2.0
"""What a lasting ledger must never do; each check is also tried on a broken one."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.errors import LedgerError, Refused
from lexfed.ledger import charging
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import restore_ledger, set_ceiling
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier
from support.log.folders import memory_folder

ROUND = Release("tower", (ReleaseGroup("all", 1.0, 10.0),), 1.0, Tier.SPECIAL, 10)
ONE = 0.5
"""An epsilon that pays for one such round, and not for two."""


@contextmanager
def _ledger(folder: Path) -> Iterator[LastingLedger]:
    ledger = LastingLedger.open(
        folder / "ledger", "north", "patients", state=folder / "state", wait=0.0
    )
    with closing(ledger):
        yield ledger


def two_at_once_do_not_spend_twice() -> None:
    """While one process decides, another waits or is refused."""
    with (
        memory_folder() as folder,
        _ledger(folder) as first,
        _ledger(folder) as second,
        pytest.MonkeyPatch.context() as patch,
    ):
        set_ceiling(first, "record", Ceiling.of(ONE, 1e-6), "room for one")
        real, answers = costs_of, list[str]()

        def interrupted(*parts: Any) -> Any:
            # The first is between its look at the sums and its change.
            patch.setattr(charging, "costs_of", real)
            try:
                second.commit("b", 1, ROUND, "record", neighbours="add-remove")
                answers.append("paid")
            except (LedgerError, Refused) as error:
                answers.append(type(error).__name__)
            return real(*parts)

        patch.setattr(charging, "costs_of", interrupted)
        first.commit("a", 1, ROUND, "record", neighbours="add-remove")
        book = first.book()
        limit = book.limits["record"]
        assert limit.counted <= limit.ceiling.bound
        assert book.meters["record:gdp"].committed == limit.counted
        assert answers == ["LedgerError"]
        with pytest.raises(Refused):
            second.commit("b", 1, ROUND, "record", neighbours="add-remove")


def what_others_hold_is_not_lent() -> None:
    """A reservation keeps its room from others."""
    with memory_folder() as folder, _ledger(folder) as ledger:
        set_ceiling(ledger, "record", Ceiling.of(ONE, 1e-6), "room for one")
        ledger.reserve("a", [(ROUND, 1)], 1 << 40, "record", neighbours="add-remove")
        with pytest.raises(Refused):
            ledger.commit("b", 1, ROUND, "record", neighbours="add-remove")


def older_files_are_refused() -> None:
    """A ledger that was put back from a copy does not open."""
    with memory_folder() as folder:
        with _ledger(folder) as ledger:
            ledger.commit("a", 1, ROUND, "record", neighbours="add-remove")
        shutil.copy(folder / "ledger", folder / "copy")
        with _ledger(folder) as ledger:
            ledger.commit("a", 2, ROUND, "record", neighbours="add-remove")
        shutil.copy(folder / "copy", folder / "ledger")
        with pytest.raises(LedgerError), _ledger(folder):
            pass


def sampled_rounds_cost_by_gdp_as_if_nobody_was_left_out() -> None:
    """A filter by squares of mu gives nothing for sampling."""
    with memory_folder() as folder, _ledger(folder) as ledger:
        sampled = Release("tower", ROUND.groups, 0.01, Tier.SPECIAL, 10)
        ledger.commit("a", 1, ROUND, "record", neighbours="add-remove")
        ledger.commit("a", 2, sampled, "record", neighbours="add-remove")
        [first, second] = [row.body["cost"] for row in ledger.rows()[1:]]
        assert first == second


def shares_have_no_price_by_gdp() -> None:
    """Neither under a ceiling by squares of mu, nor under one that comes later."""
    shares = replace(ROUND, noise="skellam")
    with memory_folder() as folder, _ledger(folder) as ledger:
        set_ceiling(ledger, "record", Ceiling.of(ONE, 1e-6), "room for one")
        with pytest.raises(Refused):
            ledger.commit("a", 1, shares, "record", neighbours="add-remove")
        other = Ceiling.of(ONE, 1e-6, "rdp")
        set_ceiling(ledger, "record", other, "shares", raising=True)
        ledger.commit("a", 1, shares, "record", neighbours="add-remove")
        with pytest.raises(Refused):
            set_ceiling(ledger, "record", Ceiling.of(ONE, 1e-6), "back", raising=True)


def replace_one_has_no_price_for_the_record() -> None:
    """Neither under a ceiling of the record, nor under one that comes later."""
    with memory_folder() as folder, _ledger(folder) as ledger:
        set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "start")
        with pytest.raises(Refused):
            ledger.commit("a", 1, ROUND, "record", neighbours="replace-one")
        set_ceiling(ledger, "record", None, "none", raising=True)
        ledger.commit("a", 1, ROUND, "record", neighbours="replace-one")
        with pytest.raises(Refused):
            set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "back")


def a_round_is_given_to_one_and_published_once() -> None:
    """Another process is given no round that may have left; an open one leaves once."""
    with (
        memory_folder() as folder,
        _ledger(folder) as first,
        _ledger(folder) as second,
    ):
        first.commit("a", 1, ROUND, "record", neighbours="add-remove")
        with pytest.raises(Refused):
            second.commit("a", 1, ROUND, "record", neighbours="add-remove")
        for ledger in (first, second):
            ledger.commit("a", 2, ROUND, "record", again=True, neighbours="add-remove")
        first.publish("a", 2)
        with pytest.raises(Refused):
            second.publish("a", 2)


def restored_ledgers_give_no_round_again() -> None:
    """Rows that are gone may have said that an open round was published."""
    with memory_folder() as folder:
        with _ledger(folder) as ledger:
            ledger.commit("a", 1, ROUND, "record", again=True, neighbours="add-remove")
        shutil.copy(folder / "ledger", folder / "copy")
        with _ledger(folder) as ledger:
            ledger.publish("a", 1)
        shutil.copy(folder / "copy", folder / "ledger")
        restore_ledger(folder / "ledger", "disk failed", folder / "state", 1 << 31)
        with _ledger(folder) as ledger, pytest.raises(Refused):
            ledger.commit("a", 1, ROUND, "record", again=True, neighbours="add-remove")


def clocks_that_go_back_begin_no_period() -> None:
    """What a period has paid counts until a later one begins."""
    with memory_folder() as folder:
        now = [1_800_000_000]
        ledger = LastingLedger.open(
            folder / "ledger",
            "north",
            "patients",
            state=folder / "state",
            clock=lambda: now[0],
        )
        with closing(ledger):
            ceiling = Ceiling.of(ONE, 1e-6, days=30)
            set_ceiling(ledger, "record", ceiling, "room for one")
            ledger.commit("a", 1, ROUND, "record", neighbours="add-remove")
            now[0] -= 40 * 86_400
            with pytest.raises(Refused):
                ledger.commit("a", 2, ROUND, "record", neighbours="add-remove")


def another_measure_is_a_raise() -> None:
    """A ceiling by squares has room where one by divergences has none."""
    with memory_folder() as folder, _ledger(folder) as ledger:
        set_ceiling(ledger, "record", Ceiling.of(1.9, 1e-6, "rdp"), "start")
        with pytest.raises(Refused):
            set_ceiling(ledger, "record", Ceiling.of(1.9, 1e-6), "more room")


def two_histories_count_together() -> None:
    """What the file has paid in another history counts under the pin's ceiling."""
    with memory_folder() as folder:
        with _ledger(folder) as ledger:
            set_ceiling(ledger, "record", Ceiling.of(2 * ONE, 1e-6), "start")
        shutil.copy(folder / "ledger", folder / "copy")
        [pin] = (folder / "state").iterdir()
        older = pin.read_bytes()
        with _ledger(folder) as ledger:
            ledger.commit("a", 1, ROUND, "record", neighbours="add-remove")
        newer = pin.read_bytes()
        shutil.copy(folder / "copy", folder / "ledger")
        pin.write_bytes(older)
        with _ledger(folder) as ledger:
            set_ceiling(ledger, "record", None, "elsewhere", raising=True)
            for number in range(1, 9):
                ledger.commit("b", number, ROUND, "record", neighbours="add-remove")
        pin.write_bytes(newer)
        restore_ledger(folder / "ledger", "two copies", folder / "state", 1 << 31)
        with _ledger(folder) as ledger, pytest.raises(Refused):
            ledger.commit("c", 1, ROUND, "record", neighbours="add-remove")


def statements_of_a_file_are_not_run() -> None:
    """A trigger could give back what every commit counts."""
    with memory_folder() as folder:
        with _ledger(folder):
            pass
        with closing(sqlite3.connect(folder / "ledger")) as connection:
            connection.execute(
                "CREATE TRIGGER free AFTER INSERT ON commits BEGIN "
                "UPDATE limits SET counted = '0'; END"
            )
        with pytest.raises(LedgerError), _ledger(folder):
            pass
