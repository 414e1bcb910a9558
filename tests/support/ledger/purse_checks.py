# SPDX-License-Identifier: Apache-2.0
"""Promises of the purse, as checks that are also tried on broken ones."""

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lexfed import train
from lexfed.errors import Refused, RunFolderError
from lexfed.federation.engines import clear_sums
from lexfed.federation.programme.messages import (
    Refusal,
    Reply,
    answer_from_bytes,
)
from lexfed.federation.site import data_holder
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.purse import ChargeTerms, Purse, SitePurse
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import FileLedger, Ledger, Limits
from lexfed.privacy.scopes import CountedRelease
from lexfed.tiers import Tier
from support.federation.worlds import play, seeded, world
from support.ledger.site_ledgers import ledgers, writer
from support.log.folders import memory_folder

ROUND = Release("tower", (ReleaseGroup("all", 1.0, 10.0),), 1.0, Tier.SPECIAL, 10)
OTHER = replace(ROUND, name="other tower")
PLAN = [(ROUND, 4), (OTHER, 2)]
TERMS = ChargeTerms("run", "client", "replace-one")


@dataclass
class Books:
    """Both ledgers of a site in a folder, opened as often as a process would.

    Attributes:
        folder: of all files.
        commits: transactions that committed something, by number of the charge.
    """

    folder: Path
    terms: ChargeTerms = TERMS
    commits: Counter[int] = field(default_factory=Counter)
    _open: ExitStack = field(default_factory=ExitStack)

    @property
    def own_path(self) -> Path:
        return self.folder / "ledger.jsonl"

    @property
    def pending(self) -> Path:
        return self.folder / "pending.json"

    def lasting(self) -> LastingLedger:
        state = self.folder / "state"
        path = self.folder / "lasting"
        ledger = LastingLedger.open(path, "north", "patients", state=state)
        self._open.callback(ledger.close)
        return ledger

    def own(self, rounds: int = 6) -> FileLedger:
        plan = PLAN if rounds == 6 else [(ROUND, rounds)]
        ledger = FileLedger(self.own_path, Ledger.planned(Limits(5.0, 1e-6), plan))
        self._open.callback(ledger.close)
        return ledger

    def purse(self) -> Purse:
        return Purse(self.lasting(), self.terms)

    def site(self) -> SitePurse:
        """Open what a site elsewhere pays from, in a new process or after a restart."""
        return SitePurse(self.own(), self.purse(), pending=self.pending)

    def paid(self) -> list[int]:
        """Return the charges of the lasting ledger, by number."""
        with closing(self.lasting()) as ledger:
            rows = [row for row in ledger.rows() if row.kind == "commit"]
        return [row.body["round"] for row in rows]

    def close(self) -> None:
        self._open.close()


def resumed(site: SitePurse, plan: Iterable[CountedRelease]) -> None:
    """Let a site go on with a run, as after a restart."""
    site.catch_up()
    site.reserve(plan)


@contextmanager
def books(terms: ChargeTerms = TERMS) -> Iterator[Books]:
    """Give empty ledgers, and count the commits of all that open them."""
    real = LastingLedger.commit

    with memory_folder() as folder, pytest.MonkeyPatch.context() as patch:
        made = Books(folder, terms)

        def counted(ledger: LastingLedger, *arguments: Any, **words: Any) -> int:
            made.commits[arguments[1]] += 1
            return real(ledger, *arguments, **words)

        patch.setattr(LastingLedger, "commit", counted)
        try:
            yield made
        finally:
            made.close()


def lasting_is_charged_first() -> None:
    """When the run's ledger is written the lasting one has the charge on disk."""
    with books() as made, pytest.MonkeyPatch.context() as patch:
        real, seen = FileLedger.charge, list[list[int]]()

        def charged(ledger: FileLedger, release: Release) -> None:
            seen.append(made.paid())
            real(ledger, release)

        patch.setattr(FileLedger, "charge", charged)
        site = made.site()
        site.charge(ROUND)
        site.charge(OTHER)
        assert seen == [[1], [1, 2]]


def each_ledger_is_charged_once() -> None:
    """A round that is paid ahead is one transaction, and one line of the own ledger."""
    for again in (True, False):
        with books(replace(TERMS, again=again)) as made:
            purse, own = made.purse(), made.own()
            site = SitePurse(own, purse)
            for number in (1, 2, 3):
                purse.pay_ahead(number, ROUND)
                site.charge(ROUND)
                if again:
                    purse.publish(number)
            assert made.commits == {1: 1, 2: 1, 3: 1}
            assert made.paid() == [1, 2, 3]
            assert own.events() == (ROUND,) * 3


