# SPDX-License-Identifier: Apache-2.0
"""Queries to sites are those that the log charges for, before both verifiers.

Each log here is right in every hash, signature and price, and states something else
than the sites signed. Each has a control: the same log without the lie passes.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    PolicyEntry,
    RoundEntry,
    receipts,
)
from lexfed.canonical import canonical_bytes
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.signing.dsse import SignedEnvelope
from support.audit.masked_runs import masked_run, refused, round_of
from support.audit.two_verifiers import compared, failed
from support.audit.worlds import ORIGIN, SITES, FakeRun, fake_run, receipt_of

PRESENT = "participants"
LOUDER = 1024.0
"""A power of two, so that noise times and over it is exact."""


def sign_again(run: FakeRun, /, **says: Any) -> None:
    """Let the sites of every round sign receipts with other content."""
    for number in range(len(run.of(RoundEntry))):
        entry = round_of(run, number)
        sites = SITES[: entry.participation.sites]
        receipt = receipt_of(number + 1, entry.event, **says)
        blob = receipts.encode([receipts.sign(receipt, site) for site in sites])
        stated = entry.participation.model_copy(update={"digest": run.put(blob)})
        run.edit(RoundEntry, number, participation=stated)


def old(run: FakeRun, /, **says: Any) -> FakeRun:
    """Return a run of the version whose receipts did not name the event."""
    sign_again(run, **{"event": None, **says})
    run.edit(PolicyEntry, receipts=None)
    return run


# More noise than was asked for


def test_a_masked_run_cannot_log_more_noise_than_was_asked_for(tmp_path: Path) -> None:
    run = masked_run(LOUDER)
    rows = compared(run.write(tmp_path / "run"))
    # Prices, plan, masks and claim are those of the louder noise, and right.
    assert failed(rows) == [PRESENT]
    refused(run, tmp_path / "again", "`event` is not that of the round", PRESENT)
    assert failed(compared(masked_run().write(tmp_path / "sound"))) == []


@pytest.mark.parametrize(
    "settings",
    [{}, {"accountant": "rdp"}, {"unit": "client", "sampling_rate": 0.1}],
    ids=["central", "rdp", "sealed"],
)
def test_nor_can_a_run_of_other_trust(settings: dict[str, Any], tmp_path: Path) -> None:
    lie = fake_run(louder=LOUDER, **settings)
    assert failed(compared(lie.write(tmp_path / "lie"))) == [PRESENT]
    assert failed(compared(fake_run(**settings).write(tmp_path / "sound"))) == []


def test_receipts_that_name_the_event_are_compared_whatever_the_policy_says(
    tmp_path: Path,
) -> None:
    lie = fake_run(louder=LOUDER)
    lie.edit(PolicyEntry, receipts=None)
    refused(lie, tmp_path / "lie", "`event` is not that of the round", PRESENT)
    honest = fake_run()
    honest.edit(PolicyEntry, receipts=None)
    assert failed(compared(honest.write(tmp_path / "sound"))) == []


Edit = Callable[[dict[str, Any]], None]
EDITS: dict[str, Edit] = {
    "name": lambda event: event.update(name="other"),
    "sigma": lambda event: event["groups"][0].update(sigma="4.5"),
    "name of a group": lambda event: event["groups"][0].update(name="other"),
    "reads": lambda event: event.update(reads="identifier"),
    "samples": lambda event: event.update(samples=99),
    "sampling rate": lambda event: event.update(sampling_rate="0.5"),
    "its spelling": lambda event: event.update(sampling_rate="1"),
    "noise": lambda event: event.update(noise="skellam"),
}


@pytest.mark.parametrize("name", EDITS)
def test_no_field_of_a_logged_event_can_be_changed(name: str, tmp_path: Path) -> None:
    run = fake_run()
    event = round_of(run, 0).event
    assert event is not None
    changed = json.loads(canonical_bytes(event.model_dump(mode="json")))
    EDITS[name](changed)
    new = type(event).model_validate_json(canonical_bytes(changed))
    run.edit(RoundEntry, 0, event=new)
    refused(run, tmp_path, "`event` is not that of the round", PRESENT)


# Leaving it out


@pytest.mark.parametrize("make", [fake_run, masked_run], ids=["central", "masked"])
def test_the_event_cannot_be_left_out_of_new_receipts(
    make: Callable[[], FakeRun], tmp_path: Path
) -> None:
    run = make()
    sign_again(run, event=None)
    refused(run, tmp_path, "`event` is not that of the round", PRESENT)


@pytest.mark.parametrize("mechanism", ["cascade", "none"])
def test_the_sum_cannot_be_left_out_where_receipts_commit_to_it(
    mechanism: Any, tmp_path: Path
) -> None:
    run = fake_run(mechanism=mechanism)
    run.edit(PolicyEntry, receipts="event-answer")
    refused(run, tmp_path / "without", "the site signed no sum", PRESENT)
    sign_again(run, answer="5" * 64)
    assert failed(compared(run.write(tmp_path / "with"))) == []
    sign_again(run, answer="5" * 64, event="6" * 64)
    refused(run, tmp_path / "other", "`event` is not that of the round", PRESENT)
    sign_again(run, answer="a sum")
    assert failed(compared(run.write(tmp_path / "malformed"))) == [PRESENT]


def test_receipts_that_commit_to_sums_verify_in_logs_of_before(tmp_path: Path) -> None:
    run = fake_run()
    sign_again(run, answer="5" * 64)
    assert failed(compared(run.write(tmp_path))) == []


def test_where_only_sites_are_trusted_receipts_must_name_it(tmp_path: Path) -> None:
    run = masked_run()
    run.edit(PolicyEntry, receipts=None)
    refused(run, tmp_path, "`receipts`: noise in shares needs `event-digest`")


@pytest.mark.parametrize("mechanism", ["cascade", "none"])
def test_receipts_of_before_verify_as_before(mechanism: Any, tmp_path: Path) -> None:
    run = old(fake_run(mechanism=mechanism))
    rows = compared(run.write(tmp_path))
    assert failed(rows) == []
    assert rows[PRESENT]["detail"] == "12 receipts of 3 sites"


def test_without_noise_no_event_is_signed(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    assert failed(compared(run.write(tmp_path / "sound"))) == []
    sign_again(run, event="0" * 64)
    refused(run, tmp_path / "wrong", "`event` is not that of the round", PRESENT)
    refused(
        old(fake_run(mechanism="none"), event="0" * 64),
        tmp_path / "old",
        "`event` is not that of the round",
        PRESENT,
    )


def test_a_receipt_that_says_no_event_in_so_many_words_is_malformed(
    tmp_path: Path,
) -> None:
    run = old(fake_run())
    entry = round_of(run, 0)
    payload = json.loads(receipt_of(1, entry.event, event=None).to_bytes())
    content = canonical_bytes({**payload, "event": None})
    made = [
        SignedEnvelope.sign(
            content, site, payload_type=receipts.PAYLOAD_TYPE
        ).to_bytes()
        for site in SITES[:3]
    ]
    stated = entry.participation.model_copy(
        update={"digest": run.put(receipts.encode(made))}
    )
    run.edit(RoundEntry, 0, participation=stated)
    refused(run, tmp_path, "not canonical", PRESENT)


def test_an_event_has_one_hash_however_a_log_spells_it(tmp_path: Path) -> None:
    """`"noise": null` says what leaving it out says."""
    run = fake_run(rounds=(1, 0), finished=False)
    draft = run.of(RoundEntry)[0]
    body = draft.entry.model_dump(mode="json")
    body["event"]["noise"] = None

    class Spelled(RoundEntry, kind="round", artefacts=RoundEntry.artefacts):
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return body

    draft.entry = Spelled.model_validate(dict(draft.entry))
    assert "participants" not in failed(compared(run.write(tmp_path)))


# Another log


@pytest.mark.parametrize("make", [fake_run, masked_run], ids=["central", "masked"])
@pytest.mark.parametrize("name", ["log", "run"])
def test_a_receipt_of_another_log_is_refused(
    name: str, make: Callable[[], FakeRun], tmp_path: Path
) -> None:
    run = make()
    other = {"log": ORIGIN[:-1] + "0", "run": "f" * 16}
    sign_again(run, **{name: other[name]})
    refused(run, tmp_path, f"`{name}` is not that of the round", PRESENT)


# Rounds that nobody is in


def rates(run: FakeRun, rate: float) -> None:
    """Let the plan say that this share of units takes part."""
    plan = run.of(BudgetPlan)[0].entry
    assert isinstance(plan, BudgetPlan)
    rows = json.loads(run.blobs[plan.releases or ""])
    for row in rows:
        row["release"]["sampling_rate"] = rate
    run.edit(BudgetPlan, 0, releases=run.put(canonical_bytes(rows)))


def test_a_plan_that_nobody_is_in_is_refused(tmp_path: Path) -> None:
    run = masked_run()
    run.drafts = run.drafts[:4]
    assert failed(compared(run.write(tmp_path / "sound"))) == []
    rates(run, 0.0)
    refused(run, tmp_path / "wrong", "has a sampling rate of 0, not 1")


@pytest.mark.parametrize("rate", ["0", "0.0", "0e+5", "1e-400", "0.5"])
def test_a_round_that_nobody_is_in_is_refused(rate: str, tmp_path: Path) -> None:
    run = masked_run()
    event = round_of(run, 1).event
    assert event is not None
    run.edit(RoundEntry, 1, event=event.model_copy(update={"sampling_rate": rate}))
    refused(run, tmp_path, "round 2 has a sampling rate of")


def test_nor_is_one_lost_that_nobody_was_in(tmp_path: Path) -> None:
    run = fake_run(
        cohort=NoiseCohort(5, 1, 1), sites=5, accountant="rdp", finished=False,
        adapted=[(0, 1.0)],
    )  # fmt: skip
    event = round_of(run, 0).event
    assert event is not None
    lost = AbortedRoundEntry(round=2, cause="site-lost", released="no", event=event)
    run.add(lost, "aborted/2")
    assert failed(compared(run.write(tmp_path / "sound"))) == []
    free = event.model_copy(update={"sampling_rate": "0.0"})
    run.edit(AbortedRoundEntry, 0, event=free)
    refused(run, tmp_path / "wrong", "round 2 has a sampling rate of 0, not 1")


def test_nor_does_a_masked_round_go_without_an_event(tmp_path: Path) -> None:
    run = masked_run()
    run.edit(RoundEntry, 1, event=None)
    wrong = failed(compared(run.write(tmp_path)))
    assert {PRESENT, "budgets spent"} <= set(wrong)
