# SPDX-License-Identifier: Apache-2.0
"""Entries by hand: every kind, every mistake, and nothing left of a refusal."""

from hashlib import sha256
from pathlib import Path

import pytest

from lexfed.audit.entries import KINDS as ALL
from lexfed.audit.entries import Correction, Document, Incident
from lexfed.audit.log.manual_entries import KINDS, append_by_hand
from lexfed.audit.vocabulary import DOCUMENTS, LATER_DOCUMENTS
from lexfed.errors import AuditError, RunFolderError
from support.audit.open_logs import Logged, logged
from support.audit.worlds import SITES

D = "0" * 64
TEXT = b"why it was wrong\n"


@pytest.fixture
def run(tmp_path: Path) -> Logged:
    return logged(tmp_path)


@pytest.fixture
def text(tmp_path: Path) -> str:
    """A file, as people name one."""
    (tmp_path / "text.md").write_bytes(TEXT)
    return f"@{tmp_path / 'text.md'}"


def add(run: Logged, kind: str, **stated: str) -> int:
    log = run.open()
    try:
        return append_by_hand(log, kind, stated).index
    finally:
        log.close()


STATEMENTS = {
    "document": {"what": "dpia", "digest": D, "issued": "2026-11-15"},
    "privacy-test": {
        "attack": "membership", "tool": "lira-1", "model": D, "metric": "auc",
        "value": "0.51",
    },
    "change": {"what": "purpose", "after": D},
    "withdrawal": {"commitment": D, "ground": "consent"},
    "deletion": {"artefact": "backup"},
    "incident": {"what": "key-lost", "aware_at": "2026-11-15T12:00:00Z"},
    "correction": {"index": "3", "reason": D},
}  # fmt: skip


def test_every_kind_can_be_stated(run: Logged) -> None:
    assert STATEMENTS.keys() == KINDS.keys() < ALL.keys()
    for number, (kind, stated) in enumerate(STATEMENTS.items(), start=9):
        assert add(run, kind, **stated) == number
        assert run.evidence().records[-1].kind == kind
    assert run.failures() == []


def test_the_same_statement_is_appended_once(run: Logged) -> None:
    first = add(run, "incident", **STATEMENTS["incident"])
    assert add(run, "incident", **STATEMENTS["incident"]) == first
    other = {**STATEMENTS["incident"], "what": "key-found"}
    assert add(run, "incident", **other) == first + 1
    assert len(run.evidence().of(Incident)) == 2


def test_a_document_stays_with_its_owner(run: Logged, text: str) -> None:
    before = run.contents().keys()
    add(run, "document", what="notice", digest=text, issued="2026-11-15")
    [found] = run.evidence().of(Document)
    assert found.entry.digest == sha256(TEXT).hexdigest()
    new = run.contents().keys() - before
    assert not [path for path in new if "blobs" in path.parts]


def test_the_text_of_a_correction_is_kept(run: Logged, text: str) -> None:
    add(run, "correction", index="3", reason=text)
    [found] = run.evidence().of(Correction)
    assert run.evidence().blobs.get(found.entry.reason) == TEXT
    assert run.failures() == []


def test_a_document_about_another_entry(run: Logged) -> None:
    change = add(run, "change", **STATEMENTS["change"])
    stated = {**STATEMENTS["document"], "what": "dpia-review"}
    add(run, "document", **stated, about=str(change))
    [found] = run.evidence().of(Document)
    assert found.entry.about == change
    assert run.failures() == []


def test_a_document_of_a_site(run: Logged) -> None:
    stated = {**STATEMENTS["document"], "what": "data-quality"}
    add(run, "document", **stated, site=SITES[1].fingerprint)
    [found] = run.evidence().of(Document)
    assert found.entry.site == SITES[1].fingerprint


Stated = dict[str, str]


def changed(kind: str, **changes: str | None) -> tuple[str, Stated]:
    stated = {**STATEMENTS[kind], **changes}
    return kind, {name: text for name, text in stated.items() if text is not None}


