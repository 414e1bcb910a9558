# SPDX-License-Identifier: Apache-2.0
"""What a site of a deployment pays from: the run's own ledger, and its lasting one."""

import time
from dataclasses import replace

from lexfed.errors import Refused
from lexfed.ledger.lasting import LastingLedger
from lexfed.ledger.prices import Unit
from lexfed.privacy.attributes import per_person
from lexfed.privacy.events import Release
from lexfed.privacy.ledger import Excess
from lexfed.privacy.site_ledger import FileLedger
from lexfed.run.planning import Priced
from lexfed.run.site_accounts import KEPT


class LastingSite:
    """The ledger of one run with everything ever spent on the data behind it.

    Guarantees:
        Both are charged before anything is computed, the lasting one first.
        What others spend at this site is in no answer: the lasting ledger is asked
        only where it refuses without numbers.
    """

    def __init__(
        self, own: FileLedger, lasting: LastingLedger, priced: Priced, run: str
    ) -> None:
        self._own = own
        self._lasting = lasting
        self._run = run
        self._unit: Unit = priced.config.budget.unit
        self._sites = priced.budget.sites_per_person

    def reserve(self, priced: Priced, site: str) -> None:
        """Set room aside for the whole run.

        Raises:
            Refused: if a ceiling of the site leaves no room.
        """
        charges = priced.programme.charges(priced.programme.sites.index(site))
        planned = [(self._paid(release), count) for release, count in charges]
        until = int(time.time()) + KEPT
        self._lasting.reserve(self._run, planned, until, self._unit)

    def would_exceed(self, release: Release) -> Excess | None:
        """Say which budget of the run a release would break."""
        return self._own.would_exceed(release)

    def charge(self, release: Release) -> None:
        """Charge both.

        Raises:
            Refused: if one of them does not pay; the message has no numbers.
        """
        number = len(self._own.events()) + 1
        try:
            paid = self._paid(release)
            self._lasting.commit(self._run, number, paid, self._unit)
        except Refused as refusal:
            raise Refused("its ledger does not pay for it", scope="site") from refusal
        self._own.charge(release)

    def events(self) -> tuple[Release, ...]:
        """Return what was charged in this run, oldest first."""
        return self._own.events()

    def close(self) -> None:
        """Close both; everything charged is on disk."""
        self._own.close()
        self._lasting.close()

    def _paid(self, release: Release) -> Release:
        """Return the release as a person pays who may be at several sites."""
        if self._sites == 1:
            return release
        return per_person(replace(release, sampling_rate=1.0), self._sites)
