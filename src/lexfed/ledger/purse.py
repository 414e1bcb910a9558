# SPDX-License-Identifier: Apache-2.0
"""The purse: every charge of a site's lasting ledger, and of its ledger of one run.

    purse = place.purse(terms)       the lasting ledger, as one run charges it
    purse.reserve(plan)              room for the whole run, or Refused
    site = SitePurse(own, purse)     both ledgers, as a `Site` asks them
    site.charge(release)             the lasting one, then its own; before any answer
    purse.publish(number)            before anything of a round can leave
    purse.give_back()                unused room is free again

**Order.** The lasting ledger is charged before the ledger of the run, so that other
runs see the spend before anything of the round exists. Both are on disk when `charge`
returns, and nothing is computed before.

**When the second charge fails.** The run's ledger is asked for room before the lasting
one is charged, so after that only its disk can fail it. The lasting charge then stays:
the round is spent and nothing was released under it. It is never lent to another
release: before the next charge the run's ledger is brought up to date, which gives that
charge a number of its own in the lasting ledger.

**When the process dies between the two.** In one process the journal of the run has the
round, and the lasting ledger says whether something of it can have left
(`PaidRounds.open`). A site elsewhere has no journal: it keeps the charge that it is
about to make in a file (`pending`), on disk before the lasting ledger is charged. That
distinguishes a death in between, after which the run's ledger catches up and the round
is lost, from an older copy of the run's ledger, which pays for nothing.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.durable import read_lines, write_atomically
from lexfed.errors import LexfedError, Refused, RunFolderError
from lexfed.ledger.charging import LastingLedger, PaidRounds
from lexfed.ledger.storage.opening import is_gone
from lexfed.ledger.storage.pins import default_state, pin_of_file
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess, SiteLedger
from lexfed.privacy.scopes import CountedRelease, release_per_person
from lexfed.terms import Neighbours, Unit

RESERVED_FOR = 30 * 86_400
"""Seconds for which room is set aside for a run that does not come to its end."""

SiteLogWriter = Callable[[str], None]
"""Writes a note for the site's own people."""


@dataclass(frozen=True)
class ChargeTerms:
    """The terms under which a run charges lasting ledgers.

    Attributes:
        run: its name, one for ever.
        neighbours: the relation that it was planned under.
        sites_per_person: number of sites at which a person may be.
        again: whether a round may be asked again after a crash, until it is published;
            such a run lets nothing of a round leave before.
    """

    run: str
    unit: Unit
    neighbours: Neighbours
    sites_per_person: int = 1
    again: bool = False

    def per_person(self, release: Release) -> Release:
        """Return the release as a person who may be at several sites pays for it.

        With coins of their own at each site several contributions move together at most
        as if all took part: a mixture over coins, each dominated by that.
        """
        if self.sites_per_person == 1:
            return release
        full = replace(release, sampling_rate=1.0)
        return release_per_person(full, self.sites_per_person)


@dataclass(frozen=True)
class LedgerPlace:
    """The lasting ledger of a site for a file of data, in a folder of ledgers."""

    folder: Path
    site: str
    data_set: str

    @property
    def path(self) -> Path:
        """The file, with a readable name that is the holder's alone."""
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.data_set}-{self.site}".lower())
        full = hashlib.sha256(f"{self.data_set}\n{self.site}".encode()).hexdigest()
        return self.folder / f"{words.strip('-')[:60]}-{full[:8]}.ledger"

    def open(self) -> LastingLedger:
        """Open the ledger, or make it."""
        return LastingLedger.open(self.path, self.site, self.data_set)

    def open_if_made(self) -> LastingLedger | None:
        """Open the ledger; None if there is none, and none is on record."""
        known = pin_of_file(default_state(), self.path) is not None
        return self.open() if known or not is_gone(self.path) else None

    def purse(self, terms: ChargeTerms) -> "Purse":
        """Open the ledger for the charges of a run; the caller closes the purse."""
        return Purse(self.open(), terms)


