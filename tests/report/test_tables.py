# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables: what was guaranteed, spent, drawn, decided and measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    PolicyEntry,
    RefusalEntry,
    RoundEntry,
)
from lexfed.audit.verify.verdict import Status
from lexfed.report.documents.report_page import render
from lexfed.report.dossier import RunMetrics, planned_releases, read_run_metrics
from lexfed.report.sections import guarantee, spending, tier_gains
from lexfed.report.sections.column_table import column_rows
from lexfed.report.sections.headline import limits, open_items, proxies
from lexfed.report.sections.log_entries import listing
from lexfed.report.sections.spending import noise_rows
from report.conftest import MakeDossier, broken_run, measured, refused_run, told_run
from support.audit.worlds import fake_run, tagged


def test_the_whole_record_stands_before_tiers_and_label(
    dossier_of: MakeDossier,
) -> None:
    dossier = dossier_of(fake_run())
    rows = guarantee.scopes(dossier)
    assert [row.name for row in rows] == [
        "whole record",
        "special",
        "personal",
        "non-personal",
        "label",
    ]
    assert rows[0].epsilon == "1.75"
    assert rows[0].limit == "3.00"
    assert rows[1].columns == ("diagnosis",)
    assert rows[-1].columns == ("outcome",)
    assert {row.entry for row in rows} == {dossier.index(CompletionEntry)}


def test_before_the_end_the_numbers_are_those_of_the_plan(
    dossier_of: MakeDossier,
) -> None:
    dossier = dossier_of(broken_run())
    rows = guarantee.scopes(dossier)
    assert rows[0].epsilon == "1.75"
    assert rows[1].columns == ("diagnosis",)
    assert {row.entry for row in rows} == {3}
    assert [fact.name for fact in guarantee.facts(dossier)][:3] == [
        "Privacy unit",
        "Neighbours",
        "Budget ε",
    ]


def test_without_noise_no_scope_is_guaranteed(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(mechanism="none"))
    assert guarantee.scopes(dossier) == ()
    assert [fact.name for fact in guarantee.facts(dossier)] == [
        "Privacy unit",
        "Mechanism",
        "Trust",
    ]


def test_facts_follow_the_claim(dossier_of: MakeDossier) -> None:
    run = fake_run(unit="client", sampling_rate=0.5)
    facts = {f.name: f.value for f in guarantee.facts(dossier_of(run))}
    assert facts["Privacy unit"] == "one whole site"
    assert facts["Sampling"].startswith("Poisson, rates 0.5; ")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "from the generator of the operating system"),
        ({"test": True}, "from a seed: NOT PRIVATE"),
    ],
    ids=["private", "test"],
)
def test_the_source_of_noise_is_named(
    settings: dict[str, bool], words: str, dossier_of: MakeDossier
) -> None:
    dossier = dossier_of(fake_run(test=settings.get("test", False)))
    facts = {f.name: f.value for f in guarantee.facts(dossier)}
    assert facts["Noise"].endswith(words)


def test_a_person_at_several_sites_is_said(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(sites_per_person=2))
    facts = {f.name: f.value for f in guarantee.facts(dossier)}
    assert facts["Privacy unit"] == "one person: one row, at up to 2 sites"


def test_replace_one_needs_no_second_number(dossier_of: MakeDossier) -> None:
    run = fake_run(finished=False)
    run.edit(PolicyEntry, neighbours="replace-one")
    facts = {f.name: f.value for f in guarantee.facts(dossier_of(run))}
    assert facts["Neighbours"].startswith("replace-one: ")


def test_stages_end_with_what_was_spent(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run())
    stages = spending.stages(dossier.rounds)
    assert [(s.stage, s.rounds) for s in stages] == [
        ("personal", "1–2"),
        ("special", "3–4"),
    ]
    assert stages[0].spent["special"] == "0.00"
    assert stages[1].spent["record"] == "1.75"
    assert stages[1].entries == (6, 7)


def test_events_name_what_was_lost_refused_and_resumed(
    dossier_of: MakeDossier,
) -> None:
    found = spending.events(dossier_of(broken_run()).records)
    assert [event.what for event in found] == [
        "released",
        "released",
        "lost",
        "resumed",
        "released",
    ]
    assert found[2].stage == "interrupted, charged and not used"


def test_a_refusal_names_whose_budget_it_was(dossier_of: MakeDossier) -> None:
    [event] = spending.events(dossier_of(refused_run()).records)
    assert event.stage == (
        "refused by a site: special columns would reach ε 2.61 of 2.50"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scope": "plan"}, "refused by a site: it is not in the plan"),
        (
            {"limit": None, "by": "coordinator", "scope": "record"},
            "refused by the coordinator: whole record would exceed its budget",
        ),
    ],
    ids=["plan", "without numbers"],
)
def test_refusals_without_numbers(
    changes: dict[str, str | None], words: str, dossier_of: MakeDossier
) -> None:
    run = refused_run()
    run.edit(RefusalEntry, 0, **changes)
    [event] = spending.events(dossier_of(run).records)
    assert event.stage == words


