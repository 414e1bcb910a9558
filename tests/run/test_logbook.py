# SPDX-License-Identifier: Apache-2.0
"""Entries that a run leaves in its audit log, and those it refuses to leave."""

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    Certificate,
    ChangeEntry,
    CompletionEntry,
    Document,
    Genesis,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
    receipts,
)
from lexfed.audit.entries.receipts import unseal
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.durable import JsonLines
from lexfed.errors import AuditError, Refused, RunFolderError
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.programme.messages import Refusal as SiteRefusal
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess, Ledger
from lexfed.run import PricedRun, resume, start, train
from lexfed.run.folder import RunFolder
from support.configurations import configuration
from support.run.interrupted_runs import failures, stop_after

PricedOf = Callable[..., PricedRun]
IN_PROCESS = configuration({"federation.engine": "inprocess"})

CLIENTS = configuration(
    {
        "run": {"name": "clients", "test": True},
        "data.generator": {"patients": 120, "sites": 12},
        "budget": {"epsilon": 8.0, "delta": 1e-3, "unit": "client"},
        "privacy.mechanism": "uniform",
        "federation": {
            "rounds": 4,
            "sampling_rate": 0.5,
            "local_steps": 2,
            "engine": "inprocess",
        },
    }
)


def trained(priced: PricedRun, path: Path, text: str) -> Evidence:
    train(priced, start(priced, path, text))
    return read_evidence(path)


