# SPDX-License-Identifier: Apache-2.0
"""The lasting ledgers of a run's sites: asked before the first round and every round.

A ledger belongs to whoever holds the data: to every site that a file or a column
names. Parts that a simulation cuts out of one file belong to one holder, and a person
may be in another part in the next run, so they share one ledger, which pays the most
that any of them is charged for.

Synthetic and bundled data, and seeded runs (`run.test`), protect nobody and have none.
"""

import hashlib
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.errors import Refused
from lexfed.federation.programme.messages import Query
from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess
from lexfed.privacy.scopes import CountedRelease, release_per_person
from lexfed.privacy.site_ledger import FileLedger, SiteLedger
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.folder import OLD_COPY
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.resumption.journal import RoundCharge
from lexfed.terms import Neighbours, Unit

KEPT = 30 * 86_400
"""Seconds for which room is set aside for a run that does not come to its end."""

FOLDER = "ledgers"
ALL_PARTS = "all parts"
"""Whose ledger it is where sites are parts of one file."""


@dataclass(frozen=True)
class DataHolder:
    """Somebody who holds data, and the places of their sites in the programme."""

    site: str
    data_set: str
    places: tuple[int, ...]

    @property
    def file(self) -> str:
        """Name of the ledger's file: readable, and one for each holder."""
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.data_set}-{self.site}".lower())
        full = hashlib.sha256(f"{self.data_set}\n{self.site}".encode()).hexdigest()
        return f"{words.strip('-')[:60]}-{full[:8]}.ledger"


def data_holders(priced: PricedRun) -> tuple[DataHolder, ...]:
    """Return who holds the data of a run; nobody where it protects nobody."""
    config, names = priced.config, priced.programme.sites
    if config.run.test or config.data.built_in:
        return ()
    sites = config.data.sites
    if sites is not None and sites.files is not None:
        files = [Path(file).name for file in sites.files]
        return tuple(
            DataHolder(name, file, (place,))
            for place, (name, file) in enumerate(zip(names, files, strict=True))
        )
    data_set = Path(config.data.source or "").name
    if sites is not None and sites.column is not None:
        return tuple(
            DataHolder(name, data_set, (place,)) for place, name in enumerate(names)
        )
    return (DataHolder(ALL_PARTS, data_set, tuple(range(len(names)))),)


@dataclass(frozen=True)
class _Account:
    """One ledger in one run."""

    ledger: LastingLedger
    places: tuple[int, ...]


