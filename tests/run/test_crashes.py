# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at any moment: the run continues, and never pays less than it released."""

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import AbortedRoundEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.storage.pins import read_pin
from lexfed.audit.verify import Status, verify_run
from lexfed.config import load
from lexfed.run.api import priced_file
from support.configurations import columns, configuration

CRASHES = Path(__file__).with_name("crashes.py")
KILLED = 9


@dataclass(frozen=True)
class Ended:
    """A run that was crashed, continued and ended."""

    ends: list[int]
    operations: int
    run: Path

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.run / "events.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, lines) if row["type"] == kind]

    def bytes_of(self, name: str) -> bytes:
        return (self.run / name).read_bytes()

    def acknowledged(self) -> list[list[str]]:
        """Return index, leaf, key and moment of every acknowledged entry."""
        lines = (self.run.parent / "acknowledged").read_text().splitlines()
        return [line.split() for line in lines]

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.bytes_of("result.json"))
        return found


def crash(
    config: Path, folder: Path, sequences: list[list[int]], *what: str
) -> list[Ended]:
    points = json.dumps(sequences)
    done = subprocess.run(
        [sys.executable, str(CRASHES), str(config), str(folder), points, *what],
        capture_output=True,
        text=True,
        check=True,
        timeout=220,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [Ended(r["ends"], r["operations"], Path(r["run"])) for r in rows]


def judge(whole: Ended, ended: Ended, crashes: int, shares: bool = False) -> int:
    """Check everything that must hold after crashes; return the rounds lost.

    Args:
        whole: the same run, not crashed.
        ended: the one in question.
        crashes: how often it may have been killed.
        shares: whether sites add noise: what was charged is then never asked again.
    """
    # Killed, unless the run came to its end first; then nothing more happened.
    killed = ended.ends.count(KILLED)
    assert ended.ends == [KILLED] * killed + [0] * (crashes + 1 - killed)
    assert killed > 0
    rounds = whole.result()["rounds"]
    # Every round is charged once and never refunded, whatever happened to it.
    charged = [row["round"] for row in ended.events("charge")]
    assert charged == list(range(1, rounds + 1))
    assert ended.events("charge") == whole.events("charge")
    lost = [row["round"] for row in ended.events("lost")]
    result = ended.result()
    assert result["lost"] == len(lost) <= crashes
    assert result["rounds"] == rounds - len(lost)
    assert result["claims"] == whole.result()["claims"]
    if not lost:
        for name in ("model.safetensors", "state.safetensors", "metrics.csv"):
            assert ended.bytes_of(name) == whole.bytes_of(name), name
    measured = ended.bytes_of("metrics.csv").decode().splitlines()
    assert [int(line.split(",")[0]) for line in measured[1:]] == [
        number for number in range(1, rounds + 1) if number not in lost
    ]
    assert not list(ended.run.glob("*.part"))
    judge_log(ended, lost)
    assert len(ended.events("start")) == len(ended.events("end")) == 1
    ledgers = sorted((ended.run / "sites").glob("*.jsonl"))
    for ledger in ledgers:
        # A site that was not asked before the crash did not pay, where it adds noise.
        paid = len(ledger.read_text().splitlines())
        assert rounds - (len(lost) if shares else 0) <= paid <= rounds
    return len(lost)


def judge_log(ended: Ended, lost: list[int]) -> None:
    """Check that the log verifies, and that nothing acknowledged is gone from it."""
    checks = verify_run(ended.run).checks
    assert [str(check) for check in checks if check.status is Status.FAIL] == []
    evidence = read_evidence(ended.run)
    leaves = [record.leaf.hex() for record in evidence.records]
    noted = ended.acknowledged()
    for index, leaf, _, _ in noted:
        assert leaves[int(index)] == leaf
    assert [found.entry.round for found in evidence.of(AbortedRoundEntry)] == lost
    # Entries that a killed process did not acknowledge may be there, the last are.
    assert int(noted[-1][0]) == len(leaves) - 1
    keys = ended.run.parent / "keys"
    pin = read_pin(keys, evidence.origin, evidence.custody.log_key)
    assert pin is not None
    assert pin.checkpoint == evidence.view.signed.checkpoint


@pytest.mark.parametrize(
    "engine", ["inprocess", pytest.param("simulation", marks=pytest.mark.slow)]
)
def test_a_crash_at_a_few_moments(tmp_path: Path, engine: str) -> None:
    config = tmp_path / "lexfed.toml"
    config.write_text(configuration({"federation.engine": engine}))
    chosen = [[at] for at in (2, 43, 113, 205, 345)]
    whole, again, *found = crash(config, tmp_path / "runs", [[], [0], *chosen])
    # A second attempt on a finished run changes nothing.
    for kind in ("charge", "lost", "end"):
        assert whole.events(kind) == again.events(kind)
    for ended in found:
        judge(whole, ended, 1)


def test_a_crash_with_noise_in_shares(tmp_path: Path) -> None:
    config = tmp_path / "lexfed.toml"
    privacy = {"mechanism": "uniform", "trust": "distributed", "accountant": "rdp"}
    changes = {"federation.engine": "inprocess", "privacy": privacy}
    config.write_text(configuration(changes))
    chosen = [[at] for at in (3, 75, 95, 110, 125, 140, 155)]
    whole, *found = crash(config, tmp_path / "runs", [[], *chosen])
    lost = [judge(whole, ended, 1, shares=True) for ended in found]
    assert 1 <= sum(lost) < len(lost)  # control: some crashes were in a round


IMPORTANCE = configuration(
    {
        "run": {"name": "bought"},
        "data": {"source": "rows.csv", "target": "y", "units": 60, "test_size": 0.0},
        "data.sites": {"count": 2},
        **columns(
            {
                "dose": ("special", [0, 10]),
                "age": ("personal", [0, 100]),
                "y": ("special", "flag"),
            }
        ),
        "budget.epsilon": 4.0,
        "budget.allocation": "multiplier",
        "budget.importance_from": "paid:FOLDER",
        "federation": None,
    }
)


def importances_after(tmp_path: Path, sequences: list[list[int]]) -> list[Ended]:
    """Kill runs that buy importances, continue them, and plan with what is left."""
    chance = random.Random(3)
    rows = [
        f"{chance.uniform(0, 10)},{chance.uniform(0, 100)},{chance.randrange(2)}"
        for _ in range(60)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["dose,age,y", *rows, ""]))
    config = tmp_path / "lexfed.toml"
    config.write_text(IMPORTANCE)
    ended = crash(config, tmp_path / "runs", sequences, "importance")
    for each in ended:
        config.write_text(IMPORTANCE.replace("FOLDER", str(each.run)))
        found = priced_file(config, load(config)).population.importance
        # What was lost stays paid, and says nothing about its columns.
        assert len(found.paid) == 3
        lost = {row["round"] for row in each.events("lost")}
        assert each.result()["lost"] == len(lost)
        for number, column in ((2, "age"), (3, "dose")):
            if number in lost:
                assert found.values[column] == 1.0
        judge_log(each, sorted(lost))
    return ended


