# SPDX-License-Identifier: Apache-2.0
"""The rounds of a run, one after another: charge, ask, noise, learn, log, release.

Every step is durable before the next one may rely on it, so that a crash between any
two of them leaves a folder from which `lexfed.run.resumption` goes on.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

from lexfed.audit.vocabulary import AbortCause
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator, RoundRequest
from lexfed.federation.engines.channel import Channel
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.run.driver.engine_choice import EngineFactory
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.driver.round_replies import RoundReplies
from lexfed.run.driver.site_accounts import SiteAccounts
from lexfed.run.folder import EVENTS
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.metrics import RoundFiles
from lexfed.run.results.run_result import RunResult, finish, read_result
from lexfed.run.resumption import ResumePoint, read_journal, recover

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


def train(
    priced: PricedRun,
    run: OpenRun,
    on_round: OnRound | None = None,
    *,
    channel: Channel | None = None,
) -> RunResult:
    """Run the rounds that are left, then write model and claim, and close the run.

    A run that is finished already is returned as it is. `on_round` is called after
    every round, once its release is on disk; an exception of it ends the training
    there. The `channel` leads to sites that are elsewhere and keep ledgers of their
    own; without one they are in this process.

    Raises:
        Refused: if not a single round could be paid for, several in a row were lost, or
            the sum of one left its bound.
        SecAggError, RunFolderError: if no masks could be set up, or something cannot be
            written; the run can be resumed.
    """
    # Without a limit on its rounds a run comes to its end.
    return cast(RunResult, train_part(priced, run, None, on_round, channel=channel))


def train_part(
    priced: PricedRun,
    run: OpenRun,
    most_rounds: int | None,
    on_round: OnRound | None = None,
    *,
    channel: Channel | None = None,
) -> RunResult | None:
    """Train as `train` does, for at most so many rounds; None if some are left."""
    with ExitStack() as open_files:
        open_files.callback(run.close)
        if run.folder.finished:
            return read_result(run.path)
        training = _Training(priced, run, on_round, channel, open_files)
        return training.run(most_rounds)


class _Training:
    def __init__(
        self,
        priced: PricedRun,
        run: OpenRun,
        on_round: OnRound | None,
        channel: Channel | None,
        open_files: ExitStack,
    ) -> None:
        self._priced, self._run, self._on_round = priced, run, on_round
        self._accounts = SiteAccounts(priced, run, elsewhere=channel is not None)
        open_files.callback(self._accounts.close)
        learner, sources = Learner(priced.programme), priced.sources()
        point = self._resume_point(learner.start(), elsewhere=channel is not None)
        ledger = priced.ledger()
        if ledger is not None:
            for release in filter(None, point.charges):
                ledger.charge(release)
        self._coordinator = Coordinator(
            priced.programme,
            learner,
            ledger,
            sources,
            point.progress,
            run.logbook.log.origin,
        )
        engines = EngineFactory(priced, run, sources, self._accounts, open_files)
        self._engine = engines.engine(channel)
        self._all_here = channel is None and priced.programme.cohort is None
        self._files = RoundFiles(priced, run.folder, run.logbook, point)
        self._progress, self._released = point.progress, point.released
        self._paid = point.paid

    def _resume_point(self, start: Progress, *, elsewhere: bool) -> ResumePoint:
        """Settle a round that was open, and bring ledgers and log up to date."""
        folder, logbook = self._run.folder, self._run.logbook
        charges = read_journal(folder.path / EVENTS, folder.events.rows).charges
        # A site that is elsewhere, or adds noise, may have answered a charged round,
        # and a ledger may know that it was released.
        left = self._accounts.have_left(charges)
        left |= elsewhere or self._priced.programme.trust != "central"
        point = recover(folder, start, logbook, answers_left=left)
        self._accounts.catch_up(charges[: point.progress.done])
        if point.charges:
            logbook.resumed(point.progress.done)
        return point

    def run(self, most_rounds: int | None) -> RunResult | None:
        """Run rounds until there are no more, or so many were run."""
        first, lost_in_a_row, stopped = self._progress.done, 0, ""
        while True:
            request = None
            try:
                self._accounts.reserve()
                if self._coordinator.is_over(self._paid):
                    break
                if self._progress.done - first == most_rounds:
                    return None
                self._engine.prepare()
                request = self._charged_request()
                self._round(request)
                lost_in_a_row = 0
            except RoundLost as loss:
                if request is None:  # pragma: no cover - only a request gets lost
                    raise
                lost_in_a_row += 1
                self._record_loss(request, loss, lost_in_a_row)
            except Refused as refusal:
                stopped = refusal.message
                self._record_refusal(request, refusal)
                if self._released == 0:
                    self._accounts.release()
                    raise
                break
        self._accounts.release()
        folder, logbook = self._run.folder, self._run.logbook
        return finish(
            self._priced, folder, logbook, self._progress, self._released, stopped
        )

    def _charged_request(self) -> RoundRequest:
        """Return the next round; its charge is on disk in the run folder."""
        request = self._coordinator.next(charged=self._paid)
        if request is None:  # pragma: no cover - `is_over` found one
            raise RuntimeError("no round is left")
        if not self._paid:
            self._run.folder.charge(request.query)
        self._paid = False
        return request

    def _round(self, request: RoundRequest) -> None:
        """Charge the data holders, ask the sites, noise their sum, learn, log, release.

        Only after `publish` in the lasting ledgers may a file show anything of the
        round; only with `publish` in the run folder does the round exist.
        """
        query, folder = request.query, self._run.folder
        self._accounts.commit(query)
        answers = self._engine.ask(query, request.participants)
        replies = RoundReplies(request, answers, all_of_them=self._all_here)
        released = self._coordinator.receive(query, answers, replies.missing)
        participation = replies.participation(self._priced, self._run)
        self._accounts.publish(query)
        self._progress = released.progress
        state = folder.stage(released.progress)
        self._run.logbook.round(query, released, state, participation, replies.record)
        folder.publish()
        self._released += 1
        metrics = self._files.add(released.progress)
        if self._on_round is not None:
            self._on_round(self._report(metrics))

    def _report(self, metrics: Mapping[str, float]) -> RoundReport:
        progress = self._progress
        stage, *later = self._priced.programme.stages[progress.stage :]
        # The planned rounds to come, if none is left out or added.
        left = max(0, len(stage.releases) - progress.step)
        left += sum(len(each.releases) for each in later)
        done, spent = progress.done, self._coordinator.spent
        return RoundReport(done, done + left, stage.name, metrics, spent)

    def _record_loss(
        self, request: RoundRequest, loss: RoundLost, in_a_row: int
    ) -> None:
        """Record that a charged round came to nothing; refuse if going on is no use."""
        query, run = request.query, self._run
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

    def _record_refusal(self, request: RoundRequest | None, refusal: Refused) -> None:
        """Record a refusal; a round that was charged already is over, unused."""
        number, run = self._progress.done + 1, self._run
        run.logbook.refused(number, refusal)
        run.folder.events.append({"type": "refusal", "reason": refusal.message})
        if request is None:
            return
        by_site = refusal.scope != "receipt"
        cause: AbortCause = "site-refused" if by_site else "receipt-invalid"
        run.logbook.aborted(number, request.query.release, cause)
        run.folder.events.append({"type": "lost", "round": number})
        query = request.query
        self._progress = self._progress.after_round(query.stage, query.step)
