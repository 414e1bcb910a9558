# SPDX-License-Identifier: Apache-2.0
"""The verdict of verification: one line per claim, and one over all of them.

    OK      the evidence was computed again and agrees
    FAIL    it does not; the first entry at which it does not is named
    NOTE    nothing was shown to be wrong, and something cannot be shown at all

A check is a function of the evidence that returns what it saw in plain ASCII, or raises
`Unsound`. It never decides how a failure is shown.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from lexfed.audit.log.evidence import Evidence
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.notebook_html import html_table
from lexfed.visible_text import visible


class Status(StrEnum):
    """The result of checking a claim."""

    OK = "OK"
    FAIL = "FAIL"
    NOTE = "NOTE"


@dataclass(frozen=True)
class Check:
    """One claim, in two or three words, and what became of it."""

    claim: str
    status: Status
    detail: str
    index: int | None = None
    """The first entry that is wrong, where there is one."""

    def __str__(self) -> str:
        """The line a person reads: one, whatever names a stranger's log quotes."""
        detail = visible(self.detail.replace("\n", "; "))
        return f"{self.status:<5}{self.claim:<19} {detail}"


@dataclass(frozen=True, repr=False)
class RunVerdict:
    """Everything that was checked about a run."""

    checks: tuple[Check, ...]
    """One for each claim, in the order in which they build on each other."""
    origin: str = ""
    """Name of the log; empty if not even that is certain."""
    size: int = 0
    root: str = ""

    @property
    def ok(self) -> bool:
        """True if nothing failed."""
        return all(check.status is not Status.FAIL for check in self.checks)

    def __repr__(self) -> str:
        found = Counter(check.status for check in self.checks)
        said = "verified" if self.ok else "NOT VERIFIED"
        return (
            f"<RunVerdict: {said}, {found[Status.OK]} claims hold, "
            f"{found[Status.FAIL]} fail, {found[Status.NOTE]} notes>"
        )

    def _repr_html_(self) -> str:
        """Return the checks as a notebook shows them."""
        rows = [(each.status.value, each.claim, each.detail) for each in self.checks]
        said = "Verified" if self.ok else "NOT VERIFIED"
        return html_table(said, ["", "claim", "what was seen"], rows)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "ok": self.ok,
            "origin": self.origin,
            "size": self.size,
            "root": self.root,
            "checks": [
                {**asdict(check), "status": check.status.value} for check in self.checks
            ],
        }


class Unsound(AuditError):
    """A claim that the evidence contradicts, and the entry at which it does."""

    def __init__(self, message: str, index: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint)
        self.index = index


@dataclass(frozen=True)
class Remark:
    """A finding that neither agrees nor disagrees."""

    text: str


Judge = Callable[[Evidence], str | Remark]
"""Says what it saw, or raises `Unsound`."""


def decide(claim: str, judge: Judge, evidence: Evidence) -> Check:
    """Run one check.

    Guarantees:
        Whatever the evidence holds, the result is a line: content that makes a
        computation impossible fails its claim.

    Raises:
        RunFolderError: if a file may not be read; then nothing is known.
    """
    try:
        seen = judge(evidence)
    except RunFolderError:
        raise
    except Unsound as error:
        where = "" if error.index is None else f"entry {error.index}: "
        return Check(claim, Status.FAIL, where + error.message, error.index)
    except LexfedError as error:
        return Check(claim, Status.FAIL, error.message)
    except (
        ValueError, ArithmeticError, LookupError, TypeError, AttributeError,
        RecursionError, MemoryError,
    ) as error:  # fmt: skip
        # Numbers that no accountant takes, documents of another shape.
        what = f"cannot be computed from what is logged: {type(error).__name__}"
        return Check(claim, Status.FAIL, what)
    if isinstance(seen, Remark):
        return Check(claim, Status.NOTE, seen.text)
    return Check(claim, Status.OK, seen)
