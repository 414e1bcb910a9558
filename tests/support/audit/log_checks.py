# SPDX-License-Identifier: Apache-2.0
"""What a run's log promises, as checks that a broken run fails (`tests/mutants`).

Each check trains a small federation in a folder of its own and looks at what is left.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lexfed.audit.entries import BudgetPlan, CompletionEntry, PolicyEntry, RoundEntry
from lexfed.audit.log.audit_log import AuditLog, KeyedEntry
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.verify import Status, verify_run
from lexfed.config import loads
from lexfed.errors import AuditError, Refused
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.programme.messages import Query, Refusal, Reply
from lexfed.run import (
    PricedRun,
    RoundReport,
    load_population,
    price,
    resume,
    start,
    train,
)
from support.configurations import configuration

_LOGGED: dict[str, object] = {
    "run": {"name": "logged", "test": True},
    "data": {"source": "synthetic:bank", "generator": {"clients": 120, "sites": 3}},
    "budget": {"epsilon": 4.0, "delta": 1e-6},
    "privacy.mechanism": "uniform",
    "federation.engine": "inprocess",
}
CONFIG = configuration(_LOGGED)
UNPROTECTED = configuration({**_LOGGED, "privacy.mechanism": "none"})
SAMPLED = configuration(
    {
        **_LOGGED,
        "data.generator.sites": 12,
        "budget": {"epsilon": 8.0, "delta": 1e-3, "unit": "client"},
        "federation.rounds": 3,
        "federation.sampling_rate": 0.5,
        "federation.local_steps": 1,
    }
)


@cache
def priced(text: str) -> PricedRun:
    """Price a configuration once."""
    config = loads(text, "logged")
    return price(config, load_population(config, Path()))


@contextmanager
def place() -> Iterator[Path]:
    """A folder for one run and its keys."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / "run"


def trained(text: str, path: Path) -> Evidence:
    """Run to the end, and read the log."""
    train(priced(text), start(priced(text), path, text))
    return read_evidence(path)


def entries_come_first() -> None:
    """When a round's entry is appended its release has not left; then it does."""
    real, seen = AuditLog.append_all, list[tuple[str, bool]]()
    with place() as path:
        state = path / "state.safetensors"

        def append_all(log: AuditLog, entries: Sequence[KeyedEntry]) -> object:
            before = state.read_bytes() if state.exists() else b""
            for _, key in entries:
                seen.append((key, before == released[-1]))
            return real(log, entries)

        released = [b""]

        def on_round(_: RoundReport) -> None:
            released.append(state.read_bytes())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AuditLog, "append_all", append_all)
            train(priced(CONFIG), start(priced(CONFIG), path, CONFIG), on_round)
    rounds = [untouched for key, untouched in seen if key.startswith("round/")]
    assert rounds == [True] * (len(released) - 1)
    assert len(set(released)) == len(released)


def stolen_receipts_are_noticed() -> None:
    """A site whose receipt is another one's did not take part: nothing is released."""
    real = InProcess.ask

    def ask(
        engine: InProcess, query: Query, names: Sequence[str]
    ) -> list[Reply | Refusal]:
        first, second, *others = real(engine, query, names)
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        copied = Reply(first.site, first.round, first.total, False, second.receipt)
        return [copied, second, *others]

    with place() as path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "ask", ask)
        with pytest.raises(Refused, match="receipt"):
            train(priced(CONFIG), start(priced(CONFIG), path, CONFIG))
        assert not (path / "state.safetensors").exists()


def secret_participants_stay_secret() -> None:
    """Where the guarantee rests on it, the log tells neither who nor how many."""
    with place() as path:
        evidence = trained(SAMPLED, path)
        [policy] = [found.entry for found in evidence.of(PolicyEntry)]
        assert policy.secret_sampling
        for found in evidence.of(RoundEntry):
            present = found.entry.participation
            assert (present.sites, present.receipts) == (None, "sealed")
        for blob in (path / "log" / "blobs" / "sha256").iterdir():
            assert not blob.read_bytes().startswith(b'["')


def restored_runs_are_refused() -> None:
    """A run folder from a backup does not repeat rounds with fresh noise."""

    def stop(_: RoundReport) -> None:
        raise KeyboardInterrupt

    run = priced(CONFIG)
    with place() as path:
        opened = start(run, path, CONFIG)
        with pytest.raises(KeyboardInterrupt):
            train(run, opened, stop)
        shutil.copytree(path, path.with_name("backup"))
        train(run, resume(run, path, CONFIG))
        shutil.rmtree(path)
        shutil.copytree(path.with_name("backup"), path)
        with pytest.raises(AuditError, match="were published"):
            resume(run, path, CONFIG).close()


def logged_totals_are_complete() -> None:
    """What the log says was spent is what all its rounds compose to."""
    with place() as path:
        evidence = trained(CONFIG, path)
        [plan] = [found.entry for found in evidence.of(BudgetPlan)]
        rounds = [found.entry for found in evidence.of(RoundEntry)]
        assert rounds[0].epsilon_so_far == rounds[0].epsilon
        assert rounds[-1].epsilon_so_far == plan.epsilon
        checks = verify_run(path).checks
        assert not [str(check) for check in checks if check.status is Status.FAIL]


def unprotected_sums_are_not_hashed() -> None:
    """A hash of something without noise would confirm guesses about it."""
    with place() as path:
        evidence = trained(UNPROTECTED, path)
        for found in evidence.of(RoundEntry):
            assert (found.entry.update, found.entry.state) == (None, None)
        [completed] = [found.entry for found in evidence.of(CompletionEntry)]
        assert (completed.model, completed.claim) == (None, None)