def test_a_run_is_logged_from_beginning_to_end(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    evidence = trained(priced_of(IN_PROCESS), tmp_path / "run", IN_PROCESS)
    kinds = [record.kind for record in evidence.records]
    assert kinds[:4] == ["genesis", "policy", "feature-tags", "budget-plan"]
    assert kinds[-9:] == [*["round"] * 7, "completed", "certificate"]
    rounds = [found.entry for found in evidence.of(RoundEntry)]
    assert [entry.round for entry in rounds] == list(range(1, 8))
    assert {entry.participation.sites for entry in rounds} == {3}
    assert {entry.participation.receipts for entry in rounds} == {"open"}
    plan = evidence.of(BudgetPlan)[0].entry
    assert plan.epsilon is not None
    spent = [float(entry.epsilon_so_far or "nan") for entry in rounds]
    assert spent == sorted(spent)
    assert spent[-1] == float(plan.epsilon)
    state = (tmp_path / "run" / "state.safetensors").read_bytes()
    assert rounds[-1].state == hashlib.sha256(state).hexdigest()
    assert not failures(tmp_path / "run")


def test_every_round_states_all_budgets(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    caps = "delta = 1e-5\ncaps = { special = 2.5, personal = 4.5 }"
    text = config_text.replace("delta = 1e-5", caps)
    evidence = trained(priced_of(text), tmp_path / "run", text)
    for found in evidence.of(RoundEntry):
        budgets = found.entry.budgets
        assert budgets == {"record": "3.0", "special": "2.5", "personal": "4.5"}
        for name, spent in found.entry.tiers_so_far.items():
            assert float(spent) <= float(budgets.get(name, "inf"))
    assert not failures(tmp_path / "run")


def test_the_entry_is_durable_before_the_release(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    seen: list[tuple[int, int]] = []
    real = RunFolder.publish

    def publish(folder: RunFolder) -> None:
        before = folder.state()
        logged = read_evidence(path).of(RoundEntry)
        seen.append((0 if before is None else before.done, logged[-1].entry.round))
        real(folder)

    monkeypatch.setattr(RunFolder, "publish", publish)
    train(priced, start(priced, path, config_text))
    assert seen == [(n, n + 1) for n in range(7)]


def test_simulated_sites_sign_nothing_and_the_log_says_so(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    evidence = trained(priced_of(config_text), tmp_path / "run", config_text)
    assert [party.key for party in evidence.parties] == [None] * 3
    for found in evidence.of(RoundEntry):
        assert found.entry.participation.receipts == "none"
    assert not failures(tmp_path / "run")


def test_without_privacy_nothing_is_hashed(tmp_path: Path, priced_of: PricedOf) -> None:
    text = configuration(
        {"federation.engine": "inprocess", "privacy.mechanism": "none"}
    )
    evidence = trained(priced_of(text), tmp_path / "run", text)
    for found in evidence.of(RoundEntry):
        assert found.entry.update is None
        assert found.entry.state is None
        assert found.entry.event is None
    done = evidence.of(CompletionEntry)[0].entry
    assert (done.model, done.claim) == (None, None)
    logged = b"".join(evidence.view.entries)
    blobs = tmp_path / "run" / "log" / "blobs"
    logged += b"".join(p.read_bytes() for p in blobs.rglob("*") if p.is_file())
    state = (tmp_path / "run" / "state.safetensors").read_bytes()
    assert hashlib.sha256(state).hexdigest().encode() not in logged
    assert not failures(tmp_path / "run")


def test_who_took_part_is_sealed_where_the_guarantee_needs_it(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    path = tmp_path / "run"
    evidence = trained(priced_of(CLIENTS), path, CLIENTS)
    parties = json.loads((path / "parties.json").read_text())
    assert len(parties) == 12
    counts = []
    for found in evidence.of(RoundEntry):
        present = found.entry.participation
        assert (present.sites, present.receipts) == (None, "sealed")
        assert present.digest is not None
        sealed = path / "sealed" / f"round-{found.entry.round}.json"
        assert sealed.stat().st_mode & 0o777 == 0o600
        counts.append(len(json.loads(unseal(sealed.read_bytes(), present.digest))))
    assert len(set(counts)) > 1  # control: coins did decide
    # No blob of the log is a list of receipts.
    for blob in (path / "log" / "blobs" / "sha256").iterdir():
        assert not blob.read_bytes().startswith(b'["')
    assert not failures(path)


def test_ledgers_in_the_folder_do_not_tell_whom_coins_chose(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    """They end together, also after an interruption: not at the last participation."""
    priced, path = priced_of(CLIENTS), tmp_path / "run"

    def ledgers() -> list[bytes]:
        return [file.read_bytes() for file in sorted((path / "sites").iterdir())]

    with pytest.raises(KeyboardInterrupt):
        train(priced, start(priced, path, CLIENTS), stop_after(2))
    assert len(ledgers()) == 12
    assert len(set(ledgers())) == 1
    assert ledgers()[0].count(b"\n") == 2
    # A folder of before, in which the ledger of a site that was left out lags behind.
    first = path / "sites" / "1.jsonl"
    first.write_bytes(first.read_bytes().splitlines(keepends=True)[0])
    rounds = train(priced, resume(priced, path, CLIENTS)).rounds
    assert len(set(ledgers())) == 1
    assert ledgers()[0].count(b"\n") == rounds


def _forged(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
    first, *others = REAL_ASK(engine, query, names)
    assert isinstance(first, Reply)
    assert isinstance(others[0], Reply)
    stolen = Reply(first.site, first.round, first.total, False, others[0].receipt)
    return [stolen, *others]


def _missing(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
    return list(REAL_ASK(engine, query, names)[1:])


def _unsigned(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
    first, *others = REAL_ASK(engine, query, names)
    assert isinstance(first, Reply)
    return [Reply(first.site, first.round, first.total, False), *others]


def _late(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
    """Hand in a receipt of an earlier round."""
    first, *others = REAL_ASK(engine, query, names)
    assert isinstance(first, Reply)
    kept = vars(engine).setdefault("kept", first.receipt)
    return [replace(first, receipt=kept), *others]


REAL_ASK = InProcess.ask


@pytest.mark.parametrize("ask", [_forged, _missing, _unsigned, _late])
def test_a_round_without_every_receipt_is_not_released(
    tmp_path: Path, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch, ask: Callable[..., list[object]],
) -> None:  # fmt: skip
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    monkeypatch.setattr(InProcess, "ask", ask)
    opened = start(priced, path, IN_PROCESS)
    if ask is _late:
        assert train(priced, opened).rounds == 1
    else:
        with pytest.raises(Refused, match=r"receipt|did not answer|envelope|JSON"):
            train(priced, opened)
    evidence = read_evidence(path)
    aborted = evidence.of(AbortedRoundEntry)[0].entry
    assert (aborted.cause, aborted.released) == ("receipt-invalid", "no")
    assert len(evidence.of(RoundEntry)) == (1 if ask is _late else 0)
    assert not failures(path)


def test_a_refusing_site_is_logged_without_its_name_or_reason(
    tmp_path: Path, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"

    def ask(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
        if query.round < 3:
            return list(REAL_ASK(engine, query, names))
        return [SiteRefusal(names[0], query.round, "patient 4711 objects")]

    monkeypatch.setattr(InProcess, "ask", ask)
    result = train(priced, start(priced, path, IN_PROCESS))
    assert "4711" in result.stopped  # for whoever runs it
    evidence = read_evidence(path)
    refusal = evidence.of(RefusalEntry)[0].entry
    assert (refusal.by, refusal.round, refusal.scope) == ("site", 3, "site")
    assert evidence.of(AbortedRoundEntry)[0].entry.cause == "site-refused"
    assert evidence.of(CompletionEntry)[0].entry.early
    names = json.loads((path / "parties.json").read_text())
    payloads = b"".join(record.envelope.payload for record in evidence.records)
    assert b"4711" not in payloads
    assert not [name for name in names if name.encode() in payloads]
    assert not failures(path)


def refusing(at: int, scope: str, reach: float) -> Callable[..., BudgetExcess | None]:
    """Return a ledger's word on a release, which is no from that round on."""

    def would_exceed(ledger: Ledger, _: Release) -> BudgetExcess | None:
        return (
            BudgetExcess(scope, reach, 3.0) if len(ledger.events()) >= at - 1 else None
        )

    return would_exceed


def test_a_refusal_of_the_first_round_is_logged(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    opened = start(priced, path, config_text)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "would_exceed", refusing(1, "record", 3.25))
        with pytest.raises(Refused, match="round 1 refused"):
            train(priced, opened)
        # Asking again is refused again, and logged once.
        with pytest.raises(Refused, match="round 1 refused"):
            train(priced, resume(priced, path, config_text))
    evidence = read_evidence(path)
    [refusal] = [found.entry for found in evidence.of(RefusalEntry)]
    assert (refusal.round, refusal.by, refusal.scope) == (1, "coordinator", "record")
    assert (refusal.would_reach, refusal.limit) == ("3.25", "3.0")
    assert not evidence.of(RoundEntry)
    assert not evidence.of(AbortedRoundEntry)
    assert not failures(path)
    # Nothing was spent: a ledger that is content goes on.
    assert train(priced, resume(priced, path, config_text)).rounds == 7
    assert not failures(path)


def test_a_refusal_of_a_later_round_ends_the_run(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    opened = start(priced, path, config_text)
    monkeypatch.setattr(Ledger, "would_exceed", refusing(4, "special", math.inf))
    result = train(priced, opened)
    assert (result.rounds, result.lost) == (3, 0)
    evidence = read_evidence(path)
    [refusal] = [found.entry for found in evidence.of(RefusalEntry)]
    assert (refusal.round, refusal.scope, refusal.limit) == (4, "special", "3.0")
    assert refusal.would_reach is None  # no number is large enough
    [completed] = [found.entry for found in evidence.of(CompletionEntry)]
    assert (completed.rounds, completed.released, completed.early) == (3, 3, True)
    assert not failures(path)


def test_a_round_refused_twice_for_two_reasons(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    opened = start(priced, path, config_text)
    for scope in ("site", "site", "receipt", "site", "receipt"):
        opened.logbook.refused(1, Refused("no", scope=scope))
    opened.close()
    refusals = read_evidence(path).of(RefusalEntry)
    assert [found.entry.scope for found in refusals] == ["site", "receipt"]
    assert not failures(path)


def test_what_the_log_says_of_a_lost_round_stays(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    opened = start(priced, path, config_text)
    release = priced.programme.charges()[0][0]
    opened.logbook.aborted(1, release, "site-refused")
    spent = opened.logbook.total
    opened.logbook.aborted(1, release, "interrupted")
    assert opened.logbook.total == spent
    opened.close()
    [aborted] = [found.entry for found in read_evidence(path).of(AbortedRoundEntry)]
    assert (aborted.cause, aborted.released) == ("site-refused", "no")


def test_an_end_that_is_logged_is_not_resumed(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    real = JsonLines.append

    def dies(file: JsonLines, row: Mapping[str, Any]) -> None:
        if row.get("type") == "end":
            raise KeyboardInterrupt
        real(file, row)

    opened = start(priced, path, config_text)
    with monkeypatch.context() as patch:
        patch.setattr(JsonLines, "append", dies)
        with pytest.raises(KeyboardInterrupt):
            train(priced, opened)
    before = len(read_evidence(path).records)
    train(priced, resume(priced, path, config_text))
    assert len(read_evidence(path).records) == before
    assert not failures(path)


def test_a_receipt_for_another_question_is_refused(
    tmp_path: Path, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"

    def ask(engine: InProcess, query: Query, names: Sequence[str]) -> list[object]:
        # Signed by the right site for the right round, but for other arrays.
        first, *others = REAL_ASK(engine, query, names)
        assert isinstance(first, Reply)
        signer = opened.logbook.keys.sites[first.site]
        told = receipts.check(first.receipt, {signer.fingerprint: signer.public})[1]
        other = told.model_copy(update={"query": "0" * 64})
        signed = receipts.sign(other, signer)
        return [Reply(first.site, first.round, first.total, False, signed), *others]

    opened = start(priced, path, IN_PROCESS)
    monkeypatch.setattr(InProcess, "ask", ask)
    with pytest.raises(Refused, match="answered another question"):
        train(priced, opened)
    assert not read_evidence(path).of(RoundEntry)


def test_sealed_receipts_that_cannot_be_kept_stop_the_round(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    priced, path = priced_of(CLIENTS), tmp_path / "run"
    opened = start(priced, path, CLIENTS)
    (path / "sealed").write_text("a file")
    with pytest.raises(RunFolderError, match=r"cannot write .*round-1\.json"):
        train(priced, opened)
    assert not read_evidence(path).of(RoundEntry)
    (path / "sealed").unlink()
    (path / "sealed").mkdir(mode=0o755)
    assert train(priced, resume(priced, path, CLIENTS)).rounds == 5
    assert (path / "sealed").stat().st_mode & 0o777 == 0o700
    assert not failures(path)


def test_a_run_restored_from_a_backup_does_not_repeat_rounds(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(priced, start(priced, path, config_text), stop_after(2))
    shutil.copytree(path, tmp_path / "backup")
    with pytest.raises(KeyboardInterrupt):
        train(priced, resume(priced, path, config_text), stop_after(4))
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "backup", path)
    with pytest.raises(AuditError, match=r"entries, but \d+ were"):
        resume(priced, path, config_text)


def test_going_on_is_logged(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(priced, start(priced, path, config_text), stop_after(2))
    monkeypatch.setattr("lexfed.run.audit_log.opening.SOFTWARE", "lexfed-9.9.9")
    train(priced, resume(priced, path, config_text))
    evidence = read_evidence(path)
    assert [found.entry.rounds for found in evidence.of(ResumptionEntry)] == [2]
    assert [found.entry.what for found in evidence.of(ChangeEntry)] == ["software"]
    assert len(evidence.of(Certificate)) == 1
    assert not failures(path)


def test_a_round_between_its_entry_and_its_release_is_finished(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    real = RunFolder.publish

    def dies(folder: RunFolder) -> None:
        if len(read_evidence(path).of(RoundEntry)) == 3:
            raise KeyboardInterrupt
        real(folder)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "publish", dies)
        with pytest.raises(KeyboardInterrupt):
            train(priced, start(priced, path, config_text))
    result = train(priced, resume(priced, path, config_text))
    assert (result.rounds, result.lost) == (7, 0)
    assert not failures(path)


def test_another_log_in_the_folder_is_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced = priced_of(config_text)
    for name in ("one", "two"):
        with pytest.raises(KeyboardInterrupt):
            train(priced, start(priced, tmp_path / name, config_text), stop_after(2))
    shutil.rmtree(tmp_path / "one" / "log")
    shutil.copytree(tmp_path / "two" / "log", tmp_path / "one" / "log")
    with pytest.raises(RunFolderError, match="log of another run"):
        resume(priced, tmp_path / "one", config_text)


def test_two_runs_share_keys_and_nothing_else(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    one = trained(priced_of(IN_PROCESS), tmp_path / "one", IN_PROCESS)
    two = trained(priced_of(IN_PROCESS), tmp_path / "two", IN_PROCESS)
    assert one.origin != two.origin
    first, second = one.genesis, two.genesis
    assert first.coordinator == second.coordinator
    assert isinstance(first, Genesis)
    assert (tmp_path / "keys" / "coordinator.pem").stat().st_mode & 0o777 == 0o600
    assert not one.of(Document)
