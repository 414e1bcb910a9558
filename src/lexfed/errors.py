# SPDX-License-Identifier: Apache-2.0
"""Everything lexfed raises on purpose, as one tree.

    LexfedError
    ├── ConfigError      the configuration is wrong           exit code 2
    ├── DataError        the data do not match the schema     exit code 2
    ├── RunFolderError   a run folder cannot be used          exit code 2
    │   └── FolderTaken  it is something else's already
    ├── LedgerError      a site's ledger cannot be used       exit code 2
    ├── AuditError       a log or its evidence is not sound   exit code 1
    ├── ClaimError       a claim that cannot be proven        exit code 1
    ├── SecAggError      secure aggregation had to stop       exit code 1
    └── Refused          a budget would be exceeded           exit code 3

Another library's exception that crosses the public interface is a defect and ends with
exit code 4. A message never holds a data value: it names file, line or column, and row.
"""

from collections.abc import Sequence
from dataclasses import dataclass


def system_reason(error: Exception) -> str:
    """Return why the system refused, in lower case, to end a message with."""
    return str(getattr(error, "strerror", None) or error).lower()


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, where it is, and what to do about it."""

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        """The line a person reads."""
        return f"{self.where}: {self.what}" if self.where else self.what


class LexfedError(Exception):
    """Base of every error a user can act on."""

    exit_code = 4

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Problems(LexfedError):
    """An error that lists every problem at once, so that they are fixed together."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__("\n".join(map(str, problems)), first.hint)
        self.problems = tuple(problems)


class ConfigError(_Problems):
    """The configuration is wrong; nothing was read, written or spent."""


class DataError(_Problems):
    """The data do not match their public declaration; nothing was spent."""


class RunFolderError(LexfedError):
    """A run folder cannot be created, read or continued."""

    exit_code = 2


class FolderTaken(RunFolderError):
    """A folder is something else's already; a run may take another one."""


class LedgerError(LexfedError):
    """A site's lasting ledger cannot be used; nothing was charged or lost."""

    exit_code = 2


class AuditError(LexfedError):
    """A log, a proof, a signature or another piece of evidence is not sound."""

    exit_code = 1


class ClaimError(LexfedError):
    """A claim says more than its releases prove."""

    exit_code = 1


class SecAggError(LexfedError):
    """Secure aggregation stopped: a message, a key, a share or a sum is not sound.

    Like every message here it tells no secret: it names sites and rules only.

    Attributes:
        blamed: the sites that did it, where their own signatures show it; others may
            go on without them.
        silent: the sites that owe an answer without which it cannot go on; nothing is
            shown against them.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        blamed: Sequence[str] = (),
        silent: Sequence[str] = (),
    ) -> None:
        super().__init__(message, hint)
        self.blamed = tuple(blamed)
        self.silent = tuple(silent)


class Refused(LexfedError):
    """A release was refused before anything was computed: it would overspend.

    `scope` is the budget: `record`, a tier, or `site`; empty if none.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        scope: str = "",
        would_reach: float | None = None,
        limit: float | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.scope = scope
        self.would_reach = would_reach
        self.limit = limit
