# SPDX-License-Identifier: Apache-2.0
"""Driving a programme round by round, durably: charge, ask, noise, learn, keep."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import overload

from lexfed.audit.vocabulary import AbortCause
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator, RoundRequest
from lexfed.federation.engines.channel import Channel
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.programme.sequence import Stage
from lexfed.privacy.run_ledger import Ledger
from lexfed.run.driver.engine_choice import EngineFactory
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.driver.round_replies import RoundReplies
from lexfed.run.driver.site_accounts import SiteAccounts
from lexfed.run.folder import EVENTS, RunFolder
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.adaptation_file import AdaptationFile
from lexfed.run.results.metrics import evaluate
from lexfed.run.results.metrics_file import MetricsFile
from lexfed.run.results.run_result import RunResult, finish, read_result
from lexfed.run.resumption.journal import read_journal
from lexfed.run.resumption.recovery import ResumePoint, recover

MOST_LOST = 3
"""Rounds in a row that may be lost; going on after them would only spend."""


@dataclass(frozen=True)
class RoundReport:
    """The facts to show after a round: released values and public facts."""

    round: int
    rounds: int
    stage: str
    metrics: Mapping[str, float]
    spent: Callable[[], float]


OnRound = Callable[[RoundReport], None]


@overload
def train(
    priced: PricedRun,
    run: OpenRun,
    on_round: OnRound | None = None,
    *,
    channel: Channel | None = None,
) -> RunResult: ...


@overload
def train(
    priced: PricedRun,
    run: OpenRun,
    on_round: OnRound | None = None,
    *,
    channel: Channel | None = None,
    most_rounds: int | None,
) -> RunResult | None: ...


def train(
    priced: PricedRun,
    run: OpenRun,
    on_round: OnRound | None = None,
    *,
    channel: Channel | None = None,
    most_rounds: int | None = None,
) -> RunResult | None:
    """Run the rounds that are left, then write model and claim, and close the run.

    A run that is finished already is returned as it is.

    Args:
        priced: the programme and its population.
        run: from `start` or `resume`.
        on_round: is told about every round once its release is on disk; an exception
            of it ends the training there.
        channel: to sites that are elsewhere and keep ledgers of their own; without
            one they are in this process.
        most_rounds: number of rounds to run at most; then the run is closed and can
            be resumed.

    Returns:
        The result of the run; None if it did not end yet.

    Raises:
        Refused: if not a single round could be paid for, several in a row were lost, or
            the sum of one left its bound.
        SecAggError: if no masks could be set up; the run can be resumed.
        RunFolderError: if something cannot be written; the run can be resumed.
    """
    with ExitStack() as open_files:
        open_files.callback(run.close)
        if run.folder.finished:
            return read_result(run.path)
        return _Training(priced, run, on_round, channel, open_files).run(most_rounds)


class _Training:
    """A run while it is open."""

    def __init__(
        self,
        priced: PricedRun,
        run: OpenRun,
        on_round: OnRound | None,
        channel: Channel | None,
        open_files: ExitStack,
    ) -> None:
        """Recover the state of the run, and open the files it needs."""
        self._priced, self._run, self._on_round = priced, run, on_round
        learner = Learner(priced.programme)
        self._accounts = SiteAccounts(priced, run, elsewhere=channel is not None)
        open_files.callback(self._accounts.close)
        journal = read_journal(run.folder.path / EVENTS, run.folder.events.rows)
        charges = journal.charges
        # A site that is elsewhere, or adds noise, may have answered a charged round,
        # and a ledger may know that it was released.
        left = self._accounts.have_left(charges)
        left |= channel is not None or priced.programme.trust != "central"
        found = recover(run.folder, learner.start(), run.logbook, answers_left=left)
        self._accounts.catch_up(charges[: found.progress.done])
        if found.charges:
            run.logbook.resumed(found.progress.done)
        sources = priced.sources()
        self._coordinator = Coordinator(
            priced.programme,
            learner,
            _ledger(priced, found),
            sources,
            found.progress,
            run.logbook.log.origin,
        )
        engines = EngineFactory(priced, run, sources, self._accounts, open_files)
        self._engine = engines.engine(channel)
        self._all_here = channel is None and priced.programme.cohort is None
        self._measured = _metrics_file(priced, run.folder, found)
        self._adapted = AdaptationFile(priced, run.folder, run.logbook, found)
        self._progress, self._released = found.progress, found.released
        self._paid = found.paid

    def run(self, most_rounds: int | None) -> RunResult | None:
        """Run rounds until there are no more, or so many were run."""
        first, lost, stopped = self._progress.done, 0, ""
        while True:
            asked = None
            try:
                self._accounts.reserve()
                if self._coordinator.is_over(self._paid):
                    break
                if self._progress.done - first == most_rounds:
                    return None
                self._engine.prepare()
                asked = self._asked()
                self._round(asked)
                lost = 0
            except RoundLost as loss:
                if asked is None:  # pragma: no cover - only what was asked gets lost
                    raise
                lost += 1
                self._lost(asked, loss, lost)
            except Refused as refusal:
                stopped = refusal.message
                self._progress = _refused(self._run, self._progress, asked, refusal)
                if self._released == 0:
                    self._accounts.release()
                    raise
                break
        self._accounts.release()
        folder, logbook = self._run.folder, self._run.logbook
        return finish(
            self._priced, folder, logbook, self._progress, self._released, stopped
        )

    def _asked(self) -> RoundRequest:
        """Return the next round, paid for by everybody and on disk."""
        asked = self._coordinator.next(charged=self._paid)
        if asked is None:  # pragma: no cover - `is_over` said there is one
            raise RuntimeError("no round is left")
        if not self._paid:
            self._run.folder.charge(asked.query)
        self._paid = False
        return asked

    def _round(self, asked: RoundRequest) -> None:
        """Ask the sites, noise their sum, log it and learn from it."""
        query, folder = asked.query, self._run.folder
        self._accounts.commit(query)
        answers = self._engine.ask(query, asked.participants)
        came = RoundReplies(asked, answers, all_of_them=self._all_here)
        outcome = self._coordinator.receive(query, came.answers, came.missing)
        present = came.participation(self._priced, self._run)
        # After this, and not before, something of the round may be seen in a file.
        self._accounts.publish(query)
        progress = self._progress = outcome.progress
        state = folder.stage(progress)
        self._run.logbook.round(query, outcome, state, present, came.record)
        folder.publish()
        self._released += 1
        stage, metrics = _measure(self._priced, progress)
        self._measured.append(progress.done, stage.name, metrics)
        self._adapted.note(progress)
        if self._on_round is not None:
            rounds = progress.done + _rounds_left(self._priced, progress)
            spent = self._coordinator.spent
            report = RoundReport(progress.done, rounds, stage.name, metrics, spent)
            self._on_round(report)

    def _lost(self, asked: RoundRequest, loss: RoundLost, in_a_row: int) -> None:
        """Write down that a charged round came to nothing, and go on.

        Raises:
            Refused: if so many were lost in a row that going on would only spend, or
                a site sent a vector that honest ones cannot have.
        """
        query, run = asked.query, self._run
        run.logbook.aborted(query.round, query.release, loss.cause)
        row = {"type": "lost", "round": query.round, "reason": loss.message}
        run.folder.events.append(row)
        self._progress = self._coordinator.lost(query)
        if loss.cause == "sum-out-of-bound":
            # The next round would be lost to the same site, and nothing names it.
            raise Refused(
                loss.message,
                "the round stays paid; find the site before you continue the run: "
                "docs/guide/deployment.md, `When a sum leaves its bound`",
                scope="site",
            )
        if in_a_row == MOST_LOST:
            raise Refused(
                f"{MOST_LOST} rounds in a row were lost; the last one: {loss.message}",
                "see to the sites, then continue the run; lost rounds stay paid",
                scope="site",
            )


def _refused(
    run: OpenRun, progress: Progress, asked: RoundRequest | None, refusal: Refused
) -> Progress:
    """Write down a refusal; a round that was charged already is over, unused."""
    number = progress.done + 1
    run.logbook.refused(number, refusal)
    run.folder.events.append({"type": "refusal", "reason": refusal.message})
    if asked is None:
        return progress
    signed = refusal.scope != "receipt"
    cause: AbortCause = "site-refused" if signed else "receipt-invalid"
    run.logbook.aborted(number, asked.query.release, cause)
    run.folder.events.append({"type": "lost", "round": number})
    return progress.after_round(asked.query.stage, asked.query.step)


def _rounds_left(priced: PricedRun, progress: Progress) -> int:
    """Return the number of planned rounds to come, if none is left out or added."""
    stage, *later = priced.programme.stages[progress.stage :]
    left = max(0, len(stage.releases) - progress.step)
    return left + sum(len(each.releases) for each in later)


def _ledger(priced: PricedRun, found: ResumePoint) -> Ledger | None:
    ledger = priced.ledger()
    if ledger is not None:
        for release in found.charges:
            if release is not None:
                ledger.charge(release)
    return ledger


def _metrics_file(
    priced: PricedRun, folder: RunFolder, found: ResumePoint
) -> MetricsFile:
    names = tuple(evaluate(priced, found.progress.model))
    path = folder.path / "metrics.csv"
    measured = MetricsFile(path, names, found.durable.done)
    if measured.last < found.durable.done:
        stage, metrics = _measure(priced, found.durable)
        measured.append(found.durable.done, stage.name, metrics)
    return measured


def _measure(priced: PricedRun, progress: Progress) -> tuple[Stage, dict[str, float]]:
    """Return the stage of the last round, and the metrics of the model after it."""
    stage = priced.programme.stages[progress.stage]
    return stage, evaluate(priced, progress.model, stage.tower + 1)
