# SPDX-License-Identifier: Apache-2.0
"""Entries about masked sums, before both verifiers: whatever is changed shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import AbortedRoundEntry, BudgetPlan, PolicyEntry, RoundEntry
from lexfed.canonical import canonical_bytes
from lexfed.privacy.noise.shares import NoiseCohort
from support.audit.masked_runs import CLAIM, how, masked_run, refused, round_of
from support.audit.two_verifiers import Rows, compared, failed
from support.audit.worlds import fake_run, sha256

OTHER = sha256(b"other")


def test_sound_masked_sums_pass_with_their_assumptions(tmp_path: Path) -> None:
    rows: Rows = compared(masked_run().write(tmp_path))
    assert failed(rows) == []
    assert rows[CLAIM]["status"] == "OK"
    assert rows[CLAIM]["detail"] == (
        "`masking`: 4 sums of at least 4 of 5 sites, 18 signatures; 3 honest sites in "
        "each are assumed"
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("protocol", "none", "decided was `masking`"),
        ("protocol", "secagg-v1", "decided was `masking`"),
        ("threshold", None, "states no threshold"),
        ("threshold", 3, "does not say what its record shows"),
        ("threshold", 5, "does not say what its record shows"),
        ("survivors", None, "or no survivors"),
        ("survivors", 3, "below the threshold"),
        ("survivors", 4, "does not say what its record shows"),
        ("cohort", None, "does not say what its record shows"),
        ("cohort", 4, "does not say what its record shows"),
        ("epoch", None, "does not say what its record shows"),
        ("epoch", 2, "does not say what its record shows"),
        ("list", None, "does not say what its record shows"),
        ("list", OTHER, "does not say what its record shows"),
        ("evidence", None, "has no record"),
        ("evidence", OTHER, ""),
    ],
)
def test_no_field_of_a_round_can_be_changed(
    field: str, value: Any, words: str, tmp_path: Path
) -> None:
    run = masked_run()
    changed = how(run, 0).model_copy(update={field: value})
    run.edit(RoundEntry, 0, aggregation=changed)
    refused(run, tmp_path, words)


def test_a_record_of_another_round_is_refused(tmp_path: Path) -> None:
    run = masked_run()
    run.edit(RoundEntry, 0, aggregation=how(run, 2))
    refused(run, tmp_path, "sites were asked something else")


def test_a_missing_record_is_missing_among_blobs_too(tmp_path: Path) -> None:
    run = masked_run()
    del run.blobs[how(run, 1).evidence or ""]
    rows = compared(run.write(tmp_path))
    assert {"blobs", CLAIM} <= set(failed(rows))


COHORT = {"sites": 5, "colluders": 1, "dropouts": 1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trust": "central"}, "`noise` does not fit trust `central`"),
        ({"trust": "local"}, "`noise` does not fit trust `local`"),
        ({"noise": "rounded-gaussian"}, "`noise` does not fit"),
        ({"noise": "none"}, "`noise` does not fit"),
        ({"aggregation": "none"}, "decided was `none`"),
        ({"cohort": None}, "`cohort` does not fit"),
        ({"cohort": {**COHORT, "sites": 4}}, "entry 0 lists the keys of 5"),
        ({"cohort": {**COHORT, "sites": 6}}, "entry 0 lists the keys of 5"),
        ({"cohort": {**COHORT, "colluders": 0}}, "`colluders`"),
        ({"cohort": {**COHORT, "colluders": 2}}, "`colluders`"),
        ({"cohort": {**COHORT, "dropouts": 0}}, "`least_sites`"),
        ({"cohort": {**COHORT, "dropouts": 2}}, "cannot bear"),
        ({"cohort": {"sites": 5, "colluders": 4, "dropouts": 1}}, "cannot bear"),
        ({"accountant": "gdp"}, "needs `rdp`"),
        ({"accountant": "pld"}, "needs `rdp`"),
        ({"sampling": "poisson"}, "`sampling`"),
        ({"secret_sampling": True}, "`secret_sampling`"),
        ({"programme": OTHER}, "`session`"),
    ],
)
def test_distributed_trust_is_decided_whole_or_not_at_all(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    run = masked_run()
    policy = run.of(PolicyEntry)[0].entry.model_dump()
    run.of(PolicyEntry)[0].entry = PolicyEntry.model_validate({**policy, **changes})
    refused(run, tmp_path, words)


@pytest.mark.parametrize("field", ["sites", "colluders", "dropouts"])
def test_the_claim_assumes_what_was_decided(field: str, tmp_path: Path) -> None:
    run = masked_run()
    policy = run.of(PolicyEntry)[0].entry.model_dump()
    policy["cohort"][field] += 1
    run.of(PolicyEntry)[0].entry = PolicyEntry.model_validate(policy)
    refused(run, tmp_path, "`cohort` is not what the log says", "claim")


def test_rounds_of_distributed_trust_are_charged_for_shares(tmp_path: Path) -> None:
    run = masked_run()
    entry = round_of(run, 1)
    assert entry.event is not None
    gaussian = entry.event.model_copy(update={"noise": None})
    run.edit(RoundEntry, 1, event=gaussian)
    refused(run, tmp_path, "is charged for `gaussian` noise")


def test_a_lost_round_is_charged_for_shares_too(tmp_path: Path) -> None:
    run = fake_run(
        cohort=NoiseCohort(5, 1, 1), sites=5, accountant="rdp", finished=False,
        adapted=[(0, 1.0)],
    )  # fmt: skip
    entry = round_of(run, 0)
    lost = AbortedRoundEntry(
        round=2, cause="site-lost", released="no", event=entry.event
    )
    run.add(lost, "aborted/2")
    assert failed(compared(run.write(tmp_path / "sound"))) == []
    assert entry.event is not None
    gaussian = entry.event.model_copy(update={"noise": None})
    run.edit(AbortedRoundEntry, 0, event=gaussian)
    refused(run, tmp_path / "wrong", "round 2 is charged for `gaussian` noise")


def test_the_plan_of_distributed_trust_is_of_shares(tmp_path: Path) -> None:
    run = masked_run()
    plan = run.of(BudgetPlan)[0].entry
    assert isinstance(plan, BudgetPlan)
    rows = json.loads(run.blobs[plan.releases or ""])
    del rows[0]["release"]["noise"]
    run.edit(BudgetPlan, 0, releases=run.put(canonical_bytes(rows)))
    refused(run, tmp_path, "plans `gaussian` noise")


def test_shares_are_never_sampled(tmp_path: Path) -> None:
    run = masked_run()
    plan = run.of(BudgetPlan)[0].entry
    assert isinstance(plan, BudgetPlan)
    rows = json.loads(run.blobs[plan.releases or ""])
    rows[0]["release"]["sampling_rate"] = 0.5
    run.edit(BudgetPlan, 0, releases=run.put(canonical_bytes(rows)))
    refused(run, tmp_path, "")
    assert "budget plan" in failed(compared(tmp_path))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trust": "distributed"}, "`noise` does not fit trust `distributed`"),
        ({"noise": "skellam-shares"}, "`noise` does not fit trust `central`"),
        ({"cohort": COHORT}, "`cohort` does not fit trust `central`"),
    ],
)
def test_nothing_of_it_is_said_under_other_trust(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    run = fake_run(sites=5, accountant="rdp")
    run.edit(PolicyEntry, 0, **changes)
    refused(run, tmp_path, words)


def test_masks_alone_are_not_distributed_trust(tmp_path: Path) -> None:
    run = fake_run(sites=5, accountant="rdp", finished=False, adapted=[])
    run.edit(PolicyEntry, 0, aggregation="masking")
    refused(run, tmp_path, "`aggregation` does not fit trust `central`")


def test_shares_are_not_charged_under_other_trust(tmp_path: Path) -> None:
    run = fake_run(sites=5, accountant="rdp")
    event = round_of(run, 2).event
    assert event is not None
    run.edit(RoundEntry, 2, event=event.model_copy(update={"noise": "skellam"}))
    refused(run, tmp_path, "round 3 is charged for `skellam` noise")


def test_a_policy_alone_is_checked_before_there_is_a_plan(tmp_path: Path) -> None:
    run = masked_run()
    run.drafts = run.drafts[:2]
    assert failed(compared(run.write(tmp_path / "sound"))) == []
    run.edit(PolicyEntry, 0, accountant="pld")
    refused(run, tmp_path / "wrong", "needs `rdp`")
