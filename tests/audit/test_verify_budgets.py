# SPDX-License-Identifier: Apache-2.0
"""Budgets are recomputed from logged events; an epsilon typed by hand fails.

All logs are validly signed: what is wrong is what they say (row 6 of the attacks).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    BudgetPlan,
    ChargedEvent,
    CompletionEntry,
    FeatureTags,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.verify import Check, Status, verify_run
from lexfed.canonical import canonical_bytes, digest
from lexfed.privacy.scopes import record_epsilon, tier_epsilon, up
from lexfed.tiers import Tier
from support.audit.worlds import (
    DELTA,
    Change,
    FakeRun,
    edited,
    fake_run,
    planned,
    pretty,
    spoiled,
)


def checked(run: FakeRun, folder: Path) -> dict[str, Check]:
    return {c.claim: c for c in verify_run(run.write(folder / "run")).checks}


def both(*changes: Change) -> Change:
    def change(run: FakeRun) -> None:
        for each in changes:
            each(run)

    return change


def event(number: int, **changes: Any) -> Change:
    """Change the event of a round; `clip`, `sigma` and `name` are of its group."""

    def change(run: FakeRun) -> None:
        entry = run.of(RoundEntry)[number - 1].entry
        assert isinstance(entry, RoundEntry)
        assert entry.event is not None
        group = {k: v for k, v in changes.items() if k in ("clip", "sigma", "name")}
        rest = {k: v for k, v in changes.items() if k not in group}
        groups = (entry.event.groups[0].model_copy(update=group),)
        new = ChargedEvent.model_validate(
            {**dict(entry.event), "groups": groups, **rest}
        )
        run.edit(RoundEntry, number - 1, event=new)

    return change


def releases(value: Any) -> Change:
    """Put another list behind the plan."""

    def change(run: FakeRun) -> None:
        run.edit(BudgetPlan, releases=run.put(canonical_bytes(value)))

    return change


def plan_rows(*counts: int) -> list[dict[str, Any]]:
    rows = planned((2, 2), 1.0)
    return [
        {"release": release.to_json(), "count": count}
        for (release, _), count in zip(rows, counts, strict=True)
    ]


def claim(**changes: Any) -> Change:
    """Change the claim, and log the changed one."""

    def change(run: FakeRun) -> None:
        value = json.loads(run.files["claim.json"])
        for path, new in changes.items():
            place = value
            *parents, last = path.split("__")
            for parent in parents:
                place = place[parent]
            place[last] = new
        run.files["claim.json"] = pretty(value)
        run.edit(CompletionEntry, claim=run.put(run.files["claim.json"]))

    return change


def claim_file(content: bytes) -> Change:
    def change(run: FakeRun) -> None:
        run.edit(CompletionEntry, claim=run.put(content))

    return change


TIERS = {"non_personal": "3.8", "personal": "3.8", "special": "1.6"}
SMALL = {**TIERS, "special": "0.1"}

SPENT: dict[str, tuple[Change, str, int | None, str]] = {
    "a smaller total": (
        edited(RoundEntry, 2, epsilon_so_far="0.5"), "budgets spent", 6,
        "`epsilon_so_far` is stated as 0.5",
    ),
    "a smaller first round": (
        edited(RoundEntry, 0, epsilon_so_far="0.0"), "budgets spent",
        4, "`epsilon_so_far`",
    ),
    "a smaller price of one": (
        edited(RoundEntry, 0, epsilon="0.0"), "budgets spent", 4, "`epsilon` is stated",
    ),
    "a total that falls": (
        edited(RoundEntry, 0, epsilon_so_far="2.9"), "budgets spent", 5,
        "`epsilon_so_far` fell from 2.9 to",
    ),
    "a total above the budget": (
        edited(RoundEntry, 3, epsilon_so_far="3.1"), "budgets spent",
        7, "above the budget",
    ),
    "a tier above its cap": (
        edited(RoundEntry, 3, tiers_so_far={**TIERS, "special": "2.6"}),
        "budgets spent", 7,
        "tier `special` is 2.6, above the budget 2.5",
    ),
    "a smaller tier": (
        edited(RoundEntry, 3, tiers_so_far=SMALL), "budgets spent", 7,
        "tier `special` is stated as 0.1",
    ),
    "a tier left out": (
        edited(RoundEntry, 3, tiers_so_far={"special": "2.0"}), "budgets spent", 7,
        "states no epsilon of tier `non_personal`",
    ),
    "a tier that vanishes": (
        edited(
            RoundEntry, 0, tiers_so_far={
                "non_personal": "2.5", "personal": "2.5", "identifier": "0.0",
            },
        ), "budgets spent", 5, "tier `identifier` was stated before",
    ),
    "another delta": (
        edited(RoundEntry, 1, delta="1e-05"), "budgets spent", 5, "`delta` is not that",
    ),
    "another accountant": (
        edited(RoundEntry, 1, accountant="rdp"), "budgets spent",
        5, "`accountant` is rdp",
    ),
    "other budgets": (
        edited(RoundEntry, 1, budgets={"record": "9.0"}), "budgets spent", 5,
        "`budgets` are not those",
    ),
    "no epsilon": (
        edited(RoundEntry, 1, epsilon=None), "budgets spent", 5, "states no epsilon",
    ),
    "less noise than planned": (event(2, sigma="3.0"), "round events", 5, "plan"),
    "less noise, priced as planned": (
        event(2, sigma="3.0"), "budgets spent", 5, "its events cost",
    ),
    "more read than planned": (event(2, reads="special"), "round events", 5, "plan"),
    "another clip than planned": (
        event(2, clip="2.0", sigma="8.0"), "round events", 5, "plan",
    ),
    "another group than planned": (event(2, name="b"), "round events", 5, "plan"),
    "no noise at all": (event(2, sigma="0.0"), "round events", 5, "`sigma`"),
    "a rate of two": (event(2, sampling_rate="2.0"), "round events", 5, "sampling"),
    "an infinite clip": (event(2, clip="1.0e+999"), "round events", 5, "`clip`"),
    "no event": (edited(RoundEntry, 1, event=None), "round events", 5, "has no event"),
    "no event, no price": (
        edited(RoundEntry, 1, event=None), "budgets spent", 5, "has no event",
    ),
    "other tags": (edited(RoundEntry, 1, tags="0" * 64), "round events", 5, "`tags`"),
    "tiny noise": (event(2, sigma="1e-300"), "budgets spent", None, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SPENT)
def test_rounds_that_state_less_than_they_cost(name: str, tmp_path: Path) -> None:
    change, claim, index, message = SPENT[name]
    found = checked(spoiled(change), tmp_path)[claim]
    assert found.status is Status.FAIL, found
    assert message in found.detail
    assert found.index == index or index is None


def test_rounds_beyond_the_plan_are_noticed(tmp_path: Path) -> None:
    found = checked(
        spoiled(both(releases(plan_rows(2, 1)), edited(BudgetPlan, rounds=3))), tmp_path
    )["round events"]
    assert (found.status, found.index) == (Status.FAIL, 7)


def test_stating_more_than_was_spent_is_allowed(tmp_path: Path) -> None:
    run = fake_run()
    run.edit(RoundEntry, 3, epsilon="2.0", epsilon_so_far="2.9")
    assert checked(run, tmp_path)["budgets spent"].status is Status.OK


PLAN: dict[str, tuple[Change, str, int, str]] = {
    "cheaper than it is": (
        edited(BudgetPlan, epsilon="1.0"), "budget plan", 3, "`epsilon` is stated",
    ),
    "a tier cheaper than it is": (
        edited(BudgetPlan, tiers=SMALL), "budget plan", 3, "`tiers.special` is stated",
    ),
    "above the budget": (
        edited(PolicyEntry, epsilon="1.5"), "budget plan", 3, "above the budget 1.5",
    ),
    "a tier above its cap": (
        edited(PolicyEntry, caps={"special": "1.0"}), "budget plan", 3,
        "`tiers.special` is 1.5436",
    ),
    "a cap on a tier without a price": (
        both(
            edited(PolicyEntry, caps={"special": "1.0"}),
            edited(BudgetPlan, tiers={"personal": "3.75", "non_personal": "3.75"}),
        ), "budget plan", 3, "tier `special` is 1.5436",
    ),
    "another delta": (
        edited(BudgetPlan, delta="1e-05"), "budget plan", 3, "`delta` is not that",
    ),
    "another number of rounds": (
        edited(BudgetPlan, rounds=3), "budget plan", 3, "its releases 4",
    ),
    "no epsilon": (
        edited(BudgetPlan, epsilon=None), "budget plan", 3, "states no epsilon",
    ),
    "no releases": (
        edited(BudgetPlan, releases=None), "budget plan", 3, "mechanism `cascade`",
    ),
    "releases without noise": (
        edited(PolicyEntry, mechanism="none"), "budget plan", 3, "mechanism `none`",
    ),
    "seeded noise that is not said": (
        edited(PolicyEntry, randomness="seeded"), "budget plan", 3, "seeded noise",
    ),
    "no list": (releases({}), "budget plan", 3, "expected a JSON array"),
    "no rows": (releases([1]), "budget plan", 3, "not a list of releases"),
    "rows of something else": (releases([{"a": 1}]), "budget plan", 3, "`count`"),
    "a negative count": (releases(plan_rows(2, -1)), "budget plan", 3, "`count`"),
    "a release of another version": (
        releases([{"release": {"version": 2}, "count": 1}]), "budget plan", 3, "versio",
    ),
    "a huge count": (
        both(releases(plan_rows(2**40, 2)), edited(BudgetPlan, rounds=2**40 + 2)),
        "budget plan", 3, "its events cost",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAN)
def test_plans_that_do_not_add_up(name: str, tmp_path: Path) -> None:
    change, claim, index, message = PLAN[name]
    found = checked(spoiled(change), tmp_path)[claim]
    assert found.status is Status.FAIL, found
    assert message in found.detail
    assert found.index == index


CLAIMS: dict[str, tuple[Change, str]] = {
    "an epsilon by hand": (claim(epsilon=1.0), "its releases prove no less"),
    "a tier by hand": (claim(tiers__special__epsilon=0.1), "`tiers.special.epsilon`"),
    "overstated": (
        claim(epsilon=2.0, delta_sampler=1e-20), "`epsilon` is not what the log says",
    ),
    "the label's sampler": (
        claim(label__delta_sampler=0.0), "`delta_sampler` of the label is 0",
    ),
    "a tier's sampler": (
        claim(tiers__special__delta_sampler=0.0), "of the tier special is 0",
    ),
    "another version": (claim(version=3), "`version`"),
    "an older version": (claim(version=1), "do not go together"),
    "other rounds": (claim(rounds=3), "`rounds` is not what the log says"),
    "another unit": (claim(unit="client"), "`unit` is not what the log says"),
    "another trust model": (claim(trust="local"), "`trust` is not what the log says"),
    "a stamp": (claim(stamp="NOT PRIVATE"), "`stamp` is not what the log says"),
    "a removed stamp": (edited(PolicyEntry, trust="local"), "`trust`"),
    "fewer releases": (claim(releases=[]), "claim: `"),
    "an unknown field": (claim(more=1), "`more`"),
    "not JSON": (claim_file(b"{"), "not JSON"),
    "a list": (claim_file(b"[]"), "claim"),
    "left out": (edited(CompletionEntry, claim=None), "need each other"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_that_do_not_follow(name: str, tmp_path: Path) -> None:
    change, message = CLAIMS[name]
    found = checked(spoiled(change), tmp_path)["claim"]
    assert found.status is Status.FAIL, found
    assert message in found.detail


def test_a_claim_of_a_run_without_noise(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    run.edit(CompletionEntry, claim=run.put(b"{}"))
    found = checked(run, tmp_path)["claim"]
    assert (found.status, found.index) == (Status.FAIL, 8)


UNNOISED: dict[str, tuple[Change, str]] = {
    "a hash of the sum": (edited(RoundEntry, 1, update="0" * 64), "without noise"),
    "a hash of the state": (edited(RoundEntry, 1, state="0" * 64), "without noise"),
    "an epsilon": (edited(RoundEntry, 1, epsilon="1.0"), "states an epsilon"),
    "a total": (edited(RoundEntry, 1, epsilon_so_far="1.0"), "states an epsilon"),
}


@pytest.mark.parametrize("name", UNNOISED)
def test_without_noise_nothing_is_hashed_or_claimed(name: str, tmp_path: Path) -> None:
    change, message = UNNOISED[name]
    found = checked(spoiled(change, mechanism="none"), tmp_path)["budgets spent"]
    assert (found.status, found.index) == (Status.FAIL, 5)
    assert message in found.detail


def test_an_event_without_a_mechanism(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    entry = fake_run().of(RoundEntry)[1].entry
    assert isinstance(entry, RoundEntry)
    run.edit(RoundEntry, 1, event=entry.event)
    found = checked(run, tmp_path)["round events"]
    assert (found.status, found.index) == (Status.FAIL, 5)


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_recomputed_numbers_are_those_of_the_accountant(
    rate: float, tmp_path: Path
) -> None:
    plan = planned((2, 2), rate)
    text = checked(fake_run(sampling_rate=rate), tmp_path)["budget plan"].detail
    exact = record_epsilon(plan, DELTA, "add-remove")
    assert f"recomputed {up(exact, 6):.6g}," in text
    lowest = exact * (1 - 1e-6)
    run = fake_run(sampling_rate=rate)
    run.edit(BudgetPlan, epsilon=repr(lowest))
    assert checked(run, tmp_path / "low")["budget plan"].status is Status.FAIL
    special = tier_epsilon(plan, Tier.SPECIAL, DELTA)
    run = fake_run(sampling_rate=rate)
    entry = run.of(BudgetPlan)[0].entry
    assert isinstance(entry, BudgetPlan)
    tiers = {**entry.tiers, "special": repr(special * (1 - 1e-6))}
    run.edit(BudgetPlan, tiers=tiers)
    assert checked(run, tmp_path / "tier")["budget plan"].status is Status.FAIL


# Tags


def blob(field: str, content: bytes) -> Change:
    def change(run: FakeRun) -> None:
        changes: dict[str, Any] = {field: run.put(content)}
        run.edit(FeatureTags, **changes)

    return change


def tags_json(**changes: Any) -> Change:
    def change(run: FakeRun) -> None:
        value = json.loads(run.files["tags.json"])
        value["tags"]["age"].update(changes)
        run.edit(FeatureTags, tags=run.put(pretty(value)))

    return change


TAGS: dict[str, tuple[Change, int, str]] = {
    "other counts": (
        edited(FeatureTags, columns={"personal": 4}), 2, "`columns` does not follow",
    ),
    "other inputs": (edited(FeatureTags, inputs="0" * 64), 2, "`inputs` is not the"),
    "a lower tier in the tags": (tags_json(tier="non_personal"), 2, "`columns`"),
    "a lower tier, counted": (
        both(
            tags_json(tier="non_personal"),
            edited(FeatureTags, columns={"non_personal": 2, "special": 2}),
        ), 2, "another tier than the tags",
    ),
    "an unknown tier": (tags_json(tier="secret"), 2, "cannot be read"),
    "no reason": (tags_json(reason=""), 2, "cannot be read"),
    "not JSON": (blob("tags", b"tags"), 2, "not JSON"),
    "a list": (blob("tags", b"[]"), 2, "cannot be read"),
    "tags without tags": (blob("encoding", b'{"tiers":1}'), 2, "cannot be read"),
    "a tier without a price": (
        edited(BudgetPlan, tiers={"special": "1.6"}), 2, "tiers that are priced",
    ),
    "columns that the claim moves": (
        claim(tiers__personal__columns=["age", "diagnosis"]), 8, "other columns",
    ),
}  # fmt: skip


def test_a_tier_may_be_left_out_whole(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    run.edit(FeatureTags, inputs=digest(["age", "ward"]))
    found = checked(run, tmp_path / "1")["feature tags"]
    assert (found.status, "2 enter the model" in found.detail) == (Status.OK, True)
    run.edit(FeatureTags, inputs=digest(["ag"]))
    assert checked(run, tmp_path / "2")["feature tags"].status is Status.FAIL


@pytest.mark.parametrize("name", TAGS)
def test_tags_that_do_not_fit(name: str, tmp_path: Path) -> None:
    change, index, message = TAGS[name]
    found = checked(spoiled(change), tmp_path)["feature tags"]
    assert found.status is Status.FAIL, found
    assert message in found.detail
    assert found.index in (index, None)
