# SPDX-License-Identifier: Apache-2.0
"""JSON, base64 and decimal numbers that mean the same to every reader, or are refused.

The JSON of RFC 8259 leaves open what a duplicate key, a lone surrogate or a number
beyond a double means; two honest programs may read two different documents from the
same signed bytes. I-JSON [RFC 7493] closes those doors and RFC 8785 assumes them
closed. Base64 has one text for the same bytes [RFC 4648, 4 and 3.5], or a changed text
could pass for the signed one.
"""

import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError

MAX_DEPTH = 32
MAX_BYTES = 16 * 1024 * 1024
MAX_INTEGER = 2**53 - 1
"""Beyond it, a reader that holds numbers as doubles sees another number."""

_FRACTION = re.compile(rb"(?:^|[:,\[])-?[0-9]+[.eE]")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Put a place before the message of every `AuditError` from inside."""
    try:
        yield
    except AuditError as error:
        raise AuditError(f"{where}: {error.message}", error.hint) from error


def parse_json(data: bytes, max_depth: int = MAX_DEPTH) -> Any:
    """Return the value of JSON bytes.

    Guarantees:
        A duplicate key, NaN or Infinity, a number that overflows, an integer beyond
        2^53-1, a lone surrogate, a byte order mark, bytes that are not UTF-8, nesting
        beyond `max_depth` and more than 16 MiB are each refused.
        No input raises anything but `AuditError`.
    """
    if len(data) > MAX_BYTES:
        raise AuditError(f"JSON of {len(data)} bytes is more than {MAX_BYTES}")
    try:
        value = _decoder.decode(data.decode())
    except UnicodeDecodeError as error:
        raise AuditError(f"JSON is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise AuditError(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}"
        ) from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    # Most documents cannot break the last two rules; only the others are walked.
    if data.count(b"[") + data.count(b"{") > max_depth or b"\\u" in data:
        _check_values(value, max_depth)
    return value


def is_canonical_json(data: bytes, value: Any) -> bool:
    """Return True if `data`, parsed as `value`, are its RFC 8785 bytes."""
    # Without fractions and beyond-ASCII keys the standard encoder, several times
    # faster, writes the same bytes; in them a fraction follows one of `:,[`.
    if data.isascii() and not _FRACTION.search(data):
        return _encoder.encode(value).encode() == data
    return canonical_bytes(value) == data


def _check_values(value: Any, max_depth: int) -> None:
    """Refuse lone surrogates and deep nesting."""
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError as error:
                raise AuditError("JSON text has a lone surrogate") from error
        elif isinstance(item, dict | list):
            if depth == max_depth:
                raise _too_deep(max_depth)
            if isinstance(item, dict):
                waiting += [(key, depth) for key in item]
                item = item.values()
            waiting += [(inner, depth + 1) for inner in item]


def _too_deep(max_depth: int) -> AuditError:
    return AuditError(f"JSON is nested deeper than {max_depth} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise AuditError(f"JSON has the key {key[:100]!a} twice in one object")
    return result


def _integer(text: str) -> int:
    # Length first: Python refuses to convert thousands of digits, with another error.
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise AuditError(f"JSON has an integer beyond 2^53-1: {text[:30]}")
    return int(text)


def _real(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise AuditError(f"JSON has a number that overflows: {text[:30]}")
    return number


def _constant(text: str) -> NoReturn:
    raise AuditError(f"JSON has the constant {text}, which is no number")


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_real,
    parse_constant=_constant,
)
_encoder = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def encode_base64(data: bytes) -> str:
    """Return padded standard base64 without a newline."""
    return binascii.b2a_base64(data, newline=False).decode()


def decode_base64(text: str, where: str) -> bytes:
    """Return the bytes; `AuditError` naming `where` unless it is their one spelling."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:  # binascii.Error, or a character beyond ASCII
        raise AuditError(f"{where}: not standard base64") from error
    if encode_base64(data) != text:
        raise AuditError(f"{where}: base64 with more than one spelling")
    return data


def decode_hash(text: str, where: str) -> bytes:
    """Return a hash of 32 bytes from its base64 text."""
    data = decode_base64(text, where)
    if len(data) != 32:
        raise AuditError(f"{where}: expected 32 bytes, got: {len(data)}")
    return data


def parse_decimal(text: str, where: str) -> int:
    """Return a number below 2^63 written without sign or leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else -1
    if not 0 <= number < 2**63:
        raise AuditError(
            f"{where}: not a decimal number from 0 to 2^63-1, got: {text[:30]!a}"
        )
    return number
