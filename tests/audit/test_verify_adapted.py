# SPDX-License-Identifier: Apache-2.0
"""Rounds that adapted: inside the plan one by one, or in their sums, or found out.

Every run is judged by `lexfed verify` and by the standalone verifier, which must agree.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import BudgetPlan, CompletionEntry, PolicyEntry, RoundEntry
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import Check, Status
from lexfed.canonical import canonical_bytes
from lexfed.privacy.claim.lines import scaled_releases
from support.audit.two_verifiers import Rows, both
from support.audit.worlds import (
    Change,
    FakeRun,
    edited,
    fake_run,
    plan_rows,
    planned,
    pretty,
)

F2: dict[str, Any] = {"guarantee": "filter"}
F1: dict[str, Any] = {"guarantee": "filter", "accountant": "rdp"}
QUIET = [(0, 2.0), (0, 1.5), (1, 3.0)]
LONGER = [(0, 2.0)] * 6 + [(1, 1.0), (1, 2.0), (1, 2.0)]


def checked(run: FakeRun, folder: Path) -> dict[str, Check]:
    return judged(run, folder)[0]


def judged(run: FakeRun, folder: Path) -> tuple[dict[str, Check], Rows]:
    verdict, rows = both(run.write(folder / "run"))
    return {c.claim: c for c in verdict.checks}, rows


SOUND: dict[str, tuple[dict[str, Any], str]] = {
    "F0, as planned": ({}, "4 rounds, each within the plan (F0)"),
    "F0, more noise": (
        {"adapted": [(0, 1.0), (0, 1.4), (1, 1.1), (1, 1.0)]},
        "4 rounds, each within the plan (F0)",
    ),
    "F0, rounds left out": (
        {"adapted": [(0, 1.0), (1, 1.0)]}, "2 rounds, each within the plan (F0)",
    ),
    "F0 by Rényi": (
        {"accountant": "rdp", "adapted": QUIET}, "3 rounds, each within the plan (F0)",
    ),
    "F2, fewer": ({**F2, "adapted": QUIET}, "3 rounds, in sum within the plan (F2)"),
    "F2, more": ({**F2, "adapted": LONGER}, "9 rounds, in sum within the plan (F2)"),
    "F2, another order": (
        {**F2, "adapted": [(1, 1.0), (0, 1.0), (1, 1.0), (0, 1.0)]},
        "4 rounds, in sum within the plan (F2)",
    ),
    "F2, a loud round and a quiet one": (
        {**F2, "adapted": [(0, 0.8), (0, 2.0)]},
        "2 rounds, in sum within the plan (F2)",
    ),
    "F1": ({**F1, "adapted": LONGER}, "9 rounds, in sum within the plan (F1)"),
    "F1, sampled": (
        {**F1, "sampling_rate": 0.1, "adapted": [(0, 2.0)] * 4 + [(1, 1.2)]},
        "5 rounds, in sum within the plan (F1)",
    ),
    "F2, two sites per person": (
        {**F2, "adapted": QUIET, "sites_per_person": 2},
        "3 rounds, in sum within the plan (F2)",
    ),
    "F0, profiles and classes": (
        {"weights": {"eu": 0.5, "us": 1.0}, "classes": {"minors": 0.25}},
        "4 rounds, each within the plan (F0)",
    ),
    "F0, a tower left out": (
        {"weights": {"eu": 0.0}}, "4 rounds, each within the plan (F0)",
    ),
    "F2, profiles and classes": (
        {**F2, "weights": {"eu": 0.5}, "classes": {"minors": 0.25}, "adapted": LONGER},
        "9 rounds, in sum within the plan (F2)",
    ),
    "F1, profiles and classes": (
        {**F1, "sampling_rate": 0.1, "weights": {"eu": 0.5}, "classes": {"m": 0.25}},
        "4 rounds, in sum within the plan (F1)",
    ),
    "F2, no rounds": (
        {**F2, "adapted": []}, "0 rounds, in sum within the plan (F2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_rounds_within_the_plan_pass_both(name: str, tmp_path: Path) -> None:
    settings, text = SOUND[name]
    run = fake_run(**settings)
    found, rows = judged(run, tmp_path)
    if settings.get("accountant") == "rdp" or "sampling_rate" not in settings:
        assert not any("NOT RECOMPUTED" in row["detail"] for row in rows.values())
    assert [c for c in found.values() if c.status is Status.FAIL] == []
    assert found["round events"].detail == text


OUTSIDE: dict[str, tuple[dict[str, Any], int]] = {
    "F0, less noise": ({"adapted": [(0, 1.0), (0, 0.99)]}, 5),
    "F0, one round too many": (
        {"adapted": [(0, 1.0), (0, 1.0), (0, 9.0), (1, 1.0)]}, 6,
    ),
    "F0, back to an earlier tower": ({"adapted": [(1, 1.0), (0, 9.0)]}, 5),
    "F0, many quiet rounds": ({"adapted": LONGER}, 6),
    "F2, one round too many": (
        {**F2, "adapted": [(0, 1.0), (0, 1.0), (1, 1.0), (1, 1.0), (1, 30.0)]}, 8,
    ),
    "F2, a tier above its sum": ({**F2, "adapted": [(1, 0.7), (1, 5.0)]}, 4),
    "F1, one round too many": (
        {**F1, "adapted": [(0, 1.0), (0, 1.0), (1, 1.0), (1, 1.0), (0, 30.0)]}, 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_rounds_outside_the_plan_are_found_by_both(name: str, tmp_path: Path) -> None:
    settings, index = OUTSIDE[name]
    found = checked(fake_run(**settings), tmp_path)["round events"]
    assert (found.status, found.index) == (Status.FAIL, index)
    assert "is not within the plan" in found.detail


def test_sampled_sums_that_exceed_are_found_by_both(tmp_path: Path) -> None:
    loud = fake_run(**F1, sampling_rate=0.1, adapted=[(0, 0.9), (0, 0.9)])
    found = checked(loud, tmp_path)["round events"]
    assert (found.status, found.index) == (Status.FAIL, 5)


def profiles(value: Any) -> Change:
    def change(run: FakeRun) -> None:
        run.edit(BudgetPlan, profiles=run.put(canonical_bytes(value)))

    return change


def claim(path: str, new: object) -> Change:
    """Change the claim, and log the changed one."""

    def change(run: FakeRun) -> None:
        value = json.loads(run.files["claim.json"])
        place = value
        *parents, last = path.split("/")
        for parent in parents:
            place = place[parent]
        place[last] = new
        run.files["claim.json"] = pretty(value)
        run.edit(CompletionEntry, claim=run.put(run.files["claim.json"]))

    return change


def rates(rate: float) -> Change:
    """Sample every planned round, and say so nowhere else."""

    def change(run: FakeRun) -> None:
        rows = plan_rows(planned((2, 2), rate))
        run.edit(BudgetPlan, releases=run.put(canonical_bytes(rows)))

    return change


def profile_of(weight: float, sites: int = 2) -> dict[str, Any]:
    rows = plan_rows(scaled_releases(planned((2, 2), 1.0), weight))
    return {"eu": {"sites": sites, "releases": rows}}


PARTS: dict[str, Any] = {"weights": {"eu": 0.5}, "classes": {"minors": 0.25}}
LIES: dict[str, tuple[dict[str, Any], Change, str, str]] = {
    "a claim of F0 under a filter": (
        F2, claim("accountant/filter", "F0"), "claim", "`filter` is not what the log",
    ),
    "a claim of a filter under F0": (
        {}, claim("accountant/filter", "F2"), "claim", "`delta_sampler`",
    ),
    "too little for the sampler": (
        F2, claim("delta_sampler", 1e-24), "claim", "`delta_sampler`",
    ),
    "a filter nobody can price": (
        {}, edited(BudgetPlan, filter="F1"), "budget plan", "F1 has no price by PLD",
    ),
    "squares priced by Rényi": (
        F1, edited(BudgetPlan, filter="F2"), "budget plan", "F2 has no price by RDP",
    ),
    "squares of sampled rounds": (F2, rates(0.1), "budget plan", "without sampling"),
    "F0 stated, F2 run": (
        {**F2, "adapted": LONGER}, edited(BudgetPlan, filter="F0"), "round events",
        "not within the plan",
    ),
    "a profile that understates": (
        PARTS, claim("profiles/eu/epsilon", 0.1), "claim", "profile",
    ),
    "a profile's label that understates": (
        PARTS, claim("profiles/eu/label", 0.1), "claim", "profile",
    ),
    "a profile's tier that understates": (
        PARTS, claim("profiles/eu/tiers/special", 0.1), "claim", "profile",
    ),
    "a profile without a tier": (
        PARTS, claim("profiles/eu/tiers", {}), "claim", "profile",
    ),
    "a profile with another delta": (
        PARTS, claim("profiles/eu/delta", 0.1), "claim", "profile",
    ),
    "a profile with more sites": (
        PARTS, claim("profiles/eu/sites", 3), "claim", "`profiles` is not what the log",
    ),
    "a profile of no site": (PARTS, claim("profiles/eu/sites", 0), "claim", "sites"),
    "a profile nobody planned": (
        PARTS, edited(BudgetPlan, profiles=None), "claim", "`profiles` is not what",
    ),
    "a profile planned with smaller clips": (
        PARTS, profiles(profile_of(0.4)), "claim", "`profiles` is not what the log",
    ),
    "a profile that is no list": (PARTS, profiles([1]), "budget plan", "`profiles`"),
    "a profile of other fields": (
        PARTS, profiles({"eu": {"sites": 2}}), "budget plan", "`profiles`",
    ),
    "a profile without releases": (
        PARTS, profiles({"eu": {"sites": 2, "releases": 1}}), "budget plan",
        "`profiles`",
    ),
    "a class with another scale": (
        PARTS, claim("classes/minors/scale", 0.2), "claim", "`classes` is not what",
    ),
    "a class that understates": (
        PARTS, claim("classes/minors/epsilon", 0.1), "claim", "minors",
    ),
    "a class of another relation": (
        PARTS, claim("classes/minors/neighbours", "replace-one"), "claim", "minors",
    ),
    "a class planned with another scale": (
        PARTS, edited(BudgetPlan, classes={"minors": "0.5"}), "claim", "`classes` is",
    ),
    "a class nobody planned": (
        PARTS, edited(BudgetPlan, classes={}), "claim", "`classes` is not what",
    ),
    "a policy that is not there": (
        {}, edited(PolicyEntry, policy="0" * 64), "blobs", "`policy`",
    ),
    "an early end that is none": (
        {**F2, "adapted": LONGER}, edited(CompletionEntry, early=True), "rounds",
        "early",
    ),
    "an early end that is not said": (
        {"adapted": QUIET}, edited(CompletionEntry, early=False), "rounds", "early",
    ),
    "a total below what adapted rounds cost": (
        {**F2, "adapted": LONGER}, edited(RoundEntry, 4, epsilon_so_far="0.1"),
        "budgets spent", "stated as 0.1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_lies_about_filters_and_parts_are_found_by_both(
    name: str, tmp_path: Path
) -> None:
    settings, change, what, message = LIES[name]
    run = fake_run(**settings)
    change(run)
    found = checked(run, tmp_path)[what]
    assert found.status is Status.FAIL, found
    assert message in found.detail


def test_a_profile_that_costs_more_in_sum_is_found(tmp_path: Path) -> None:
    # All of the clip in the first tower, half of it in the second: a run that spends
    # what the second was to cost on the first is within the plan and not within this.
    first, second = planned((2, 2), 1.0)
    own = {
        "eu": {
            "sites": 1,
            "releases": plan_rows([first, *scaled_releases([second], 0.5)]),
        }
    }
    run = fake_run(**F2, adapted=[(0, 0.92), (0, 0.92)])
    assert checked(run, tmp_path / "1")["round events"].status is Status.OK
    run.edit(BudgetPlan, profiles=run.put(canonical_bytes(own)))
    found = checked(run, tmp_path / "2")["round events"]
    assert (found.status, found.index) == (Status.FAIL, 5)


def test_one_shape_with_two_charges_is_refused(tmp_path: Path) -> None:
    first, second = planned((2, 2), 1.0)
    own = ((first[0], 1), *scaled_releases([(first[0], 1)], 0.5), second)
    run = fake_run(**F2)
    run.edit(BudgetPlan, profiles=run.put(canonical_bytes(
        {"eu": {"sites": 1, "releases": plan_rows(own)}})))  # fmt: skip
    found = checked(run, tmp_path)["round events"]
    assert found.status is Status.FAIL
    assert "one shape, two charges" in found.detail


def test_a_shape_that_was_not_planned_is_found(tmp_path: Path) -> None:
    run = fake_run(**F2)
    entry = run.of(RoundEntry)[1].entry
    assert isinstance(entry, RoundEntry)
    assert entry.event is not None
    groups = (entry.event.groups[0].model_copy(update={"clip": "0.5"}),)
    run.edit(RoundEntry, 1, event=entry.event.model_copy(update={"groups": groups}))
    found = checked(run, tmp_path)["round events"]
    assert (found.status, found.index) == (Status.FAIL, 5)


@pytest.mark.no_cover
def test_more_noise_values_than_are_paid_for_are_found(tmp_path: Path) -> None:
    run = fake_run(**F2, rounds=(1, 0), adapted=[(0, 100.0)] * 1002)
    found = checked(run, tmp_path)["round events"]
    assert (found.status, found.index) == (Status.FAIL, 1004)


def test_more_kinds_of_sampled_rounds_than_one_file_prices_are_told() -> None:
    rows = [
        {"release": {**row["release"], "name": f"r{number}"}, "count": 1}
        for number, row in enumerate(33 * plan_rows(planned((1, 1), 0.1)))
    ]
    policy = {"neighbours": "add-remove", "sites_per_person": 1, "delta": "1e-6"}
    plan = standalone.Plan(
        3,
        {**policy, "accountant": "rdp"},
        {"filter": "F1", "classes": {}},
        standalone.parse_releases(rows),
        {},
    )
    kept = standalone.Kept(plan)
    assert kept.takes(plan.releases[0][0])
    with pytest.raises(standalone.NotShown, match="NOT RECOMPUTED"):
        kept.in_words()
