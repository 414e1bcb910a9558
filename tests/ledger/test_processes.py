# SPDX-License-Identifier: Apache-2.0
"""Eight processes spend from one ledger and are killed at random.

Whatever happens: what was acknowledged is there, the sum of the commits is the sum in
the ledger to the last unit, and no ceiling is passed.
"""

import os
import random
import selectors
import signal
from dataclasses import dataclass, field

import pytest

from ledger.conftest import START, Place, release
from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from support.ledger import checks as ledger_checks

PROCESSES = 8


def spend(place: Place, name: str, first: int, last: int, note: int) -> None:
    """Reserve and commit runs, and note each acknowledgement in one write.

    `r RUN` reserved, `c RUN ROUND` committed, `x RUN` refused.
    """
    ledger = place.open(wait=60.0)
    chance = random.Random(f"{name} {first}")
    for number in range(first, last):
        run, rounds = f"{name}/{number}", chance.randrange(1, 4)
        made = release(chance.choice([40.0, 60.0, 80.0]))
        try:
            ledger.reserve(
                run, [(made, rounds)], START + 1, "record", neighbours="add-remove"
            )
            os.write(note, f"r {run}\n".encode())
            for each in range(1, rounds + 1):
                ledger.commit(run, each, made, "record", neighbours="add-remove")
                os.write(note, f"c {run} {each}\n".encode())
            if chance.random() < 0.7:
                ledger.release(run)
        except Refused:
            os.write(note, f"x {run}\n".encode())
    ledger.close()


@dataclass
class Worker:
    """One place among the eight: a process, and those that follow when it is killed.

    Attributes:
        place: of the ledger.
        name: of its runs.
        runs: how many it asks for in all.
        kills: how often it is still to be killed.
        text: everything it noted.
    """

    place: Place
    name: str
    runs: int
    kills: int
    text: bytes = b""
    killed: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.name)
        self.begin()

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.text.decode().splitlines()]

    def begin(self) -> None:
        """Start a process after the last run that was begun."""
        done = int(self.lines[-1][1].split("/")[1]) + 1 if self.text else 0
        share = 3 * self.runs // (self.kills + 1) if self.kills else 1 << 60
        self.fatal = len(self.lines) + self.chance.randrange(1, share + 1)
        self.pipe, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                spend(self.place, self.name, done, self.runs, writing)
                os._exit(0)
            except BaseException as error:
                os.write(2, f"{error!r}\n".encode())
                os._exit(1)
        os.close(writing)

    def read(self) -> bool:
        """Take what it noted; kill it when its time has come; False at its end."""
        more = os.read(self.pipe, 65536)
        self.text += more
        if self.kills and len(self.lines) >= self.fatal:
            os.kill(self.process, signal.SIGKILL)
            self.fatal = 1 << 60
        return bool(more)

    def end(self) -> bool:
        """Wait for it; start the next one if it was killed; False if it was done."""
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        if status == 0:
            return False
        assert status == signal.SIGKILL
        self.kills -= 1
        self.killed += 1
        self.begin()
        return True


def race(place: Place, runs: int, kills: int, epsilon: float) -> list[Worker]:
    """Let all processes run to their end, and check what is left."""
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(epsilon, 1e-6), "test")
    set_ceiling(ledger, "special", Ceiling.of(4 * epsilon, 1e-6), "test")
    ledger.close()
    workers = [Worker(place, str(n), runs, kills) for n in range(PROCESSES)]
    with selectors.DefaultSelector() as pipes:
        for worker in workers:
            pipes.register(worker.pipe, selectors.EVENT_READ, worker)
        while pipes.get_map():
            for key, _ in pipes.select():
                if not key.data.read():
                    pipes.unregister(key.fd)
                    if key.data.end():
                        pipes.register(key.data.pipe, selectors.EVENT_READ, key.data)
    check(place, [line for worker in workers for line in worker.lines])
    return workers


def check(place: Place, seen: list[list[str]]) -> None:
    """Compare the ledger with what the processes were told."""
    ledger = place.open()
    book, rows = verify_ledger(ledger.database), ledger.rows()
    paid = [row.body for row in rows if row.kind == "commit"]
    commits = {(body["run"], body["round"]) for body in paid}
    assert {(run, int(*which)) for kind, run, *which in seen if kind == "c"} <= commits
    reserved = {row.body["run"] for row in rows if row.kind == "reserve"}
    assert {run for kind, run, *_ in seen if kind == "r"} <= reserved
    for scope in ("record", "special"):
        sums, limit = book.meters[f"{scope}:gdp"], book.limits[scope]
        total = sum(int(body["cost"][f"{scope}:gdp"]) for body in paid)
        assert total == sums.committed == limit.counted
        assert sums.committed + sums.reserved <= limit.ceiling.bound


def kinds(workers: list[Worker]) -> dict[str, int]:
    found = dict.fromkeys("rcx", 0)
    for worker in workers:
        for kind, *_ in worker.lines:
            found[kind] += 1
    return found


def test_a_few_hundred_reservations(place: Place) -> None:
    workers = race(place, runs=30, kills=1, epsilon=1.5)
    assert sum(worker.killed for worker in workers) >= PROCESSES // 2
    # The ceiling did bind: some were refused.
    assert min(kinds(workers).values()) > 10


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_reservations(place: Place) -> None:
    workers = race(place, runs=1260, kills=10, epsilon=9.0)
    found = kinds(workers)
    assert found["r"] + found["x"] >= 10_000
    assert min(found.values()) > 100
    assert sum(worker.killed for worker in workers) >= 5 * PROCESSES


def test_two_at_once_do_not_spend_twice() -> None:
    ledger_checks.two_at_once_do_not_spend_twice()