def test_secret_participants_stay_secret(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(unit="client", sampling_rate=0.5))
    sites = {event.sites for event in spending.events(dossier.records)}
    assert sites == {"secret, receipts sealed"}


def test_without_privacy_rounds_have_no_scopes(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(mechanism="none"))
    assert spending.scopes(dossier.rounds) == ()
    assert spending.curves(dossier.rounds) == []
    assert spending.accountant(dossier.rounds) == ""
    assert noise_rows(dossier.rounds) == ()


def test_noise_has_one_row_per_release(dossier_of: MakeDossier) -> None:
    rows = noise_rows(dossier_of(fake_run()).rounds)
    assert [(r.name, r.tier, r.rounds, r.sigma, r.multiplier) for r in rows] == [
        ("personal", "personal", 2, "4.00", "4.00"),
        ("special", "special", 2, "8.00", "8.00"),
    ]


ADAPTED = [(0, 1.5), (0, 2.0), (1, 1.0), (1, 1.25)]


def test_noise_shows_what_was_planned_where_it_differs(
    dossier_of: MakeDossier,
) -> None:
    dossier = dossier_of(fake_run(adapted=ADAPTED))
    rows = noise_rows(dossier.rounds, planned_releases(dossier))
    assert [(r.name, r.rounds, r.sigma, r.planned, r.multiplier) for r in rows] == [
        ("personal", 2, "6.00–8.00", "4.00", "6.00"),
        ("special", 2, "8.00–10.00", "8.00", "8.00"),
    ]
    usual = dossier_of(fake_run())
    same = noise_rows(usual.rounds, planned_releases(usual))
    assert {row.planned for row in same} == {""}


def test_more_rounds_than_planned_are_told(dossier_of: MakeDossier) -> None:
    longer = fake_run(guarantee="filter", rounds=(2, 0), adapted=[(0, 2.0)] * 5)
    dossier = dossier_of(longer)
    facts = {f.name: f.value for f in guarantee.facts(dossier)}
    assert facts["Rounds"] == "5 run, 2 planned: more rounds with more noise each"
    assert (
        tier_gains.rounds_line(dossier) == "5 rounds in the budget of 2 planned rounds"
    )
    [row] = noise_rows(dossier.rounds, planned_releases(dossier))
    assert (row.sigma, row.planned) == ("8.00", "4.00")
    assert b"4.00" in render(dossier, "0" * 64)


def test_a_plan_that_is_gone_or_no_plan_shows_nothing(dossier_of: MakeDossier) -> None:
    assert planned_releases(dossier_of(fake_run(mechanism="none"))) == ()
    run = fake_run()
    run.edit(BudgetPlan, releases="0" * 64)
    assert planned_releases(dossier_of(run)) == ()
    run.edit(BudgetPlan, releases=run.put(b"[1]"))
    assert planned_releases(dossier_of(run)) == ()


def test_the_plan_stands_under_what_was_used(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(adapted=ADAPTED))
    plan = dossier.entry(BudgetPlan)
    total = spending.plan_total(dossier.rounds, plan)
    last = spending.stages(dossier.rounds)[-1].spent
    assert total["record"] == "1.75"
    assert list(total) == list(last)
    assert all(float(last[scope]) <= float(total[scope]) for scope in total)
    assert float(last["record"]) < 1.75
    assert spending.plan_total(dossier.rounds, None) == {}
    none = dossier_of(fake_run(mechanism="none"))
    assert spending.plan_total(none.rounds, none.entry(BudgetPlan)) == {}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "each round inside a release planned beforehand (filter F0)"),
        ({"guarantee": "filter"}, "squares of sensitivity over noise"),
        ({"guarantee": "filter", "accountant": "rdp"}, "Rényi divergences at an order"),
    ],
    ids=["F0", "F2", "F1"],
)
def test_the_filter_is_told_in_words(
    settings: dict[str, Any], words: str, dossier_of: MakeDossier
) -> None:
    facts = {f.name: f.value for f in guarantee.facts(dossier_of(fake_run(**settings)))}
    assert words in facts["Accountant"]


def test_profiles_and_classes_are_listed(dossier_of: MakeDossier) -> None:
    run = fake_run(weights={"eu": 0.5}, classes={"minors": 0.25})
    facts = {f.name: f.value for f in guarantee.facts(dossier_of(run))}
    assert facts["Profile eu"] == (
        "at 2 sites with a budget of their own: ε 0.83 for the whole record; special "
        "0.74, personal 1.75, non-personal 1.75, label 1.75"
    )
    assert facts["Class minors"].startswith("ε 0.40 for the whole record of a unit")
    assert "counts 0.25 times" in facts["Class minors"]


