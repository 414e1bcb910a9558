# SPDX-License-Identifier: Apache-2.0
"""Statements of `[audit]` become entries; files are hashed, texts become blobs."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from lexfed.audit.entries import (
    KINDS,
    Document,
    Governance,
    PublicKeyRecord,
    RecordOfProcessing,
)
from lexfed.audit.entries.envelopes import body_of
from lexfed.audit.entries.fields import IdempotencyKey
from lexfed.audit.entries.lifecycle import names_digest
from lexfed.config import demo_config, loads
from lexfed.config.tables.audit import AuditTable
from lexfed.errors import ConfigError
from lexfed.run.audit_log.governance import governance_entries, party_of

HERE = Path(__file__).parents[1] / "config"
TEXT = (HERE / "good.toml").read_text() + (HERE / "audit.toml").read_text()
AUDIT = loads(TEXT.replace('engine = "simulation"', 'engine = "inprocess"')).audit
SITES = {"north": "a" * 64, "south": "b" * 64}
FILES = (
    "docs/offences.pdf", "docs/law.pdf", "docs/zip.csv", "docs/dpia.pdf",
    "docs/notice.html", "docs/north.pdf", "docs/others.pdf", "q.pdf",
)  # fmt: skip


def sha256(content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with every file that is named, each holding its own name."""
    (tmp_path / "docs").mkdir()
    for name in FILES:
        (tmp_path / name).write_text(name)
    return tmp_path


def test_nothing_stated_is_no_entry(tmp_path: Path) -> None:
    assert governance_entries(AuditTable(), tmp_path, SITES) == []
    demo = loads(demo_config()).audit
    assert governance_entries(demo, tmp_path, {"h1": None}) == []


def test_everything_stated_is_logged(base: Path) -> None:
    stated = governance_entries(AUDIT, base, SITES)
    assert [each.key for each in stated] == [
        "governance",
        "record/controller",
        "record/processor",
        "document/dpia",
        "document/notice",
        f"document/data-quality/{'a' * 16}",
    ]
    assert stated == governance_entries(AUDIT, base, SITES)
    for each in stated:
        TypeAdapter(IdempotencyKey).validate_python(each.key)
        again = KINDS[each.entry.kind].model_validate_json(
            json.dumps(body_of(each.entry))
        )
        assert again == each.entry


def test_governance_holds_code_words_and_digests(base: Path) -> None:
    entry = governance_entries(AUDIT, base, SITES)[0].entry
    assert isinstance(entry, Governance)
    assert entry.special["health"].law == sha256("docs/law.pdf")
    assert entry.special["ethnic-origin"].law is None
    assert entry.approved_inputs == names_digest(["blood type", "age"])
    assert entry.offence_law == sha256("docs/offences.pdf")
    assert entry.retention["bias-data"] == "2027-01-01"
    assert entry.transforms.zip_table == sha256("docs/zip.csv")
    assert entry.pseudonymisation is not None
    assert entry.pseudonymisation.algorithm == "hmac-sha256"
    assert entry.none_known == ("incidents",)
    unstated = [name for name, value in entry if value is None]
    assert unstated == []


def test_texts_of_records_are_outside_the_log(base: Path) -> None:
    stated = governance_entries(AUDIT, base, SITES)
    controller, processor = stated[1], stated[2]
    assert isinstance(controller.entry, RecordOfProcessing)
    assert isinstance(processor.entry, RecordOfProcessing)
    (text,) = controller.blobs
    assert controller.entry.text == sha256(text)
    assert json.loads(text)["controller"].startswith("Example Hospital")
    assert json.loads(text)["transfers"] == "all sites are in the Union"
    assert controller.entry.groups["transfers"] == "not-applicable"
    assert controller.entry.groups["security"] == "stated"
    assert controller.entry.categories == ("demographic", "health")
    assert controller.entry.bias_reason
    assert controller.entry.subjects() == (("record-of-processing.json", sha256(text)),)
    assert processor.entry.groups == {
        "parties": "stated",
        "processing": "stated",
        "transfers": "not-applicable",
        "security": "stated",
    }
    written = json.dumps([body_of(each.entry) for each in stated])
    assert "Example" not in written
    assert "north" not in written