class Purse:
    """A lasting ledger, as one run charges it.

    Guarantees:
        A round is committed in one transaction, once, however often it is paid through
        this purse; after `publish` it is not given again.
        Unit and relation of the run go with every charge.
        A refusal has no numbers beside its sentence, which is for the people who hold
        the ledger: they tell what others spend at the site.

    Attributes:
        ahead: number of the round that was paid ahead of the site's own charge, for
            all sites before anybody computes; 0 before the first.
    """

    def __init__(self, ledger: LastingLedger, terms: ChargeTerms) -> None:
        self.ledger = ledger
        self.terms = terms
        self.ahead = 0
        self._paid: tuple[int, Release] | None = None

    def reserve(self, releases: Iterable[CountedRelease]) -> None:
        """Set room aside for everything that the run will release at this site."""
        owed, terms = self._owed(releases), self.terms
        until = int(time.time()) + RESERVED_FOR
        with _without_numbers():
            self.ledger.reserve(
                terms.run, owed, until, terms.unit, neighbours=terms.neighbours
            )

    def require_room(self, releases: Iterable[CountedRelease]) -> None:
        """Raise what `reserve` would, without changing anything."""
        owed, terms = self._owed(releases), self.terms
        with _without_numbers():
            self.ledger.require_room(
                terms.run, owed, terms.unit, neighbours=terms.neighbours
            )

    def _owed(self, releases: Iterable[CountedRelease]) -> list[CountedRelease]:
        counts: dict[Release, int] = {}
        for release, count in releases:
            owed = self.terms.per_person(release)
            counts[owed] = counts.get(owed, 0) + count
        return list(counts.items())

    def pay_ahead(self, number: int, release: Release) -> None:
        """Pay for a round before its site is asked; the site's charge is then paid."""
        self.ahead = number
        self.pay(number, release)

    def pay(self, number: int, release: Release, *, closed: bool = False) -> None:
        """Pay for a round; on disk on return. If `closed` it is never asked again."""
        owed, terms = self.terms.per_person(release), self.terms
        if self._paid == (number, owed):
            return
        with _without_numbers():
            self.ledger.commit(
                terms.run, number, owed, terms.unit,
                neighbours=terms.neighbours, again=terms.again and not closed,
            )  # fmt: skip
        self._paid = (number, owed)

    def publish(self, number: int) -> None:
        """Let a round leave, unless another process has gone on; on disk on return."""
        self._paid = None
        self.ledger.publish(self.terms.run, number)

    def would_exceed(self, number: int, release: Release) -> BudgetExcess | None:
        """Return the ceiling that a round would break, without changing anything."""
        owed, terms = self.terms.per_person(release), self.terms
        return self.ledger.would_exceed(
            terms.run, number, owed, terms.unit, neighbours=terms.neighbours
        )

    def unprotected(self) -> None:
        """Record that the run adds no noise, or noise that others know."""
        self.ledger.unprotected(self.terms.run)

    def rounds(self) -> PaidRounds:
        """Return the rounds of the run that are paid for."""
        return self.ledger.rounds(self.terms.run)

    def give_back(self) -> None:
        """Free the room that was set aside and not used."""
        self.ledger.release(self.terms.run)

    def close(self) -> None:
        """Close the file; everything paid is on disk."""
        self.ledger.close()


@dataclass(frozen=True)
class _PendingCharge:
    """A charge that is being made, with its number in the lasting ledger."""

    number: int
    release: Release


