# SPDX-License-Identifier: Apache-2.0
"""The agreement of all sites before their tables are shared or masked.

A `MaskedPlan` says which tables leave and how loud each site's share of noise is. For
cells of different sites to mean the same, their tables need the same kind, seed and
domain too: the shapes. Both together have a digest, which goes into the context of
every mask, share and ciphertext, so that sites with other plans do not understand each
other. That is the lock; `check_announced` is the door plate, which says in words and
before anything is spent what differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Integers
from lexfed.canonical import digest
from lexfed.errors import DataError, Problem
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.noise_shares import MaskedPlan, noised_share, opened_sketch
from lexfed.sketch.releases.noised_sketch import GaussianColumn, NoisedSketch
from lexfed.sketch.sharing.packed_tables import pack_integers, unpack_integers
from lexfed.sketch.tables.counts import CountTable
from lexfed.sketch.tables.shape import HEADER_BYTES, SketchKind, SketchShape

_COUNTS = {
    SketchKind.COUNT_MIN: False,
    SketchKind.COUNT_SKETCH: True,
    SketchKind.EXACT: False,
}
"""True for kinds whose cells have signs; filters hold no counts."""
_SIZE = 4


@dataclass(frozen=True)
class SharedPlan:
    """Tables that are only ever opened as a sum; public, the same at every site.

    Attributes:
        masked: what leaves, with which noise in shares.
        shapes: of the tables, in the order of the plan's columns.

    Raises:
        ValueError: if a shape is not that of its column.
    """

    masked: MaskedPlan
    shapes: tuple[SketchShape, ...]

    def __post_init__(self) -> None:
        columns = self.masked.plan.columns
        if len(self.shapes) != len(columns):
            raise ValueError("expected one shape for each column of the plan")
        for column, shape in zip(columns, self.shapes, strict=True):
            if not _fits(column, shape):
                raise ValueError(
                    f"column `{column.name}`: expected a shape of the planned depth, "
                    "width and signs"
                )

    @property
    def length(self) -> int:
        """Number of cells of all tables."""
        return sum(shape.cells for shape in self.shapes)

    @property
    def digest(self) -> bytes:
        """SHA-256 over everything that sites must see alike, 32 bytes."""
        plan, cohort = self.masked.plan, self.masked.cohort
        columns = [
            {
                "name": column.name,
                "tier": None if column.tier is None else column.tier.label,
                "occurrences": column.person.occurrences,
                "sigma": column.sigma,
                "shape": shape.to_bytes().hex(),
            }
            for column, shape in zip(plan.columns, self.shapes, strict=True)
        ]
        content = {
            "lexfed-shared-sketch-v1": {
                "name": plan.name,
                "people": plan.people,
                "columns": columns,
                "cohort": [cohort.sites, cohort.colluders, cohort.dropouts],
            }
        }
        return bytes.fromhex(digest(content))

    def announced(self) -> bytes:
        """Return the shapes as bytes, for the other sites."""
        return b"".join(shape.to_bytes() for shape in self.shapes)

    def check_announced(self, headers: bytes, where: str) -> None:
        """Refuse a site whose tables cannot be added to ours.

        Raises:
            DataError: naming every difference of the first table that differs.
        """
        if len(headers) != HEADER_BYTES * len(self.shapes):
            what = f"expected {len(self.shapes)} tables, got {len(headers)} bytes"
            raise DataError([Problem(where, what, "plan the same tables everywhere")])
        for at, shape in enumerate(self.shapes):
            header = headers[at * HEADER_BYTES : (at + 1) * HEADER_BYTES]
            name = self.masked.plan.columns[at].name
            shape.check_same(
                SketchShape.from_bytes(header), f"{where}, column `{name}`"
            )

    def share(
        self, tables: Sequence[CountTable], ledger: Ledger, source: RandomSource
    ) -> Integers:
        """Charge a site's ledger, then return its noised cells, ready to be shared.

        Guarantees:
            As `noised_share`; tables of another shape are refused before the charge.
            No cell is beyond what the declared people can reach, noise aside.

        Raises:
            DataError: if the tables are not those of the plan.
            Refused: if a budget would be exceeded.
        """
        cells = [table.cells for table in tables]
        self.masked.plan.check(cells)
        for shape, table in zip(self.shapes, tables, strict=True):
            shape.check_same(table.shape, f"sketch `{self.masked.plan.name}`")
        return noised_share(self.masked, cells, ledger, source)

    def opened(self, total: Integers, present: int, private: bool) -> NoisedSketch:
        """Return the opened sum as a noised sketch; see `noise_shares.opened`."""
        return opened_sketch(self.masked, total, present, private)

    def packed(self, total: Integers) -> bytes:
        """Return an opened sum in few bytes; each table has noise of its own size."""
        parts = [pack_integers(part) for part in np.split(total, self._ends)]
        sizes = (len(part).to_bytes(_SIZE, "big") for part in parts)
        return b"".join(size + part for size, part in zip(sizes, parts, strict=True))

    def unpacked(self, data: bytes, where: str) -> Integers:
        """Read an opened sum.

        Guarantees:
            What was packed is read to the bit, if no cell exceeds the plan's bound.

        Raises:
            DataError: if the bytes are none.
        """
        found, at = [], 0
        for shape in self.shapes:
            size = int.from_bytes(data[at : at + _SIZE], "big")
            at += _SIZE
            part = data[at : at + size]
            found.append(unpack_integers(part, shape.cells, self.masked.bound(), where))
            at += size
        if at != len(data):
            what = "there are bytes after the last table"
            raise DataError([Problem(where, what, "ask for the tables again")])
        return np.concatenate(found)

    @property
    def _ends(self) -> list[int]:
        cells = [shape.cells for shape in self.shapes]
        ends: list[int] = np.cumsum(cells)[:-1].tolist()
        return ends


def _fits(column: GaussianColumn, shape: SketchShape) -> bool:
    return (
        column.shape == (shape.depth, shape.width)
        and _COUNTS.get(shape.kind) == column.person.signed
    )
