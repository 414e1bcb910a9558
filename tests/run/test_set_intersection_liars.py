# SPDX-License-Identifier: Apache-2.0
"""Knowledge of sides that do not follow the protocol of set intersection.

These are no bugs that could be mended in it: docs/guide/overlap.md says what they get,
and would say too little or too much if a test here failed.
"""

import random
from typing import Any

import pytest

from lexfed.randomness import SecureSource
from lexfed.run import joining
from lexfed.run.joining import make_answer, make_question, open_answer
from lexfed.sketch.joining.exact_count import Agreement, ExactMessage
from lexfed.sketch.joining.keys import people_of

AGREED = Agreement(20, 5.0)
OWN = [f"p{number}" for number in range(12)]


@pytest.fixture
def psi() -> Any:
    reason = "needs the library `openmined-psi` (extra `psi`)"
    pytest.importorskip("private_set_intersection", reason=reason)
    joining.library.cache_clear()
    return joining.library()


def test_an_asking_side_that_lies_learns_which_of_its_keys_the_other_has(
    psi: Any,
) -> None:
    """One secret for every key; the answer is checked, charged and has noise."""
    targets = ["p3", "p11", "q1", "q2"]
    clients = [psi.client.CreateWithNewKey(False) for _ in targets]
    points = [
        client.CreateRequest([f"person\0{target}"]).encrypted_elements[0]
        for client, target in zip(clients, targets, strict=True)
    ]
    others = [f"other {number}" for number in range(AGREED.elements - len(targets))]
    filling = psi.client.CreateWithNewKey(False).CreateRequest(others)
    request = psi.Request()
    request.reveal_intersection = False
    request.encrypted_elements.extend(sorted([*points, *filling.encrypted_elements]))
    parts = (request.SerializeToString(),)
    question = ExactMessage("question", AGREED.size, AGREED.epsilon, "", parts)
    answer = make_answer(AGREED, question, people_of(OWN), None, SecureSource())
    setup = psi.ServerSetup.FromString(answer.parts[0])
    response = psi.Response.FromString(answer.parts[1])
    found = [client.GetIntersectionSize(setup, response) > 0 for client in clients]
    assert found == [True, True, False, False]


def test_an_answering_side_that_lies_can_count_one_person_several_times(
    psi: Any,
) -> None:
    """The person is among half of all points, or not, in 40 tries: 2^-39 for neither.

    Negative control: without the person nothing is ever counted.
    """
    without = ["q0", *OWN[1:]]
    assert {_counted(psi, OWN, seed) for seed in range(40)} == {0, 2}
    assert {_counted(psi, without, seed) for seed in range(40)} == {0}


def _counted(psi: Any, asking: list[str], seed: int) -> int:
    """Return the count of `p0` if half of all points are answered twice."""
    people = people_of(asking)
    question, secret = make_question(AGREED, people, "people", SecureSource())
    points = list(psi.Request.FromString(question.parts[0]).encrypted_elements)
    random.Random(seed).shuffle(points)
    setup, response = psi.ServerSetup(), psi.Response()
    for copy in range(2):
        server = psi.server.CreateWithNewKey(False)
        keys = ["person\0p0"]
        # Filling: as many points as agreed.
        keys += [f"{copy} {at}" for at in range(AGREED.elements // 2 - 1)]
        made = server.CreateSetupMessage(1e-9, 1, keys, psi.DataStructure.RAW)
        setup.raw.encrypted_elements.extend(made.raw.encrypted_elements)
        request = psi.Request()
        request.encrypted_elements.extend(points[: AGREED.elements // 2])
        response.encrypted_elements.extend(
            server.ProcessRequest(request).encrypted_elements
        )
    joining._sort(setup.raw.encrypted_elements)
    joining._sort(response.encrypted_elements)
    parts = (setup.SerializeToString(), response.SerializeToString())
    answer = ExactMessage("answer", AGREED.size, AGREED.epsilon, question.hash, parts)
    return open_answer(secret, answer).value + AGREED.margin