def a_site_pays_whatever_was_paid_ahead() -> None:
    """Nobody paid ahead, or for another release: the site's own charge decides."""
    with books() as made:
        purse = made.purse()
        SitePurse(made.own(), purse).charge(ROUND)
        assert made.paid() == [1]
        purse.pay_ahead(2, ROUND)
        with pytest.raises(Refused, match="with another release"):
            SitePurse(made.own(), purse).charge(OTHER)
        assert made.paid() == [1, 2]
        assert made.own().events() == (ROUND,)


def rounds_that_coins_left_out_are_charged_later() -> None:
    """They were paid when their turn was; the run's ledger hears of them when asked."""
    with books(replace(TERMS, again=True)) as made:
        purse, own = made.purse(), made.own()
        for number in (1, 2, 3):
            purse.pay_ahead(number, ROUND)
            if number < 3:
                purse.publish(number)
        site = SitePurse(own, purse)
        for _ in range(3):
            site.charge(ROUND)
        assert made.commits == {1: 1, 2: 1, 3: 1}
        assert made.paid() == [1, 2, 3]
        assert own.events() == (ROUND,) * 3


def published_rounds_are_not_given_again() -> None:
    """The purse remembers its last payment only until something may leave."""
    with books(replace(TERMS, again=True)) as made:
        purse = made.purse()
        purse.pay(1, ROUND)
        purse.pay(1, ROUND)
        purse.publish(1)
        with pytest.raises(Refused, match="may have been released"):
            purse.pay(1, ROUND)


def no_room_in_the_run_charges_neither() -> None:
    """The run's ledger is asked before the lasting one is charged."""
    with books() as made:
        site = SitePurse(made.own(rounds=1), made.purse())
        site.charge(ROUND)
        with pytest.raises(Refused, match="release `tower` refused"):
            site.charge(ROUND)
        assert made.paid() == [1]


def a_failed_second_charge_stays_paid() -> None:
    """The disk fails the run's ledger once; the next round is another charge."""
    with books() as made, pytest.MonkeyPatch.context() as patch:
        site, real = made.site(), FileLedger.charge
        site.charge(ROUND)

        def full(*_: object) -> None:
            raise RunFolderError("no space left")

        patch.setattr(FileLedger, "charge", full)
        with pytest.raises(RunFolderError):
            site.charge(ROUND)
        assert (made.paid(), len(site.events())) == ([1, 2], 1)
        patch.setattr(FileLedger, "charge", real)
        site.charge(OTHER)
        assert made.paid() == [1, 2, 3]
        assert site.events() == (ROUND, ROUND, OTHER)


def _killed_while_charging(made: Books, release: Release) -> None:
    """Charge in a process that is killed when the run's ledger is about to be."""
    made.close()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by a signal
        try:
            FileLedger.charge = (  # type: ignore[method-assign]
                lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            )
            made.site().charge(release)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


def a_death_between_the_two_stays_paid() -> None:
    """The run goes on, and nothing else is released under the charge of the dead."""
    with books() as made:
        made.site().charge(ROUND)
        _killed_while_charging(made, ROUND)
        assert (made.paid(), len(made.own().events())) == ([1, 2], 1)
        site = made.site()
        resumed(site, PLAN)
        assert site.events() == (ROUND, ROUND)
        site.charge(OTHER)
        assert made.paid() == [1, 2, 3]


def older_copies_pay_for_nothing() -> None:
    """A copy of the site's files from before its last charge is no death in between."""
    with books() as made:
        made.site().charge(ROUND)
        copies = {each: each.read_bytes() for each in (made.own_path, made.pending)}
        made.site().charge(ROUND)
        made.close()
        for path, content in copies.items():
            path.write_bytes(content)
        with pytest.raises(Refused, match="2 answers were paid for"):
            resumed(made.site(), PLAN)
        assert made.paid() == [1, 2]


def what_the_lasting_ledger_forgot_is_paid_again() -> None:
    """It was restored, and its pin with it: the run's ledger still knows."""
    with books() as made:
        site = made.site()
        for _ in range(2):
            site.charge(ROUND)
        made.close()
        shutil.rmtree(made.folder / "state")
        for path in made.folder.glob("lasting*"):
            path.unlink()
        resumed(made.site(), PLAN)
        assert made.paid() == [1, 2]


def a_charge_that_was_begun_is_believed() -> None:
    """The file knows of a charge that restored ledgers forgot: it is paid first."""
    with books() as made:
        made.site().charge(ROUND)
        own = made.own_path.read_bytes()
        made.site().charge(ROUND)
        made.close()
        made.own_path.write_bytes(own)
        shutil.rmtree(made.folder / "state")
        for path in made.folder.glob("lasting*"):
            path.unlink()
        site = made.site()
        resumed(site, PLAN)
        assert made.paid() == [2, 1]
        assert site.events() == (ROUND, ROUND)


