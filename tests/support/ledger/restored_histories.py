# SPDX-License-Identifier: Apache-2.0
"""Random histories of backups, restores, kills and copies of real runs.

A history is a real run over files of two sites, in one process: it is begun, killed at
a durable operation, continued, copied, continued in both copies at the same time, and
all the while its run folder, its log, the log's pins, the ledgers of its sites and the
ledgers' pins are copied away and put back, each alone or several together, from the
same or from different times. A ledger that does not fit its pin is mended by `lexfed
ledger restore`, as its operator would do. Trust is central, local or distributed.

Everything that was ever in the run folder as a release, staged or published, counts as
visible. After every attempt it is checked that

* no round has more visible releases than it has charges, in the ledger of every site,
  counting each charge that a ledger ever acknowledged; only a release after which
  every place that knew of the earlier ones was put back is excused;
* as long as a ledger or its pin was kept, the ledger holds the cost of every visible
  release, those of all copies and of states that were put back included;
* a run that was continued is paid for in every ledger, up to its last finished round.

What a place knows is followed through backups: `folder`, `log`, `log pins`, `ledgers`
and `ledger pins` know a release that was made with them in place. `forgotten` counts
histories in which a ledger went back together with its pin, so that only a folder that
knows more has it paid again; `excused` the releases of which no place knew that there
had been an earlier one. Nobody can do better (see docs/theory/threat-model.md).
"""

import hashlib
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from lexfed.config import load
from lexfed.errors import LedgerError, LexfedError
from lexfed.federation.coordinator.learner import Progress
from lexfed.ledger.bookkeeping.rows import LedgerRow
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import restore_ledger
from lexfed.ledger.storage.tables import LedgerChange
from lexfed.run import PricedRun, resume, start, train
from lexfed.run.api import priced_file
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.driver.site_accounts import SiteAccounts
from lexfed.run.folder import RunFolder
from support.configurations import columns, configuration

TRUSTS: dict[str, tuple[str, dict[str, str]]] = {
    "central": ("simulation", {}),
    "central, sites of their own": ("inprocess", {}),
    "local": ("inprocess", {}),
    "distributed": ("inprocess", {"accountant": "rdp"}),
}
PARTS = ("folder", "log", "log pins", "ledgers", "ledger pins")


class Killed(BaseException):
    """Ends an attempt as `kill -9` would: no handler sees it."""


@dataclass
class Moment:
    """A chosen durable operation of an attempt, and what happens before it.

    Attributes:
        at: number of the operation; 0 for none.
        act: what happens; None for a kill.
        count: operations so far.
        dead: whether the attempt was killed: nothing is written any more.
    """

    at: int
    act: Callable[[], None] | None
    count: int = 0
    dead: bool = False

    def reached(self, locked: bool) -> None:
        """Count an operation."""
        if locked and self.act is not None:
            return
        self.count += 1
        self.dead |= self.count == self.at and self.act is None
        if self.dead:
            raise Killed
        if self.count == self.at and self.act is not None:
            self.act()


@dataclass
class Seen:
    """Everything that was ever visible or charged in one history.

    Attributes:
        releases: digests by run and round.
        costs: of a round, by meter, as the ledgers charged it.
        charges: rows that committed a round, by ledger, run and round.
        excused: further releases of a round that no place remembered.
    """

    releases: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    costs: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    charges: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    excused: Counter[tuple[str, int]] = field(default_factory=Counter)


