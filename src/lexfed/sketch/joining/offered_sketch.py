# SPDX-License-Identifier: Apache-2.0
"""One organisation's noised sketch, and the file it leaves in.

A file is eight letters, the length of a header, the header as canonical JSON, and the
cells and the number of people as float64, little-endian. A reader computes the price
again from the stated noise, and refuses a sketch that claims less.

**The size is an assumption.** At exactly `size` people, the existence of a file reveals
one person more, since more are refused without noise. So no price holds unless neither
side can come near the size, which both choose without looking at their lists (A1 in
docs/theory/guarantees.md).
"""

import struct
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from lexfed.arrays import Floats, Integers
from lexfed.canonical import canonical_bytes
from lexfed.errors import DataError, Problem
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.sketch.joining.keys import FORM, PersonKeys
from lexfed.sketch.joining.terms import (
    MOST_PEOPLE,
    MOST_WIDTH,
    JoiningNoise,
    JoiningNoiseKind,
    JoiningTerms,
)
from lexfed.sketch.tables.counts import CountSketch
from lexfed.sketch.tables.shape import SketchKind as TableKind
from lexfed.sketch.tables.shape import SketchShape

MAGIC = b"lexfedjo"
_PREFIX = struct.Struct("<8sI")
_MOST_HEADER = 4096
MOST_BYTES = _PREFIX.size + _MOST_HEADER + 8 * (MOST_WIDTH + 1)
"""No file of a sketch is longer; nothing more is read."""

_CLOSE = 1e-9
_FAR = 40.0  # deviations of noise beyond which no cell of anybody lies


@dataclass(frozen=True, eq=False)
class OfferedSketch:
    """A noised sketch of an organisation's people, of which there are at most `size`.

    The shape has the seed and the form of the keys. `epsilon` and `delta` are what one
    person pays, added or removed; without a delta epsilon is pure. `cells` [width] and
    the number of `people` have noise, which is `private` if nobody can repeat it.
    """

    size: int
    shape: SketchShape
    epsilon: float
    delta: float | None
    noise: JoiningNoise
    private: bool
    cells: Floats
    people: float

    @property
    def event(self) -> Release:
        """The release that a ledger is charged for it."""
        return self.noise.event(self.shape.width)

    def to_bytes(self) -> bytes:
        """Return the file."""
        header = _Header(
            version=1,
            size=self.size,
            width=self.shape.width,
            seed=str(self.shape.seed),
            keys=self.shape.bins,
            epsilon=self.epsilon,
            delta=self.delta,
            kind=self.noise.kind,
            table=self.noise.table,
            count=self.noise.count,
            private=self.private,
        )
        head = canonical_bytes(header.model_dump(mode="json"))
        numbers = np.append(self.cells, self.people).astype("<f8").tobytes()
        return _PREFIX.pack(MAGIC, len(head)) + head + numbers

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "sketch") -> "OfferedSketch":
        """Read a file from another party.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
            Its noise costs no more than it claims.
            No cell is larger than an honest one with its noise can be.
        """
        header, rest = _split(data, where)
        try:
            width, seed = header.width, int(header.seed)
            shape = SketchShape(TableKind.COUNT_SKETCH, 1, width, seed, header.keys)
            noise = JoiningNoise(header.kind, header.table, header.count)
            cost = noise.costs(header.delta, header.width)
        except (ValueError, OverflowError) as error:
            raise _wrong(where, f"its header is not sound: {error}") from error
        if not 1 <= header.size <= MOST_PEOPLE or header.width > MOST_WIDTH:
            raise _wrong(where, "it says that it is larger than any sketch may be")
        if not cost <= header.epsilon * (1.0 + _CLOSE):
            raise _wrong(where, "it claims a smaller ε than its noise proves")
        if len(rest) != 8 * (header.width + 1):
            raise _wrong(where, f"expected {header.width + 1} numbers after its header")
        numbers = np.frombuffer(rest, "<f8").astype(np.float64)
        largest = header.size + _FAR * max(noise.variances) ** 0.5
        if not bool(np.all(np.abs(numbers) <= largest)):
            raise _wrong(where, "a count is larger than any honest one")
        sketch = cls(
            header.size,
            shape,
            header.epsilon,
            header.delta,
            noise,
            header.private,
            numbers[:-1],
            float(numbers[-1]),
        )
        if sketch.to_bytes() != data:
            raise _wrong(where, "it is not written in its only byte form")
        return sketch


def exact_tables(terms: JoiningTerms, people: PersonKeys) -> list[Integers]:
    """Return the table and the number of people; as private as the keys."""
    require_within(people, terms.size)
    table = CountSketch.build(terms.shape, people.keys).cells
    return [np.array(table), np.array([[len(people)]], dtype=np.int64)]


def require_within(people: PersonKeys, size: int) -> None:
    """Refuse nobody, and more people than was agreed; this refusal has no noise."""
    if not len(people):
        raise _wrong("keys", "there is nobody with a key", "name the column of keys")
    if len(people) > size:
        raise _wrong(
            "keys",
            "there are more people than the agreed size",
            "agree on a larger `--size` with the other side; nothing was released",
        )


def offer(
    terms: JoiningTerms, tables: list[Integers], source: RandomSource
) -> OfferedSketch:
    """Add noise to the exact tables; the caller has paid `terms.noise`.

    Guarantees:
        Every cell and the count have fresh noise of their own.
    """
    noise = terms.noise
    table, count = noise.add(tables, terms.size, source)
    return OfferedSketch(
        terms.size,
        terms.shape,
        terms.epsilon,
        terms.delta,
        noise,
        source.private,
        table.cells[0],
        float(count.cells[0, 0]),
    )


class FileHeader(BaseModel):
    """The header of a file for joining, with its agreement and the form of its keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )

    version: Literal[1]
    size: int
    epsilon: float
    keys: str


class _Header(FileHeader):
    width: int
    # JSON has no integers of 64 bits.
    seed: str
    delta: float | None
    kind: JoiningNoiseKind
    table: float
    count: float
    private: bool


def _split(data: bytes, where: str) -> tuple[_Header, bytes]:
    if len(data) < _PREFIX.size or not data.startswith(MAGIC):
        raise _wrong(where, "these bytes are not a sketch for joining")
    _, length = _PREFIX.unpack_from(data)
    if length > _MOST_HEADER:
        raise _wrong(where, "its header is too long")
    body = data[_PREFIX.size :]
    try:
        header = _Header.model_validate_json(body[:length])
    except ValidationError as error:
        raise _wrong(where, "its header is not one of this version") from error
    if header.keys != FORM:
        raise _wrong(where, "its keys are in another form", "use one version of lexfed")
    return header, body[length:]


def _wrong(where: str, what: str, hint: str = "") -> DataError:
    usual = "take the file again from who made it, with this version of lexfed"
    return DataError([Problem(where, what, hint or usual)])
