# SPDX-License-Identifier: Apache-2.0
"""`lexfed overlap ask`, `answer`, `open`: two organisations, each a process."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.purse import LedgerPlace
from lexfed.run.joining import library

Lexfed = Callable[..., Any]
AGREED = ("--key", "email", "--size", "150", "--epsilon", "2")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders, with 120 and 100 people, 70 of them shared."""
    reason = "needs the library `openmined-psi` (extra `psi`)"
    pytest.importorskip("private_set_intersection", reason=reason)
    library.cache_clear()
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, who in ((ours, range(120)), (theirs, range(50, 150))):
        folder.mkdir()
        keys = [f"Person {n}@example.org" for n in who]
        pd.DataFrame({"email": keys}).to_csv(folder / "people.csv")
    return ours, theirs


def _process(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lexfed", "overlap", *words],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )


def _ask(folder: Path) -> subprocess.CompletedProcess[str]:
    kept = ("--out", "our.question", "--secret", "our.secret")
    return _process(folder, "ask", "people.csv", *AGREED, *kept)


def _answer(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    given = ("../ours/our.question", "people.csv", *AGREED, "--out", "their.answer")
    return _process(folder, "answer", *given, *more)


def test_two_processes_learn_how_many_they_share(
    sides: tuple[Path, Path], lexfed: Lexfed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise beyond 40 at ε = 2 has a chance below 1e-30; of two, below 1e-14."""
    ours, theirs = sides
    paid = ("--ledgers", "ledgers", "--site", "north")
    for done in (_ask(ours), _answer(theirs, *paid)):
        assert done.returncode == 0, done.stderr
    told = ("--tell", "our.number", "--ledgers", "ledgers", "--json")
    opened = ("../theirs/their.answer", "--secret", "our.secret")
    done = _process(ours, "open", *opened, *told)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert abs(found["in_both"] - 70) <= 40
    assert found["low"] <= found["in_both"] <= found["high"]
    assert found["your_people"] == 120
    number = json.loads((ours / "our.number").read_bytes())
    assert set(number) == {"in_both", "low", "high"}
    assert abs(number["in_both"] - 70) <= 40
    for folder, site in ((ours, "all parts"), (theirs, "north")):
        path = LedgerPlace(folder / "ledgers", site, "people.csv").path
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        assert lexfed("ledger", "history", str(path)).out.count("commit") == 1
    secret = ours / "our.secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    for file in (ours / "our.question", theirs / "their.answer", ours / "our.number"):
        assert b"example" not in file.read_bytes()
        assert b"people.csv" not in file.read_bytes()


@pytest.fixture
def answered(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, lexfed: Lexfed
) -> Path:
    """The asking side's folder, with a question and its answer."""
    ours, theirs = sides
    monkeypatch.chdir(ours)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    kept = ("--out", "our.question", "--secret", "our.secret")
    said = lexfed("overlap", "ask", "people.csv", *AGREED, *kept)
    assert "Nothing is spent" in said.err
    own = str(theirs / "people.csv")
    given = ("our.question", own, *AGREED, "--out", "their.answer")
    said = lexfed("overlap", "answer", *given)
    assert "no ledger pays for this" in said.err
    assert "ε = 2 (pure), once" in said.err
    return ours


def test_what_people_see(answered: Path, lexfed: Lexfed) -> None:
    said = lexfed("overlap", "open", "their.answer", "--secret", "our.secret")
    assert said.code == 0, said.err
    assert said.out.startswith("in both: ")
    assert said.out.rstrip().endswith("of your 120 people")


def test_the_number_for_the_other_side_has_noise_of_its_own(
    answered: Path, lexfed: Lexfed
) -> None:
    """All 60 noises are 0 with a chance of .77^60, which is below 1e-6."""
    opened = ("their.answer", "--secret", "our.secret", "--json")
    told = set()
    for number in range(60):
        said = lexfed("overlap", "open", *opened, "--tell", f"{number}")
        assert said.code == 0, said.err
        told.add(json.loads(Path(f"{number}").read_bytes())["in_both"])
    assert len(told) > 1
    assert json.loads(said.out)["your_people"] == 120


def test_a_ceiling_refuses_before_anything_is_answered_or_told(
    answered: Path, lexfed: Lexfed
) -> None:
    paid = ("--ledgers", "ledgers", "--site", "north")
    place = LedgerPlace(Path("ledgers"), "north", "people.csv")
    with closing(place.open()) as ledger:
        set_ceiling(ledger, "record", Ceiling.of(0.5, 1e-6), "enough")
    given = ("our.question", "people.csv", *AGREED, "--out", "other.answer")
    said = lexfed("overlap", "answer", *given, *paid)
    assert said.code == 3
    assert not Path("other.answer").exists()
    opened = ("their.answer", "--secret", "our.secret", "--tell", "number")
    said = lexfed("overlap", "open", *opened, *paid)
    assert said.code == 3
    assert said.out == ""
    assert not Path("number").exists()


def test_mistakes_are_told_before_anything_is_paid(
    answered: Path, lexfed: Lexfed
) -> None:
    paid = ("--ledgers", "ledgers")
    other = ("--key", "email", "--size", "160", "--epsilon", "2")
    few = ("--key", "email", "--size", "110", "--epsilon", "2")
    odd = ("--key", "email", "--size", "150", "--epsilon", "9")
    for words, said in (
        (other, "its `size` is 150, not 160"),
        (few, "its `size` is 150, not 110"),
        (odd, "`epsilon`"),
    ):
        given = ("our.question", "people.csv", *words, "--out", "x", *paid)
        found = lexfed("overlap", "answer", *given)
        assert found.code == 2
        assert said in found.err
    kept = ("--out", "x", "--secret", "y")
    found = lexfed("overlap", "ask", "people.csv", *few, *kept)
    assert (found.code, "more people than" in found.err) == (2, True)
    found = lexfed("overlap", "open", "our.question", "--secret", "our.secret")
    assert (found.code, "no answer of a joining" in found.err) == (2, True)
    kept = ("--out", "second.question", "--secret", "second.secret")
    lexfed("overlap", "ask", "people.csv", *AGREED, *kept)
    found = lexfed("overlap", "open", "their.answer", "--secret", "second.secret")
    assert (found.code, "answers another question" in found.err) == (2, True)
    assert not {"x", "y", "ledgers"} & {path.name for path in Path().iterdir()}
