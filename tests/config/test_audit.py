# SPDX-License-Identifier: Apache-2.0
"""`[audit]` and `[report]`: everything can be stated, and nothing has to be."""

import json
from pathlib import Path
from typing import get_args

import pytest

from lexfed.audit.vocabulary import DATA_SHEET, DOCUMENTS, EEA, LATER_DOCUMENTS
from lexfed.config import demo_config, examine, from_mapping, loads
from lexfed.config.tables.audit import AuditTable, PartyTable
from lexfed.config.tables.root import ReportTable
from lexfed.terms import ReportFormat

HERE = Path(__file__).parent
GOOD = (HERE / "good.toml").read_text()
STATED = (HERE / "audit.toml").read_text()
GOOD = GOOD.replace('engine = "simulation"', 'engine = "inprocess"')


def test_nothing_is_stated_by_default() -> None:
    config = loads(demo_config())
    assert config.audit == AuditTable()
    assert config.report == ReportTable()
    governance = config.audit.governance.model_dump(exclude_defaults=True)
    assert governance == {}
    assert config.report.formats == get_args(ReportFormat)


def test_everything_can_be_stated() -> None:
    config = loads(GOOD + STATED)
    assert config.audit.governance.special["ethnic origin"].exception == "9.2.a"
    assert config.audit.documents["dpia"].about == "policy"
    assert from_mapping(json.loads(json.dumps(config.to_json()))) == config
    stated = config.audit.model_dump(exclude_defaults=True)
    assert set(stated) == set(AuditTable.model_fields)
    assert set(stated["governance"]) == set(type(config.audit.governance).model_fields)


def test_logs_of_a_run_have_a_name() -> None:
    assert AuditTable().origin_of("demo") == "lexfed.example/demo"
    assert AuditTable(origin="a.example/x").origin_of("demo") == "a.example/x"


def test_sites_are_named_or_all_the_others() -> None:
    audit = loads(GOOD + STATED).audit
    assert audit.party("north").role == "joint-controller"
    assert audit.party("anywhere").country == "FR"
    assert AuditTable().party("north") == PartyTable()


@pytest.mark.parametrize(
    ("keys", "apart"),
    [
        ("keys", True),
        ("runs/readmission-keys", True),
        ("runs/keys", True),
        ("/etc/keys", True),
        ("runs/readmission", False),
        ("./runs//readmission/log/../keys", False),
    ],
)
def test_keys_are_outside_the_run_folder(keys: str, apart: bool) -> None:
    problems = examine(f'{GOOD}\n[audit]\nkeys = "{keys}"').problems
    assert [problem.key for problem in problems] == ([] if apart else ["audit.keys"])


def test_dates_of_the_last_day_are_dates() -> None:
    text = STATED.replace("2031-12-31", "2028-02-29")
    assert examine(GOOD + text).problems == ()
    (problem,) = examine(GOOD + STATED.replace("2031-12-31", "2027-02-29")).problems
    assert problem.key == "audit.governance.retention.log"


def test_documents_of_sites_need_keys() -> None:
    simulated = (GOOD + STATED).replace('"inprocess"', '"simulation"')
    (problem,) = examine(simulated).problems
    assert problem.key == "audit.parties.north.documents"
    assert "sites have keys" in problem.what


def test_vocabularies_do_not_overlap() -> None:
    assert not set(DOCUMENTS) & set(LATER_DOCUMENTS)
    assert set(DATA_SHEET) <= set(DOCUMENTS)
    assert len(DATA_SHEET) == 8
    assert len(EEA) == 27 + 3