class World:
    """The files of one run, of its sites and of its operator."""

    def __init__(self, base: Path, priced: PricedRun, text: str, seed: int) -> None:
        self.base, self.priced, self.text = base, priced, text
        self.chance = random.Random(seed)
        self.run, self.copy = base / "runs" / "run", base / "runs" / "copy"
        self.backups: list[Path] = []
        self.seen = Seen()
        self.forgotten = False
        self.moments: list[Moment] = []
        self.knows: dict[str, set[str]] = {part: set() for part in PARTS}
        self.known: dict[Path, dict[str, set[str]]] = {}
        self.ends: Counter[str] = Counter()
        self.restored: Counter[str] = Counter()

    def place(self, part: str) -> Path:
        """Return where a part of the world is."""
        return {
            "folder": self.run,
            "log": self.run / "log",
            "log pins": self.base / "keys" / "pins",
            "ledgers": self.base / "ledgers",
            "ledger pins": self.base / "state" / "lexfed" / "ledgers",
        }[part]

    # Backups

    def back_up(self) -> None:
        """Copy every part away."""
        backup = self.base / f"backup-{len(self.backups)}"
        for part in PARTS:
            place = self.place(part)
            if place.exists():
                shutil.copytree(place, backup / part, ignore=_ignored(part))
        backup.mkdir(exist_ok=True)
        self.backups.append(backup)
        self.known[backup] = {part: set(found) for part, found in self.knows.items()}

    def put_back(self, parts: Sequence[str], backups: Sequence[Path]) -> None:
        """Put parts back, each from one backup."""
        for part, backup in zip(parts, backups, strict=True):
            if not (backup / part).exists():
                continue
            self.restored[part] += 1
            self.knows[part] = set(self.known[backup][part])
            place = self.place(part)
            if part == "folder":  # its log is a part of its own
                kept = self.base / "log kept"
                if (place / "log").exists():
                    shutil.move(place / "log", kept)
                shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(backup / part, place)
                if kept.exists():
                    shutil.move(kept, place / "log")
                continue
            if part == "log" and not place.parent.exists():
                continue
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(backup / part, place)
        if {"ledgers", "ledger pins"} <= set(parts):
            self.forgotten = True

    # Attempts

    def attempt(
        self, folder: Path, at: int, act: Callable[[], None] | None = None
    ) -> None:
        """Start or continue the run in a folder.

        Args:
            folder: of the run, or of a copy.
            at: operation at which something happens; 0 for none.
            act: what happens there; by default the attempt is killed.
        """
        begun = (folder / "events.jsonl").exists()
        self.moments.append(Moment(at, act))
        try:
            opened = (resume if begun else start)(
                self.priced, folder, self.text, self.base
            )
            finished = opened.folder.finished
            train(self.priced, opened)
        except Killed:
            self.ends["killed"] += 1
        except LexfedError as error:
            self.ends[type(error).__name__] += 1
        else:
            self.ends["finished"] += 1
            if not finished:
                self.check_paid(folder)
        finally:
            self.moments.pop()
        self.mend()

    def learn(self, digest: str, folder: Path, *parts: str) -> None:
        """Note that places know of a release; a copy's own are not followed."""
        for part in parts:
            if folder == self.run or part not in ("folder", "log"):
                self.knows[part].add(digest)

    def reached(self, locked: bool = False) -> None:
        """Count a durable operation of the attempt that is under way.

        Args:
            locked: whether a lock may be held, so that another process would wait.
        """
        if self.moments:
            self.moments[-1].reached(locked)

    def mend(self) -> None:
        """Do what a ledger's operator is told to do if it does not fit its pin."""
        for path in sorted((self.base / "ledgers").glob("*.ledger")):
            try:
                LastingLedger.open(path).close()
            except LedgerError:
                with suppress(LedgerError):
                    restore_ledger(path, "restored", self.place("ledger pins"), _now())
        # What fits together, or was made to, knows the same.
        both = self.knows["ledgers"] | self.knows["ledger pins"]
        self.knows["ledgers"], self.knows["ledger pins"] = set(both), set(both)

    # What must hold

    def check(self) -> None:
        """Compare what was seen with what was charged."""
        sites = {site for site, _, _ in self.seen.charges}
        for (run, number), found in self.seen.releases.items():
            for site in sites:
                charged = self.seen.charges[site, run, number]
                counted = len(found) - self.seen.excused[run, number]
                assert counted <= charged, (site, number, counted, charged)
        if self.forgotten:
            return
        for path in sorted((self.base / "ledgers").glob("*.ledger")):
            with suppress(LedgerError):  # refused until it is mended
                ledger = LastingLedger.open(path)
                meters = ledger.book().meters
                ledger.close()
                for name, cost in self.costs().items():
                    assert meters[name].committed >= cost, (path.name, name)

    def costs(self) -> Counter[str]:
        """Return what everything visible costs, by meter."""
        total: Counter[str] = Counter()
        for key, found in self.seen.releases.items():
            for name, cost in self.seen.costs[key].items():
                total[name] += len(found) * cost
        return total

    def check_paid(self, folder: Path) -> None:
        """Check that every ledger has paid for the rounds of a finished run."""
        lines = (folder / "events.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        charged = {row["round"] for row in rows if row["type"] == "charge"}
        for path in sorted((self.base / "ledgers").glob("*.ledger")):
            ledger = LastingLedger.open(path)
            paid = ledger.rounds(rows[0]["log"]).paid
            ledger.close()
            assert charged <= paid, (path.name, charged - paid)


def _ignored(part: str) -> Any:
    return shutil.ignore_patterns("log" if part == "folder" else "")


def _now() -> int:
    return int(time.time())


@contextmanager
def _watched(world: World) -> Iterator[None]:
    """Count durable operations, and note what is charged and what becomes visible."""
    seen = world.seen
    append, stage, replace = LedgerChange.append, RunFolder.stage, os.replace
    entered, latest = Logbook.round, [("", Path())]

    def charged(change: LedgerChange, kind: str, body: Any) -> LedgerRow:
        row = append(change, kind, body)
        if kind == "commit":
            ledger = change.database.path.name
            seen.charges[ledger, body["run"], body["round"]] += 1
            costs = {name: int(cost) for name, cost in body["cost"].items()}
            seen.costs[body["run"], body["round"]] = costs
        return row

    def staged(folder: RunFolder, progress: Progress) -> bytes:
        world.reached()
        content = stage(folder, progress)
        origin = str(folder.events.rows[0]["log"])
        digest = hashlib.sha256(content).hexdigest()
        key = (origin, progress.done)
        earlier = seen.releases.setdefault(key, set())
        remembered = earlier & set().union(*world.knows.values())
        seen.excused[key] += bool(earlier) and not remembered
        earlier.add(digest)
        world.learn(digest, folder.path, "folder", "ledgers", "ledger pins")
        latest[0] = (digest, folder.path)
        world.reached()
        return content

    def logged(*args: Any, **kwargs: Any) -> None:
        world.reached()
        entered(*args, **kwargs)
        world.learn(*latest[0], "log", "log pins")
        world.reached()

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            world.reached()
            found = real(*args, **kwargs)
            world.reached()
            return found

        return called

    def renamed(*args: Any) -> None:
        world.reached(locked=True)
        replace(*args)

    with (
        patch.object(LedgerChange, "append", charged),
        patch.object(RunFolder, "stage", staged),
        patch.object(SiteAccounts, "commit", around(SiteAccounts.commit)),
        patch.object(SiteAccounts, "publish", around(SiteAccounts.publish)),
        patch.object(Logbook, "round", logged),
        patch.object(os, "replace", renamed),
        patch.object(os, "fsync", lambda _: None),
    ):
        yield


def history(world: World, steps: int) -> None:
    """Let things happen to a run, and check after each."""
    chance = world.chance

    def copied() -> None:
        # Two processes with the same run: this one waits while the other goes on.
        shutil.rmtree(world.copy, ignore_errors=True)
        shutil.copytree(world.run, world.copy)
        (world.copy / "lock").unlink()
        world.attempt(world.copy, chance.choice([0, chance.randrange(1, 60)]))

    # In most histories a ledger and its pin do not both go back.
    kept = chance.choice(["ledgers", "ledger pins", "ledger pins", None])
    world.back_up()
    for _ in range(steps):
        kind = chance.random()
        if kind < 0.25:
            world.attempt(world.run, chance.randrange(1, 20), copied)
        else:
            world.attempt(world.run, 0 if kind < 0.35 else chance.randrange(1, 80))
        world.check()
        world.back_up()
        if chance.random() < 0.8:
            parts = list(PARTS[:3])  # what a backup of the project would hold
            if chance.random() < 0.6:
                parts = [p for p in PARTS if p != kept and chance.random() < 0.5]
            one = chance.choice(world.backups)
            mixed = chance.random() < 0.3
            world.put_back(
                parts,
                [chance.choice(world.backups) if mixed else one for _ in parts],
            )
    for _ in range(2):  # the second after a ledger was mended
        world.attempt(world.run, 0)
        world.check()


def prepared(folder: Path) -> dict[str, tuple[PricedRun, str]]:
    """Write data and configurations, and price them once for all histories."""
    chance = np.random.default_rng(5)
    for name in ("north", "south"):
        lines = [f"{chance.integers(0, 100)},{chance.integers(0, 2)}" for _ in "x" * 40]
        (folder / f"{name}.csv").write_text("\n".join(["age,ill", *lines, ""]))
    found = {}
    for trust, (engine, accountant) in TRUSTS.items():
        word = trust.partition(",")[0]
        changes = {
            "run": {"name": "restored"},
            "data": {"target": "ill", "test_size": 0.0},
            "data.sites": {"files": ["north.csv", "south.csv"]},
            **columns({"age": ("personal", [0, 100]), "ill": ("special", "flag")}),
            "budget": {"epsilon": 1.0, "delta": 1e-5, "neighbours": "replace-one"},
            "privacy": {"mechanism": "uniform", "trust": word, **accountant},
            "federation": {"engine": engine, "rounds": 2},
        }
        text = configuration(changes)
        path = folder / f"{engine}-{word}.toml"
        path.write_text(text)
        found[trust] = (priced_file(path, load(path)), text)
    return found


def histories(count: int, seed: int, steps: int = 4) -> dict[str, Any]:
    """Run histories; return how many, and what happened in them.

    Raises:
        AssertionError: at the first second release under one charge.
    """
    torch.set_num_threads(1)
    ends: Counter[str] = Counter()
    restored: Counter[str] = Counter()
    trusts: Counter[str] = Counter()
    forgotten = releases = twice = excused = 0
    memory = "/dev/shm"  # noqa: S108 - what is made in it has a random name
    usable = os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if usable else None) as name:
        known = prepared(Path(name))
        for number in range(count):
            trust = list(TRUSTS)[number % len(TRUSTS)]
            priced, text = known[trust]
            base = Path(name) / "world"
            base.mkdir()
            with patch.dict(os.environ, {"XDG_STATE_HOME": str(base / "state")}):
                world = World(base, priced, text, 1_000_003 * seed + number)
                try:
                    with _watched(world):
                        history(world, steps)
                except AssertionError as error:
                    where = f"history {number} ({trust})"
                    raise AssertionError(where, *error.args) from error
            shutil.rmtree(base)
            ends += world.ends
            restored += world.restored
            trusts[trust] += 1
            forgotten += world.forgotten
            excused += world.seen.excused.total()
            releases += sum(map(len, world.seen.releases.values()))
            twice += sum(len(found) > 1 for found in world.seen.releases.values())
    return {
        "histories": count,
        "seed": seed,
        "trusts": dict(trusts),
        "releases": releases,
        "rounds_released_and_paid_twice": twice,
        "forgotten": forgotten,
        "excused": excused,
        "ends": dict(ends),
        "restored": dict(restored),
        "second_releases_under_one_charge": 0,
    }