def test_what_is_left_out_of_a_record_is_missing(tmp_path: Path) -> None:
    text = demo_config() + '\n[audit.record]\npurposes = "research"\n'
    (stated,) = governance_entries(loads(text).audit, tmp_path, {})
    assert isinstance(stated.entry, RecordOfProcessing)
    assert stated.entry.groups["controller"] == "missing"
    assert stated.entry.groups["purposes"] == "stated"
    assert stated.entry.categories is None
    assert not stated.entry.bias_reason


def test_documents_are_hashed_and_stay_where_they_are(base: Path) -> None:
    entries = [each.entry for each in governance_entries(AUDIT, base, SITES)]
    dpia, notice, quality = (e for e in entries if isinstance(e, Document))
    assert dpia.digest == sha256("docs/dpia.pdf")
    assert (dpia.issued, dpia.expires, dpia.about) == ("2026-09-01", None, 1)
    assert notice.expires == "2028-01-01"
    assert (quality.what, quality.site) == ("data-quality", "a" * 64)


def test_parties_are_what_is_stated_of_them(base: Path) -> None:
    key = PublicKeyRecord(keyid="a" * 64, public="AAAA")
    north = party_of(AUDIT, base, "north", key)
    assert north.legal_role == "joint-controller"
    assert north.contract == sha256("docs/north.pdf")
    south = party_of(AUDIT, base, "south", None)
    assert (south.country, south.transfer_tool) == ("FR", "standard-clauses")
    nobody = party_of(AuditTable(), base, "south", None)
    assert nobody.legal_role is nobody.country is nobody.contract is None


def test_everything_unreadable_is_named_at_once(base: Path) -> None:
    (base / "docs/dpia.pdf").unlink()
    (base / "docs/zip.csv").unlink()
    (base / "docs/zip.csv").mkdir()
    (base / "docs/north.pdf").unlink()
    with pytest.raises(ConfigError) as caught:
        governance_entries(AUDIT, base, SITES)
    assert [str(problem) for problem in caught.value.problems] == [
        "`audit.governance.transforms.zip_table`: `docs/zip.csv` cannot be read: "
        "is a directory",
        "`audit.documents.dpia.file`: `docs/dpia.pdf` cannot be read: no such file or "
        "directory",
    ]
    assert "relative to the folder" in caught.value.hint
    with pytest.raises(ConfigError, match=r"audit\.parties\.north\.contract"):
        party_of(AUDIT, base, "north", None)


def test_files_of_odd_names_are_problems_too(base: Path) -> None:
    odd = f'dpia = {{ file = "{"x" * 300}", issued = "2026-01-01" }}'
    text = f"{demo_config()}\n[audit.documents]\n{odd}\n"
    with pytest.raises(ConfigError, match="cannot be read"):
        governance_entries(loads(text).audit, base, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_of_others_are_problems_too(base: Path) -> None:
    (base / "q.pdf").chmod(0)
    with pytest.raises(ConfigError, match="permission denied"):
        governance_entries(AUDIT, base, SITES)


def test_unknown_sites_are_named(base: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        governance_entries(AUDIT, base, {"norh": "a" * 64})
    (problem,) = caught.value.problems
    assert str(problem) == "`audit.parties.north`: there is no site `north`"
    assert problem.hint == "did you mean `norh`?"


def test_documents_of_sites_without_keys_are_refused(base: Path) -> None:
    others = TEXT.replace("[audit.parties.north.documents]",
                          '[audit.parties."*".documents]')  # fmt: skip
    audit = loads(others.replace('"simulation"', '"inprocess"')).audit
    with pytest.raises(ConfigError) as caught:
        governance_entries(audit, base, {"north": None, "south": None, "west": None})
    (problem,) = caught.value.problems
    assert problem.where == '`audit.parties."*".documents.data-quality`'
    assert "no keys" in problem.what
