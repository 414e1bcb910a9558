# SPDX-License-Identifier: Apache-2.0
"""What a site of a deployment pays from: the run's own ledger, and its lasting one."""

import time
from collections.abc import Callable
from dataclasses import replace

from lexfed.errors import LexfedError, Refused
from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess
from lexfed.privacy.scopes import CountedRelease, release_per_person
from lexfed.privacy.site_ledger import FileLedger
from lexfed.run.driver.site_accounts import KEPT
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.terms import Neighbours, Unit

SiteLogWriter = Callable[[str], None]
"""Tells the site's own people."""


class SitePurse:
    """The ledger of one run, with everything ever spent on the data behind it.

    Guarantees:
        Both are charged before anything is computed. The run's own is first: it gives
        the next charge its number, so no two charges share one in the lasting ledger.
        An older copy of the run's own ledger pays for nothing, and what a restored
        lasting one has forgotten is paid again.
        What others spend at this site, and where its files are, is in no answer.
    """

    def __init__(
        self,
        own: FileLedger,
        lasting: LastingLedger | None,
        priced: PricedRun,
        run: str,
        note: SiteLogWriter,
    ) -> None:
        """Open a purse.

        Args:
            own: of this run.
            lasting: of the data; None where a run protects nobody.
            priced: the run.
            run: its number, one for ever.
            note: is told why something is not paid.
        """
        self._own = own
        self._lasting = lasting
        self._run = run
        self._note = note
        self._unit: Unit = priced.config.budget.unit
        self._neighbours: Neighbours = priced.config.budget.neighbours
        self._sites = priced.budget.sites_per_person

    def reserve(self, charges: tuple[CountedRelease, ...]) -> None:
        """Set room aside for the whole run, after an interruption for what is left.

        Raises:
            Refused: if a ceiling of the site leaves no room, or what the site keeps of
                the run is older than its lasting ledger.
        """
        if self._lasting is None:
            return
        events = self._own.events()
        paid = self._lasting.rounds(self._run).paid
        if max(paid, default=0) > len(events):
            raise Refused(
                f"{max(paid)} answers were paid for, and the state of this run knows "
                f"of {len(events)} only: it is an old copy",
                scope="site",
            )
        for number, release in enumerate(events, start=1):
            if number not in paid:
                self._commit(self._lasting, number, release)
        planned = [(self._paid(release), count) for release, count in charges]
        until = int(time.time()) + KEPT
        self._lasting.reserve(
            self._run, planned, until, self._unit, neighbours=self._neighbours
        )

    def _commit(self, lasting: LastingLedger, number: int, release: Release) -> None:
        paid = self._paid(release)
        lasting.commit(self._run, number, paid, self._unit, neighbours=self._neighbours)

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Say which budget of the run a release would break."""
        return self._own.would_exceed(release)

    def charge(self, release: Release) -> None:
        """Charge both; on return both are on disk.

        Raises:
            Refused: if one of them does not pay, or cannot be written; without numbers
                and names.
        """
        try:
            self._own.charge(release)
            if self._lasting is not None:
                self._commit(self._lasting, len(self._own.events()), release)
        except LexfedError as error:
            self._note(error.message)
            raise Refused("its ledger does not pay for it", scope="site") from error

    def release(self) -> None:
        """Give back the room that was set aside and not used."""
        if self._lasting is not None:
            self._lasting.release(self._run)

    def events(self) -> tuple[Release, ...]:
        """Return what was charged in this run, oldest first."""
        return self._own.events()

    def _paid(self, release: Release) -> Release:
        """Return the release as a person pays who may be at several sites."""
        if self._sites == 1:
            return release
        return release_per_person(replace(release, sampling_rate=1.0), self._sites)
