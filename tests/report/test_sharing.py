# SPDX-License-Identifier: Apache-2.0
"""Distributed trust in reports: what is assumed of sites stands beside every number."""

import pytest

from lexfed.audit.entries import CohortAssumptions, PolicyEntry
from lexfed.privacy.noise.shares import NoiseCohort as Priced
from lexfed.report.documents.drafts import dpia
from lexfed.report.documents.report_page import render
from lexfed.report.sections import guarantee
from lexfed.report.sections.headline import headline
from lexfed.report.sections.log_entries import listing
from lexfed.report.sections.processing_record import processing
from lexfed.report.wording import plain_words
from report.conftest import MakeDossier
from support.audit.masked_runs import masked_run
from support.audit.worlds import fake_run

SHORT = "of 5 sites at most 1 may collude and 1 be missing, 3 honest in every sum"


def test_the_headline_says_what_must_be_believed(dossier_of: MakeDossier) -> None:
    found = headline(dossier_of(masked_run()))
    assert found.sound
    assert found.guarantee == (
        "(ε, δ) = (1.88, 1e-6) per person under add/remove (replace-one: 4.02) by RDP, "
        f"trust: distributed ({SHORT})"
    )
    assert found.trust.startswith("The coordinator need not be trusted")
    assert "at most 1 of the 5 sites tells others its part of the noise" in found.trust
    assert found.trust.endswith("the noise of at least 3 honest sites")


def test_other_trust_asks_for_no_belief_about_sites(dossier_of: MakeDossier) -> None:
    assert headline(dossier_of(fake_run())).trust == ""
    names = [fact.name for fact in guarantee.facts(dossier_of(fake_run()))]
    assert "To be believed" not in names


def test_nothing_is_asked_to_be_believed_where_nothing_is_guaranteed(
    dossier_of: MakeDossier,
) -> None:
    seeded = fake_run(cohort=Priced(3), sites=3, accountant="rdp", test=True)
    found = headline(dossier_of(seeded))
    assert found.sentence.startswith("Not private: ")
    assert found.trust == ""


@pytest.mark.parametrize("finished", [True, False])
def test_the_guarantee_lists_the_assumptions(
    finished: bool, dossier_of: MakeDossier
) -> None:
    run = fake_run(cohort=Priced(5, 1, 1), sites=5, accountant="rdp", finished=finished)
    dossier = dossier_of(run)
    rows = {fact.name: fact.value for fact in guarantee.facts(dossier)}
    assert rows["Trust"].startswith("distributed: each site adds a part of the noise")
    assert rows["Sites"].startswith("5 take part; up to 1 may be missing from a round")
    assert "fewer than 4 is never opened" in rows["Sites"]
    assert "at least 3 honest sites" in rows["Assumed"]
    assert rows["Against whom"].startswith("the coordinator together with any one site")
    assert "no log can show it" in rows["To be believed"]
    if finished:
        assert rows["Noise"].startswith("in parts: each site draws integers of its own")
    else:
        assert SHORT in headline(dossier).guarantee


def test_without_colluders_a_site_is_not_kept_out() -> None:
    rows = dict(
        plain_words.assumption_rows(CohortAssumptions(sites=3, colluders=0, dropouts=0))
    )
    assert "none may be missing" in rows["Sites"]
    assert rows["Assumed"].startswith("none of the 3 sites tells others")
    assert "not a site that takes part" in rows["Against whom"]


def test_several_colluders_are_counted() -> None:
    rows = dict(
        plain_words.assumption_rows(CohortAssumptions(sites=9, colluders=2, dropouts=1))
    )
    assert "together with any 2 sites" in rows["Against whom"]
    assert "at least 6 honest sites" in rows["Assumed"]


def test_the_record_of_processing_names_masks_and_assumptions(
    dossier_of: MakeDossier,
) -> None:
    known = [row.known for row in processing(dossier_of(masked_run()))]
    [security] = {text for text in known if "differential privacy" in text}
    assert f"trust: distributed ({SHORT})" in security
    assert "aggregation masking" in security


def test_entries_show_how_many_agreed(dossier_of: MakeDossier) -> None:
    records = dossier_of(masked_run()).evidence.records
    found = [dict(each.fields) for each in listing(records)]
    [first, second, *_] = [row for row in found if "aggregation survivors" in row]
    assert (first["aggregation survivors"], second["aggregation survivors"]) == (
        "5",
        "4",
    )
    assert first["aggregation threshold"] == "4"
    central = listing(dossier_of(fake_run()).evidence.records)
    assert not any("aggregation protocol" in dict(each.fields) for each in central)


def test_a_contradicted_assumption_is_a_failed_check(dossier_of: MakeDossier) -> None:
    run = masked_run()
    run.edit(PolicyEntry, 0, cohort=CohortAssumptions(sites=5, colluders=0, dropouts=1))
    assert not headline(dossier_of(run)).sound


def test_page_and_assessment_carry_the_sentence(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(masked_run())
    words = "The coordinator need not be trusted"
    assert words in render(dossier, "5a" * 32).decode()
    assert words in dpia(dossier).decode()
