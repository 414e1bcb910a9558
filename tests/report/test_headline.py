# SPDX-License-Identifier: Apache-2.0
"""The first sentence says the worst thing first, in plain words."""

import pytest

from lexfed.audit.entries import RoundEntry
from lexfed.report.sections.headline import headline
from report.conftest import MakeDossier, broken_run, early_run, refused_run
from support.audit.worlds import fake_run


def test_a_finished_run_verifies_and_kept_its_budgets(dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(fake_run()))
    assert found.sound
    assert found.sentence.startswith("The log verifies: ")
    assert found.sentence.endswith("Every budget recomputed from it was kept.")
    assert found.guarantee == (
        "(ε, δ) = (1.75, 1e-6) per person under add/remove (replace-one: 3.75) by PLD, "
        "trust: central"
    )
    assert "5.76 times as likely with this person's data as without" in found.meaning


def test_a_failed_check_is_said_before_anything_else(dossier_of: MakeDossier) -> None:
    run = fake_run(test=True)
    run.edit(RoundEntry, 1, epsilon="0.01")
    found = headline(dossier_of(run))
    assert not found.sound
    assert found.sentence.startswith("This log does not verify: 1 of ")
    assert found.sentence.endswith("Rely on nothing below.")


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"mechanism": "none"}, "no noise was added"), ({"test": True}, "was seeded")],
    ids=["none", "test"],
)
def test_a_run_without_privacy_is_called_that_first(
    settings: dict[str, object], why: str, dossier_of: MakeDossier
) -> None:
    found = headline(dossier_of(fake_run(**settings)))  # type: ignore[arg-type]
    assert found.sentence.startswith("Not private: ")
    assert why in found.sentence
    assert found.guarantee == "NOT PRIVATE: no guarantee"
    assert found.meaning == ""


def test_a_refused_run_released_nothing(dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(refused_run()))
    assert "Nothing was released: refused by a site: special columns would reach " in (
        found.sentence
    )
    assert "ε 2.61 of 2.50" in found.sentence


def test_an_interrupted_run_is_not_finished(dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(broken_run()))
    assert "The run is not finished: 3 of 4 planned rounds" in found.sentence
    assert found.guarantee.startswith("budget (ε, δ) = (3.00, 1e-6) per person under ")
    assert found.meaning != ""


def test_a_run_that_ended_early_has_the_guarantee_of_its_plan(
    dossier_of: MakeDossier,
) -> None:
    dossier = dossier_of(early_run())
    assert dossier.state == "early"
    assert "ended early, after 3 of 4 planned rounds" in headline(dossier).sentence


def test_without_witnesses_a_split_view_is_named(dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(fake_run()))
    assert "a split view) cannot be excluded" in found.caveat


@pytest.mark.parametrize("word", ["compliant", "lawful", "safe", "anonymous", "secure"])
def test_nothing_is_promised(word: str, dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(fake_run()))
    text = " ".join((found.sentence, found.guarantee, found.meaning, found.caveat))
    assert word not in text.lower()


def test_fewer_rounds_under_a_filter_are_no_early_end(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run(guarantee="filter", adapted=[(0, 0.8), (1, 0.8)]))
    found = headline(dossier)
    assert "took 2 rounds where 4 were planned, within the plan's sums" in (
        found.sentence
    )
