# SPDX-License-Identifier: Apache-2.0
"""`lexfed overlap`: sketches of people, what they share, and who paid."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.purse import LedgerPlace
from lexfed.privacy.pure_epsilon import gaussian_of
from lexfed.randomness import SeededSource
from lexfed.sketch.joining.keys import people_of
from lexfed.sketch.joining.offered_sketch import OfferedSketch, exact_tables, offer
from lexfed.sketch.joining.terms import JoiningTerms

Lexfed = Callable[..., Any]
AGREED = ("--key", "email", "--size", "1000", "--seed", "5", "--epsilon", "2")


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two organisations with 900 and 700 people, 400 of them shared."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    ours = [f"Person {n}@example.org" for n in range(900)]
    theirs = [f" person  {n}@EXAMPLE.org" for n in range(500, 1200)]
    pd.DataFrame({"email": [*ours, *ours[:50], ""]}).to_csv("ours.csv")
    pd.DataFrame({"email": theirs}).to_parquet("theirs.parquet")


def _sketches(lexfed: Lexfed) -> None:
    for file, out in (("ours.csv", "a.sketch"), ("theirs.parquet", "b.sketch")):
        said = lexfed("overlap", "sketch", file, *AGREED, "--out", out)
        assert said.code == 0, said.err


def test_two_organisations_compare_their_people(lexfed: Lexfed) -> None:
    """6 deviations, about 45 people: false with probability below 1e-8."""
    _sketches(lexfed)
    said = lexfed("overlap", "compare", "a.sketch", "b.sketch", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    spread = found["both"]["variance"] ** 0.5
    assert abs(found["both"]["value"] - 400) < 6 * spread < 400
    assert found["cost"]["person_in_both"] == {"epsilon": 4.0, "delta": None}
    assert found["private"] is True
    assert set(found) == {
        *("left", "right", "both", "either", "jaccard", "left_share", "right_share"),
        *("cost", "private"),
    }


def test_the_table_that_people_see(lexfed: Lexfed) -> None:
    _sketches(lexfed)
    said = lexfed("overlap", "compare", "a.sketch", "b.sketch")
    lines = said.out.splitlines()
    assert lines[0].strip() == "95 % interval"
    assert [line.split("  ")[0] for line in lines[1:8]] == [
        "people in a.sketch",
        "people in b.sketch",
        "in both",
        "in either",
        "Jaccard (both / either)",
        "of a.sketch in b.sketch",
        "of b.sketch in a.sketch",
    ]
    assert lines[9] == "cost  a.sketch: ε = 2, pure; b.sketch: ε = 2, pure"
    assert lines[10].strip() == "a person in both: ε = 4, pure"
    assert len(lines) == 11


def test_what_is_said_to_the_owner_of_the_people(lexfed: Lexfed) -> None:
    said = lexfed("overlap", "sketch", "ours.csv", *AGREED, "--out", "a.sketch")
    assert "ours.csv: 951 rows, 1 without a key, 900 different people" in said.err
    assert "no ledger pays for this" in said.err
    assert "ε = 2 (pure), once" in said.err
    assert "wrote a.sketch" in said.err
    assert said.out == ""
    assert OfferedSketch.from_bytes(Path("a.sketch").read_bytes()).private


def test_gaussian_noise_with_a_delta(lexfed: Lexfed) -> None:
    wide = [*AGREED, "--delta", "1e-6"]
    said = lexfed("overlap", "sketch", "ours.csv", *wide, "--out", "a.sketch")
    assert "ε = 2 (δ = 1e-06), once" in said.err
    sketch = OfferedSketch.from_bytes(Path("a.sketch").read_bytes())
    assert (sketch.noise.kind, sketch.delta) == ("gaussian", 1e-6)


def test_noise_that_can_be_repeated_is_named(lexfed: Lexfed) -> None:
    terms = JoiningTerms(1000, 5, 2.0)
    for name in ("a", "b"):
        people = people_of(f"{n}" for n in range(500))
        made = offer(terms, exact_tables(terms, people), SeededSource(1, name))
        Path(name).write_bytes(made.to_bytes())
    said = lexfed("overlap", "compare", "a", "b")
    assert "NOT PRIVATE: the noise of b can be repeated" in said.out


PAID = ("--ledgers", "ledgers", "--site", "north")


def test_the_ledger_of_runs_pays_and_refuses(lexfed: Lexfed) -> None:
    said = lexfed("overlap", "sketch", "ours.csv", *AGREED, *PAID, "--out", "a.sketch")
    assert said.code == 0, said.err
    assert "no ledger" not in said.err
    purse = LedgerPlace(Path("ledgers"), "north", "ours.csv")
    with closing(purse.open()) as ledger:
        (row,) = [row for row in ledger.rows() if row.kind == "commit"]
        assert row.body["release"]["groups"][0]["name"].startswith("as dear as pure ε")
        mu = row.body["release"]["groups"][0]["clip"]
        assert gaussian_of(2.0 * (1 - 1e-6)) < mu <= gaussian_of(2.0)
        assert "special:gdp" not in ledger.book().meters
        set_ceiling(ledger, "record", Ceiling.of(1.0, 1e-6), "enough")
    said = lexfed("overlap", "sketch", "ours.csv", *AGREED, *PAID, "--out", "b.sketch")
    assert said.code == 3
    assert "ledger of `north` refuses" in said.err
    assert not Path("b.sketch").exists()
    assert lexfed("ledger", "verify", str(purse.path)).code == 0


def test_a_file_without_sites_is_paid_by_the_ledger_of_all_parts(
    lexfed: Lexfed,
) -> None:
    lexfed("overlap", "sketch", "ours.csv", *AGREED, *PAID[:2], "--out", "a.sketch")
    path = LedgerPlace(Path("ledgers"), "all parts", "ours.csv").path
    ledger = LastingLedger.open(path)
    assert ledger.head().sequence == 2
    ledger.close()


def test_nothing_is_paid_for_a_file_that_cannot_be_written(lexfed: Lexfed) -> None:
    Path("a.sketch").write_text("precious")
    for out, words in (
        ("a.sketch", "`a.sketch` exists already"),
        ("none/a.sketch", "cannot write `none/a.sketch`: no such file or directory"),
    ):
        said = lexfed("overlap", "sketch", "ours.csv", *AGREED, *PAID, "--out", out)
        assert said.code == 2
        assert words in said.err
    assert Path("a.sketch").read_text() == "precious"
    assert not Path("ledgers").exists()


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"--epsilon": "0.01"}, 2, "allow ε = 0.3"),
        ({"--epsilon": "-1"}, 2, "expected `epsilon` > 0"),
        ({"--size": "800"}, 2, "more people than the agreed size"),
        ({"--size": "0"}, 2, "`size`"),
        ({"--key": "e-mail"}, 2, "the file has `email`"),
        ({"--seed": "-4"}, 2, "`seed`"),
    ],
)
def test_mistakes_are_told_before_anything_is_paid(
    lexfed: Lexfed, changed: dict[str, str], code: int, words: str
) -> None:
    given = dict(zip(AGREED[::2], AGREED[1::2], strict=True)) | changed
    options = [word for pair in given.items() for word in pair]
    said = lexfed("overlap", "sketch", "ours.csv", *options, *PAID, "--out", "a.sketch")
    assert said.code == code
    assert words in said.err
    assert not Path("a.sketch").exists()
    assert not Path("ledgers").exists()
    assert "Person" not in said.err


def test_files_and_columns_that_cannot_be_read(lexfed: Lexfed) -> None:
    said = lexfed("overlap", "sketch", "none.csv", *AGREED, "--out", "a.sketch")
    assert (said.code, "file not found" in said.err) == (2, True)
    pd.DataFrame({"email": [["a"], ["b", "c"]]}).to_parquet("lists.parquet")
    said = lexfed("overlap", "sketch", "lists.parquet", *AGREED, "--out", "a.sketch")
    assert (said.code, "holds lists" in said.err) == (2, True)
    said = lexfed("overlap", "compare", "none", "none")
    assert (said.code, "none: no such file" in said.err) == (2, True)
    with open("long", "wb") as file:
        os.truncate(file.fileno(), 2**24)
    said = lexfed("overlap", "compare", "long", "long")
    assert (said.code, "longer than any such file" in said.err) == (2, True)


def test_other_seeds_are_refused_by_name(lexfed: Lexfed) -> None:
    _sketches(lexfed)
    other = [*AGREED[:4], "--seed", "6", *AGREED[6:]]
    lexfed("overlap", "sketch", "ours.csv", *other, "--out", "c.sketch")
    said = lexfed("overlap", "compare", "a.sketch", "c.sketch")
    assert said.code == 2
    assert "c.sketch: the seed of the hashes differs: 6, not 5" in said.err
