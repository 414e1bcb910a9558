# SPDX-License-Identifier: Apache-2.0
"""Public data files: identifiers are found, nothing clinical is called non-personal.

The files are not part of the project. `LEXFED_DATA` names the folder that holds them;
without it the folder `../shared/data` beside the repository is looked at.
"""

import csv
import gzip
import io
import os
from pathlib import Path

import pytest

from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import DescribedColumn, Suggestion

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("LEXFED_DATA", ROOT.parent / "shared" / "data"))
ROWS = 200

pytestmark = pytest.mark.skipif(
    not (DATA / "synthea" / "patients.csv.gz").is_file(),
    reason="no data files: set LEXFED_DATA to a folder with synthea/, eicu_demo/, "
    "support2/ and heart_uci4/",
)


def tagged(path: str) -> dict[str, Suggestion]:
    """Return the suggestions for a data file by column, tagged with values."""
    file = DATA / path
    content = file.read_bytes()
    text = (gzip.decompress(content) if path.endswith(".gz") else content).decode()
    rows = csv.reader(io.StringIO(text, newline=""))
    header = next(rows)
    taken = [row for _, row in zip(range(ROWS), rows, strict=False)]
    table = file.name.partition(".")[0]
    columns = [
        DescribedColumn(table, name, values=tuple(row[at] for row in taken))
        for at, name in enumerate(header)
    ]
    return {s.column.name: s for s in tag_columns(columns)}


IDENTIFIERS = {
    "Id": "person_key",
    "SSN": "direct_identifier",
    "DRIVERS": "direct_identifier",
    "PASSPORT": "direct_identifier",
    "FIRST": "direct_identifier",
    "LAST": "direct_identifier",
    "MAIDEN": "direct_identifier",
    "ADDRESS": "contact",
}


@pytest.mark.parametrize("file", ["patients", "synthea_patients_flat"])
def test_every_direct_identifier_of_synthea_is_found(file: str) -> None:
    found = tagged(f"synthea/{file}.csv.gz")
    for name, category in IDENTIFIERS.items():
        assert (found[name].tier, found[name].category) == ("identifier", category)
    for name in ("LAT", "LON"):
        assert found[name].category == "precise_geolocation"
    for name in ("BIRTHDATE", "GENDER", "MARITAL", "PREFIX", "SUFFIX"):
        assert (found[name].tier, found[name].category) == ("personal", "demographic")
    for name in ("ZIP", "CITY", "COUNTY", "STATE", "BIRTHPLACE"):
        assert (found[name].tier, found[name].category) == ("personal", "location")
    for name in ("RACE", "ETHNICITY"):
        assert found[name].category == "ethnicity"


@pytest.mark.parametrize("file", ["conditions", "allergies", "careplans"])
def test_keys_of_patients_are_found_in_every_table(file: str) -> None:
    found = tagged(f"synthea/{file}.csv.gz")
    for name in ("PATIENT", "ENCOUNTER"):
        assert (found[name].tier, found[name].category) == ("identifier", "person_key")


@pytest.mark.parametrize(
    "name", ["SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "ADDRESS"]
)
def test_the_values_speak_for_the_identifiers_themselves(name: str) -> None:
    evidence = tagged("synthea/patients.csv.gz")[name].evidence
    assert any(e.kind == "values" and e.tier == "identifier" for e in evidence)


# Keys of rows and of organisations, and the hour when a note was typed in.
NOT_CLINICAL = {
    "eicu_demo/eicu_demo.csv.gz": {"hospitalid"},
    "eicu_demo/diagnosis.csv.gz": {"diagnosisid"},
    "eicu_demo/medication.csv.gz": {"medicationid"},
    "eicu_demo/pasthistory.csv.gz": {"pasthistoryid", "pasthistoryenteredoffset"},
    "eicu_demo/treatment.csv.gz": {"treatmentid"},
    "support2/support2.csv.gz": set(),
    "heart_uci4/heart_uci4.csv": set(),
    "synthea/conditions.csv.gz": set(),
    "synthea/allergies.csv.gz": set(),
    "synthea/careplans.csv.gz": {"Id"},
}


@pytest.mark.parametrize("path", NOT_CLINICAL)
def test_no_clinical_column_is_called_non_personal(path: str) -> None:
    found = tagged(path)
    called = {name for name, s in found.items() if s.tier == "non_personal"}
    assert called <= NOT_CLINICAL[path]


def test_proxies_of_real_columns() -> None:
    found = tagged("synthea/patients.csv.gz")
    proxies = {proxy.column for proxy in found["COUNTY"].proxies}
    assert {"LAT", "LON"} <= proxies
    assert found["COUNTY"].tier == "personal"


def test_no_value_of_a_file_is_in_what_is_said_of_it() -> None:
    for path in ("synthea/patients.csv.gz", "eicu_demo/medication.csv.gz"):
        for suggestion in tagged(path).values():
            said = repr(suggestion)
            values = suggestion.column.values or ()
            # Short values are words of any sentence.
            assert not any(len(value) > 9 and value in said for value in values)
