# SPDX-License-Identifier: Apache-2.0
"""Verification of runs whose bytes are sound: what they say decides.

Every log here is signed with the right keys. The tables name what was changed, the
claim that must fail for it and the entry that must be named (rows 5, 6, 11 and 20 of
the table of attacks).
"""

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    Certificate,
    ChargedEvent,
    CompletionEntry,
    Correction,
    Deletion,
    Document,
    Export,
    FeatureTags,
    Genesis,
    PolicyEntry,
    PredecessorLog,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
    RuleResult,
)
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.verify import Check, Status, files, verify_run
from lexfed.audit.verify.participation import participants
from lexfed.audit.verify.verdict import decide
from lexfed.errors import RunFolderError
from support.audit.worlds import (
    COORDINATOR,
    LOG,
    ORIGIN,
    RUN,
    SITES,
    Change,
    Draft,
    FakeRun,
    edited,
    fake_run,
    public_key,
    sha256,
    signer,
    spoiled,
)

FIRST_ROUND = 4
"""Index of round 1 in a fake run, after genesis, policy, tags and plan."""


def checked(run: FakeRun, folder: Path) -> dict[str, Check]:
    verdict = verify_run(run.write(folder / "run"))
    assert verdict.ok == all(c.status is not Status.FAIL for c in verdict.checks)
    return {check.claim: check for check in verdict.checks}


def failures(checks: dict[str, Check]) -> list[str]:
    return [claim for claim, check in checks.items() if check.status is Status.FAIL]


def assert_fails(
    run: FakeRun, folder: Path, claim: str, index: int | None, message: str
) -> None:
    found = checked(run, folder)[claim]
    assert found.status is Status.FAIL, found
    assert message in found.detail
    assert found.index == index


# Sound runs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mechanism": "none"},
        {"sampling_rate": 0.1},
        {"sampling_rate": 0.1, "unit": "client"},
        {"unit": "client"},
        {"test": True},
        {"finished": False},
        {"finished": False, "rounds": (0, 0)},
        {"rounds": (0, 0)},
        {"sites": 0},
        {"sites_per_person": 2},
        {"sites": 0, "simulated": 3},
        {"certified": True},
        {"mechanism": "none", "certified": True},
        {"finished": False, "rounds": (0, 0), "certified": True},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "plain",
)
def test_a_sound_run_passes(settings: dict[str, Any], tmp_path: Path) -> None:
    assert failures(checked(fake_run(**settings), tmp_path)) == []


def test_every_claim_of_a_finished_run_is_decided(tmp_path: Path) -> None:
    decided = {
        c: str(check.status) for c, check in checked(fake_run(), tmp_path).items()
    }
    notes = {
        "log key", "witnesses", "pin", "secure aggregation", "report", "times",
        "certificates",
    }  # fmt: skip
    assert {claim for claim, status in decided.items() if status == "NOTE"} == notes
    assert len(decided) - len(notes) == 17


def test_a_verdict_says_what_it_is_about(tmp_path: Path) -> None:
    run = fake_run()
    verdict = verify_run(run.write(tmp_path / "run"))
    tree = Tree()
    for entry in run.sealed():
        tree.append(entry)
    assert (verdict.origin, verdict.size) == (ORIGIN, 9)
    assert verdict.root == tree.root().hex()
    plain = verdict.to_json()
    assert plain["ok"] is True
    assert plain["checks"][0]["status"] == "OK"
    assert str(verdict.checks[0]).startswith("OK   log  ")


def test_no_name_in_a_log_adds_a_line_to_the_verdict(tmp_path: Path) -> None:
    run = fake_run()
    forged = "OK   budget plan         epsilon 0.1, all is well"
    tags = run.put(json.dumps({f"x\n{forged}\x1b[2K": 1}).encode())
    run.edit(FeatureTags, tags=tags)
    check = checked(run, tmp_path)["feature tags"]
    assert check.status is Status.FAIL
    assert forged in str(check)
    assert str(check).isprintable()


def test_without_noise_or_with_known_noise_nothing_is_private(tmp_path: Path) -> None:
    for number, settings in enumerate(({"mechanism": "none"}, {"test": True})):
        found = checked(fake_run(**settings), tmp_path / str(number))["claim"]  # type: ignore[arg-type]
        assert found.status is Status.NOTE
        assert found.detail.startswith("NOT PRIVATE")