def test_columns_are_listed_most_sensitive_first() -> None:
    rows = column_rows(tagged())
    assert [row.name for row in rows] == ["diagnosis", "outcome", "age", "ward"]
    assert rows[1].use == "target"
    assert rows[0].articles == ("GDPR Art. 9(1)",)


def test_gains_say_what_each_tier_adds(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(measured(fake_run()))
    rows = tier_gains.gain_rows(dossier)
    assert [(r.name, r.value, r.change) for r in rows] == [
        ("personal", "0.700", ""),
        ("and special", "0.836", "+0.136"),
    ]
    assert tier_gains.curve(dossier) is not None
    assert tier_gains.metrics_line(dossier) == "auc 0.836, accuracy 0.790"


def test_a_tier_that_costs_is_shown_as_a_loss(dossier_of: MakeDossier) -> None:
    run = fake_run()
    run.files["result.json"] = b'{"gains": {"personal": 0.7, "special": 0.65}}'
    assert tier_gains.gain_rows(dossier_of(run))[1].change == "−0.050"


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "the run folder has no metrics on test rows"),
        ({"gains": {"personal": 0.7}}, "the model reads columns of one tier only"),
    ],
    ids=["none", "one tier"],
)
def test_missing_gains_have_a_reason(
    result: dict[str, object] | None, why: str, dossier_of: MakeDossier
) -> None:
    run = fake_run()
    if result is not None:
        run.files["result.json"] = json.dumps(result).encode()
    dossier = dossier_of(run)
    assert tier_gains.gain_rows(dossier) == ()
    assert tier_gains.no_gains(dossier) == why
    assert tier_gains.curve(dossier) is None


def test_a_run_that_released_nothing_has_no_gains(dossier_of: MakeDossier) -> None:
    assert tier_gains.no_gains(dossier_of(refused_run())) == "nothing was released"


def test_what_nobody_checked_is_a_note(dossier_of: MakeDossier) -> None:
    check = dossier_of(fake_run()).check("the moon")
    assert (check.status, check.detail) == (Status.NOTE, "not checked")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"\xff", b'{"metrics": 3, "gains": {"a": "x"}}',
     b'{"metrics": {"auc": NaN}, "gains": {"a": Infinity}}', b"[" * 100_000,
     b'{"notes": "x"}', b'{"notes": [1, null]}'],
    ids=["empty", "cut", "list", "bytes", "types", "nan", "deep", "word", "numbers"],
)  # fmt: skip
def test_damaged_results_give_no_numbers(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(content)
    assert read_run_metrics(tmp_path) == RunMetrics()


@pytest.mark.parametrize(
    "content",
    [b"", b"round,stage\n1,a\n", b"round,stage,auc\nx,a,0.5\n", b"\xff\n",
     b"round,stage,auc\n1\n"],
    ids=["empty", "paid", "number", "bytes", "short"],
)  # fmt: skip
def test_damaged_metrics_give_no_curve(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_bytes(content)
    assert read_run_metrics(tmp_path).by_round == ()


def test_huge_results_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "result.json").open("wb") as file:
        file.truncate(1 << 25)
    assert read_run_metrics(tmp_path) == RunMetrics()


def test_entries_are_listed_with_their_nested_fields(dossier_of: MakeDossier) -> None:
    rows = listing(dossier_of(fake_run()).records)
    assert [row.index for row in rows] == list(range(9))
    fields = dict(rows[4].fields)
    assert rows[4].title == "round 1"
    assert fields["participation sites"] == "3"
    assert fields["event name"] == "personal"
    assert fields["state"].endswith("…")
    assert dict(rows[0].fields)["test"] == "no"


def test_open_items_list_what_people_should_see_to(dossier_of: MakeDossier) -> None:
    words = [item.words for item in open_items(dossier_of(fake_run(sites=0)))]
    assert any("No quorum of witnesses" in line for line in words)
    assert any("No attack on the model was run" in line for line in words)
    assert any("In 4 of 4 rounds the number of sites" in line for line in words)


def test_failed_checks_are_open_items(dossier_of: MakeDossier) -> None:
    run = fake_run(finished=False)
    run.edit(RoundEntry, 1, epsilon="0.01")
    items = open_items(dossier_of(run))
    assert items[0].words.startswith("Failed check: budgets spent: ")
    assert items[0].entry == 5
    assert any("not finished" in item.words for item in items)


def test_limits_begin_with_those_of_the_claim(dossier_of: MakeDossier) -> None:
    found = limits(dossier_of(fake_run()))
    assert any("Several runs about the same people add up" in line for line in found)
    assert "a split view) cannot be excluded" in found[-1]


def test_a_review_of_proxies_is_cited(dossier_of: MakeDossier) -> None:
    assert "on record (entry 6)" in proxies(dossier_of(told_run()))
    assert "No review of proxies is on record" in proxies(dossier_of(fake_run()))
