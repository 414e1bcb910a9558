# SPDX-License-Identifier: Apache-2.0
"""A site's own ledger: it does not trust the coordinator to count.

`SiteLedger` is what a site asks; `FileLedger` is the one that survives a crash. A
charge is on disk before `charge` returns, so a release that left the site was always
paid for; a charge whose release never happened stays charged.
"""

from pathlib import Path
from typing import Protocol

from lexfed.durable import JsonLines
from lexfed.errors import Refused, RunFolderError
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess, Ledger


class SiteLedger(Protocol):
    """A ledger: it tells if a release is affordable, and remembers it."""

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that the release would break, without changing anything."""
        ...

    def charge(self, release: Release) -> None:
        """Charge a release before it happens, or raise `Refused`."""
        ...

    def events(self) -> tuple[Release, ...]:
        """Return the charged releases, oldest first."""
        ...


class FileLedger:
    """A ledger whose events are lines of a file.

    Guarantees:
        A charge is on disk before `charge` returns.
        A refused release is not written.
        Opened again, it holds the same events; a last line without its newline was
        never acknowledged and is dropped.
        An earlier line that does not parse is an error, not a gap.
    """

    def __init__(self, path: Path, rules: Ledger) -> None:
        """Open or create the file.

        Of `rules` only the budgets are used, none of its events.

        Raises:
            RunFolderError: if a line is damaged or does not fit the budgets.
        """
        self._lines = JsonLines(path)
        self._ledger = rules.rebuild(())
        for number, row in enumerate(self._lines.rows, start=1):
            try:
                self._ledger.charge(Release.from_json(row))
            except (ValueError, Refused) as error:
                self._lines.close()
                raise RunFolderError(
                    f"{path}:{number}: not an event of this ledger: {error}",
                    "start another run: a ledger cannot be continued with a gap, and "
                    "an older copy does not know what was paid since",
                ) from error

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that the release would break, without changing anything."""
        return self._ledger.would_exceed(release)

    def charge(self, release: Release) -> None:
        """Charge a release before it happens; on return the charge is on disk.

        Raises:
            Refused: if a budget would be exceeded; nothing was written then.
            RunFolderError: if it cannot be written; it is not charged then.
        """
        excess = self.would_exceed(release)
        if excess is not None:
            raise Refused(f"release `{release.name}` refused: {excess}")
        self._lines.append(release.to_json())
        self._ledger.charge(release)

    def events(self) -> tuple[Release, ...]:
        """Return the charged releases, oldest first."""
        return self._ledger.events()

    def close(self) -> None:
        """Close the file; everything charged is already on disk."""
        self._lines.close()