MISTAKES = {
    "no such kind": (("documnet", {}), "are not made by hand", "choose one of change,"),
    "not for people": (("round", {}), "`round` are not made by hand", "document"),
    "a rotation": (("key-rotation", {}), "are not made by hand", "withdrawal"),
    "unknown field": (
        changed("document", author="me"), "has no field `author`", "it has what, dig",
    ),
    "forgotten": (changed("document", issued=None), "`issued`: is not stated", "=..."),
    "free text": (
        changed("incident", what="a nurse lost her key"),
        "`what`: expected one word without spaces", "what=WORD",
    ),
    "a date in words": (
        changed("document", issued="15 November"),
        "`issued`: expected a date", "issued=2026-11-15",
    ),
    "no such day": (
        changed("document", issued="2026-02-30"), "`issued`: there is no `2026-02-30`",
        "",
    ),
    "no such time": (
        changed("incident", aware_at="2026-11-15T24:00:00Z"),
        "`aware_at`: there is no `2026-11-15T24:00:00Z`", "",
    ),
    "a local time": (
        changed("incident", aware_at="2026-11-15T12:00:00"),
        "`aware_at`: expected a time in UTC", "aware_at=2026-11-15T12:00:00Z",
    ),
    "a file without @": (
        changed("document", digest="dpia.pdf"),
        "`digest`: expected a SHA-256 in hexadecimal, or a file", "digest=@FILE",
    ),
    "another word": (
        changed("change", what="everything"), "`what`: expected 'budget-raised'", "=",
    ),
    "below zero": (
        changed("privacy-test", value="-0.5"),
        "`value`: expected a number that is not negative", "value=0.5",
    ),
    "not a number": (
        changed("correction", index="three"), "`index`: expected a whole number",
        "index=NUMBER",
    ),
    "huge": (
        changed("correction", index="9" * 5000), "`index`: expected a whole number", "",
    ),
    "beyond doubles": (
        changed("correction", index="9" * 16), "`index`: expected a whole number", "",
    ),
    "nothing to correct": (
        changed("correction", index="9"), "there is no entry 9; the log has 9", "",
    ),
    "about nothing": (
        changed("document", about="77"), "there is no entry 77; the log has 9", "",
    ),
    "a misspelt document": (
        changed("document", what="dpai"), "no rule asks for a document `dpai`",
        "did you mean `dpia`?",
    ),
    "no document": (
        changed("document", what="x"), "no rule asks for", "choose one of notice,",
    ),
    "a review of nothing": (
        changed("document", what="dpia-review"), "is about another entry",
        "about=NUMBER",
    ),
    "no such site": (
        changed("document", site="f" * 64), "no site has the key `ffffffffffffffff`",
        "parties.json",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_nothing_is_written(run: Logged, name: str) -> None:
    (kind, stated), message, hint = MISTAKES[name]
    before = run.contents()
    with pytest.raises(AuditError) as refused:
        add(run, kind, **stated)
    assert message in refused.value.message
    assert hint in refused.value.hint
    assert "pattern" not in refused.value.message
    assert run.contents() == before


def test_a_refused_statement_leaves_no_text_behind(run: Logged, text: str) -> None:
    before = run.contents()
    with pytest.raises(AuditError, match="no entry 99"):
        add(run, "correction", index="99", reason=text)
    with pytest.raises(AuditError, match="expected a whole number"):
        add(run, "correction", index="x", reason=text)
    assert run.contents() == before


def test_an_erased_text_does_not_come_back(run: Logged, text: str) -> None:
    add(run, "correction", index="3", reason=text)
    log = run.open()
    log.blobs.erase(sha256(TEXT).hexdigest())
    log.close()
    with pytest.raises(AuditError, match="was erased"):
        add(run, "correction", index="4", reason=text)


@pytest.mark.parametrize(
    "file", ["missing.pdf", ".", "a\0b"], ids=["missing", "a folder", "no name"]
)
def test_a_file_that_cannot_be_read(run: Logged, tmp_path: Path, file: str) -> None:
    with pytest.raises(RunFolderError, match="cannot read"):
        add(
            run,
            "document",
            **{**STATEMENTS["document"], "digest": f"@{tmp_path}/{file}"},
        )


def test_every_document_that_a_rule_asks_for_can_be_stated(run: Logged) -> None:
    log = run.open()
    for what in (*DOCUMENTS, *LATER_DOCUMENTS):
        stated = {**STATEMENTS["document"], "what": what, "about": "0"}
        append_by_hand(log, "document", stated)
    found = {entry.what for entry in log.entries(Document)}
    assert found == {*DOCUMENTS, *LATER_DOCUMENTS}
    log.close()
