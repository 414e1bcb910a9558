# SPDX-License-Identifier: Apache-2.0
"""Certificates are evaluated again; other rules or results are noticed (row 20)."""

from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import BudgetPlan, Certificate, Genesis, RoundEntry
from lexfed.audit.rules import catalogue_bytes
from lexfed.audit.verify import Check, Status, verify_run
from support.audit.worlds import Change, FakeRun, fake_run, sha256

INDEX = 9
"""Where the certificate of a fake run is."""


def checked(run: FakeRun, folder: Path) -> dict[str, Check]:
    return {c.claim: c for c in verify_run(run.write(folder / "run")).checks}


def certificate(run: FakeRun) -> Certificate:
    entry = run.of(Certificate)[0].entry
    assert isinstance(entry, Certificate)
    return entry


def edited(**changes: Any) -> Change:
    def change(run: FakeRun) -> None:
        run.edit(Certificate, **changes)

    return change


def result(number: int, **changes: Any) -> Change:
    def change(run: FakeRun) -> None:
        results = list(certificate(run).results)
        results[number] = results[number].model_copy(update=changes)
        run.edit(Certificate, results=tuple(results))

    return change


def better(run: FakeRun) -> None:
    """Raise the first outcome that is not the best one."""
    results = certificate(run).results
    number = next(n for n, r in enumerate(results) if r.outcome == "NOT_EVIDENCED")
    result(number, outcome="EVIDENCED")(run)


def shorter(run: FakeRun) -> None:
    run.edit(Certificate, results=certificate(run).results[1:])


def twice(run: FakeRun) -> None:
    results = certificate(run).results
    run.edit(Certificate, results=(results[1], *results[1:]))


SPOILED: dict[str, tuple[Change, str]] = {
    "a better outcome": (better, "is stated as EVIDENCED, it gives NOT_EVIDENCED"),
    "other evidence": (result(0, evidence=(1, 2, 3)), "cites other entries"),
    "another rule": (result(0, rule="gdpr.99"), "says nothing of rule"),
    "a rule left out": (shorter, "does not list every rule"),
    "a rule twice": (twice, "does not list every rule"),
    "a better score": (edited(at_ceiling=78), "score does not follow"),
    "another catalogue": (edited(catalogue="0" * 64), "another catalogue than entry 0"),
    "fewer entries": (edited(last=3), "the log does not verify"),
    "not from the start": (edited(first=1), "from 0 on"),
    "about itself": (edited(last=INDEX), "from 0 on"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_certificates_that_do_not_follow(name: str, tmp_path: Path) -> None:
    run = fake_run(certified=True)
    change, message = SPOILED[name]
    change(run)
    found = checked(run, tmp_path)["certificates"]
    assert (found.status, found.index) == (Status.FAIL, INDEX)
    assert message in found.detail


def test_a_sound_certificate_is_counted(tmp_path: Path) -> None:
    found = checked(fake_run(certified=True), tmp_path)["certificates"]
    assert found.status is Status.OK
    assert found.detail.startswith("1 certificate, 78 rules each; ")


def test_what_verification_finds_out_decides_over_the_writers_word(
    tmp_path: Path,
) -> None:
    run = fake_run()
    run.edit(RoundEntry, 1, epsilon_so_far="0.5")
    run.certify()
    found = checked(run, tmp_path / "budget")["certificates"]
    assert found.status is Status.FAIL
    run = fake_run(certified=True)
    run.drafts[5].place["run"] = "f" * 16
    found = checked(run, tmp_path / "log")["certificates"]
    assert found.status is Status.FAIL
    assert "the log does not verify" in found.detail


# Exchanging the rules


def with_rules(rules: bytes, *, keep: bool) -> FakeRun:
    run = fake_run()
    run.edit(Genesis, catalogue=run.put(rules) if keep else sha256(rules))
    run.certify()
    run.edit(Certificate, catalogue=sha256(rules))
    return run


def test_rules_of_another_version_are_not_guessed(tmp_path: Path) -> None:
    run = with_rules(catalogue_bytes() + b"\n# of another version\n", keep=False)
    found = checked(run, tmp_path)["certificates"]
    assert found.status is Status.NOTE
    assert "of another version, not evaluated again" in found.detail


def test_rules_that_lie_in_the_log_are_used(tmp_path: Path) -> None:
    rules = catalogue_bytes() + b"\n# of another version\n"
    found = checked(with_rules(rules, keep=True), tmp_path / "1")["certificates"]
    assert found.status is Status.OK
    # Weaker rules give other results than the ones that were certified.
    weaker = rules.replace(b'ceiling = "full"', b'ceiling = "presence"')
    found = checked(with_rules(weaker, keep=True), tmp_path / "2")["certificates"]
    assert found.status is Status.FAIL


@pytest.mark.parametrize(
    "rules",
    [
        b"\xff",
        b"rules = ?",
        b"version = 1\nrule = []\n",
        catalogue_bytes().replace(b'check = "', b'check = "x'),
    ],
    ids=["no text", "no TOML", "no rules", "unknown checks"],
)
def test_rules_that_cannot_be_used(rules: bytes, tmp_path: Path) -> None:
    found = checked(with_rules(rules, keep=True), tmp_path)["certificates"]
    assert found.status is Status.FAIL
    assert "catalogue" in found.detail


def test_the_rules_behind_a_certificate_cannot_be_exchanged(tmp_path: Path) -> None:
    run = fake_run(certified=True)
    digest = sha256(catalogue_bytes())
    run.blobs[digest] = catalogue_bytes() + b"\n"
    checks = checked(run, tmp_path)
    assert checks["blobs"].status is Status.FAIL
    # This version's own rules are used, not the changed copy.
    assert checks["certificates"].status is Status.OK


def test_a_run_without_a_plan_can_be_certified(tmp_path: Path) -> None:
    run = fake_run(rounds=(0, 0), finished=False)
    assert run.of(BudgetPlan)
    del run.drafts[3:]
    run.certify()
    assert checked(run, tmp_path)["certificates"].status is Status.OK
