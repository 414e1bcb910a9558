# SPDX-License-Identifier: Apache-2.0
"""Driving a programme round by round, durably: start, resume, train."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.errors import Refused, RunFolderError
from lexfed.federation.coordinator import Coordinator
from lexfed.federation.engines import Engine, InProcess, Simulation
from lexfed.federation.learner import Learner, Progress
from lexfed.federation.site import Site, Sources
from lexfed.models import cascade
from lexfed.privacy.claim import dump_claim
from lexfed.privacy.claim_record import Claim
from lexfed.privacy.site_ledger import FileLedger
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.evaluation import evaluate, gains, paid_metrics
from lexfed.run.folder import RunFolder
from lexfed.run.planning import Priced, claims_json, plan_json


@dataclass(frozen=True)
class RoundReport:
    """What can be shown after a round: released values and public facts."""

    round: int
    rounds: int
    stage: str
    metrics: dict[str, float]
    spent: Callable[[], float]


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        folder: where everything is.
        rounds: rounds released.
        stopped: why it ended before its last round; empty if it did not.
        claim: what is guaranteed; None without privacy.
        metrics: of the final model.
        gains: the deciding metric with the towers up to each tier.
        notes: what a reader should know, such as slow layers.
        plan: the machine-readable plan.
    """

    folder: Path
    rounds: int
    stopped: str
    claim: Claim | None
    metrics: dict[str, float]
    gains: dict[str, float]
    notes: tuple[str, ...]
    plan: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the result under its fixed names."""
        return {
            **self.plan,
            "claims": None if self.claim is None else claims_json(self.claim),
            "stamp": "NOT PRIVATE" if self.claim is None or self.claim.stamp else None,
            "metrics": self.metrics,
            "gains": self.gains,
            "rounds": self.rounds,
            "stopped": self.stopped,
            "folder": str(self.folder),
        }


OnRound = Callable[[RoundReport], None]


def start(priced: Priced, path: Path, config_text: str) -> RunFolder:
    """Make the run folder of a priced programme.

    Raises:
        RunFolderError: if there is a run already, or nothing can be written.
        Refused: if the programme exceeds a budget; nothing is written then.
    """
    priced.ledger()
    files = {
        "config.toml": config_text.encode(),
        "tags.json": _pretty(priced.population.tagged.to_dict()),
        "encoding.json": _pretty(priced.population.encoding.to_dict()),
        "plan.json": _pretty(plan_json(priced)),
    }
    folder = RunFolder.create(path, files)
    folder.events.append(
        {
            "type": "start",
            "config": priced.config.digest,
            "programme": priced.programme.digest,
        }
    )
    return folder


def resume(priced: Priced, path: Path) -> RunFolder:
    """Open the run folder of a priced programme that was interrupted.

    Raises:
        RunFolderError: if there is no such run, or it belongs to another programme.
    """
    folder = RunFolder.open(path)
    begun = [row for row in folder.events.rows if row["type"] == "start"]
    if not begun:
        folder.events.append(
            {
                "type": "start",
                "config": priced.config.digest,
                "programme": priced.programme.digest,
            }
        )
    elif begun[0]["programme"] != priced.programme.digest:
        raise RunFolderError(
            f"`{path}` was started with another configuration",
            "use the configuration of the run (`config.toml` in its folder), or "
            "another `run.out`",
        )
    return folder


def train(
    priced: Priced, folder: RunFolder, on_round: OnRound | None = None
) -> RunResult:
    """Run the rounds that are left, then write model and claim.

    Raises:
        Refused: if not a single round could be paid for.
        RunFolderError: if something cannot be written; the run can be resumed.
    """
    programme = priced.programme
    learner = Learner(programme)
    sources = _sources(priced)
    progress = folder.progress(learner.start())
    ledger = priced.ledger()
    charges = folder.charges()
    if ledger is not None:
        for _, release in charges:
            if release is not None:
                ledger.charge(release)
    paid = len(charges) == progress.done + 1
    if paid and folder.take_partial_release():
        # A part of the release reached the disk: the round is spent, and lost.
        folder.events.append({"type": "lost", "round": progress.done + 1})
        progress = Progress(progress.done + 1, progress.model, progress.memory)
        paid = False
    coordinator = Coordinator(programme, learner, ledger, sources, progress)
    engine = _engine(priced, folder, sources)
    stopped = ""
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
            if progress.done == 0:
                raise
            break
        folder.release(progress)
        if on_round is not None:
            on_round(_report(priced, progress, coordinator))
    return _finish(priced, folder, progress, stopped)


def _sources(priced: Priced) -> Sources:
    if priced.config.run.test:
        seed = priced.config.run.seed
        return lambda purpose: SeededSource(seed, purpose)
    secure = SecureSource()
    return lambda _: secure


def _engine(priced: Priced, folder: RunFolder, sources: Sources) -> Engine:
    data = priced.population.sites
    if priced.config.federation.engine == "simulation":
        return Simulation(priced.programme, data, sources)
    (folder.path / "sites").mkdir(exist_ok=True)
    rules = priced.ledger()
    return InProcess(
        [
            Site(
                priced.programme,
                site,
                None
                if rules is None
                else FileLedger(folder.path / "sites" / f"{number}.jsonl", rules),
                sources,
            )
            for number, site in enumerate(data, start=1)
        ]
    )


def _report(
    priced: Priced, progress: Progress, coordinator: Coordinator
) -> RoundReport:
    programme = priced.programme
    position = programme.position(progress.done - 1)
    stage = programme.stages[position[0] if position else 0]
    metrics = evaluate(priced, progress.model, stage.tower + 1)
    return RoundReport(
        round=progress.done,
        rounds=programme.rounds,
        stage=stage.name,
        metrics=metrics,
        spent=coordinator.spent,
    )


def _finish(
    priced: Priced, folder: RunFolder, progress: Progress, stopped: str
) -> RunResult:
    claim = priced.claim(progress.done)
    paid = paid_metrics(priced, progress.memory)
    metrics = evaluate(priced, progress.model) if paid is None else paid
    by_tier = gains(priced, progress.model) if paid is None else {}
    plan = json.loads((folder.path / "plan.json").read_text())
    result = RunResult(
        folder=folder.path,
        rounds=progress.done,
        stopped=stopped,
        claim=claim,
        metrics=metrics,
        gains=by_tier,
        notes=(),
        plan=plan,
    )
    metadata = {"claim": None if claim is None else dump_claim(claim)}
    model = cascade.to_bytes(progress.model, metadata)
    folder.write_bytes("model.safetensors", model)
    if claim is not None:
        folder.write_json("claim.json", dump_claim(claim))
    folder.write_json("result.json", result.to_json())
    folder.events.append({"type": "end", "rounds": progress.done, "stopped": stopped})
    folder.close()
    return result


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()
