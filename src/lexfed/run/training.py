# SPDX-License-Identifier: Apache-2.0
"""Driving a programme round by round, durably: charge, ask, noise, learn, keep."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from lexfed.audit.entries import Participation
from lexfed.errors import Refused, RunFolderError
from lexfed.federation.coordinator import Coordinator, Round
from lexfed.federation.engines import Engine, InProcess, Simulation
from lexfed.federation.learner import Learner, Progress
from lexfed.federation.messages import Refusal, Reply
from lexfed.federation.programme import Stage
from lexfed.federation.site import Site, Sources
from lexfed.privacy.ledger import Ledger
from lexfed.privacy.site_ledger import FileLedger
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.adapted import Adapted
from lexfed.run.evaluation import evaluate
from lexfed.run.folder import SEALED, RunFolder
from lexfed.run.log_opening import secret_sampling
from lexfed.run.logbook import Cause
from lexfed.run.measured import MetricsFile
from lexfed.run.opening import OpenRun
from lexfed.run.planning import Priced
from lexfed.run.receipt_check import participation
from lexfed.run.recovery import Recovered, recover
from lexfed.run.result import RunResult, finish, read_result
from lexfed.run.site_accounts import SiteAccounts


@dataclass(frozen=True)
class RoundReport:
    """What can be shown after a round: released values and public facts."""

    round: int
    rounds: int
    stage: str
    metrics: Mapping[str, float]
    spent: Callable[[], float]


OnRound = Callable[[RoundReport], None]


def train(priced: Priced, run: OpenRun, on_round: OnRound | None = None) -> RunResult:
    """Run the rounds that are left, then write model and claim, and close the run.

    A run that is finished already is returned as it is.

    Args:
        priced: the programme and its population.
        run: from `start` or `resume`.
        on_round: is told about every round once its release is on disk; what it
            raises ends the training there.

    Raises:
        Refused: if not a single round could be paid for.
        RunFolderError: if something cannot be written; the run can be resumed.
    """
    with ExitStack() as open_files:
        open_files.callback(run.close)
        if run.folder.finished:
            return read_result(run.path)
        return _train(priced, run, on_round, open_files)


def _train(
    priced: Priced, run: OpenRun, on_round: OnRound | None, open_files: ExitStack
) -> RunResult:
    folder, logbook = run.folder, run.logbook
    learner = Learner(priced.programme)
    found = recover(folder, learner.start(), logbook)
    if found.charges:
        logbook.resumed(found.progress.done)
    sources = _sources(priced)
    coordinator = Coordinator(
        priced.programme,
        learner,
        _ledger(priced, found),
        sources,
        found.progress,
        logbook.log.origin,
    )
    accounts = SiteAccounts(priced, run)
    open_files.callback(accounts.close)
    engine = _engine(priced, run, sources, accounts, open_files)
    measured = _metrics_file(priced, folder, found)
    adapted = Adapted(priced, folder, logbook, found)
    progress, paid, released, stopped = found.progress, found.paid, found.released, ""
    while True:
        asked = None
        try:
            accounts.reserve()
            asked = coordinator.next(charged=paid)
            if asked is None:
                break
            if not paid:
                folder.charge(asked.query)
            paid = False
            accounts.commit(asked.query)
            answers = engine.ask(asked.query, asked.participants)
            outcome = coordinator.receive(asked.query, answers)
            present = _participation(priced, run, asked, answers)
        except Refused as refusal:
            stopped = refusal.message
            progress = _refused(run, progress, asked, refusal)
            if released == 0:
                accounts.release()
                raise
            break
        progress = outcome.progress
        logbook.round(asked.query, outcome, folder.stage(progress), present)
        folder.publish()
        released += 1
        stage, metrics = _measure(priced, progress)
        measured.append(progress.done, stage.name, metrics)
        adapted.note(progress)
        if on_round is not None:
            rounds = progress.done + _rounds_left(priced, progress)
            on_round(
                RoundReport(
                    progress.done, rounds, stage.name, metrics, coordinator.spent
                )
            )
    accounts.release()
    return finish(priced, folder, logbook, progress, released, stopped)


def _participation(
    priced: Priced, run: OpenRun, asked: Round, answers: Sequence[Reply | Refusal]
) -> Participation:
    return participation(
        asked,
        answers,
        run.logbook.keys.public,
        run.logbook.log.blobs,
        run.path / SEALED if secret_sampling(priced) else None,
    )


def _refused(
    run: OpenRun, progress: Progress, asked: Round | None, refusal: Refused
) -> Progress:
    """Write down a refusal; a round that was charged already is over, unused."""
    number = progress.done + 1
    run.logbook.refused(number, refusal)
    run.folder.events.append({"type": "refusal", "reason": refusal.message})
    if asked is None:
        return progress
    signed = refusal.scope != "receipt"
    cause: Cause = "site-refused" if signed else "receipt-invalid"
    run.logbook.aborted(number, asked.query.release, cause)
    run.folder.events.append({"type": "lost", "round": number})
    return progress.after_round(asked.query.stage, asked.query.step)


def _rounds_left(priced: Priced, progress: Progress) -> int:
    """Return how many planned rounds are to come, if none is left out or added."""
    stage, *later = priced.programme.stages[progress.stage :]
    left = max(0, len(stage.releases) - progress.step)
    return left + sum(len(each.releases) for each in later)


def _ledger(priced: Priced, found: Recovered) -> Ledger | None:
    ledger = priced.ledger()
    if ledger is not None:
        for release in found.charges:
            if release is not None:
                ledger.charge(release)
    return ledger


def _sources(priced: Priced) -> Sources:
    if priced.config.run.test:
        seed = priced.config.run.seed
        return lambda purpose: SeededSource(seed, purpose)
    secure = SecureSource()
    return lambda _: secure


def _engine(
    priced: Priced,
    run: OpenRun,
    sources: Sources,
    accounts: SiteAccounts,
    open_files: ExitStack,
) -> Engine:
    data = priced.population.sites
    if priced.config.federation.engine == "simulation":
        return Simulation(priced.programme, data, sources)
    ledgers = run.path / "sites"
    try:
        ledgers.mkdir(exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{ledgers}`: {(error.strerror or str(error)).lower()}",
            "fix the folder's permissions, then continue with `lexfed run --resume`",
        ) from error
    sites = []
    for number, site in enumerate(data, start=1):
        ledger, rules = None, priced.site_ledger(site.name)
        if rules is not None:
            own = FileLedger(ledgers / f"{number}.jsonl", rules)
            open_files.callback(own.close)
            ledger = accounts.behind(own, number - 1)
        signer = run.logbook.keys.sites[site.name]
        sites.append(Site(priced.programme, site, ledger, sources, signer))
    return InProcess(sites)


def _metrics_file(priced: Priced, folder: RunFolder, found: Recovered) -> MetricsFile:
    names = tuple(evaluate(priced, found.progress.model))
    path = folder.path / "metrics.csv"
    measured = MetricsFile(path, names, found.durable.done)
    if measured.last < found.durable.done:
        stage, metrics = _measure(priced, found.durable)
        measured.append(found.durable.done, stage.name, metrics)
    return measured


def _measure(priced: Priced, progress: Progress) -> tuple[Stage, dict[str, float]]:
    """Return the stage of the last round, and the metrics of the model after it."""
    stage = priced.programme.stages[progress.stage]
    return stage, evaluate(priced, progress.model, stage.tower + 1)
