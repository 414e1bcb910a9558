# SPDX-License-Identifier: Apache-2.0
"""JSON that two readers could understand differently is refused."""

import json

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import AuditError
from lexfed.signing.strict_text import MAX_BYTES, is_canonical_json, parse_json

MANY = settings(deadline=None, max_examples=200)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-1e15, 1e15)
    | st.floats(1e22, 1e300)
    | TEXT
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"null", None),
        (b" [1, -2.5e1, true]\n", [1, -25.0, True]),
        (
            b'{"a":{"a":1},"b":[{"a":2},{"a":3}]}',
            {"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]},
        ),
        ('"\u00e9\U0001f512"'.encode(), "\u00e9\U0001f512"),
        (rb'"\ud83d\udd12 \u00e9"', "\U0001f512 \u00e9"),
        (b"9007199254740991", 2**53 - 1),
        (b"-9007199254740991", -(2**53) + 1),
        (b"5e-324", 5e-324),
        (b'"[[[[{{{{"', "[[[[{{{{"),
    ],
    ids=range(9),
)
def test_what_is_read(data: bytes, value: object) -> None:
    assert parse_json(data) == value


REFUSED = {
    "empty": (b"", "not JSON: line 1, column 1"),
    "two-values": (b"1 2", "not JSON: line 1, column 3"),
    "trailing-comma": (b"[1,]", "not JSON"),
    "single-quotes": (b"{'a':1}", "not JSON"),
    "comment": (b"1 // one", "not JSON"),
    "control-in-text": (b'"a\nb"', "not JSON"),
    "leading-zero": (b"01", "not JSON"),
    "plus-sign": (b"+1", "not JSON"),
    "hexadecimal": (b"0x1", "not JSON"),
    "byte-order-mark": (b"\xef\xbb\xbf1", "not JSON: line 1, column 1"),
    "utf-16": ("1".encode("utf-16"), "not UTF-8 at byte 0"),
    "latin-1": (b'"\xe9"', "not UTF-8 at byte 1"),
    "surrogate-bytes": (b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
    "overlong": (b'"\xc0\x80"', "not UTF-8 at byte 1"),
    "nan": (b"NaN", "constant NaN"),
    "infinity": (b'{"a":Infinity}', "constant Infinity"),
    "minus-infinity": (b"[-Infinity]", "constant -Infinity"),
    "overflow": (b"1e400", "overflows: 1e400"),
    "overflow-by-far": (b"1e4" + b"0" * 30, "overflows"),
    "overflow-negative": (b"-1e400", "overflows: -1e400"),
    "integer-2^53": (b"9007199254740992", r"integer beyond 2\^53-1: 9007199254740992"),
    "integer-minus-2^53": (b"-9007199254740992", "integer beyond"),
    "integer-of-5000-digits": (b"9" * 5000, "integer beyond"),
    "duplicate-key": (b'{"a":1,"a":2}', "the key 'a' twice"),
    "duplicate-after-escape": (rb'{"a":1,"\u0061":2}', "the key 'a' twice"),
    "duplicate-deep": (b'[{"x":[{"a":1,"b":2,"a":1}]}]', "the key 'a' twice"),
    "lone-high": (rb'"\ud800"', "lone surrogate"),
    "lone-low": (rb'["\udc00"]', "lone surrogate"),
    "lone-in-key": (rb'{"\ud800":1}', "lone surrogate"),
    "lone-upper-case": (rb'{"a":"\uD800x"}', "lone surrogate"),
    "swapped-pair": (rb'"\udd12\ud83d"', "lone surrogate"),
    "lists-33-deep": (b"[" * 33 + b"]" * 33, "deeper than 32"),
    "objects-33-deep": (b'{"a":' * 33 + b"1" + b"}" * 33, "deeper than 32"),
    "lists-100000-deep": (b"[" * 100_000 + b"]" * 100_000, "deeper than 32"),
    "lists-never-closed": (b"[" * 1_000_000, "deeper than 32|not JSON"),
    "objects-100000-deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deeper"),
    "too-large": (b" " * (MAX_BYTES + 1), "is more than 16777216"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    data, match = REFUSED[name]
    with pytest.raises(AuditError, match=match):
        parse_json(data)


def test_depth_is_counted_not_guessed() -> None:
    assert parse_json(b"[" * 32 + b"]" * 32)
    assert parse_json(b'{"a":' * 32 + b"1" + b"}" * 32)
    wide = b"[" + b",".join([b'{"a":[]}'] * 1000) + b"]"
    assert len(parse_json(wide)) == 1000
    assert parse_json(wide, max_depth=3)
    with pytest.raises(AuditError, match="deeper than 2"):
        parse_json(wide, max_depth=2)


@MANY
@given(VALUES)
def test_every_value_comes_back(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(rfc8785.dumps(value)) == value  # type: ignore[arg-type]


@MANY
@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        found = parse_json(data)
    except AuditError:
        return
    assert json.dumps(found) == json.dumps(json.loads(data))  # what it took is JSON


@MANY
@given(VALUES, st.data())
def test_canonical_means_rfc_8785(value: object, data: st.DataObject) -> None:
    text = rfc8785.dumps(value)  # type: ignore[arg-type]
    assert is_canonical_json(text, parse_json(text))
    spelling = data.draw(st.sampled_from(["ascii", "spaces", "unsorted"]))
    other = json.dumps(
        value,
        ensure_ascii=spelling == "ascii",
        separators=(", ", ": ") if spelling == "spaces" else (",", ":"),
    ).encode()
    assert is_canonical_json(other, parse_json(other)) == (other == text)


@pytest.mark.parametrize(
    "data",
    [
        b"1.0",
        b"-0",
        b"-0.0",
        b"1E2",
        b"[1e-06]",
        b"100000000000000000000.0",
        rb'"\u007f"',
        rb'"\u00e9"',
        rb'"\/"',
        rb'"\u000A"',
        rb'"\u000a"',
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        '{"\uffff":1,"\U0001f512":2}'.encode(),
    ],
    ids=range(14),
)
def test_spellings_that_are_not_canonical(data: bytes) -> None:
    assert not is_canonical_json(data, parse_json(data))


@pytest.mark.parametrize(
    "data",
    [b"0.000001", b"1e-7", b'"\x7f"', rb'"\u001f\n"', b'{"a":[1.5,2]}', b'"1.0 :1.0"'],
    ids=range(6),
)
def test_spellings_that_are_canonical(data: bytes) -> None:
    assert is_canonical_json(data, parse_json(data))
