# SPDX-License-Identifier: Apache-2.0
"""Runs that others vouch for: real witnesses, a real time-stamp authority."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.audit.log.access import open_for_appending, rotate_key
from lexfed.audit.log.audit_log import AuditLog, WitnessPanel, panel_named_by
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import Status, verify_run
from lexfed.cli.commands.evidence.log import certify, cosign
from lexfed.config import loads
from lexfed.errors import AuditError, ConfigError, RunFolderError
from lexfed.report.documents.run_documents import ReportSource, make_report
from lexfed.run import PricedRun, price, resume, start, train
from lexfed.run.audit_log.logbook import run_keys
from lexfed.run.audit_log.opening import witnessing_of
from lexfed.signing.notes import ED25519, VerifierKey, parse_note
from support.audit.authority import Authority, make_authority, openssl
from support.audit.witnessed import WITNESS, make_witness, served
from support.loopback import answering
from support.run.interrupted_runs import stop_after

PricedOf = Callable[..., PricedRun]
PROJECT = "audit.example.org/study"


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    """The folder of a witness that knows all logs of the project."""
    log = run_keys(tmp_path / "keys", PROJECT, ()).log.log
    folder = make_witness(tmp_path / "w")
    key = VerifierKey(f"{PROJECT}/*", ED25519, log.public)
    (folder / "logs").write_text(f"log {key.vkey}\n")
    return folder


def configured(text: str, folder: Path, url: str, *, policy: str = "") -> str:
    vkey = (folder / "vkey").read_text().strip()
    lines = policy or f"witness w1 {vkey} {url}\nquorum w1\n"
    (folder.parent / "trust.policy").write_text(lines)
    return f'{text}\n[audit]\norigin = "{PROJECT}"\npolicy = "trust.policy"\n'


def priced_with(text: str, like: PricedRun) -> PricedRun:
    return price(loads(text), like.population)


def auditor(run: Path) -> bytes:
    """Return the trust file of an auditor who knows the log's key and the witness."""
    vkey = (run / "log" / "checkpoint").read_text().partition("\n")[0]
    key = run_keys(run.parent / "keys", vkey, ()).log.log.verifier
    text = (run.parent / "trust.policy").read_text()
    return f"log {key.vkey}\n{text}".encode()


def found(run: Path, policy: bytes, claim: str) -> tuple[Status, str]:
    [check] = [c for c in verify_run(run, policy).checks if c.claim == claim]
    return check.status, check.detail


