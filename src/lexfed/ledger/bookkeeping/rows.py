# SPDX-License-Identifier: Apache-2.0
"""Rows: append-only, each with the hash of everything before it.

    hash of row n = SHA-256(hash of row n-1 || text of row n),   32 zero bytes before

The text is the RFC 8785 form of {sequence, time, kind, body}. With the texts and one
hash from elsewhere all rows can be checked with nothing but SHA-256.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lexfed.canonical import canonical_bytes
from lexfed.errors import LedgerError

GENESIS = bytes(32)
"""Stands for the hash before the first row."""


@dataclass(frozen=True)
class Head:
    """The last row of a ledger: how many there are, and the hash of all."""

    sequence: int
    hash: bytes


@dataclass(frozen=True)
class LedgerRow:
    """One row: its text is what is hashed, its hash over the row above and the text.

    Rows count from 1; the time is what the clock showed, in seconds since 1970, and a
    clock may be wrong. For kinds see `book`.
    """

    sequence: int
    time: int
    kind: str
    body: Mapping[str, Any]
    text: str
    hash: bytes

    @property
    def head(self) -> Head:
        """The head of a ledger that ends with this row."""
        return Head(self.sequence, self.hash)


def make_row(before: Head, time: int, kind: str, body: Mapping[str, Any]) -> LedgerRow:
    """Return the row that follows."""
    sequence = before.sequence + 1
    plain = {"sequence": sequence, "time": time, "kind": kind, "body": dict(body)}
    text = canonical_bytes(plain).decode()
    return LedgerRow(sequence, time, kind, body, text, _chained(before.hash, text))


def read_row(text: str, stored: bytes) -> LedgerRow:
    """Return a stored row; whether it follows another is not checked here."""
    try:
        plain = json.loads(text)
        sequence, time, kind, body = (
            plain[name] for name in ("sequence", "time", "kind", "body")
        )
        if not (isinstance(sequence, int) and isinstance(time, int)):
            raise TypeError("not a number")
        if not (isinstance(kind, str) and isinstance(body, dict)):
            raise TypeError("not a row")
    except (KeyError, TypeError, ValueError) as error:
        raise damage_error("a row is not one of this version") from error
    return LedgerRow(sequence, time, kind, body, text, stored)


def chained_rows(
    before: LedgerRow | None, rows: Iterable[tuple[str, bytes]]
) -> Iterator[LedgerRow]:
    """Yield stored rows, each checked to follow the one above, from `before` on."""
    for text, stored in rows:
        row = read_row(text, stored)
        above = Head(0, GENESIS) if before is None else before.head
        if row.sequence != above.sequence + 1:
            raise damage_error(f"row {above.sequence + 1} is missing")
        if _chained(above.hash, text) != stored:
            raise damage_error(f"row {row.sequence} was changed after it was written")
        yield row
        before = row


def damage_error(damage: str) -> LedgerError:
    """Return the error of a file whose rows do not hold together."""
    return LedgerError(
        f"the ledger is damaged: {damage}",
        "keep the file as evidence, put back the newest sound copy, and run "
        "`lexfed ledger restore`: it charges what the copy has lost",
    )


def _chained(before: bytes, text: str) -> bytes:
    return hashlib.sha256(before + text.encode()).digest()
