# SPDX-License-Identifier: Apache-2.0
"""The journal of a run read back: its charged rounds, and the lost ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.errors import RunFolderError
from lexfed.privacy.releases import Release

_SILENT = ("start", "note", "refusal", "excluded", "end")
"""Events that say nothing about the place of the run in its programme."""


@dataclass(frozen=True)
class RoundCharge:
    """A round that was charged, and its place in the programme."""

    stage: int
    step: int
    release: Release | None


@dataclass(frozen=True)
class RunJournal:
    """Rounds and set-ups that a journal knows of.

    Attributes:
        charges: every round that was charged, in order.
        lost: numbers of charged rounds that are not part of the model.
        epochs: numbers of the set-ups of masks.
    """

    charges: tuple[RoundCharge, ...]
    lost: frozenset[int]
    epochs: frozenset[int]


def read_journal(path: Path, rows: Sequence[Mapping[str, Any]]) -> RunJournal:
    """Return the charges and set-ups in the rows of a journal.

    `path` is for messages.

    Raises:
        RunFolderError: naming the first line that is not an event of a run, or comes
            after a gap.
    """
    charges: list[RoundCharge] = []
    lost: set[int] = set()
    epochs: set[int] = set()
    for number, row in enumerate(rows, start=1):
        try:
            kind = row["type"]
            if kind == "charge":
                charges.append(_charge(row, len(charges) + 1))
            elif kind == "lost":
                lost.add(int(row["round"]))
            elif kind == "set-up":
                epochs.add(int(row["epoch"]))
            elif kind not in _SILENT:
                raise ValueError("an unknown event")
        except (KeyError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"{path}:{number}: not an event of this run",
                "a run cannot be continued with a gap: start another",
            ) from error
    return RunJournal(tuple(charges), frozenset(lost), frozenset(epochs))


def _charge(row: Mapping[str, Any], number: int) -> RoundCharge:
    if row["round"] != number:
        raise ValueError("a round is missing")
    release = row["release"]
    return RoundCharge(
        stage=int(row["stage"]),
        step=int(row["step"]),
        release=None if release is None else Release.from_json(release),
    )
