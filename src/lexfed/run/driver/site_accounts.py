# SPDX-License-Identifier: Apache-2.0
"""The lasting ledgers of a run's sites: asked before the first round and every round.

A ledger belongs to the holder of the data: to every site that a file or a column names.
Parts that a simulation cuts out of one file share one ledger, since a person may be in
another part in the next run; it pays the most that any of them is charged for.
Synthetic and bundled data, and seeded runs (`run.test`), protect nobody and have none.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.errors import Refused
from lexfed.federation.programme.messages import Query
from lexfed.ledger.purse import ChargeTerms, LedgerPlace, Purse, SitePurse
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import FileLedger, SiteLedger
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.folder import OLD_COPY
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.resumption import RoundCharge

FOLDER = "ledgers"
ALL_PARTS = "all parts"
"""Site of the ledger where sites are parts of one file."""


@dataclass(frozen=True)
class DataHolder:
    """A holder of data, and the places of its sites in the programme."""

    site: str
    data_set: str
    places: tuple[int, ...]

    def ledger(self, folder: Path) -> LedgerPlace:
        """Return the holder's lasting ledger in a folder of ledgers."""
        return LedgerPlace(folder, self.site, self.data_set)


def data_holders(priced: PricedRun) -> tuple[DataHolder, ...]:
    """Return the data holders of a run; none where it protects nobody."""
    config, names = priced.config, priced.programme.sites
    if config.run.test or config.data.built_in:
        return ()
    sites, data_set = config.data.sites, Path(config.data.source or "").name
    if sites is not None and sites.files is not None:
        data_sets = [Path(file).name for file in sites.files]
    elif sites is not None and sites.column is not None:
        data_sets = [data_set] * len(names)
    else:
        return (DataHolder(ALL_PARTS, data_set, tuple(range(len(names)))),)
    return tuple(
        DataHolder(name, data_set, (place,))
        for place, (name, data_set) in enumerate(zip(names, data_sets, strict=True))
    )


def charge_terms(priced: PricedRun, run: str, again: bool) -> ChargeTerms:
    """Return the terms under which a priced run charges lasting ledgers."""
    budget = priced.config.budget
    return ChargeTerms(
        run, budget.unit, budget.neighbours, priced.budget.sites_per_person, again
    )


def require_room(priced: PricedRun, base: Path) -> None:
    """Refuse a run that a lasting ledger has no room for, before anything is written.

    Paths in the configuration are relative to `base`. The run asks again when it
    begins: another one may have been faster.
    """
    folder = base / (priced.config.budget.ledgers or FOLDER)
    terms = charge_terms(priced, priced.config.run.name, again=False)
    for holder in data_holders(priced):
        ledger = holder.ledger(folder).open_if_made()
        if ledger is None:
            continue
        purse = Purse(ledger, terms)
        try:
            if priced.private:
                purse.require_room(priced.programme.charges(*holder.places))
            else:
                ledger.require_unlimited()
        finally:
            purse.close()


@dataclass(frozen=True)
class _Account:
    purse: Purse
    places: tuple[int, ...]


class SiteAccounts:
    """The purses of all data holders of one run, paid from together.

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
        """Open the ledgers, or make them; sites `elsewhere` keep their own."""
        self._priced = priced
        self._accounts: list[_Account] = []
        self._reserved = False
        # Where sites add the noise a commit is final: an answer has left its site,
        # although not this process, when the next one is asked.
        self._again = priced.programme.trust == "central"
        terms = charge_terms(priced, run.logbook.log.origin, self._again)
        stated = run.folder.events.rows[0]["base"]  # of paths in the configuration
        base = Path(os.path.normpath(run.path / str(stated)))
        folder = base / (priced.config.budget.ledgers or FOLDER)
        try:
            for holder in () if elsewhere else data_holders(priced):
                purse = holder.ledger(folder).purse(terms)
                self._accounts.append(_Account(purse, holder.places))
        except BaseException:
            self.close()
            raise

    def reserve(self) -> None:
        """Set room aside at every site for the whole run; only the first call does.

        If a site has no room, none keeps any for this run.
        """
        if self._reserved:
            return
        try:
            for account in self._accounts:
                if self._priced.private:
                    charges = self._priced.programme.charges(*account.places)
                    account.purse.reserve(charges)
                else:
                    account.purse.unprotected()
        except Refused:
            self.release()
            raise
        self._reserved = True

    def commit(self, query: Query) -> None:
        """Pay for a round at every site; who paid before one refuses has paid."""
        for account in self._accounts:
            own = self._own(account, query)
            if own is not None:
                account.purse.pay_ahead(query.round, own)

    def _own(self, account: _Account, asked: Query | RoundCharge) -> Release | None:
        """Return the release that a ledger pays in a round; None if none is its own."""
        stage = self._priced.programme.stages[asked.stage].at(asked.step)
        return stage.release_for(asked.release, *account.places)

    def publish(self, query: Query) -> None:
        """Record at every site that a round may leave, unless another copy went on."""
        if not self._again:
            return
        for account in self._accounts:
            if self._own(account, query) is not None:
                account.purse.publish(query.round)

    def have_left(self, charges: Sequence[RoundCharge]) -> bool:
        """Say whether something of the last charged round may have left.

        A ledger that knows of more rounds than the folder's `charges` refuses: the
        folder is an old copy, and its next rounds were released before.
        """
        left = False
        for account in self._accounts:
            known = account.purse.rounds()
            last = max(known.paid, default=0)
            if last > len(charges):
                site = account.purse.ledger.site
                raise Refused(
                    f"ledger of `{site}` has paid for round {last} of this run, and "
                    f"the run folder knows of {len(charges)} only: it is an old copy",
                    OLD_COPY,
                    scope="site",
                )
            left |= 0 < last == len(charges) and known.open != last
        return left

    def catch_up(self, charges: Sequence[RoundCharge]) -> None:
        """Pay for rounds that are over and that a restored ledger does not know of."""
        for account in self._accounts:
            paid = account.purse.rounds().paid
            for number, charge in enumerate(charges, start=1):
                own = None if number in paid else self._own(account, charge)
                if own is not None:
                    account.purse.pay(number, own, closed=True)

    def release(self) -> None:
        """Give back at every site what was not committed."""
        for account in self._accounts:
            account.purse.give_back()

    def behind(self, ledger: FileLedger, place: int) -> SiteLedger:
        """Return a site's ledger of this run, with its lasting one behind it."""
        for account in self._accounts:
            if account.places == (place,):
                return SitePurse(ledger, account.purse)
        return ledger

    def close(self) -> None:
        """Close the files; everything committed is on disk."""
        for account in self._accounts:
            account.purse.close()
