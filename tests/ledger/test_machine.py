# SPDX-License-Identifier: Apache-2.0
"""Any sequence of operations, against a model that keeps lists and adds them up."""

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ledger.conftest import DAY, Place, release
from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.privacy.releases import Release
from lexfed.tiers import Tier
from support.log.folders import memory_folder

RUNS = st.sampled_from("abc")
SIGMAS = st.sampled_from([4.0, 10.0, 25.0])
READS = st.sampled_from([None, Tier.PERSONAL, Tier.SPECIAL])
SCOPES = ("record", "personal", "special")


def cost(made: Release, scope: str) -> int:
    """What a release of one group with clip 1 costs a scope, in units of 2^-60."""
    if scope != "record" and (made.reads is None or made.reads < Tier.parse(scope)):
        return 0
    scale = 1 if scope == "record" else 4
    return math.ceil(scale * Fraction(2**60) / Fraction(made.groups[0].sigma) ** 2)


def total(releases: Iterable[Release], scope: str) -> int:
    return sum(cost(made, scope) for made in releases)


@dataclass
class Model:
    """Lists of what happened; nothing is remembered in sums."""

    commits: dict[tuple[str, int], tuple[int, Release]] = field(default_factory=dict)
    mine: set[tuple[str, int]] = field(default_factory=set)
    open: dict[str, int] = field(default_factory=dict)
    planned: dict[str, tuple[int, list[Release]]] = field(default_factory=dict)
    ceilings: dict[str, Ceiling] = field(default_factory=dict)

    def held(self, run: str, scope: str) -> int:
        if run not in self.planned:
            return 0
        paid = [made for (name, _), (_, made) in self.commits.items() if name == run]
        return max(0, total(self.planned[run][1], scope) - total(paid, scope))

    def counted(self, scope: str, time: int) -> int:
        ceiling = self.ceilings[scope]
        period = ceiling.period(time)
        return total(
            [m for at, m in self.commits.values() if ceiling.period(at) == period],
            scope,
        ) + sum(self.held(run, scope) for run in self.planned)

    def fits(self, concerned: Iterable[str], time: int) -> bool:
        return all(
            self.counted(scope, time) <= self.ceilings[scope].bound
            for scope in concerned
            if scope in self.ceilings
        )

    def expire(self, time: int) -> None:
        self.planned = {r: p for r, p in self.planned.items() if p[0] > time}


class Machine(RuleBasedStateMachine):
    """A ledger and the model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.place = Place(self.stack.enter_context(memory_folder()))
        self.ledger = self.place.open()
        self.model = Model()

    def teardown(self) -> None:
        verify_ledger(self.ledger.database)
        self.place.close()
        self.stack.close()

    @rule(run=RUNS, sigma=SIGMAS, reads=READS, count=st.integers(0, 6))
    def reserve(self, run: str, sigma: float, reads: Tier | None, count: int) -> None:
        until, asked = self.place.time + 5 * DAY, release(sigma, reads)
        before = dict(self.model.planned)
        self.model.expire(self.place.time)
        self.model.planned[run] = (until, [asked] * count)
        needed = [scope for scope in SCOPES if self.model.held(run, scope) > 0]
        allowed = self.model.fits(needed, self.place.time)
        try:
            self.ledger.reserve(
                run, [(asked, count)], until, "record", neighbours="add-remove"
            )
        except Refused:
            assert not allowed
            self.model.planned = before
        else:
            assert allowed

    @rule(
        run=RUNS,
        number=st.integers(1, 12),
        sigma=SIGMAS,
        reads=READS,
        again=st.booleans(),
    )
    def commit(
        self, run: str, number: int, sigma: float, reads: Tier | None, again: bool
    ) -> None:
        asked, key = release(sigma, reads), (run, number)
        before = dict(self.model.planned)
        self.model.expire(self.place.time)
        known = self.model.commits.get(key)
        ours = key in self.model.mine or self.model.open.get(run) == number
        allowed = known is not None and known[1] == asked and ours
        if known is None:
            self.model.commits[key] = (self.place.time, asked)
            needed = [scope for scope in SCOPES if cost(asked, scope) > 0]
            allowed = self.model.fits(needed, self.place.time)
            if not allowed:
                del self.model.commits[key]
        try:
            self.ledger.commit(
                run, number, asked, "record", again=again, neighbours="add-remove"
            )
        except Refused:  # and nothing was changed
            assert not allowed
            self.model.planned = before
        else:
            assert allowed
            if known is None:
                self.model.mine.add(key)
                self.model.open.pop(run, None)
                if again:
                    self.model.open[run] = number

    @rule(run=RUNS, number=st.integers(1, 12))
    def publish(self, run: str, number: int) -> None:
        try:
            self.ledger.publish(run, number)
        except Refused:
            assert self.model.open.get(run) != number
        else:
            self.model.expire(self.place.time)
            assert self.model.open.pop(run) == number
            self.model.mine.discard((run, number))

    @rule(run=RUNS)
    def release(self, run: str) -> None:
        self.model.expire(self.place.time)
        self.model.planned.pop(run, None)
        self.ledger.release(run)

    @rule(days=st.integers(0, 4))
    def wait(self, days: int) -> None:
        self.place.time += days * DAY

    @rule(
        scope=st.sampled_from(SCOPES),
        epsilon=st.sampled_from([None, 0.5, 1.0, 3.0]),
        days=st.sampled_from([None, 7]),
    )
    def decide(self, scope: str, epsilon: float | None, days: int | None) -> None:
        new = None if epsilon is None else Ceiling.of(epsilon, 1e-6, days=days)
        self.model.expire(self.place.time)
        set_ceiling(self.ledger, scope, new, "drawn", raising=True)
        self.model.ceilings.pop(scope, None)
        if new is not None:
            self.model.ceilings[scope] = new

    @rule()
    def open_again(self) -> None:
        self.ledger.close()
        self.ledger = self.place.open()
        self.model.mine.clear()

    @invariant()
    def sums_are_those_of_the_model(self) -> None:
        book = self.ledger.book()
        found_open = {run: sums.open for run, sums in book.runs.items() if sums.open}
        assert found_open == self.model.open
        paid = [made for _, made in self.model.commits.values()]
        for scope in SCOPES:
            sums = book.meters.get(f"{scope}:gdp")
            found = (0, 0) if sums is None else (sums.committed, sums.reserved)
            # What is overdue is freed by the next change only.
            over = [r for r, run in book.runs.items() if run.until is not None]
            held = sum(self.model.held(run, scope) for run in over)
            assert found == (total(paid, scope), held)


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestMachine = Machine.TestCase