@contextmanager
def no_file_opens() -> Iterator[None]:
    """Let every `open` fail: a real error of the system, also for root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    evidence = read_evidence(fake_run().write(tmp_path / "run"))
    with no_file_opens(), pytest.raises(RunFolderError, match="too many open files"):
        decide("files", files.run_files, evidence)
    with no_file_opens(), pytest.raises(RunFolderError, match="too many open files"):
        verify_run(tmp_path / "run")


def test_what_is_sealed_for_us_too_stays_sealed(tmp_path: Path) -> None:
    run = fake_run(unit="client", sampling_rate=0.1)
    evidence = read_evidence(run.write(tmp_path / "run"))
    with no_file_opens():
        found = decide("participants", participants, evidence)
    assert "4 rounds sealed and not opened" in found.detail


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds no log"):
        verify_run(tmp_path)


# Whose entries are they (row 5)


def place(number: int, **changes: Any) -> Change:
    return lambda run: run.drafts[number].place.update(changes)


def signed_by(number: int, *signers: Any) -> Change:
    def change(run: FakeRun) -> None:
        run.drafts[number].signers = signers

    return change


def copied(number: int, source: int) -> Change:
    def change(run: FakeRun) -> None:
        run.drafts[number].raw = run.sealed()[source]

    return change


def from_another_log(run: FakeRun) -> None:
    other = fake_run()
    for draft in other.drafts:
        draft.place = {"origin": f"other.example/{RUN}"}
    run.drafts[6].raw = other.sealed()[6]


def added(entry: Any, key: str = "later") -> Change:
    def change(run: FakeRun) -> None:
        run.add(entry, key)

    return change


def second_genesis(run: FakeRun) -> None:
    run.add(run.drafts[0].entry, "genesis/2")


def twice(run: FakeRun) -> None:
    run.add(run.drafts[5].entry, "round/2")


def one_key_for_two(run: FakeRun) -> None:
    run.log_signers = (signer(ORIGIN, "shared"),)
    shared = signer("coordinator", "other")
    run.edit(Genesis, log=run.log_signers[0].verifier.vkey)
    assert shared.public != run.log_signers[0].public
    run.edit(Genesis, coordinator=public_key(run.log_signers[0]))
    for draft in run.drafts:
        draft.signers = (run.log_signers[0],)


def site_is_coordinator(run: FakeRun) -> None:
    genesis = run.drafts[0].entry
    assert isinstance(genesis, Genesis)
    party = genesis.parties[0].model_copy(update={"key": public_key(COORDINATOR)})
    run.edit(Genesis, parties=(party, *genesis.parties[1:]))


def wrong_key_id(run: FakeRun) -> None:
    genesis = run.drafts[0].entry
    assert isinstance(genesis, Genesis)
    key = public_key(SITES[0]).model_copy(update={"keyid": "0" * 64})
    party = genesis.parties[0].model_copy(update={"key": key})
    run.edit(Genesis, parties=(party, *genesis.parties[1:]))


CERTIFICATE = Certificate(
    catalogue="0" * 64, first=0, last=3, results=(), at_ceiling=0, applicable=0
)
RULE = RuleResult(rule="gdpr.5.2", outcome="EVIDENCED", evidence=(4,))

ENTRIES: dict[str, tuple[Change, str, int | None, str]] = {
    "of another log": (place(5, origin=f"other.example/{RUN}"), "bindings", 5, "`log`"),
    "of another run": (place(5, run="f" * 16), "bindings", 5, "`run`"),
    "of another index": (place(5, index=6), "bindings", 5, "`index` is `6`"),
    "after another entry": (place(5, previous="0" * 64), "bindings", 5, "`previous`"),
    "the first after one": (place(0, previous="0" * 64), "bindings", 0, "`previous`"),
    "copied from this log": (copied(6, 5), "bindings", 6, "`index` is `5`"),
    "copied from another log": (from_another_log, "bindings", 6, "`log`"),
    "the same event twice": (twice, "bindings", 9, "key `round/2` of entry 5"),
    "signed by a stranger": (
        signed_by(5, signer("x")), "entry signatures", 5, "which nothing names",
    ),
    "signed by a site": (
        signed_by(5, SITES[0]), "entry signatures", 5, "which nothing names",
    ),
    "signed by one too many": (
        signed_by(5, COORDINATOR, signer("x")), "entry signatures", 5, "nothing names",
    ),
    "signed by the log's key": (
        signed_by(5, LOG), "entry signatures", 5, "which nothing names",
    ),
    "a second genesis": (second_genesis, "genesis", 9, "second genesis"),
    "one key with two jobs": (one_key_for_two, "separate keys", 0, "are the same"),
    "a site is coordinator": (site_is_coordinator, "separate keys", 0, "are the same"),
    "a key under another id": (wrong_key_id, "separate keys", None, "parties.0"),
    "corrects itself": (
        added(Correction(index=9, reason="0" * 64)), "references", 9, "not before it",
    ),
    "a document about later": (
        added(
            Document(what="dpia", digest="0" * 64, issued="2026-01-01", about=12)
        ), "references", 9, "not before it",
    ),
    "a certificate of itself": (
        added(CERTIFICATE.model_copy(update={"last": 9})), "references", 9, "before it",
    ),
    "a certificate of nothing": (
        added(CERTIFICATE.model_copy(update={"first": 4})), "references", 9, "about no",
    ),
    "a certificate that cites more": (
        added(CERTIFICATE.model_copy(update={"results": (RULE,)})), "references", 9,
        "rule `gdpr.5.2` cites entry 4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_that_does_not_belong_here(name: str, tmp_path: Path) -> None:
    change, claim, index, message = ENTRIES[name]
    assert_fails(spoiled(change), tmp_path, claim, index, message)


def test_a_changed_payload_under_the_old_signature(tmp_path: Path) -> None:
    run = fake_run()
    before = run.sealed()[5]
    run.edit(RoundEntry, 1, epsilon="9.0")
    after = run.sealed()[5]
    # The envelope ends with key id and signature: put the old ones under the new.
    run.drafts[5].raw = (
        after[: after.index(b'"sig"')] + before[before.index(b'"sig"') :]
    )
    found = checked(run, tmp_path)["entry signatures"]
    assert found.status is Status.FAIL
    assert found.index == 5
    assert "is wrong" in found.detail


def test_earlier_entries_may_be_cited(tmp_path: Path) -> None:
    run = fake_run()
    run.add(Correction(index=5, reason="0" * 64), "correction/5")
    run.add(Document(what="dpia", digest="0" * 64, issued="2026-01-01"), "document/1")
    run.add(
        Document(what="dpia", digest="1" * 64, issued="2026-01-01", about=9),
        "document/2",
    )
    rule = RULE.model_copy(update={"evidence": (0, 3)})
    run.add(CERTIFICATE.model_copy(update={"results": (rule,)}), "certificate/3")
    found = checked(run, tmp_path)["references"]
    assert found.status is Status.OK
    assert found.detail.startswith("3 ")


def test_a_log_may_continue_another(tmp_path: Path) -> None:
    run = fake_run()
    run.edit(
        Genesis, previous=PredecessorLog(origin="old.example", size=7, root="0" * 64)
    )
    assert "continues `old.example`" in checked(run, tmp_path)["genesis"].detail


# Rounds (row 6)


def without(number: int) -> Change:
    return lambda run: run.drafts.__delitem__(number)


def swapped(first: int, second: int) -> Change:
    def change(run: FakeRun) -> None:
        drafts = run.drafts
        drafts[first], drafts[second] = drafts[second], drafts[first]

    return change


def moved(source: int, target: int) -> Change:
    return lambda run: run.drafts.insert(target, run.drafts.pop(source))


def inserted(number: int, entry: Any, key: str = "inserted") -> Change:
    return lambda run: run.drafts.insert(number, Draft(entry, key))


def again(run: FakeRun) -> None:
    run.drafts.insert(7, Draft(run.drafts[6].entry, "round/3/again"))


def aborted(number: int, event: ChargedEvent | None = None) -> AbortedRoundEntry:
    return AbortedRoundEntry(
        round=number, cause="interrupted", released="unknown", event=event
    )


def refusal(number: int) -> RefusalEntry:
    return RefusalEntry(
        round=number, by="coordinator", scope="record", would_reach=None, limit=None
    )


ROUNDS: dict[str, tuple[Change, str, int | None, str]] = {
    "a gap": (without(5), "rounds", 5, "round 3 out of order: expected round 2"),
    "the first is missing": (without(4), "rounds", 4, "expected round 1"),
    "the last is missing": (without(7), "rounds", 7, "(4, 4, False), the log shows (3"),
    "swapped": (swapped(5, 6), "rounds", 5, "round 3 out of order"),
    "one twice": (again, "rounds", 7, "round 3 twice"),
    "more after the end": (
        inserted(9, aborted(5)), "rounds", 9, "after the run was completed",
    ),
    "lost twice": (
        lambda run: run.drafts.extend(
            [Draft(aborted(4), "a"), Draft(aborted(4), "b"), run.drafts.pop()]
        ), "rounds", 9, "round 4 twice",
    ),
    "an abort that is not counted": (
        inserted(8, aborted(4)), "rounds", 9, "the log shows (4, 3, False)",
    ),
    "stated as ended early": (
        edited(CompletionEntry, early=True), "rounds", 8, "(4, 4, True)",
    ),
    "resumed elsewhere": (
        inserted(6, ResumptionEntry(rounds=5)), "rounds", 6,
        "after 5 rounds, the log lists 2",
    ),
    "a refusal of a later round": (
        inserted(6, refusal(4)), "rounds", 6, "refuses round 4 after 2",
    ),
    "no policy": (without(1), "decided first", 3, "without a `policy`"),
    "no tags": (without(2), "decided first", 3, "without a `feature-tags`"),
    "no plan": (without(3), "decided first", 3, "without a `budget-plan`"),
    "a plan after the first round": (
        moved(3, 4), "decided first", 3, "without a `budget-plan`",
    ),
    "two plans": (
        lambda run: run.drafts.append(Draft(run.drafts[3].entry, "plan/2")),
        "decided first", 9, "second `budget-plan`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUNDS)
def test_rounds_that_do_not_add_up(name: str, tmp_path: Path) -> None:
    change, claim, index, message = ROUNDS[name]
    assert_fails(spoiled(change), tmp_path, claim, index, message)


def event_of(run: FakeRun, number: int) -> ChargedEvent | None:
    entry = run.of(RoundEntry)[number - 1].entry
    assert isinstance(entry, RoundEntry)
    return entry.event


def test_a_lost_round_is_charged_and_said_to_be_lost(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[5] = Draft(aborted(2, event_of(run, 2)), "round/2")
    run.edit(CompletionEntry, released=3)
    checks = checked(run, tmp_path)
    assert failures(checks) == []
    assert "1 of them lost" in checks["rounds"].detail


def test_a_round_may_be_lost_after_it_was_logged(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts.insert(8, Draft(aborted(4, event_of(run, 4)), "lost/4"))
    run.drafts.insert(9, Draft(ResumptionEntry(rounds=4), "resumed/1"))
    run.drafts.insert(10, Draft(refusal(5), "refusal/5"))
    run.edit(CompletionEntry, released=3)
    run.files["state.safetensors"] = b"state after round 3"
    assert failures(checked(run, tmp_path)) == []


def test_leaving_a_lost_round_out_of_the_sum_is_noticed(tmp_path: Path) -> None:
    run = fake_run()
    # Round 2 is lost; rounds 3 and 4 state what the log would show without it.
    cheaper = fake_run(rounds=(1, 2))
    run.drafts[5] = Draft(aborted(2, event_of(run, 2)), "round/2")
    for number in (1, 2):
        other = cheaper.of(RoundEntry)[number].entry
        assert isinstance(other, RoundEntry)
        run.edit(RoundEntry, number, epsilon_so_far=other.epsilon_so_far)
    run.edit(CompletionEntry, released=3)
    found = checked(run, tmp_path)["budgets spent"]
    assert (found.status, found.index) == (Status.FAIL, 6)


def test_a_run_that_ended_early(tmp_path: Path) -> None:
    run = fake_run()
    del run.drafts[7]
    run.drafts.insert(7, Draft(refusal(4), "refusal/4"))
    run.edit(CompletionEntry, rounds=3, released=3, early=True)
    run.files["state.safetensors"] = b"state after round 3"
    run.files["claim.json"] = run.files["claim.json"].replace(
        b'"rounds": 4', b'"rounds": 3'
    )
    run.edit(CompletionEntry, claim=run.put(run.files["claim.json"]))
    assert failures(checked(run, tmp_path)) == []


def test_a_run_that_was_refused_at_once(tmp_path: Path) -> None:
    run = fake_run(rounds=(0, 0), finished=False)
    run.add(refusal(1), "refusal/1")
    checks = checked(run, tmp_path)
    assert failures(checks) == []
    assert checks["rounds"].detail == "0 rounds so far; the run is not completed"


def test_a_log_that_stopped_before_its_plan(tmp_path: Path) -> None:
    run = fake_run(rounds=(0, 0), finished=False)
    for size in (3, 2, 1):
        del run.drafts[size:]
        assert failures(checked(run, tmp_path / str(size))) == []


# Files and blobs


def file(name: str, content: bytes = b"changed") -> Change:
    return lambda run: run.files.__setitem__(name, content)


def blob(of: Callable[[FakeRun], str], content: bytes | None) -> Change:
    def change(run: FakeRun) -> None:
        del run.blobs[of(run)]
        if content is not None:
            run.blobs[of(run)] = content

    return change


def plan_file(run: FakeRun) -> str:
    entry = run.of(BudgetPlan)[0].entry
    assert isinstance(entry, BudgetPlan)
    return entry.plan


def export(run: FakeRun, report: bytes, size: int = 9) -> Export:
    tree = Tree()
    for entry in run.sealed()[:size]:
        tree.append(entry)
    return Export(
        what="report", digest=sha256(report), size=size, root=tree.root().hex()
    )


def exported(**changes: Any) -> Change:
    def change(run: FakeRun) -> None:
        run.add(export(run, b"").model_copy(update=changes), "export")

    return change


FILES: dict[str, tuple[Change, str, int | None, str]] = {
    "config": (file("config.toml"), "files", 0, "`config.toml` is not the file"),
    "tags": (file("tags.json"), "files", 2, "`tags.json` is not the file"),
    "encoding": (file("encoding.json"), "files", 2, "`encoding.json`"),
    "plan": (file("plan.json"), "files", 3, "`plan.json` is not the file"),
    "claim": (file("claim.json"), "files", 8, "`claim.json` is not the file"),
    "model": (file("model.safetensors"), "files", 8, "`model.safetensors`"),
    "state": (
        file("state.safetensors", b"state after round 3"), "files", 7,
        "`state.safetensors`",
    ),
    "another configuration": (
        edited(PolicyEntry, config="0" * 64), "files", 1, "not that of entry 0",
    ),
    "blob missing": (blob(plan_file, None), "blobs", 3, "`plan`: blob"),
    "blob changed": (blob(plan_file, b"other"), "blobs", 3, "it was changed"),
    "export of another log": (
        exported(root="0" * 64), "report", 9, "another state of this log",
    ),
    "export of the future": (
        exported(size=10), "report", 9, "another state of this log",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed(name: str, tmp_path: Path) -> None:
    change, claim, index, message = FILES[name]
    assert_fails(spoiled(change), tmp_path, claim, index, message)


def test_a_report_is_one_that_was_logged(tmp_path: Path) -> None:
    run = fake_run()
    run.files["report.html"] = b"<html>"
    found = checked(run, tmp_path / "1")["report"]
    assert (found.status, "never logged" in found.detail) == (Status.NOTE, True)
    run.add(export(run, b"<html>"), "export/1")
    found = checked(run, tmp_path / "2")["report"]
    assert (found.status, "entry 9" in found.detail) == (Status.OK, True)
    run.files["report.html"] = b"<html>better numbers"
    found = checked(run, tmp_path / "3")["report"]
    assert (found.status, found.index) == (Status.FAIL, 9)


def test_files_may_be_left_out(tmp_path: Path) -> None:
    run = fake_run()
    del run.files["model.safetensors"]
    found = checked(run, tmp_path)["files"]
    assert found.status is Status.NOTE
    assert "not here: `model.safetensors`" in found.detail


def test_the_state_may_be_one_round_behind_while_a_run_goes_on(tmp_path: Path) -> None:
    run = fake_run(finished=False)
    run.files["state.safetensors"] = b"state after round 3"
    assert checked(run, tmp_path / "1")["files"].status is Status.OK
    run.files["state.safetensors"] = b"state after round 2"
    assert checked(run, tmp_path / "2")["files"].status is Status.FAIL


def test_what_was_erased_is_said_to_be(tmp_path: Path) -> None:
    run = fake_run()
    digest = plan_file(run)
    del run.blobs[digest], run.files["plan.json"]
    run.add(Deletion(artefact="plan.json", digest=digest), "deletion/1")
    found = checked(run, tmp_path)["blobs"]
    assert found.status is Status.NOTE
    assert "; 1 were erased" in found.detail


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_strange_files_are_refused(kind: str, tmp_path: Path) -> None:
    run = fake_run()
    content = run.files.pop("model.safetensors")
    folder = run.write(tmp_path / "run")
    path = folder / "model.safetensors"
    if kind == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
    found = {c.claim: c for c in verify_run(folder).checks}["files"]
    assert found.status is Status.FAIL
    assert "model.safetensors" in found.detail
