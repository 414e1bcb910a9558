# SPDX-License-Identifier: Apache-2.0
"""The exact way of joining: agreement, noise, files; and the protocol where it is."""

import json
import math
import struct
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.canonical import canonical_bytes
from lexfed.errors import ConfigError, DataError
from lexfed.privacy.pure import gaussian_of
from lexfed.privacy.two_sided import variance_of
from lexfed.randomness import SeededSource
from lexfed.sketch.joining import exact
from lexfed.sketch.joining.exact import Agreement
from lexfed.sketch.joining.keys import people_of
from lexfed.sketch.joining.messages import Message, read
from support import exact_checks as checks

AGREED = checks.AGREED
QUESTION = Message("question", 30, 1.0, "", (b"one",))
SECRET = Message("secret", 30, 1.0, "ab", (b"key",), people=7, data_set="a.csv")


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
    monkeypatch.setattr(exact, "two_sided_geometric", lambda *_: far)
    assert exact.drawn(AGREED, SeededSource(1)) == sign * AGREED.margin


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


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    exact.library.cache_clear()
    monkeypatch.setitem(sys.modules, "private_set_intersection.python", None)
    with pytest.raises(ConfigError, match="needs the library `openmined-psi`"):
        exact.library()


def test_a_person_whose_key_looks_made_up_is_a_person() -> None:
    people = people_of(["made up\x003", "3"])
    keys = exact.asking_keys(AGREED, people, SeededSource(1))
    assert len(set(keys)) == AGREED.elements
    assert len(people) == 2


def test_files_are_read_as_they_were_written() -> None:
    assert read(QUESTION.to_bytes(), "question", 1) == QUESTION
    assert read(SECRET.to_bytes(), "secret", 1) == SECRET
    answer = replace(QUESTION, kind="answer", parts=(b"", b"two"))
    assert read(answer.to_bytes(), "answer", 2) == answer
    assert QUESTION.agreement == AGREED


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
        read(data, "question", 1)


def test_another_agreement_is_named() -> None:
    QUESTION.check_agreed(AGREED)
    with pytest.raises(DataError, match="its `size` is 30, not 40"):
        QUESTION.check_agreed(Agreement(40, 1.0))
    with pytest.raises(DataError, match="its `epsilon` is 1, not 2"):
        QUESTION.check_agreed(Agreement(30, 2.0))


# From here on with the library itself.


@pytest.fixture
def psi() -> Any:
    reason = "needs the library `openmined-psi` (extra `psi`)"
    pytest.importorskip("private_set_intersection", reason=reason)
    exact.library.cache_clear()
    return exact.library()


SMALL = Agreement(20, 5.0)


def _asked(psi: Any) -> tuple[bytes, bytes, list[str]]:
    people = people_of(f"p{n}" for n in range(12))
    keys = exact.asking_keys(SMALL, people, SeededSource(1))
    return (*exact.ask(keys), keys)


def test_the_protocol_finds_the_size_of_the_intersection(psi: Any) -> None:
    secret, question, keys = _asked(psi)
    exact.check_question(question, SMALL)
    for seed, who in enumerate((range(1), range(5, 20), range(30, 50))):
        own = exact.answering_keys(
            SMALL, people_of(f"p{n}" for n in who), SeededSource(seed, "answer")
        )
        parts = exact.answer(question, SMALL, own)
        truth = len(set(keys).intersection(own)) - SMALL.margin
        assert exact.count(secret, parts, SMALL) == truth


def test_nothing_leaves_in_an_order_that_tells(psi: Any) -> None:
    _, question, keys = _asked(psi)
    own = exact.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    setup, response = exact.answer(question, SMALL, own)
    for points in (
        psi.Request.FromString(question).encrypted_elements,
        psi.ServerSetup.FromString(setup).raw.encrypted_elements,
        psi.Response.FromString(response).encrypted_elements,
    ):
        assert list(points) == sorted(points)
        assert len(points) == SMALL.elements == len(keys)


def test_every_question_and_answer_has_a_secret_of_its_own(psi: Any) -> None:
    keys = exact.asking_keys(SMALL, people_of(["p1"]), SeededSource(1))
    questions = [exact.ask(keys)[1] for _ in range(2)]
    assert questions[0] != questions[1]
    own = exact.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    answers = [exact.answer(questions[0], SMALL, own)[0] for _ in range(2)]
    assert answers[0] != answers[1]


def test_questions_that_are_not_as_agreed_are_refused(psi: Any) -> None:
    _, question, _ = _asked(psi)
    good = psi.Request.FromString(question)

    def broken(change: str) -> bytes:
        request = psi.Request()
        request.CopyFrom(good)
        points = request.encrypted_elements
        if change == "reveal":
            request.reveal_intersection = True
        elif change == "fewer":
            del points[0]
        elif change == "twice":
            points[0] = points[1]
        else:
            points[0] = b"x" * 5
        return bytes(request.SerializeToString())

    for data, words in (
        (b"nonsense", "no message of the protocol"),
        (broken("reveal"), "asks for people, not for their number"),
        (broken("fewer"), f"expected {SMALL.elements} keys"),
        (broken("twice"), "a key is in it twice"),
        (broken("short"), "no point of the curve"),
    ):
        with pytest.raises(DataError, match=words):
            exact.check_question(data, SMALL)


def test_what_is_no_point_of_the_curve_is_refused(psi: Any) -> None:
    secret, question, _ = _asked(psi)
    own = exact.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    setup, response = exact.answer(question, SMALL, own)
    bad_question = psi.Request.FromString(question)
    bad_question.encrypted_elements[0] = b"\xff" * 33
    with pytest.raises(DataError, match=r"question: .*no point of the curve"):
        exact.answer(bad_question.SerializeToString(), SMALL, own)
    bad = psi.Response.FromString(response)
    bad.encrypted_elements[0] = b"\xff" * 33
    with pytest.raises(DataError, match=r"answer: .*no point of the curve"):
        exact.count(secret, [setup, bad.SerializeToString()], SMALL)
