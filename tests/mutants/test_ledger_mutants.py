# SPDX-License-Identifier: Apache-2.0
"""Ways to get a lasting ledger wrong, each noticed by a check that the real one passes.

A deferred transaction alone is not among them: two writers then read the same last row,
and SQLite, or the key of the row they would both write, stops the second. To spend
twice a ledger must decide outside of the transaction that writes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.errors import Refused
from lexfed.ledger import decisions
from lexfed.ledger.bookkeeping import prices
from lexfed.ledger.bookkeeping.book import NOTHING, Book, CeilingBalance
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import meter
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.storage import pins
from lexfed.ledger.storage.database import Database
from support.ledger import checks as ledger_checks
from support.mutant import Mutant, Patch, both_tests


def _looks_first_and_locks_later(patch: Patch) -> None:
    real = LastingLedger.commit

    def broken(
        self: LastingLedger, run: str, number: int, *what: Any, **more: Any
    ) -> int:
        excess = self.would_exceed(run, number, *what, **more)
        if excess is not None:
            raise Refused(str(excess))
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Book, "exceeded", lambda *_: None)
            return real(self, run, number, *what, **more)

    patch.setattr(LastingLedger, "commit", broken)


def _reservations_hold_nothing(patch: Patch) -> None:
    def broken(self: Book, costs: Any, time: int) -> tuple[str, int] | None:
        for scope, limit in self.limits.items():
            counted = limit.at(time).counted
            if counted > limit.ceiling.bound:
                return scope, counted
        return None

    patch.setattr(Book, "exceeded", broken)


def _commits_are_not_counted(patch: Patch) -> None:
    def broken(self: Book, costs: Any, time: int) -> tuple[str, int] | None:
        for scope, limit in self.limits.items():
            name = meter(scope, limit.ceiling.kind)
            held = self.meters.get(name, NOTHING).reserved
            if held > limit.ceiling.bound:
                return scope, held
        return None

    patch.setattr(Book, "exceeded", broken)


def _pinned_once(patch: Patch) -> None:
    real = pins.write_pin

    def broken(state: Path, pin: pins.Pin, back: bool = False) -> None:
        if pins.read_pin(state, pin.ledger) is None:
            real(state, pin, back)

    patch.setattr(pins, "write_pin", broken)


def _sampling_rewarded(patch: Patch) -> None:
    real = prices._square
    patch.setattr(prices, "_costs", prices._costs.__wrapped__)  # without its memory
    patch.setattr(prices, "_square", lambda r, n: real(r, n) * round(r.sampling_rate))


def _shares_as_gaussians(patch: Patch) -> None:
    patch.setattr(prices, "_costs", prices._costs.__wrapped__)
    real = prices.meter

    def broken(scope: str, counting: Any) -> str:
        return real(scope, "gdp" if counting == "shares" else counting)

    patch.setattr(prices, "meter", broken)


def _shares_for_nothing(patch: Patch) -> None:
    patch.setattr(Book, "unpriced", lambda *_: None)


def _shares_forgotten(patch: Patch) -> None:
    patch.setattr(Book, "unpriced_before", lambda *_: None)


def _one_relation(patch: Patch) -> None:
    patch.setattr(prices, "_costs", prices._costs.__wrapped__)
    patch.setattr(prices, "tells_records", lambda *_: False)


def _paid_is_paid(patch: Patch) -> None:
    def broken(*_: Any, same: bool, again: bool) -> None:
        if not same:
            raise Refused("another release")

    patch.setattr(LastingLedger, "_require_open", broken)


def _published_without_a_look(patch: Patch) -> None:
    patch.setattr(LastingLedger, "publish", lambda *_: None)


def _restored_as_left(patch: Patch) -> None:
    real = Book._restore

    def broken(self: Book, time: int, body: Any) -> None:
        before = dict(self.runs)
        real(self, time, body)
        self.runs = before

    patch.setattr(Book, "_restore", broken)


def _any_other_period_is_new(patch: Patch) -> None:
    def broken(self: CeilingBalance, time: int) -> CeilingBalance:
        period = self.ceiling.period(time)
        new = replace(self, period=period, counted=0)
        return self if period == self.period else new

    patch.setattr(CeilingBalance, "at", broken)


def _any_measure_will_do(patch: Patch) -> None:
    def broken(self: Ceiling, old: Ceiling | None) -> bool:
        return old is not None and (self.epsilon, self.delta) > (old.epsilon, old.delta)

    patch.setattr(Ceiling, "raises", broken)


def _only_the_pin_counts(patch: Patch) -> None:
    patch.setattr(decisions, "_of_both", lambda pin, *_: dict(pin.limits))


def _any_schema_will_do(patch: Patch) -> None:
    patch.setattr(Database, "_check_kind", lambda _: None)


MUTANTS = (
    Mutant(
        "looks first and locks later",
        _looks_first_and_locks_later,
        ledger_checks.two_at_once_do_not_spend_twice,
    ),
    Mutant(
        "commits that nobody counts",
        _commits_are_not_counted,
        ledger_checks.two_at_once_do_not_spend_twice,
    ),
    Mutant(
        "reservations that hold nothing",
        _reservations_hold_nothing,
        ledger_checks.what_others_hold_is_not_lent,
    ),
    Mutant("pinned once", _pinned_once, ledger_checks.older_files_are_refused),
    Mutant(
        "sampling rewarded by squares of mu",
        _sampling_rewarded,
        ledger_checks.sampled_rounds_cost_by_gdp_as_if_nobody_was_left_out,
    ),
    Mutant(
        "noise in shares counted as a Gaussian's",
        _shares_as_gaussians,
        ledger_checks.shares_have_no_price_by_gdp,
    ),
    Mutant(
        "noise in shares for nothing under `gdp`",
        _shares_for_nothing,
        ledger_checks.shares_have_no_price_by_gdp,
    ),
    Mutant(
        "noise in shares forgotten by a later ceiling",
        _shares_forgotten,
        ledger_checks.shares_have_no_price_by_gdp,
    ),
    Mutant(
        "replace-one priced as add/remove",
        _one_relation,
        ledger_checks.replace_one_has_no_price_for_the_record,
    ),
    Mutant(
        "replace-one forgotten by a later ceiling",
        _shares_forgotten,
        ledger_checks.replace_one_has_no_price_for_the_record,
    ),
    Mutant(
        "what is paid is given to whoever asks",
        _paid_is_paid,
        ledger_checks.a_round_is_given_to_one_and_published_once,
    ),
    Mutant(
        "published without a look",
        _published_without_a_look,
        ledger_checks.a_round_is_given_to_one_and_published_once,
    ),
    Mutant(
        "open rounds survive a restore",
        _restored_as_left,
        ledger_checks.restored_ledgers_give_no_round_again,
    ),
    Mutant(
        "a clock that goes back begins a period",
        _any_other_period_is_new,
        ledger_checks.clocks_that_go_back_begin_no_period,
    ),
    Mutant(
        "another measure without a decision",
        _any_measure_will_do,
        ledger_checks.another_measure_is_a_raise,
    ),
    Mutant(
        "the file's own history forgotten by a restore",
        _only_the_pin_counts,
        ledger_checks.two_histories_count_together,
    ),
    Mutant(
        "triggers in a ledger",
        _any_schema_will_do,
        ledger_checks.statements_of_a_file_are_not_run,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
