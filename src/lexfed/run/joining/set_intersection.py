# SPDX-License-Identifier: Apache-2.0
"""Private set intersection of which only the size is seen, by `openmined-psi`.

What is sent is points of a curve, sorted, so that no order says whose they are. Every
message is checked before anything is computed: as many points as agreed, none twice,
and a question for a number only. The library is an extra, and imported when needed.
"""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from lexfed.errors import ConfigError, Problem
from lexfed.sketch.joining.exact_count import Agreement, disagreement

_POINT_BYTES = 33  # of a point of the curve, as the library writes it
_FALSE_POSITIVES = 1e-9  # asked for by the library; raw points have none


@cache
def library() -> ModuleType:
    """Return `openmined-psi`.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        return import_module("private_set_intersection.python")
    except ImportError as error:
        raise ConfigError(
            [
                Problem(
                    "joining",
                    "the exact way needs the library `openmined-psi`",
                    "install the extra `psi`, or use `lexfed joining sketch`",
                )
            ]
        ) from error


def ask(keys: list[str]) -> tuple[bytes, bytes]:
    """Return the secret of a question and the question."""
    psi = library()
    client = psi.client.CreateWithNewKey(False)
    request = client.CreateRequest(keys)
    _sort(request.encrypted_elements)
    return client.GetPrivateKeyBytes(), request.SerializeToString()


def answer(question: bytes, agreement: Agreement, keys: list[str]) -> list[bytes]:
    """Return the answer to a checked question, under a secret that is used once."""
    psi = library()
    server = psi.server.CreateWithNewKey(False)
    raw = psi.DataStructure.RAW
    request = psi.Request.FromString(question)
    setup = server.CreateSetupMessage(_FALSE_POSITIVES, agreement.elements, keys, raw)
    try:
        response = server.ProcessRequest(request)
    except RuntimeError as error:
        raise disagreement(
            "question", "it holds what is no point of the curve"
        ) from error
    # Order must not say whose a number is; the library sorts, and we rely on nobody.
    _sort(setup.raw.encrypted_elements)
    _sort(response.encrypted_elements)
    return [setup.SerializeToString(), response.SerializeToString()]


def check_question(question: bytes, agreement: Agreement) -> None:
    """Refuse a question that is not as agreed, before anything is paid for it.

    Raises:
        DataError: saying what is wrong.
    """
    request = _parsed("Request", question, "question")
    if request.reveal_intersection:
        raise disagreement("question", "it asks for people, not for their number")
    _check_points(request.encrypted_elements, agreement, "question")


def count(secret: bytes, parts: list[bytes], agreement: Agreement) -> int:
    """Return the people in both, with the answering side's noise.

    Raises:
        DataError: if the answer is not as agreed.
    """
    setup = _parsed("ServerSetup", parts[0], "answer")
    response = _parsed("Response", parts[1], "answer")
    _check_points(setup.raw.encrypted_elements, agreement, "answer")
    _check_points(response.encrypted_elements, agreement, "answer")
    try:
        client = library().client.CreateFromKey(secret, False)
        found: int = client.GetIntersectionSize(setup, response)
    except RuntimeError as error:
        raise disagreement(
            "answer", "it holds what is no point of the curve"
        ) from error
    return found - agreement.margin


def _sort(points: Any) -> None:
    ordered = sorted(points)
    del points[:]
    points.extend(ordered)


def _parsed(kind: str, data: bytes, where: str) -> Any:
    try:
        return getattr(library(), kind).FromString(data)
    # The library's own error is of a package that is only there with the library.
    except Exception as error:
        raise disagreement(where, "it is no message of the protocol") from error


def _check_points(points: Any, agreement: Agreement, where: str) -> None:
    if len(points) != agreement.elements:
        what = f"expected {agreement.elements} keys, got {len(points)}"
        raise disagreement(where, what)
    # One key several times would count one person several times.
    if len(set(points)) != len(points):
        raise disagreement(where, "a key is in it twice")
    if any(len(point) != _POINT_BYTES for point in points):
        raise disagreement(where, "it holds what is no point of the curve")
