# SPDX-License-Identifier: Apache-2.0
"""Statements: a closed form with one spelling."""

import json
from typing import Any

import pytest
import rfc8785

from lexfed.errors import AuditError
from lexfed.signing.dsse import STATEMENT_TYPE, InTotoStatement

DIGEST = "ab" * 32
KIND = "https://lexfed.example/round/v1"
PREDICATE = {"round": 3, "epsilon": "0.125", "tags": ["a", None, True]}
PLAIN = InTotoStatement((("model", DIGEST), ("update", "00" * 32)), KIND, PREDICATE)


def test_the_form_is_that_of_in_toto() -> None:
    assert json.loads(PLAIN.to_bytes()) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "model", "digest": {"sha256": DIGEST}},
            {"name": "update", "digest": {"sha256": "00" * 32}},
        ],
        "predicateType": KIND,
        "predicate": PREDICATE,
    }


def test_a_statement_comes_back() -> None:
    assert InTotoStatement.parse(PLAIN.to_bytes()) == PLAIN
    assert InTotoStatement.parse(PLAIN.to_bytes()).to_bytes() == PLAIN.to_bytes()
    floats = InTotoStatement(
        (("m", DIGEST),), KIND, {"\u00e9": 1.5, "\U0001f512": 1e-7}
    )
    assert InTotoStatement.parse(floats.to_bytes()) == floats


@pytest.mark.parametrize(
    "predicate",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": 2**53},
        {"x": 2.0**53},
        {"x": b"bytes"},
        {"x": {1, 2}},
        {1: "number as key"},
        {"x": "\ud800"},
        {"\ud800": 1},
    ],
    ids=range(9),
)
def test_what_is_not_json_is_not_signed(predicate: dict[str, Any]) -> None:
    with pytest.raises(AuditError, match="JSON"):
        InTotoStatement((("m", DIGEST),), KIND, predicate).to_bytes()


@pytest.mark.parametrize("depth", [31, 5000])
def test_what_cannot_be_read_back_is_not_signed(depth: int) -> None:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    with pytest.raises(AuditError, match="JSON"):
        InTotoStatement((("m", DIGEST),), KIND, {"deep": value}).to_bytes()


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ((), KIND),
        ((("m", DIGEST),) * 1001, KIND),
        ((("", DIGEST),), KIND),
        ((("m", ""),), KIND),
        ((("m", DIGEST.upper()),), KIND),
        ((("m", DIGEST + "\n"),), KIND),
        ((("m", DIGEST),), ""),
        ((("m", DIGEST),), "no scheme"),
        ((("m", DIGEST),), "https://with space"),
        ((("m", DIGEST),), "https://" + "x" * 300),
    ],
    ids=range(10),
)
def test_a_statement_cannot_be_made_of_nonsense(
    subject: tuple[tuple[str, str], ...], kind: str
) -> None:
    with pytest.raises(AuditError):
        InTotoStatement(subject, kind, {})


def files() -> dict[str, bytes]:
    value: dict[str, Any] = json.loads(PLAIN.to_bytes())

    def changed(**fields: Any) -> bytes:
        return rfc8785.dumps({**value, **fields})

    return {
        "empty": b"",
        "list": b"[]",
        "other-type": changed(_type="https://in-toto.io/Statement/v0.1"),
        "type-missing": changed(_type=None),
        "one-more-key": changed(note="unseen"),
        "predicate-list": changed(predicate=[]),
        "predicate-text": changed(predicate="x"),
        "predicate-type-number": changed(predicateType=1),
        "predicate-type-no-uri": changed(predicateType="round"),
        "subject-object": changed(subject={}),
        "subject-empty": changed(subject=[]),
        "subject-text": changed(subject=["x"]),
        "subject-one-more-key": changed(
            subject=[{"name": "m", "digest": {"sha256": DIGEST}, "uri": "x"}]
        ),
        "subject-name-number": changed(
            subject=[{"name": 1, "digest": {"sha256": DIGEST}}]
        ),
        "digest-text": changed(subject=[{"name": "m", "digest": DIGEST}]),
        "digest-number": changed(subject=[{"name": "m", "digest": {"sha256": 1}}]),
        "digest-other": changed(subject=[{"name": "m", "digest": {"sha1": DIGEST}}]),
        "digest-two": changed(
            subject=[{"name": "m", "digest": {"sha256": DIGEST, "sha1": DIGEST}}]
        ),
        "spaces": json.dumps(value).encode(),
        "unsorted": json.dumps(
            dict(reversed(value.items())), separators=(",", ":")
        ).encode(),
        "duplicate-key": PLAIN.to_bytes().replace(b'{"_type"', b'{"_type":1,"_type"'),
        "fraction": PLAIN.to_bytes().replace(b'"round":3', b'"round":3.0'),
    }


@pytest.mark.parametrize("name", files())
def test_any_other_bytes_are_refused(name: str) -> None:
    with pytest.raises(AuditError):
        InTotoStatement.parse(files()[name])


def test_the_type_is_the_one_of_version_1() -> None:
    assert STATEMENT_TYPE == "https://in-toto.io/Statement/v1"
