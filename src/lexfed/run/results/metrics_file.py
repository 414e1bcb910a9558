# SPDX-License-Identifier: Apache-2.0
"""`metrics.csv`: the metrics after each round, one line per round.

A line follows its round's release, so a crash can leave the file one line short or
with half a line, never ahead of the release. On resuming, every line that does not
belong to a durable round is dropped and the last round's line is measured again.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, plain, read_plain


class MetricsFile:
    """A CSV file with a line per round.

    Guarantees:
        After opening it holds whole lines of durable rounds only, in order.
        A line is on disk when `append` returns.
    """

    def __init__(self, path: Path, names: Sequence[str], durable: int) -> None:
        """Open or create the file and drop lines after the last durable round.

        `names` are those of the metrics, in order.
        """
        self._path = path
        self._names = tuple(names)
        header = ["round", "stage", *names]
        known = {str(number) for number in range(1, durable + 1)}
        kept = [row for row in _whole_rows(path) if row and row[0] in known]
        kept = [row for row in kept if len(row) == len(header)]
        self.last = int(kept[-1][0]) if kept else 0
        write_atomically(path, "".join(map(_line, [header, *kept])).encode())

    def append(self, number: int, stage: str, metrics: Mapping[str, float]) -> None:
        """Add the line of a round."""
        values = [f"{metrics[name]:.6g}" for name in self._names]
        try:
            with open(self._path, "ab", opener=plain) as file:
                file.write(_line([str(number), stage, *values]).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunFolderError(
                f"cannot write `{self._path}`: {system_reason(error)}",
                "free some space or fix the folder's permissions, then continue with "
                "`lexfed run --resume`",
            ) from error
        self.last = number


def _whole_rows(path: Path) -> list[list[str]]:
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT)
        whole = content[: content.rfind(b"\n") + 1]
        return list(csv.reader(whole.decode(errors="replace").splitlines()))
    except (OSError, csv.Error):  # nothing rests on it: it begins anew
        return []


def _line(values: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
