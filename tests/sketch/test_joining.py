# SPDX-License-Identifier: Apache-2.0
"""Keys, terms and the file of a sketch for joining."""

import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.canonical import canonical_bytes
from lexfed.errors import ConfigError, DataError
from lexfed.privacy.pure_epsilon import gaussian_of
from lexfed.privacy.scopes import record_epsilon
from lexfed.randomness import SecureSource, SeededSource
from lexfed.sketch.joining.keys import FORM, one_form, people_of
from lexfed.sketch.joining.offered_sketch import (
    MAGIC,
    OfferedSketch,
    exact_tables,
    offer,
)
from lexfed.sketch.joining.terms import (
    LARGEST_EPSILON,
    MOST_WIDTH,
    JoiningNoise,
    JoiningTerms,
)
from support.sketch import joining_checks as checks

TERMS = JoiningTerms(size=400, seed=7, epsilon=1.0)
PEOPLE = people_of(f"person {n}" for n in range(300))


def test_keys_are_brought_to_one_form() -> None:
    forms = {one_form(text) for text in checks.ONE_PERSON}
    assert forms == {"anna berg@example.org"}
    assert one_form("Müller") != one_form("Mueller")
    assert one_form("STRASSE") == one_form("Straße")


@given(st.text())
def test_the_form_of_a_form_is_itself(text: str) -> None:
    assert one_form(one_form(text)) == one_form(text)


def test_a_person_with_several_rows_is_one_and_blank_keys_are_nobody() -> None:
    people = people_of([*checks.ONE_PERSON, " ", "", "other"])
    assert people.texts == ("anna berg@example.org", "other")
    assert (people.rows, people.blank, len(people)) == (
        len(checks.ONE_PERSON) + 3,
        2,
        2,
    )
    table, count = exact_tables(TERMS, people)
    assert count.tolist() == [[2]]
    assert int(np.abs(table).sum()) in (0, 2)  # 0 where two keys meet with other signs


def test_one_person_moves_one_cell_and_the_count_by_one() -> None:
    checks.one_person_moves_one_cell_and_the_count_by_one()


@pytest.mark.no_cover
def test_no_outcome_is_likelier_than_stated() -> None:
    checks.no_outcome_is_likelier_than_stated()


@pytest.mark.parametrize("delta", [None, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_the_noise_costs_what_was_allowed(epsilon: float, delta: float | None) -> None:
    terms = JoiningTerms(10**6, 1, epsilon, delta)
    cost = terms.noise.costs(delta, terms.width)
    assert epsilon * (1 - 1e-6) < cost <= epsilon
    event = terms.noise.event(terms.width)
    assert (event.reads, event.samples) == (None, terms.width + 1)
    if delta is None:
        mu = 1.0 / event.noise_multiplier
        assert gaussian_of(epsilon * (1 - 1e-6)) < mu <= gaussian_of(epsilon)
    else:
        assert record_epsilon([(event, 1)], delta, "add-remove", "gdp") <= epsilon


def test_gaussian_noise_has_no_price_without_a_delta() -> None:
    assert JoiningNoise("gaussian", 3.0, 9.0).costs(None, 64) == math.inf


def test_the_count_is_as_exact_as_its_noise() -> None:
    """Two-sided geometric: 2 r^(t+1)/(1 + r) of the noise lies beyond t."""
    assert JoiningNoise("gaussian", 3.0, 10.0).count_reach == pytest.approx(19.6, 1e-3)
    reach, ratio = JoiningNoise("laplace", 3.0, 10.0).count_reach, math.exp(-0.1)
    assert 2 * ratio ** (reach + 1) / (1 + ratio) <= 0.05
    assert 2 * ratio**reach / (1 + ratio) > 0.05


def test_budgets_that_say_nothing_are_refused_with_the_least_that_does() -> None:
    for size, delta in ((300, None), (20_000, 1e-6)):
        with pytest.raises(ConfigError, match="half of them are shared or none") as got:
            JoiningTerms(size, 1, 0.01, delta)
        hint = got.value.problems[0].hint
        least = float(hint.split("=")[1].split()[0])
        assert 2 * JoiningTerms(size, 1, least, delta).reach <= size
        with pytest.raises(ConfigError):
            JoiningTerms(size, 1, least * 0.99, delta)
    with pytest.raises(ConfigError) as got:
        JoiningTerms(2, 1, 1.0, 1e-9)
    assert "no ε up to 5" in got.value.problems[0].hint


def test_tables_have_the_best_width_and_never_more_than_the_largest() -> None:
    noise = JoiningTerms(20_000, 1, 1.0).noise
    best = 20_000 / noise.variances[0]
    assert (
        best / math.sqrt(2) <= JoiningTerms(20_000, 1, 1.0).width <= best * math.sqrt(2)
    )
    assert JoiningTerms(10**9, 1, 5.0).width == MOST_WIDTH
    assert JoiningTerms(300, 1, 0.7).width == 64


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 0),
        ("seed", -1),
        ("epsilon", 0.0),
        ("epsilon", LARGEST_EPSILON * 1.01),
        ("epsilon", math.nan),
        ("delta", 0.0),
        ("delta", 0.6),
    ],
)
def test_terms_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        JoiningTerms(**{"size": 400, "seed": 7, "epsilon": 1.0, name: value})  # type: ignore[arg-type]