def test_every_checkpoint_is_cosigned(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        opened = start(priced, path, text)
        train(priced, opened)
    assert opened.logbook.log.witnessing.failed == {}
    note = parse_note((path / "log" / "checkpoint").read_bytes())
    assert [signature.name for signature in note.signatures][1:] == [WITNESS]
    assert found(path, auditor(path), "witnesses")[0] is Status.OK
    # Control: an auditor who also asks for another witness is not content.
    other = make_witness(tmp_path / "w2", name="witness.example.net/w2")
    line = f"witness w2 {(other / 'vkey').read_text().strip()}\ngroup both all w1 w2"
    asked = auditor(path).decode().replace("quorum w1", f"{line}\nquorum both")
    assert found(path, asked.encode(), "witnesses")[0] is Status.FAIL


def test_a_witness_that_is_away_costs_no_round(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    text = configured(config_text, witness, "http://127.0.0.1:9")
    priced = priced_with(text, priced_of(config_text))
    opened = start(priced, path, text)
    assert train(priced, opened).rounds == 7
    assert "w1" in opened.logbook.log.witnessing.failed
    status, detail = found(path, auditor(path), "witnesses")
    assert status is Status.FAIL
    assert "split view cannot be excluded" in detail


def test_a_run_behind_its_witness_is_not_continued(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        with pytest.raises(KeyboardInterrupt):
            train(priced, start(priced, path, text), stop_after(2))
        shutil.copytree(path, tmp_path / "backup")
        with pytest.raises(KeyboardInterrupt):
            train(priced, resume(priced, path, text), stop_after(4))
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "backup", path)
        # Whoever restores everything restores the pins too; the witness remembers.
        shutil.rmtree(tmp_path / "keys" / "pins")
        with pytest.raises(AuditError, match=r"entries, but \d+ were"):
            resume(priced, path, text)


@pytest.mark.parametrize(
    ("policy", "extra", "message"),
    [
        ("", '[audit.witnesses]\nw9 = "http://127.0.0.1:9"\n', "no witness of this"),
        ("witness w1 {vkey}\nquorum w1\n", "", "where witness `w1` of"),
    ],
)
def test_addresses_and_keys_must_belong_together(
    tmp_path: Path, config_text: str, witness: Path,
    policy: str, extra: str, message: str,
) -> None:  # fmt: skip
    vkey = (witness / "vkey").read_text().strip()
    lines = policy.format(vkey=vkey)
    text = configured(config_text, witness, "http://127.0.0.1:9", policy=lines)
    with pytest.raises(ConfigError, match=message):
        witnessing_of(loads(text + extra).audit, tmp_path)


def test_a_missing_policy_stops_a_run_before_anything_is_written(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    text = f'{config_text}\n[audit]\npolicy = "gone.policy"\n'
    priced = priced_with(text, priced_of(config_text))
    with pytest.raises(RunFolderError, match=r"cannot read .*gone\.policy"):
        start(priced, tmp_path / "run", text)
    assert list(tmp_path.iterdir()) == []


def test_a_witness_that_is_away_does_not_keep_a_run_from_going_on(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        with pytest.raises(KeyboardInterrupt):
            train(priced, start(priced, path, text), stop_after(2))
    opened = resume(priced, path, text)
    assert train(priced, opened).rounds == 7
    assert "w1" in opened.logbook.log.witnessing.failed


def test_a_witness_that_comes_back_is_asked_at_the_end(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        opened = start(priced, path, text)
        opened.logbook.log.witnessing.failed["w1"] = "it was away"
        asked: list[int] = []
        real = WitnessPanel.ask

        def ask(self: WitnessPanel, log: AuditLog, again: bool = False) -> None:
            real(self, log, again)
            asked.append(len(parse_note(log.store.checkpoint).signatures))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WitnessPanel, "ask", ask)
            train(priced, opened)
    assert asked == [1] * 9 + [2]  # left in peace, then asked once more
    assert opened.logbook.log.witnessing.failed == {}


def test_a_witness_has_to_be_told_of_a_new_key(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        with pytest.raises(KeyboardInterrupt):
            train(priced, start(priced, path, text), stop_after(2))
    trusted = auditor(path)
    rotate_key(path, "log")
    with served(witness) as target:
        text_now = configured(config_text, witness, target.url)
        assert text_now == text  # the address is in the policy, not in the text
        opened = resume(priced, path, text)
        with pytest.raises(KeyboardInterrupt):
            train(priced, opened, stop_after(4))
        assert "status 403" in opened.logbook.log.witnessing.failed["w1"]
    new = read_evidence(path).custody.log_key.public
    key = VerifierKey(f"{PROJECT}/*", ED25519, new)
    with (witness / "logs").open("a") as logs:
        logs.write(f"log {key.vkey}\n")
    with served(witness) as target:
        configured(config_text, witness, target.url)
        opened = resume(priced, path, text)
        train(priced, opened)
        assert opened.logbook.log.witnessing.failed == {}
    # An auditor who knows the first key follows it, and finds the witness.
    assert found(path, trusted, "log key")[0] is Status.OK
    assert found(path, trusted, "witnesses")[0] is Status.OK


# Time stamps

NEEDS_OPENSSL = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the program openssl"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority") / "tsa")


def stamped(text: str, url: str, roots: Path) -> str:
    return f'{text}\n[audit.timestamp]\nurl = "{url}"\nroots = "{roots}"\n'


@NEEDS_OPENSSL
def test_the_last_checkpoint_is_time_stamped(
    tmp_path: Path, config_text: str, priced_of: PricedOf, authority: Authority
) -> None:
    path = tmp_path / "run"
    with answering(authority.over_http()) as url:
        text = stamped(config_text, url, authority.roots)
        priced = priced_with(text, priced_of(config_text))
        opened = start(priced, path, text)
        train(priced, opened)
    assert opened.logbook.log.witnessing.failed == {}
    [token] = (path / "log" / "timestamps").iterdir()
    openssl(
        "ts", "-verify", "-data", str(path / "log" / "signed" / token.stem),
        "-in", str(token), "-CAfile", str(authority.roots),
    )  # fmt: skip
    [times] = [
        check
        for check in verify_run(path, authorities=authority.roots).checks
        if check.claim == "times"
    ]
    assert times.status is Status.OK


@NEEDS_OPENSSL
def test_an_authority_that_fails_costs_nothing(
    tmp_path: Path, config_text: str, priced_of: PricedOf, authority: Authority
) -> None:
    roots = tmp_path / "roots.pem"
    shutil.copy(authority.roots, roots)
    text = stamped(config_text, "http://127.0.0.1:9", roots)
    priced = priced_with(text, priced_of(config_text))
    opened = start(priced, tmp_path / "away", text)
    assert train(priced, opened).rounds == 7
    assert "time stamp" in opened.logbook.log.witnessing.failed
    # Nor does a file that is gone by the end.
    opened = start(priced, tmp_path / "gone", text)
    roots.unlink()
    assert train(priced, opened).rounds == 7
    assert "cannot read" in opened.logbook.log.witnessing.failed["time stamp"]
    # One that is gone in the beginning stops the run before anything is written.
    with pytest.raises(RunFolderError, match=r"cannot read .*roots\.pem"):
        start(priced, tmp_path / "never", text)
    assert not (tmp_path / "never").exists()


@NEEDS_OPENSSL
def test_asking_again_makes_a_failure_good(
    tmp_path: Path, config_text: str, priced_of: PricedOf, authority: Authority
) -> None:
    text = stamped(config_text, "http://127.0.0.1:9", authority.roots)
    priced = priced_with(text, priced_of(config_text))
    opened = start(priced, tmp_path / "run", text)
    train(priced, opened)
    log = open_for_appending(tmp_path / "run")
    others = opened.logbook.log.witnessing
    with answering(authority.over_http()) as url:
        others.authority = (url, authority.roots)
        others.stamp(log)
    log.close()
    assert others.failed == {}


# Entries after the run


def unpacked(run: Path, to: Path) -> Path:
    shutil.unpack_archive(run / "evidence.zip", to)
    return to


def witnessed(run: Path, policy: bytes) -> list[bool]:
    """Return True if both verifiers find the quorum met."""
    checks = standalone.verify(str(run), policy, None)["checks"]
    [other] = [check for check in checks if check["claim"] == "witnesses"]
    return [found(run, policy, "witnesses")[0] is Status.OK, other["status"] == "OK"]


def test_entries_after_a_run_reach_its_witness(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        train(priced, start(priced, path, text))
        policy = auditor(path)
        made = make_report(ReportSource(path, policy), ["html", "evidence"])
        assert made.verdict.ok
        assert made.notes == ()
        assert witnessed(path, policy) == [True, True]
        bundle = unpacked(path, tmp_path / "bundle")
        assert witnessed(bundle, policy) == [True, True]
        assert verify_run(bundle, policy).ok
        certify(path, None)
        assert witnessed(path, policy) == [True, True]
        assert rotate_key(path, "coordinator").unwitnessed == {}
        assert witnessed(path, policy) == [True, True]
    page = (path / "report.html").read_text()
    assert "before the one on this page: quorum" in page


def test_a_witness_that_is_down_is_told_and_can_be_asked_again(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "run"
    with served(witness) as target:
        text = configured(config_text, witness, target.url)
        priced = priced_with(text, priced_of(config_text))
        train(priced, start(priced, path, text))
        policy = auditor(path)
    made = make_report(ReportSource(path, policy), ["html", "evidence"])
    assert made.verdict.ok  # the witness vouches for the log without the report
    [note] = made.notes
    assert "`w1` has not cosigned the log with these documents" in note
    assert f"lexfed log cosign {path}" in note
    # Nobody is deceived: neither folder nor bundle has a quorum now.
    assert witnessed(path, policy) == [False, False]
    assert witnessed(unpacked(path, tmp_path / "one"), policy) == [False, False]
    certify(path, None)
    assert "`w1` did not cosign" in capsys.readouterr().err
    with served(witness) as target:
        configured(config_text, witness, target.url)  # it may listen elsewhere now
        cosign(path, None)
        assert witnessed(path, policy) == [True, True]
    make_report(ReportSource(path, policy), ["evidence"])
    assert witnessed(unpacked(path, tmp_path / "two"), policy) == [True, True]


def test_a_log_whose_witness_policy_was_erased_says_so(
    tmp_path: Path, config_text: str, priced_of: PricedOf, witness: Path
) -> None:
    path = tmp_path / "run"
    text = configured(config_text, witness, "http://127.0.0.1:9")
    start(priced_with(text, priced_of(config_text)), path, text).close()
    evidence = read_evidence(path)
    assert len(panel_named_by(evidence.genesis, evidence.blobs).targets) == 1
    nested = evidence.blobs.put(b"a = " + b"[" * 100_000)
    other = evidence.genesis.model_copy(update={"config": nested})
    assert panel_named_by(other, evidence.blobs).failed
    evidence.blobs.erase(evidence.genesis.witnesses or "")
    log = open_for_appending(path)
    log.close()
    assert log.witnessing.targets == ()
    assert "was erased" in log.witnessing.failed["the witness policy"]
