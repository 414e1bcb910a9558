# SPDX-License-Identifier: Apache-2.0
"""A folder of public tables: missing, changed, contradicting, or as declared."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.errors import DataError
from lexfed.evaluate.datasets.declarations import (
    TableDeclaration,
    load_declaration,
    parse_declaration,
    public_names,
)
from lexfed.evaluate.datasets.source_folder import digest, read_source

ROWS = "age,ill,note\n30,1,a\n40,0,\n"
SCHEMA: dict[str, Any] = {
    "columns": {"quasi_identifier": ["age"], "target": ["ill"], "identifier": ["note"]},
    "exclude_from_features": ["note"],
}
DECLARED = """
title = "A small table"
licence = "none"
reason = "test"
file = "small.csv"
rows = 2
target = "ill"
sites = {{ count = 2, partition = "iid" }}
[sha256]
"small.csv" = "{sha}"
[columns.personal]
age = {{ range = [0, 120] }}
[columns.special]
ill = "flag"
"""


def declared(rows: str = ROWS, more: str = "") -> TableDeclaration:
    sha = hashlib.sha256(rows.encode()).hexdigest()
    return parse_declaration("small", DECLARED.format(sha=sha) + more)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEXFED_DATA", str(tmp_path))
    made = tmp_path / "small"
    made.mkdir()
    (made / "small.csv").write_text(ROWS)
    (made / "schema.json").write_text(json.dumps(SCHEMA))
    return made


def refused(facts: TableDeclaration) -> str:
    with pytest.raises(DataError) as caught:
        read_source(facts)
    return "\n".join(f"{p} [{p.hint}]" for p in caught.value.problems)


def test_rows_are_read_as_text_with_gaps(folder: Path) -> None:
    frame = read_source(declared())
    assert frame["age"].tolist() == ["30", "40"]
    assert frame["note"].isna().tolist() == [False, True]


def test_without_a_folder_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LEXFED_DATA", raising=False)
    assert "LEXFED_DATA: not set" in refused(declared())
    monkeypatch.setenv("LEXFED_DATA", str(tmp_path / "nowhere"))
    said = refused(declared())
    assert "there is no such folder" in said
    assert "lexfed evaluate fetch" in said


def test_a_missing_or_changed_file_is_refused_by_name(folder: Path) -> None:
    (folder / "small.csv").write_text(ROWS + "50,1,b\n")
    assert "SHA-256" in refused(declared())
    (folder / "small.csv").unlink()
    assert "no such file" in refused(declared())


def test_another_number_of_rows_than_published_is_refused(folder: Path) -> None:
    longer = ROWS + "50,1,b\n"
    (folder / "small.csv").write_text(longer)
    assert "3 rows, but 2 are declared" in refused(declared(longer))


@pytest.mark.parametrize("text", ["{", "[]", '{"columns": {}}'])
def test_a_schema_that_cannot_be_read_is_refused(folder: Path, text: str) -> None:
    (folder / "schema.json").write_text(text)
    assert "exclude_from_features" in refused(declared())


@pytest.mark.parametrize(
    ("found", "both"),
    [
        ("gdpr_art9_special_category", ("tier `personal`", "gdpr_art9")),
        ("identifier", ("tier `personal`", "class `identifier`")),
        (None, ("tier `personal`", "without a class")),
    ],
)
def test_a_difference_names_tier_and_class(
    folder: Path, found: str | None, both: tuple[str, str]
) -> None:
    columns = {"target": ["ill"]} | ({found: ["age"]} if found else {})
    schema = {"columns": columns, "exclude_from_features": []}
    (folder / "schema.json").write_text(json.dumps(schema))
    said = refused(declared())
    assert all(part in said for part in both)
    assert "column `age`" in said


def test_a_column_that_nobody_declared_is_a_difference(folder: Path) -> None:
    (folder / "schema.json").write_text(
        json.dumps({**SCHEMA, "exclude_from_features": []})
    )
    assert "`note`: not declared by lexfed" in refused(declared())


def test_a_stated_departure_is_accepted_only_from_the_class_it_names(
    folder: Path,
) -> None:
    stated = (
        '[columns.identifier]\nnote = { kind = "text", class = "%s", reason = "x" }'
    )
    schema = {**SCHEMA, "columns": {**SCHEMA["columns"], "identifier": []}}
    schema["columns"]["non_sensitive_personal"] = ["note"]
    (folder / "schema.json").write_text(json.dumps(schema))
    right = declared(more=stated % "non_sensitive_personal")
    assert len(read_source(right)) == 2
    assert right.tables(2)["law"]["columns"]["note"]["reason"] == "x"
    assert "column `note`" in refused(declared(more=stated % "quasi_identifier"))


def test_the_digest_is_of_names_and_bytes() -> None:
    sums = declared().sha256
    assert digest(sums) == digest(dict(sums))
    assert digest(sums) != digest(declared(ROWS + "\n").sha256)
    assert digest(sums) != digest({"other.csv": sums["small.csv"]})


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(DataError) as caught:
        load_declaration("german_credits")
    assert "german_credit" in caught.value.hint
    with pytest.raises(DataError, match="no `zzz`"):
        load_declaration("zzz")


@pytest.mark.parametrize("name", public_names())
def test_every_declaration_is_whole(name: str) -> None:
    facts = load_declaration(name)
    assert set(facts.tiers.values()) <= {
        "non_personal", "personal", "special", "identifier",
    }  # fmt: skip
    assert facts.tiers[facts.target] == "special"
    assert facts.reason.isalpha()
    assert facts.file in facts.sha256
    for column in facts.columns.values():
        low, high = column.get("range", (0, 1))
        assert low < high
        values = column.get("values", [])
        assert len(set(values)) == len(values)
