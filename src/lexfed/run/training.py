# SPDX-License-Identifier: Apache-2.0
"""Driving a programme round by round, durably: charge, ask, noise, learn, keep."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from lexfed.errors import Refused, RunFolderError
from lexfed.federation.coordinator import Coordinator
from lexfed.federation.engines import Engine, InProcess, Simulation
from lexfed.federation.learner import Learner, Progress
from lexfed.federation.programme import Stage
from lexfed.federation.site import Site, Sources
from lexfed.privacy.ledger import Ledger
from lexfed.privacy.site_ledger import FileLedger
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.evaluation import evaluate
from lexfed.run.folder import RunFolder
from lexfed.run.measured import MetricsFile
from lexfed.run.planning import Priced
from lexfed.run.recovery import Recovered, recover
from lexfed.run.result import RunResult, finish, read_result


@dataclass(frozen=True)
class RoundReport:
    """What can be shown after a round: released values and public facts."""

    round: int
    rounds: int
    stage: str
    metrics: Mapping[str, float]
    spent: Callable[[], float]


OnRound = Callable[[RoundReport], None]


def train(
    priced: Priced, folder: RunFolder, on_round: OnRound | None = None
) -> RunResult:
    """Run the rounds that are left, then write model and claim, and close the folder.

    A run that is finished already is returned as it is.

    Args:
        priced: the programme and its population.
        folder: from `start` or `resume`.
        on_round: is told about every round once its release is on disk; what it
            raises ends the training there.

    Raises:
        Refused: if not a single round could be paid for.
        RunFolderError: if something cannot be written; the run can be resumed.
    """
    with ExitStack() as open_files:
        open_files.callback(folder.close)
        if folder.finished:
            return read_result(folder.path)
        return _train(priced, folder, on_round, open_files)


def _train(
    priced: Priced, folder: RunFolder, on_round: OnRound | None, open_files: ExitStack
) -> RunResult:
    learner = Learner(priced.programme)
    found = recover(folder, learner.start())
    sources = _sources(priced)
    coordinator = Coordinator(
        priced.programme, learner, _ledger(priced, found), sources, found.progress
    )
    engine = _engine(priced, folder, sources, open_files)
    measured = _metrics_file(priced, folder, found)
    progress, paid, released, stopped = found.progress, found.paid, found.released, ""
    while True:
        try:
            asked = coordinator.next(charged=paid)
            if asked is None:
                break
            if not paid:
                folder.charge(asked.query)
            paid = False
            answers = engine.ask(asked.query, asked.participants)
            progress = coordinator.receive(asked.query, answers)
        except Refused as refusal:
            stopped = refusal.message
            folder.events.append({"type": "refusal", "reason": stopped})
            if released == 0:
                raise
            break
        folder.release(progress)
        released += 1
        stage, metrics = _measure(priced, progress)
        measured.append(progress.done, stage.name, metrics)
        if on_round is not None:
            rounds = priced.programme.rounds
            on_round(
                RoundReport(
                    progress.done, rounds, stage.name, metrics, coordinator.spent
                )
            )
    return finish(priced, folder, progress, released, stopped)


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
    priced: Priced, folder: RunFolder, sources: Sources, open_files: ExitStack
) -> Engine:
    data = priced.population.sites
    if priced.config.federation.engine == "simulation":
        return Simulation(priced.programme, data, sources)
    ledgers = folder.path / "sites"
    try:
        ledgers.mkdir(exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{ledgers}`: {(error.strerror or str(error)).lower()}",
            "fix the folder's permissions, then continue with `lexfed run --resume`",
        ) from error
    rules = priced.ledger()
    sites = []
    for number, site in enumerate(data, start=1):
        ledger = None
        if rules is not None:
            ledger = FileLedger(ledgers / f"{number}.jsonl", rules)
            open_files.callback(ledger.close)
        sites.append(Site(priced.programme, site, ledger, sources))
    return InProcess(sites)


def _metrics_file(priced: Priced, folder: RunFolder, found: Recovered) -> MetricsFile:
    names = tuple(evaluate(priced, found.progress.model))
    path = folder.path / "metrics.csv"
    measured = MetricsFile(path, names, found.durable)
    if measured.last < found.durable:
        at = Progress(found.durable, found.progress.model, {})
        stage, metrics = _measure(priced, at)
        measured.append(found.durable, stage.name, metrics)
    return measured


def _measure(priced: Priced, progress: Progress) -> tuple[Stage, dict[str, float]]:
    """Return the stage of the last round, and the metrics of the model after it."""
    position = priced.programme.position(progress.done - 1)
    stage = priced.programme.stages[position[0] if position else 0]
    return stage, evaluate(priced, progress.model, stage.tower + 1)