def a_copy_that_lacks_two_charges_is_refused() -> None:
    """It lacks more than the charge that was begun, so nobody knows which."""
    with books() as made:
        site = made.site()
        site.charge(ROUND)
        site.charge(ROUND)
        made.close()
        made.own_path.unlink()
        shutil.rmtree(made.folder / "state")
        for path in made.folder.glob("lasting*"):
            path.unlink()
        with pytest.raises(Refused, match="2 answers were begun"):
            resumed(made.site(), PLAN)
        assert made.paid() == []


def a_round_paid_ahead_is_charged_once() -> None:
    """A second release of the same round would have no charge of its own."""
    with books() as made:
        purse = made.purse()
        site = SitePurse(made.own(), purse)
        purse.pay_ahead(1, ROUND)
        site.charge(ROUND)
        with pytest.raises(Refused, match="charged already"):
            site.charge(ROUND)
        assert len(site.events()) == 1


def a_round_held_open_is_not_closed_by_another() -> None:
    """Else its holder would publish a second release under the same charge."""
    with books(replace(TERMS, again=True)) as made:
        holder, other = made.purse(), made.purse()
        holder.pay(1, ROUND)
        with pytest.raises(Refused, match="may have been released"):
            other.pay(1, ROUND, closed=True)
        holder.publish(1)
        assert made.paid() == [1]


def a_client_elsewhere_answers_a_round_once() -> None:
    """Its answer left at once, whatever an older copy of its files says.

    Control: where answers stay in the process an interrupted round is answered.
    """
    of = world(unit="client", sampling_rate=0.5, learning_rate=0.1, rounds=6)
    query = play(of, rounds=1).queries[0].to_bytes()
    for elsewhere in (False, True):
        ledger = of.ledger(0)
        assert ledger is not None
        answers = []
        for _ in range(2):
            data = of.sites[0]
            site = Site(of.programme, data, ledger, seeded(1), every_answer=elsewhere)
            answers.append(type(answer_from_bytes(site.handle(query))))
        assert answers == [Reply, Refusal if elsewhere else Reply]
        assert len(ledger.events()) == 1


def unit_and_relation_go_with_every_charge() -> None:
    """All rows say what the run was planned under, for a person at all their sites."""
    with books(replace(TERMS, sites_per_person=2)) as made:
        purse = made.purse()
        purse.reserve(PLAN)
        purse.pay(1, ROUND)
        rows = [row.body for row in purse.ledger.rows()][1:]
        assert [row["unit"] for row in rows] == ["client", "client"]
        assert {row["neighbours"] for row in rows} == {"replace-one"}
        doubled = replace(ROUND, groups=(ReleaseGroup("all", 2.0, 10.0),)).to_json()
        assert rows[1]["release"] == rows[0]["releases"][0][1] == doubled


def a_run_pays_each_round_once_before_anybody_computes() -> None:
    """Counted over whole runs: one transaction for each round and ledger."""
    for engine in ("simulation", "inprocess"):
        with tempfile.TemporaryDirectory() as folder:
            _paid_before_computed(Path(folder), engine)


def _paid_before_computed(folder: Path, engine: str) -> None:
    path = writer(folder)(engine)
    charged, computed = Counter[tuple[str, int]](), list[int]()
    commit = LastingLedger.commit

    def counted(ledger: LastingLedger, *arguments: Any, **words: Any) -> int:
        charged[ledger.site, arguments[1]] += 1
        return commit(ledger, *arguments, **words)

    def looked(query: Any, *rest: Any) -> Any:
        computed.append(query.round)
        for ledger in (opened := ledgers(folder / "ledgers")).values():
            rows = [row.body for row in ledger.rows() if row.kind == "commit"]
            assert [row["round"] for row in rows] == list(range(1, query.round + 1))
            ledger.close()
        assert set(opened) == {"north", "south"}
        return contribute(query, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setattr(LastingLedger, "commit", counted)
        patch.setattr(clear_sums, "contribute", looked)
        patch.setattr(data_holder, "contribute", looked)
        result = train(path)
    numbers = range(1, result.rounds + 1)
    assert result.rounds > 2
    assert set(computed) == set(numbers)
    assert charged == {(site, n): 1 for site in ("north", "south") for n in numbers}
    for own in (folder / "runs/small/sites").glob("*.jsonl"):
        assert len(own.read_text().splitlines()) == result.rounds
