# SPDX-License-Identifier: Apache-2.0
"""Copies of a table that differ in their bytes only, and copies that differ."""

import os
from pathlib import Path

import pandas as pd
import pytest

from lexfed.evaluate.datasets.archives.openml import _GERMAN, _german
from lexfed.evaluate.datasets.archives.retrieval import ARCHIVES, PUBLISHED, rows_digest
from lexfed.evaluate.datasets.archives.uci import SHAPES
from lexfed.evaluate.datasets.declarations import load_declaration
from lexfed.evaluate.datasets.source_folder import read_source

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("LEXFED_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "german_credit").is_dir(),
    reason="no data files: set LEXFED_DATA to a folder with one subfolder per data set",
)


def heart(rows: int) -> pd.DataFrame:
    facts = load_declaration("heart_uci4")
    values = {name: [f"{n}.0" for n in range(rows)] for name in facts.columns}
    return pd.DataFrame({**values, "site": "va"})


def test_order_and_spelling_do_not_matter() -> None:
    facts, frame = load_declaration("heart_uci4"), heart(5)
    again = frame[frame.columns[::-1]].iloc[::-1].reset_index(drop=True)
    again["age"] = again["age"].str.removesuffix(".0")
    assert rows_digest(facts, again) == rows_digest(facts, frame)


@pytest.mark.parametrize("value", ["7", None, "old"])
def test_any_other_value_does(value: str | None) -> None:
    facts, frame = load_declaration("heart_uci4"), heart(5)
    again = frame.copy()
    again.loc[2, "age"] = value
    assert rows_digest(facts, again) != rows_digest(facts, frame)


@pytest.mark.parametrize(
    ("one", "other"), [("007", "7"), ("3.00000001", "3"), ("", None), ("1e1", "10")]
)
def test_spellings_of_one_value_are_one(one: str, other: str | None) -> None:
    facts, frame = load_declaration("heart_uci4"), heart(5)
    again = frame.copy()
    frame.loc[2, "age"], again.loc[2, "age"] = one, other
    assert rows_digest(facts, again) == rows_digest(facts, frame)


def test_the_seventh_digit_matters() -> None:
    facts, frame = load_declaration("heart_uci4"), heart(5)
    again = frame.copy()
    frame.loc[2, "age"], again.loc[2, "age"] = "3.000001", "3"
    assert rows_digest(facts, again) != rows_digest(facts, frame)


def test_two_values_that_change_places_are_other_rows() -> None:
    facts, frame = load_declaration("heart_uci4"), heart(5)
    again = frame.copy()
    again["age"] = frame["age"].to_numpy()[::-1]
    assert rows_digest(facts, again) != rows_digest(facts, frame)


def test_every_table_that_can_be_fetched_has_a_digest() -> None:
    every = {name for archive in ARCHIVES.values() for name in archive.names}
    assert every == set(PUBLISHED) == set(SHAPES)


@needs_data
@pytest.mark.parametrize("name", ["german_credit", "heart_uci4", "support2"])
def test_digests_are_those_of_the_published_files(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXFED_DATA", str(DATA))
    assert (
        rows_digest(load_declaration(name), read_source(load_declaration(name)))
        == PUBLISHED[name]
    )


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "diabetes130", "taiwan_default"])
def test_digests_are_those_of_the_large_files(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXFED_DATA", str(DATA))
    assert (
        rows_digest(load_declaration(name), read_source(load_declaration(name)))
        == PUBLISHED[name]
    )


@needs_data
def test_the_published_rows_in_the_words_of_openml_are_recognised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The file is turned into OpenML's words here, by the code book, and back there.
    monkeypatch.setenv("LEXFED_DATA", str(DATA))
    facts = load_declaration("german_credit")
    frame = read_source(facts)
    words = pd.DataFrame()
    for place, (name, levels) in enumerate(_GERMAN.items()):
        column = frame.iloc[:, place]
        number = column.str.removeprefix(f"A{place + 1}")
        first = 0 if name in ("credit_history", "purpose") else 1
        codes = {str(n): word for n, word in enumerate(levels, start=first)}
        words[name] = number.map(codes) if levels else column
    words["class"] = frame["bad"].map({"0": "good", "1": "bad"})
    body = _german(words).to_csv(index=False).encode()
    came = SHAPES["german_credit"]([body])
    assert rows_digest(facts, came) == PUBLISHED["german_credit"]
    # Then even the bytes are those that a checksum is kept of.
    text = came.to_csv(index=False, lineterminator="\n")
    assert text.encode() == (DATA / "german_credit" / facts.file).read_bytes()
