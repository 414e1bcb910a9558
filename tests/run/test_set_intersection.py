# SPDX-License-Identifier: Apache-2.0
"""Set intersection by the library itself, where it is installed."""

import sys
from typing import Any

import pytest

from lexfed.errors import ConfigError, DataError
from lexfed.randomness import SeededSource
from lexfed.run import joining
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement
from lexfed.sketch.joining.keys import people_of


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    joining.library.cache_clear()
    monkeypatch.setitem(sys.modules, "private_set_intersection.python", None)
    with pytest.raises(ConfigError, match="needs the library `openmined-psi`"):
        joining.library()


@pytest.fixture
def psi() -> Any:
    reason = "needs the library `openmined-psi` (extra `psi`)"
    pytest.importorskip("private_set_intersection", reason=reason)
    joining.library.cache_clear()
    return joining.library()


SMALL = Agreement(20, 5.0)


def _asked(psi: Any) -> tuple[bytes, bytes, list[str]]:
    people = people_of(f"p{n}" for n in range(12))
    keys = exact_count.asking_keys(SMALL, people, SeededSource(1))
    return (*joining.psi_question(keys), keys)


def test_the_protocol_finds_the_size_of_the_intersection(psi: Any) -> None:
    secret, question, keys = _asked(psi)
    joining.check_question(question, SMALL)
    for seed, who in enumerate((range(1), range(5, 20), range(30, 50))):
        own = exact_count.answering_keys(
            SMALL, people_of(f"p{n}" for n in who), SeededSource(seed, "answer")
        )
        parts = joining.psi_answer(question, SMALL, own)
        truth = len(set(keys).intersection(own)) - SMALL.margin
        assert joining.psi_count(secret, parts, SMALL) == truth


def test_nothing_leaves_in_an_order_that_tells(psi: Any) -> None:
    _, question, keys = _asked(psi)
    own = exact_count.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    setup, response = joining.psi_answer(question, SMALL, own)
    for points in (
        psi.Request.FromString(question).encrypted_elements,
        psi.ServerSetup.FromString(setup).raw.encrypted_elements,
        psi.Response.FromString(response).encrypted_elements,
    ):
        assert list(points) == sorted(points)
        assert len(points) == SMALL.elements == len(keys)


def test_every_question_and_answer_has_a_secret_of_its_own(psi: Any) -> None:
    keys = exact_count.asking_keys(SMALL, people_of(["p1"]), SeededSource(1))
    questions = [joining.psi_question(keys)[1] for _ in range(2)]
    assert questions[0] != questions[1]
    own = exact_count.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    answers = [joining.psi_answer(questions[0], SMALL, own)[0] for _ in range(2)]
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
            joining.check_question(data, SMALL)


def test_what_is_no_point_of_the_curve_is_refused(psi: Any) -> None:
    secret, question, _ = _asked(psi)
    own = exact_count.answering_keys(SMALL, people_of(["p1"]), SeededSource(1))
    setup, response = joining.psi_answer(question, SMALL, own)
    bad_question = psi.Request.FromString(question)
    bad_question.encrypted_elements[0] = b"\xff" * 33
    with pytest.raises(DataError, match=r"question: .*no point of the curve"):
        joining.psi_answer(bad_question.SerializeToString(), SMALL, own)
    bad = psi.Response.FromString(response)
    bad.encrypted_elements[0] = b"\xff" * 33
    with pytest.raises(DataError, match=r"answer: .*no point of the curve"):
        joining.psi_count(secret, [setup, bad.SerializeToString()], SMALL)