def test_nobody_and_too_many_are_refused() -> None:
    with pytest.raises(DataError, match="nobody with a key"):
        exact_tables(TERMS, people_of(["", " "]))
    with pytest.raises(DataError, match="more people than the agreed size"):
        exact_tables(TERMS, people_of(map(str, range(401))))


def _offered(source: Any = None, delta: float | None = None) -> OfferedSketch:
    terms = TERMS if delta is None else JoiningTerms(2000, 7, 2.0, delta)
    return offer(terms, exact_tables(terms, PEOPLE), source or SeededSource(1))


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_a_file_is_read_as_it_was_written(delta: float | None) -> None:
    sketch = _offered(delta=delta)
    data = sketch.to_bytes()
    found = OfferedSketch.from_bytes(data)
    assert found.to_bytes() == data
    assert (found.cells == sketch.cells).all()
    assert (found.people, found.noise) == (sketch.people, sketch.noise)
    assert found.event == sketch.event
    assert found.shape == sketch.shape
    assert not found.private
    assert _offered(SecureSource(), delta).private


def test_noise_is_fresh_for_every_sketch() -> None:
    one, two = _offered(SecureSource()), _offered(SecureSource())
    assert (one.cells != two.cells).any()


def _with_header(**changes: Any) -> bytes:
    sketch = _offered()
    data = sketch.to_bytes()
    length = struct.unpack_from("<I", data, 8)[0]
    import json

    header = {**json.loads(data[12 : 12 + length]), **changes}
    head = canonical_bytes({k: v for k, v in header.items() if v is not ...})
    return MAGIC + struct.pack("<I", len(head)) + head + data[12 + length :]


def _spaced() -> bytes:
    data = _offered().to_bytes()
    length = struct.unpack_from("<I", data, 8)[0]
    body = data[12 : 12 + length] + b" " + data[12 + length :]
    return MAGIC + struct.pack("<I", length + 1) + body


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a sketch for joining"),
        (b"lexfedsk" + bytes(60), "not a sketch for joining"),
        (MAGIC + b"\xff\xff\xff\xff", "header is too long"),
        (MAGIC + struct.pack("<I", 9), "not one of this version"),
        (_with_header(version=2), "not one of this version"),
        (_with_header(more=1), "not one of this version"),
        (_with_header(kind="uniform"), "not one of this version"),
        (_with_header(epsilon=...), "not one of this version"),
        (_with_header(keys="0" * 64), "another form"),
        (_with_header(width=100), "header is not sound"),
        (_with_header(seed="-1"), "header is not sound"),
        (_with_header(seed="x"), "header is not sound"),
        (_with_header(table=0.0), "header is not sound"),
        (_with_header(table=1e-9), "header is not sound"),
        (_with_header(size=0), "larger than any sketch may be"),
        (_with_header(width=2**21), "larger than any sketch may be"),
        (_with_header(epsilon=0.5), "smaller ε than its noise proves"),
        (_with_header(kind="gaussian"), "smaller ε than its noise proves"),
        (_with_header(width=128), "expected 129 numbers"),
        (_with_header(seed="07"), "only byte form"),
        (_offered().to_bytes() + b"\0", "expected 257 numbers"),
        (_offered().to_bytes()[:-8], "expected 257 numbers"),
        (_spaced(), "only byte form"),
        (replace(_offered(), people=math.nan).to_bytes(), "larger than any honest"),
        (replace(_offered(), people=1e6).to_bytes(), "larger than any honest"),
        (replace(_offered(), people=-math.inf).to_bytes(), "larger than any honest"),
    ],
)
def test_bytes_that_are_not_as_agreed_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        OfferedSketch.from_bytes(data, "theirs")


def test_the_form_of_keys_is_part_of_the_file() -> None:
    assert FORM.encode() in _offered().to_bytes()
