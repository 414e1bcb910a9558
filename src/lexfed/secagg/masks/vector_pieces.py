# SPDX-License-Identifier: Apache-2.0
"""Long vectors in pieces, so that no message is longer than a few megabytes.

A masked vector of more than 2^20 values travels as a signed header with the SHA-256 of
each piece, and then the pieces, unsigned and in any order:

    server.begin(r, model, length)         server.pieces: how many; 0 if it fits one
    site.mask(r, model, x) -> HEADER       server.masked(HEADER)
    site.piece(k) -> PIECE                 server.piece(PIECE), for each k
    server.missing(name)                   the k that have not arrived yet
    server.close_masked()                  leaves out sites with a missing piece

    HEADER      digest of the set-up 32 | values 4 | per piece: SHA-256 32
    PIECE       seat 2 | number 4 | up to 2^20 values

A vector lies in a file without a name until all pieces are there, and only then is it
added to the one sum that the server holds in memory.
"""

import os
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Self

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.payloads import ENVELOPE, SEAT
from lexfed.secagg.envelopes.sealed_messages import DIGEST, Reader
from lexfed.secagg.primitives.ring import Ring, RingWords

PIECE_VALUES = 2**20
"""Values of a piece; 4 MiB if they have 32 bits."""
_NUMBER = 4


def count_of(length: int) -> int:
    """Return in how many pieces a vector travels; 0 if it travels whole."""
    return -(-length // PIECE_VALUES) if length > PIECE_VALUES else 0


def longest_piece(ring: Ring) -> int:
    """Return the largest length of a piece, in bytes."""
    return SEAT + _NUMBER + PIECE_VALUES * ring.bits // 8


def longest_masked(ring: Ring, length: int) -> int:
    """Return the largest length of a masked vector, or of its header, as a message."""
    whole = 0 if count_of(length) else length * ring.bits // 8
    return ENVELOPE + DIGEST + max(whole, IncomingVector.header_bytes(length))


def _part(length: int, number: int) -> slice:
    start = number * PIECE_VALUES
    return slice(start, min(start + PIECE_VALUES, length))


class OutgoingVector:
    """A site's masked vector, on its way."""

    def __init__(self, ring: Ring, seat: int, words: RingWords) -> None:
        self._ring = ring
        self._seat = seat
        self._words = words

    def header(self, agreed: bytes) -> bytes:
        """Return the payload of the header, with the digest of the set-up."""
        length = len(self._words)
        hashes = [sha256(self._values(at)).digest() for at in range(count_of(length))]
        return b"".join((agreed, length.to_bytes(_NUMBER, "big"), *hashes))

    def piece(self, number: int) -> bytes:
        """Return a piece as it travels."""
        if number not in range(count_of(len(self._words))):
            raise SecAggError(f"the vector of this round has no piece {number}")
        place = self._seat.to_bytes(SEAT, "big") + number.to_bytes(_NUMBER, "big")
        return place + self._values(number)

    def forget(self) -> None:
        """Give the memory of the vector back."""
        self._words = self._ring.zeros(0)

    def _values(self, number: int) -> bytes:
        return self._ring.pack(self._words[_part(len(self._words), number)])


class IncomingVector:
    """The received pieces of one site's masked vector.

    Guarantees:
        A piece is kept only if it is the one that the header has the hash of.
        Nothing is added to a sum before all pieces are there, and then all are.
    """

    def __init__(
        self, ring: Ring, length: int, hashes: tuple[bytes, ...], file: int
    ) -> None:
        self._ring = ring
        self._length = length
        self._hashes = hashes
        self._missing = set(range(len(hashes)))
        self._file = file

    def __del__(self) -> None:
        os.close(self._file)  # it has no name: with this it is gone

    @staticmethod
    def header_bytes(length: int) -> int:
        """Return the number of bytes of a header's payload."""
        return DIGEST + _NUMBER + DIGEST * count_of(length)

    @classmethod
    def read(
        cls, payload: memoryview, ring: Ring, length: int, folder: Path | None
    ) -> Self:
        """Read a header after the digest of the set-up; pieces are kept in `folder`."""
        reader = Reader(payload, "header of a vector")
        values = reader.number(_NUMBER)
        if values != length:
            raise SecAggError(f"expected a vector of {length} values, not {values}")
        hashes = tuple(reader.digest() for _ in range(count_of(length)))
        try:
            file, name = mkstemp(dir=folder)
            os.unlink(name)
        except OSError as error:
            raise _no_room() from error
        return cls(ring, length, hashes, file)

    @property
    def missing(self) -> tuple[int, ...]:
        """The numbers of the pieces that have not arrived."""
        return tuple(sorted(self._missing))

    def take(self, number: int, data: memoryview) -> None:
        """Take a piece that is missing and has the announced hash."""
        if number not in self._missing:
            raise SecAggError(f"piece {number} is there already, or there is none")
        if not self._is_announced(number, data):
            raise SecAggError(f"piece {number} is not the one that was announced")
        try:
            written = os.pwrite(self._file, data, self._place(number))
        except OSError:
            written = 0
        if written != len(data):
            raise _no_room()
        self._missing.remove(number)

    def add_to(self, total: RingWords) -> None:
        """Add the complete vector to a sum; if the file was changed, refuse."""
        for number in range(len(self._hashes)):
            part = total[_part(self._length, number)]
            data = os.pread(self._file, self._bytes(len(part)), self._place(number))
            if not self._is_announced(number, data):
                raise SecAggError("what had come of a vector was changed on the disk")
            self._ring.add(part, self._ring.unpack(data, len(part)))

    def _is_announced(self, number: int, data: bytes | memoryview) -> bool:
        part = _part(self._length, number)
        fits = len(data) == self._bytes(part.stop - part.start)
        return fits and sha256(data).digest() == self._hashes[number]

    def _place(self, number: int) -> int:
        return self._bytes(number * PIECE_VALUES)

    def _bytes(self, values: int) -> int:
        return values * self._ring.bits // 8


def read_piece(message: bytes) -> tuple[int, int, memoryview]:
    """Return the seat, the number and the values of a piece."""
    reader = Reader(message, "piece of a vector")
    seat, number = reader.number(SEAT), reader.number(_NUMBER)
    return seat, number, memoryview(message)[SEAT + _NUMBER :]


def _no_room() -> SecAggError:
    return SecAggError(
        "there is no room for what comes of a vector",
        "free some, or name another folder for unfinished vectors",
    )