def test_importances_after_a_crash(tmp_path: Path) -> None:
    found = importances_after(tmp_path, [[20], [140], [178], [213]])
    assert all(KILLED in ended.ends for ended in found)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_importances_after_a_crash_at_many_moments(tmp_path: Path) -> None:
    [whole] = importances_after(tmp_path, [[]])
    every = list(range(1, whole.operations + 1))
    random.Random(5).shuffle(every)
    part = int(os.environ.get("LEXFED_CRASHES_APART", "8"))  # 1: every moment
    (tmp_path / "many").mkdir()
    found = importances_after(tmp_path / "many", [[at] for at in every[::part]])
    lost = [ended.result()["lost"] for ended in found]
    assert 0 < sum(lost) < len(lost) / 2


SHORT = {"privacy.mechanism": "uniform"}
"""One model instead of a cascade: three rounds, which do what seven would do."""

SHARES = {
    "inprocess, first half": ("inprocess", 0, 2),
    "inprocess, second half": ("inprocess", 1, 2),
    "simulation, a third": ("simulation", 0, 3),
}
"""Every operation of a run whose sites have ledgers, keys and receipts of their own, in
two tests; a third, drawn once for all, of the other, which does a part of the same."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", SHARES)
def test_a_crash_at_every_moment(tmp_path: Path, share: str) -> None:
    engine, part, parts = SHARES[share]
    config = tmp_path / "lexfed.toml"
    config.write_text(configuration({**SHORT, "federation.engine": engine}))
    whole = crash(config, tmp_path / "count", [[]])[0]
    every = list(range(1, whole.operations + 1))
    random.Random(5).shuffle(every)
    found = crash(config, tmp_path / "crashed", [[at] for at in every[part::parts]])
    lost = [judge(whole, ended, 1) for ended in found]
    # Control: the crashes did reach both sides of a release.
    assert 0 < sum(lost) < len(lost) / 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_crashes_in_a_row(tmp_path: Path) -> None:
    config = tmp_path / "lexfed.toml"
    config.write_text(configuration({"federation.engine": "inprocess"}))
    whole = crash(config, tmp_path / "count", [[]])[0]
    generator = random.Random(7)
    # Short lives: most attempts die before they have got far.
    lives = [
        [generator.randrange(1, whole.operations // 2) for _ in range(6)]
        for _ in range(30)
    ]
    found = crash(config, tmp_path / "crashed", lives)
    lost = [judge(whole, ended, 6) for ended in found]
    assert max(lost) >= 2  # control: a loss was followed by another crash