class SiteAccounts:
    """What the ledgers of all sites pay for one run.

    Guarantees:
        Nothing is computed before every ledger has room for the whole run.
        A round is committed at every site before anybody computes, also at those that
        the coordinator's coins leave out: not being asked is what the coins hide.
        After an interruption the same rounds are not paid twice.
        Under one charge at most one release leaves, whatever copies of the run folder
        are continued, as long as the ledgers remember the charge.
    """

    def __init__(
        self, priced: PricedRun, run: OpenRun, elsewhere: bool = False
    ) -> None:
        """Open the ledgers; those that are not there yet are made.

        Args:
            priced: the run.
            run: its folder.
            elsewhere: whether the sites are not here, and keep their own ledgers.

        Raises:
            LedgerError: if one cannot be used.
        """
        self._priced = priced
        self._run = run.logbook.log.origin
        self._accounts: list[_Account] = []
        self._reserved = False
        self._round = 0
        folder = _base(run) / (priced.config.budget.ledgers or FOLDER)
        try:
            for holder in () if elsewhere else data_holders(priced):
                path = folder / holder.file
                ledger = LastingLedger.open(path, holder.site, holder.data_set)
                self._accounts.append(_Account(ledger, holder.places))
        except BaseException:
            self.close()
            raise

    def reserve(self) -> None:
        """Set room aside at every site for the whole run; only the first call does.

        Raises:
            Refused: if a site has no room; then none keeps any for this run.
        """
        if self._reserved:
            return
        until = int(time.time()) + KEPT
        try:
            for account in self._accounts:
                if self._priced.private:
                    planned = self._planned(account.places)
                    account.ledger.reserve(
                        self._run,
                        planned,
                        until,
                        self._unit,
                        neighbours=self._neighbours,
                    )
                else:
                    account.ledger.unprotected(self._run)
        except Refused as refusal:
            self.release()
            raise _of_site(refusal) from refusal
        self._reserved = True

    def commit(self, query: Query) -> None:
        """Pay for a round at every site.

        Raises:
            Refused: if a site does not pay; who paid already has paid.
        """
        self._round = query.round
        for account in self._accounts:
            own = self._own(account, query)
            if own is not None:
                self.charge(account.ledger, query.round, own)

    def _own(self, account: _Account, asked: Query | RoundCharge) -> Release | None:
        """Return what a ledger is charged for a round; None if it is not its own."""
        stage = self._priced.programme.stages[asked.stage].at(asked.step)
        return stage.release_for_all(asked.release, account.places)

    def publish(self, query: Query) -> None:
        """Say at every site that what a round releases may leave from now on.

        Where noise is the sites' a commit is for good already: an answer has left its
        site, although not this process, when the next one is asked.

        Raises:
            Refused: if another process has gone on with this run; nothing may leave.
        """
        if self._priced.programme.trust != "central":
            return
        for account in self._accounts:
            if self._own(account, query) is not None:
                account.ledger.publish(self._run, query.round)

    def have_left(self, charges: Sequence[RoundCharge]) -> bool:
        """Say whether something of the last charged round may have left.

        Args:
            charges: every round that the run folder says was charged, in order.

        Raises:
            Refused: if a ledger knows of rounds that the folder does not: it is an
                old copy, and its next rounds were released before.
        """
        left = False
        for account in self._accounts:
            found = account.ledger.rounds(self._run)
            last = max(found.paid, default=0)
            if last > len(charges):
                raise Refused(
                    f"ledger of `{account.ledger.site}` has paid for round {last} of "
                    f"this run, and the run folder knows of {len(charges)} only: it is "
                    "an old copy",
                    OLD_COPY,
                    scope="site",
                )
            left |= 0 < last == len(charges) and found.open != last
        return left

    def catch_up(self, charges: Sequence[RoundCharge]) -> None:
        """Pay for rounds that are over and that a ledger does not know of.

        A ledger that was restored, together with what remembers it, has lost them.

        Args:
            charges: every round that is over, in order.

        Raises:
            Refused: if a site cannot pay.
        """
        for account in self._accounts:
            paid = account.ledger.rounds(self._run).paid
            for number, charge in enumerate(charges, start=1):
                own = None if number in paid else self._own(account, charge)
                if own is not None:
                    self.charge(account.ledger, number, own, again=False)

    def release(self) -> None:
        """Give back at every site what was not committed."""
        for account in self._accounts:
            account.ledger.release(self._run)

    def behind(self, ledger: FileLedger, place: int) -> SiteLedger:
        """Return what a site asks: its ledger of this run, and its lasting one."""
        for account in self._accounts:
            if account.places == (place,):
                return _Both(ledger, account.ledger, self)
        return ledger

    def number(self, charged: int) -> int:
        """Return which round a site is about to pay for that was charged before.

        Where noise is the sites' a missed round is never paid for, so the rounds that
        a site was charged for do not say which one this is.
        """
        central = self._priced.programme.trust == "central"
        return charged + 1 if central or not self._round else self._round

    def is_past(self, ledger: LastingLedger, number: int) -> bool:
        """Say whether a round is before the one that is asked, and paid for."""
        return number < self._round and number in ledger.rounds(self._run).paid

    def would_exceed(
        self, ledger: LastingLedger, number: int, release: Release
    ) -> BudgetExcess | None:
        """Say which ceiling of a site a round would break."""
        paid = self._paid(release)
        return ledger.would_exceed(
            self._run, number, paid, self._unit, neighbours=self._neighbours
        )

    def charge(
        self,
        ledger: LastingLedger,
        number: int,
        release: Release,
        again: bool | None = None,
    ) -> None:
        """Pay for a round at one site.

        Args:
            ledger: of the site.
            number: of the round.
            release: what it is charged for.
            again: whether the round may be asked again after a crash, until it is
                published; by default where noise is drawn after all answers are here.

        Raises:
            Refused: if the site does not pay.
        """
        if again is None:
            again = self._priced.programme.trust == "central"
        paid = self._paid(release)
        try:
            ledger.commit(
                self._run,
                number,
                paid,
                self._unit,
                neighbours=self._neighbours,
                again=again,
            )
        except Refused as refusal:
            raise _of_site(refusal) from refusal

    def close(self) -> None:
        """Close the files; everything committed is on disk."""
        for account in self._accounts:
            account.ledger.close()

    @property
    def _unit(self) -> Unit:
        return self._priced.config.budget.unit

    @property
    def _neighbours(self) -> Neighbours:
        return self._priced.config.budget.neighbours

    def _planned(self, places: Sequence[int]) -> list[CountedRelease]:
        """Return what the programme releases in all, as these sites are charged."""
        counts: dict[Release, int] = {}
        for stage in self._priced.programme.stages:
            for step, release in enumerate(stage.releases):
                own = stage.at(step).release_for_all(release, places)
                if own is not None:
                    paid = self._paid(own)
                    counts[paid] = counts.get(paid, 0) + 1
        return list(counts.items())

    def _paid(self, release: Release) -> Release:
        """Return the release as a person pays who may be at several sites.

        With coins of their own at each site several contributions move together at
        most as if all took part: a mixture over coins, each dominated by that.
        """
        sites = self._priced.budget.sites_per_person
        if sites == 1:
            return release
        return release_per_person(replace(release, sampling_rate=1.0), sites)


class _Both:
    """A site's ledger of one run with its lasting ledger behind it."""

    def __init__(
        self, own: FileLedger, lasting: LastingLedger, accounts: SiteAccounts
    ) -> None:
        self._own = own
        self._lasting = lasting
        self._accounts = accounts

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Say which budget the release would break, without changing anything."""
        excess = self._own.would_exceed(release)
        if excess is not None:
            return excess
        return self._accounts.would_exceed(self._lasting, self._next, release)

    def charge(self, release: Release) -> None:
        """Charge both; the lasting one first: it is the one that others see.

        A round before this one, which coins have left the site out of, was paid for
        in the lasting one when its turn was.
        """
        if not self._accounts.is_past(self._lasting, self._next):
            self._accounts.charge(self._lasting, self._next, release)
        self._own.charge(release)

    def events(self) -> tuple[Release, ...]:
        """Return what was charged in this run, oldest first."""
        return self._own.events()

    @property
    def _next(self) -> int:
        return self._accounts.number(len(self._own.events()))


def _base(run: OpenRun) -> Path:
    """Return the folder that paths in the configuration are relative to."""
    [first, *_] = run.folder.events.rows
    return Path(os.path.normpath(run.path / str(first["base"])))


def _of_site(refusal: Refused) -> Refused:
    """Return the refusal without numbers: they tell what others spend at the site."""
    return Refused(refusal.message, refusal.hint, scope="site")
