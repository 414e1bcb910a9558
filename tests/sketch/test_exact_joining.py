# SPDX-License-Identifier: Apache-2.0
"""The exact way of joining: agreement, noise, files."""

import hashlib
import json
import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.canonical import canonical_bytes
from lexfed.errors import ConfigError, DataError
from lexfed.privacy.noise.laplace import variance_of
from lexfed.privacy.pure_epsilon import gaussian_of
from lexfed.randomness import SeededSource
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement, ExactMessage, read_message
from lexfed.sketch.joining.keys import people_of
from support.sketch import exact_checks as checks

AGREED = checks.AGREED
QUESTION = ExactMessage("question", 30, 1.0, "", (b"one",))
SECRET = ExactMessage("secret", 30, 1.0, "ab", (b"key",), people=7, data_set="a.csv")


@pytest.mark.no_cover
def test_no_outcome_is_likelier_than_stated() -> None:
    checks.no_outcome_is_likelier_than_stated()


def test_as_many_keys_leave_whoever_is_there() -> None:
    checks.as_many_keys_leave_whoever_is_there()


def test_counts_are_right_in_mean_and_have_the_stated_spread() -> None:
    """6 deviations of a mean of 4,000; a share of 95 % within 5."""
    found = checks.counts(people_of(f"p{n}" for n in range(10)), "spread")
    error = math.sqrt(variance_of(AGREED.scale) / checks.TRIALS)
    assert abs(found.mean() - 10) < 6 * error
    held = float(np.mean(np.abs(found - 10) <= AGREED.reach(1)))
    assert held > 0.95 - 5 * math.sqrt(0.95 * 0.05 / checks.TRIALS)
    assert AGREED.reach(2) > AGREED.reach(1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_noise_is_cut_at_the_margin(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody will ever see it: such noise has a chance below 2^-100."""
    far = np.array([sign * 10**6])
    monkeypatch.setattr(exact_count, "two_sided_geometric", lambda *_: far)
    assert exact_count.drawn_noise(AGREED, SeededSource(1)) == sign * AGREED.margin


def test_the_event_is_that_of_the_agreed_epsilon() -> None:
    event = AGREED.event()
    assert math.isclose(1.0 / event.noise_multiplier, gaussian_of(1.0))
    assert (event.reads, event.samples) == (None, 1)
    assert 1.0 / AGREED.scale <= AGREED.epsilon


def test_budgets_that_say_nothing_are_refused_with_the_least_that_does() -> None:
    with pytest.raises(ConfigError, match="half of them are shared or none") as got:
        Agreement(30, 0.05)
    least = float(got.value.problems[0].hint.split("=")[1].split()[0])
    assert 2 * Agreement(30, least).reach(1) <= 30
    with pytest.raises(ConfigError):
        Agreement(30, least * 0.9)
    with pytest.raises(ConfigError) as got:
        Agreement(1, 0.5)
    # With ε = 5 a count is right in 95 %, so even one person is told.
    assert "allow ε" in got.value.problems[0].hint


@pytest.mark.parametrize(
    ("size", "epsilon"), [(0, 1.0), (2**21, 1.0), (100, 0.001), (100, 6.0)]
)
def test_numbers_out_of_range_are_refused(size: int, epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"size|epsilon"):
        Agreement(size, epsilon)


def test_a_person_whose_key_looks_made_up_is_a_person() -> None:
    people = people_of(["made up\x003", "3"])
    keys = exact_count.asking_keys(AGREED, people, SeededSource(1))
    assert len(set(keys)) == AGREED.elements
    assert len(people) == 2


def test_files_are_read_as_they_were_written() -> None:
    assert read_message(QUESTION.to_bytes(), "question", 1) == QUESTION
    assert read_message(SECRET.to_bytes(), "secret", 1) == SECRET
    answer = replace(QUESTION, kind="answer", parts=(b"", b"two"))
    assert read_message(answer.to_bytes(), "answer", 2) == answer
    assert QUESTION.agreement == AGREED
    assert QUESTION.hash == hashlib.sha256(QUESTION.to_bytes()).hexdigest()


def _changed(**changes: Any) -> bytes:
    data = QUESTION.to_bytes()
    length = struct.unpack_from("<I", data, 8)[0]
    header = {**json.loads(data[12 : 12 + length]), **changes}
    head = canonical_bytes(header)
    return data[:8] + struct.pack("<I", len(head)) + head + data[12 + length :]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no question of a joining"),
        (SECRET.to_bytes(), "no question of a joining"),
        (b"lexfedjq\xff\xff\xff\xff", "header is too long"),
        (b"lexfedjq\x04\0\0\0null", "not one of this version"),
        (_changed(version=2), "not one of this version"),
        (_changed(more=2), "not one of this version"),
        (_changed(size=0), "not one of this version"),
        (_changed(epsilon=100.0), "not one of this version"),
        (_changed(keys=""), "another form"),
        (_changed(parts=[]), "does not have its parts"),
        (_changed(parts=[1, 2]), "does not have its parts"),
        (_changed(parts=[-3]), "does not have its parts"),
        (_changed(parts=[2]), "cut off"),
        (_changed(parts=[4]), "cut off"),
        (QUESTION.to_bytes() + b"x", "cut off"),
    ],
)
def test_files_that_are_not_as_agreed_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_message(data, "question", 1)


def test_another_agreement_is_named() -> None:
    QUESTION.check_agreed(AGREED)
    with pytest.raises(DataError, match="its `size` is 30, not 40"):
        QUESTION.check_agreed(Agreement(40, 1.0))
    with pytest.raises(DataError, match="its `epsilon` is 1, not 2"):
        QUESTION.check_agreed(Agreement(30, 2.0))
