# SPDX-License-Identifier: Apache-2.0
"""Runs to compare: each verified first, as for a report, and none stops the others."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.audit.entries import CompletionEntry, RefusalEntry
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.errors import LexfedError
from lexfed.privacy.claim.schema import Claim
from lexfed.report.dossier import Dossier, read_dossier
from lexfed.report.sections.headline import why_not_private
from lexfed.report.sections.spending import why_refused
from lexfed.report.wording.rounding import count

NOTHING_RELEASED = "nothing was released"
"""Beginning of the trouble of a run that was refused, and costs nothing."""


@dataclass(frozen=True)
class ComparedRun:
    """A run, or the reason why it cannot be read.

    Attributes:
        number: its place in the comparison, from 1.
        dossier: None where nothing can be relied on.
        trouble: why it is not compared, or not wholly; empty for a finished run.
        same_as: number of the run that this is a copy of.
    """

    number: int
    folder: Path
    dossier: Dossier | None
    trouble: str = ""
    same_as: int | None = None

    @property
    def name(self) -> str:
        """The run's name, or that of its folder where no name can be relied on."""
        return self.folder.name if self.dossier is None else self.dossier.name

    @property
    def claim(self) -> Claim | None:
        """The claim; None where nothing is guaranteed."""
        if self.dossier is None or self.dossier.stamp:
            return None
        return self.dossier.claim

    @property
    def metric(self) -> float | None:
        """The deciding metric on test rows; None where there is none."""
        if self.dossier is None:
            return None
        return self.dossier.measured.metrics.get(self.dossier.measured.metric)

    def is_copy_of(self, other: "ComparedRun") -> bool:
        """Return True if both logs are of one run, the same up to an end of either.

        Logs grow after the run, with reports; a copy of the folder has its own end.
        """
        if self.dossier is None or other.dossier is None:
            return False
        logs = [each.evidence.view.entries for each in (self.dossier, other.dossier)]
        ends = [each.index(CompletionEntry) for each in (self.dossier, other.dossier)]
        needed = min(
            len(log) if end is None else end + 1
            for log, end in zip(logs, ends, strict=True)
        )
        return list(logs[0][:needed]) == list(logs[1][:needed])


def read_runs(
    folders: Iterable[Path], policy: bytes | None = None
) -> tuple[ComparedRun, ...]:
    """Return the runs in their order; `policy` is the reader's trust file.

    A trust file that cannot be read is an `AuditError`.

    Guarantees:
        A run that fails a check, or cannot be read, has no dossier, only its trouble.
        A run that stands there twice is known as a copy.
    """
    if policy is not None:
        parse_policy(policy)  # a file that is none is nobody's damage but its own
    runs = [_read(number, path, policy) for number, path in enumerate(folders, 1)]
    for place, run in enumerate(runs):
        for earlier in runs[:place]:
            if earlier.same_as is None and run.is_copy_of(earlier):
                # The one with the claim counts, where the other was copied before it.
                more = run.claim is not None and earlier.claim is None
                kept, copy = (run, earlier) if more else (earlier, run)
                words = f"the same run as {kept.number}, counted once"
                runs[copy.number - 1] = replace(
                    copy, trouble=words, same_as=kept.number
                )
                break
    return tuple(runs)


def _read(number: int, folder: Path, policy: bytes | None) -> ComparedRun:
    if not (folder / "log").is_dir():
        return ComparedRun(number, folder, None, "cannot be read: no log in its folder")
    try:
        dossier = read_dossier(folder, policy)
    except LexfedError as error:
        why = f"does not verify: {error.message}"
        return ComparedRun(number, folder, None, why)
    if dossier.failures:
        first = dossier.failures[0]
        more = len(dossier.failures) - 1
        also = f", and {count(more, 'other check')} failed" if more else ""
        why = f"does not verify: {first.claim}: {first.detail}{also}"
        return ComparedRun(number, folder, None, why)
    return ComparedRun(number, folder, dossier, _trouble(dossier))


def _trouble(dossier: Dossier) -> str:
    if dossier.stamp:
        return f"NOT PRIVATE: {why_not_private(dossier)}"
    match dossier.state:
        case "refused":
            refusal = dossier.entry(RefusalEntry)
            why = "" if refusal is None else f": {why_refused(refusal)}"
            return f"{NOTHING_RELEASED}{why}"
        case "unfinished":
            done, planned = len(dossier.rounds), count(dossier.planned, "planned round")
            return f"not finished: {done} of {planned} are in the log, and no claim"
    if dossier.claim is None:
        return "its claim was erased"
    return ""
