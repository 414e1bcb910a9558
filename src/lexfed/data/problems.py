# SPDX-License-Identifier: Apache-2.0
"""Problems of a file, named by column and row, and never by value.

Reading goes on after the first problem so that a person sees all of them at once: of
every kind of problem the first twenty are kept and the rest are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from lexfed.counted_words import counted
from lexfed.errors import DataError, Problem

SHOWN_PER_KIND = 20


@dataclass(frozen=True)
class DataProblem(Problem):
    """A problem with its place: file, column, and row as a person counts it.

    Attributes:
        row: line number of a CSV file (the header is line 1), or number of the row
            counted from 1 in other sources; None when the whole column is meant.
        kind: a short stable name such as `column-missing`.
    """

    file: str = ""
    column: str = ""
    row: int | None = None
    kind: str = ""


class Place(TypedDict, total=False):
    """The place of a problem, as `DataProblem` has it, and what to do about it."""

    file: str
    column: str
    row: int | None
    hint: str


def data_problem(kind: str, what: str, **place: Unpack[Place]) -> DataProblem:
    """Return the problem with its place written out for people."""
    file, column = place.get("file", ""), place.get("column", "")
    row, hint = place.get("row"), place.get("hint", "")
    places = [file] if file else []
    if column:
        places.append(f"column `{column}`")
    if row is not None:
        places.append(f"row {row}")
    return DataProblem(", ".join(places), what, hint, file, column, row, kind)


@dataclass
class Problems:
    """Collects problems while a source is read, then raises them together."""

    kept: list[DataProblem] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, what: str, **place: Unpack[Place]) -> None:
        """Note one problem; past the twentieth of its kind it is only counted."""
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        if count <= SHOWN_PER_KIND:
            self.kept.append(data_problem(kind, what, **place))

    def add_rows(
        self, kind: str, what: str, rows: Sequence[int], **place: Unpack[Place]
    ) -> None:
        """Note the same problem at several rows of one column."""
        for row in rows[:SHOWN_PER_KIND]:
            place["row"] = int(row)
            self.add(kind, what, **place)
        unseen = max(0, len(rows) - SHOWN_PER_KIND)
        self.counts[kind] = self.counts.get(kind, 0) + unseen

    def error(self) -> DataError:
        """Return one error with everything found."""
        listed: list[Problem] = list(self.kept)
        for kind, count in self.counts.items():
            if count > SHOWN_PER_KIND:
                more = f"{counted(count - SHOWN_PER_KIND, 'more problem')} of this kind"
                listed.append(data_problem(kind, more))
        return DataError(listed)

    def raise_if_any(self) -> None:
        """Raise everything found, if anything was."""
        if self.kept:
            raise self.error()


def refuse(kind: str, what: str, **place: Unpack[Place]) -> DataError:
    """Return the error of a single problem, ready to be raised."""
    return DataError([data_problem(kind, what, **place)])
