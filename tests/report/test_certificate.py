# SPDX-License-Identifier: Apache-2.0
"""Rules are shown as they were certified, grouped by law, with what is missing."""

import re

from lexfed.audit.entries import Certificate
from lexfed.audit.rules import catalogue, catalogue_bytes
from lexfed.report.sections.certificate import LAWS, certificate
from report.conftest import MakeDossier, certified, told_run
from support.audit.worlds import fake_run


def test_every_rule_is_there_once_under_its_law(dossier_of: MakeDossier) -> None:
    shown = certificate(dossier_of(certified(told_run())))
    assert shown is not None
    rows = [row for group in shown.groups for row in group.rows]
    assert [row.rule for row in rows] == [rule.id for rule in catalogue().rules]
    names = [group.name for group in shown.groups]
    assert len(names) == len(set(names))
    assert set(names) == set(LAWS.values())


def test_groups_add_up_to_what_is_shown(dossier_of: MakeDossier) -> None:
    shown = certificate(dossier_of(certified(told_run())))
    assert shown is not None
    counts, logged = shown.shown, shown.logged
    assert counts is not None
    assert counts.software + counts.people == logged.at_ceiling
    assert counts.most_of_software + counts.most_of_people == logged.applicable
    said = " ".join(group.shown for group in shown.groups)
    for who, done, most in (
        ("software", counts.software, counts.most_of_software),
        ("people", counts.people, counts.most_of_people),
    ):
        parts = re.findall(rf"{who} (\d+) of (\d+)", said)
        assert sum(int(part[0]) for part in parts) == done
        assert sum(int(part[1]) for part in parts) == most


def test_what_is_missing_is_said(dossier_of: MakeDossier) -> None:
    shown = certificate(dossier_of(certified(fake_run())))
    assert shown is not None
    rows = [row for group in shown.groups for row in group.rows]
    lacking = [row for row in rows if row.outcome == "not evidenced"]
    own, of_people = shown.missing(software=True), shown.missing(software=False)
    assert own > 0 < of_people
    assert len(lacking) == own + of_people
    assert all(row.why for row in lacking)


def test_a_log_without_certificate_has_none(dossier_of: MakeDossier) -> None:
    assert certificate(dossier_of(fake_run())) is None


def test_another_catalogue_is_read_from_the_log(dossier_of: MakeDossier) -> None:
    run = certified(fake_run())
    other = catalogue_bytes() + b"# of another version\n"
    run.edit(Certificate, catalogue=run.put(other))
    shown = certificate(dossier_of(run))
    assert shown is not None
    assert shown.groups[0].rows[0].obligation == catalogue().rules[0].obligation


def test_an_unknown_catalogue_leaves_the_words_out(dossier_of: MakeDossier) -> None:
    run = certified(fake_run())
    run.edit(Certificate, catalogue="0" * 64)
    shown = certificate(dossier_of(run))
    assert shown is not None
    row = shown.groups[0].rows[0]
    assert row.obligation == "not in a catalogue at hand"
    assert not row.at_ceiling
    assert row.law == "gdpr"
    assert shown.shown is None
    assert all(group.shown == "" for group in shown.groups)


def test_no_rule_that_counts_is_counted(dossier_of: MakeDossier) -> None:
    run = certified(fake_run())
    run.edit(Certificate, results=(), at_ceiling=0, applicable=0)
    shown = certificate(dossier_of(run))
    assert shown is not None
    assert shown.shown is not None
    assert set(shown.shown.to_json().values()) == {0}