class SitePurse:
    """Both ledgers of a site in one run: a `SiteLedger` that charges each once.

    Guarantees:
        The lasting ledger is charged first, and both before `charge` returns.
        No two charges of a run share a number in the lasting ledger, but for a round
        that was paid ahead and is charged here under the same release.
        A release that the run's ledger has no room for is charged to neither.
        An older copy of the run's ledger pays for nothing after `catch_up`, and what a
        restored lasting ledger has forgotten is paid again.
        With `note` no refusal says what others spend at this site or names a file.
    """

    def __init__(
        self,
        own: SiteLedger,
        lasting: Purse | None,
        *,
        pending: Path | None = None,
        note: SiteLogWriter | None = None,
    ) -> None:
        """Take the ledger of the run, and the lasting one unless it protects nobody.

        The charge that is being made is kept in the file `pending` where no journal has
        it. Where refusals leave the site, `note` is given the reason.
        """
        self._own = own
        self._lasting = lasting
        self._pending_file = pending
        self._note = note
        self._last = 0
        self._pending = None if pending is None else _read_pending(pending)

    def catch_up(self) -> None:
        """Bring both ledgers to the same charges, before a run goes on.

        An older copy of the run's ledger is refused.
        """
        if self._lasting is None:
            return
        self._settle(self._lasting)
        events, paid = self._own.events(), self._lasting.rounds().paid
        if max(paid, default=0) > len(events):
            raise Refused(
                f"{max(paid)} answers were paid for, and the state of this run knows "
                f"of {len(events)} only: it is an old copy",
                scope="site",
            )
        for number, release in enumerate(events, start=1):
            if number not in paid:
                self._lasting.pay(number, release, closed=True)

    def reserve(self, planned: Iterable[CountedRelease]) -> None:
        """Set room aside in the lasting ledger; see `Purse.reserve`."""
        if self._lasting is not None:
            self._lasting.reserve(planned)

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that a release would break, without changing anything.

        Where the answer leaves the site only the run's own budget is asked.
        """
        excess = self._own.would_exceed(release)
        if excess is not None or self._lasting is None or self._note is not None:
            return excess
        return self._lasting.would_exceed(self._number(self._lasting), release)

    def charge(self, release: Release) -> None:
        """Charge the lasting ledger, then the run's; on return both are on disk.

        With `note` a ledger that does not pay, or fails, is `Refused` in general words.
        """
        try:
            if self._lasting is not None:
                self._charge_lasting(self._lasting, release)
            self._own.charge(release)
        except LexfedError as error:
            if self._note is None:
                raise
            self._note(error.message)
            raise Refused("its ledger does not pay for it", scope="site") from error
        self._pending = None

    def events(self) -> tuple[Release, ...]:
        """Return the releases charged in this run, oldest first."""
        return self._own.events()

    def give_back(self) -> None:
        """Free the room that was set aside and not used."""
        if self._lasting is not None:
            self._lasting.give_back()

    def _charge_lasting(self, lasting: Purse, release: Release) -> None:
        self._settle(lasting)
        excess = self._own.would_exceed(release)
        if excess is not None:
            raise Refused(f"release `{release.name}` refused: {excess}")
        number = self._number(lasting)
        # Coins may have left the site out of earlier rounds, which were paid ahead.
        if number < lasting.ahead and number in lasting.rounds().paid:
            return
        if number == self._last:
            raise Refused(f"round {number} was charged already", scope="site")
        self._keep_pending(_PendingCharge(number, release))
        try:
            lasting.pay(number, release)
        except Refused:
            # Otherwise it would be settled later, although nobody paid for it.
            if number not in lasting.rounds().paid:
                self._keep_pending(None)
            raise
        self._last = number

    def _number(self, lasting: Purse) -> int:
        """Return the number of the next charge in the lasting ledger.

        Charges are numbered one by one. Where noise is the sites' a missed round is
        never charged, so there the round that was paid ahead gives the number.
        """
        if lasting.ahead and not lasting.terms.again:
            return lasting.ahead
        return len(self._own.events()) + 1

    def _settle(self, lasting: Purse) -> None:
        """Charge each ledger for what only the other, or the file, knows of.

        A file that knows of a charge is believed against both ledgers: the round may
        have left, so an older copy of them pays for it before anything goes on.
        """
        pending, charged = self._pending, len(self._own.events())
        if pending is not None and pending.number > charged:
            paid = pending.number in lasting.rounds().paid
            if self._pending_file is None:
                # In one process the number is the round's, and the journal knows it.
                if paid and pending.number == charged + 1:
                    self._own.charge(pending.release)
            elif pending.number > charged + 1:
                raise Refused(
                    f"{pending.number} answers were begun, and the state of this run "
                    f"knows of {charged} only: it is an old copy",
                    scope="site",
                )
            else:
                if not paid:
                    lasting.pay(pending.number, pending.release, closed=True)
                self._own.charge(pending.release)
        self._pending = None

    def _keep_pending(self, pending: _PendingCharge | None) -> None:
        self._pending = pending
        if self._pending_file is not None:
            line = b""
            if pending is not None:
                row = {"number": pending.number, "release": pending.release.to_json()}
                text = json.dumps(row, sort_keys=True, allow_nan=False)
                line = f"{text}\n".encode()
            write_atomically(self._pending_file, line)


def _read_pending(path: Path) -> _PendingCharge | None:
    """Return the last charge that was begun; None if there was none."""
    rows = read_lines(path)
    if not rows:
        return None
    try:
        row = rows[-1]
        if type(row["number"]) is not int:
            raise TypeError("the number of a charge is a whole number")
        return _PendingCharge(row["number"], Release.from_json(row["release"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunFolderError(
            f"`{path}` is damaged",
            "this run cannot go on here: no older copy says what was charged",
        ) from error


@contextmanager
def _without_numbers() -> Iterator[None]:
    """Leave a refusal its sentence alone, for the people of the site."""
    try:
        yield
    except Refused as refusal:
        raise Refused(refusal.message, refusal.hint, scope="site") from refusal
