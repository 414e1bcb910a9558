# SPDX-License-Identifier: Apache-2.0
"""Fetching from a server on this machine that speaks OpenML's protocol."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.errors import DataError
from lexfed.evaluate.datasets import prepare
from lexfed.evaluate.datasets.archives.download import download
from lexfed.evaluate.datasets.archives.openml import read_arff
from lexfed.evaluate.datasets.archives.retrieval import FetchedTable, fetch
from lexfed.evaluate.datasets.source_folder import FETCHED

HEADER = """% about credit
@RELATION credit-g
@ATTRIBUTE checking_status { '<0', '0<=X<200', '>=200', 'no checking'}
@ATTRIBUTE duration INTEGER
@ATTRIBUTE credit_history {'all paid', 'critical/other existing credit'}
@ATTRIBUTE purpose {radio/tv, education}
@ATTRIBUTE credit_amount REAL
@ATTRIBUTE 'savings_status' {'no known savings'}
@ATTRIBUTE employment {'>=7'}
@ATTRIBUTE installment_commitment INTEGER
@ATTRIBUTE "personal_status" {'male single', 'female div/dep/mar'}
@ATTRIBUTE other_parties {none}
@ATTRIBUTE residence_since INTEGER
@ATTRIBUTE property_magnitude {'real estate'}
@ATTRIBUTE age INTEGER
@ATTRIBUTE other_payment_plans {none}
@ATTRIBUTE housing {own}
@ATTRIBUTE existing_credits INTEGER
@ATTRIBUTE job {skilled}
@ATTRIBUTE num_dependents INTEGER
@ATTRIBUTE own_telephone {none, yes}
@ATTRIBUTE foreign_worker {yes, no}
@ATTRIBUTE class {good, bad}
@DATA
"""
LOAN = (
    "'<0',6,'critical/other existing credit',radio/tv,1169,'no known savings','>=7',4,"
    "'{who}',none,4,'real estate',67,none,own,2,skilled,1,yes,yes,{how}\n"
)
LOANS = HEADER + "".join(
    LOAN.format(
        who="male single" if n % 2 else "female div/dep/mar",
        how="bad" if n % 10 < 3 else "good",
    )
    for n in range(1000)
)


class OpenML:
    """The tables of the server, by number."""

    def __init__(self) -> None:
        self.address = ""
        self.bodies: dict[str, bytes] = {}

    def has(self, number: int, arff: str, **said: object) -> None:
        body = arff.encode()
        about = {
            "id": str(number),
            "format": "ARFF",
            "url": f"{self.address}/download/{number}/table.arff",
            "md5_checksum": hashlib.md5(body, usedforsecurity=False).hexdigest(),
            "status": "active",
        }
        described = {"data_set_description": {**about, **said}}
        self.bodies[f"/api/v1/json/data/{number}"] = json.dumps(described).encode()
        self.bodies[f"/download/{number}/table.arff"] = body


@pytest.fixture
def openml() -> Iterator[OpenML]:
    found = OpenML()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.bodies.get(self.path)
            # This is how OpenML says that it does not know a number.
            self.send_response(412 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b'{"error":{"code":"111"}}')

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def test_words_of_openml_become_the_codes_of_the_declaration(
    openml: OpenML, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openml.has(31, LOANS)
    came = fetch("german_credit", tmp_path, "openml", openml.address)
    frame = pd.read_csv(came.folder / "german_credit.csv", dtype=str)
    expected = "A11,6,A34,A43,1169,A65,A75,4,A92,A101,4,A121,67,A143,A152,2,A173,1,A192"
    assert ",".join(frame.iloc[0][:19]) == expected
    assert frame["bad"].value_counts().to_dict() == {"0": 700, "1": 300}
    record = json.loads((came.folder / FETCHED).read_text())
    assert record["from"] == [f"{openml.address}/download/31/table.arff"]
    assert record["rows"] == 1000
    assert record["same_rows"] is False
    monkeypatch.setenv("LEXFED_DATA", str(tmp_path))
    prepare("german_credit", tmp_path / "prepared")


@pytest.mark.parametrize(
    ("arff", "said"),
    [
        (LOANS.rsplit("\n", 2)[0] + "\n", "sends 999 rows, but 1000 are published"),
        (LOANS.replace("own,2", "castle,2", 1), "something else than the published"),
        (LOANS.replace("housing", "house"), "something else than the published"),
        (LOANS.replace("@DATA", ""), "something else than the published"),
        (LOANS.replace("@ATTRIBUTE class {good, bad}\n", ""), "something else than"),
        (HEADER, "something else than the published"),
    ],
)
def test_what_is_not_the_published_table_leaves_nothing_behind(
    openml: OpenML, tmp_path: Path, arff: str, said: str
) -> None:
    openml.has(31, arff)
    with pytest.raises(DataError, match=said):
        fetch("german_credit", tmp_path, "openml", openml.address)
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_openml_does_not_know_is_said(
    openml: OpenML, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="knows no table of this number") as error:
        fetch("adult", tmp_path, "openml", openml.address)
    assert "/data/1590" in error.value.message
    assert "--source uci" in error.value.hint


def test_bytes_that_openml_does_not_describe_are_not_taken(
    openml: OpenML, tmp_path: Path
) -> None:
    openml.has(31, LOANS, md5_checksum="0" * 32)
    with pytest.raises(DataError, match="OpenML says 000000000000"):
        fetch("german_credit", tmp_path, "openml", openml.address)
    openml.bodies["/api/v1/json/data/31"] = b"[]"
    with pytest.raises(DataError, match="something else than the description"):
        fetch("german_credit", tmp_path, "openml", openml.address)
    openml.has(31, LOANS, url="file:///etc/hostname")
    with pytest.raises(DataError, match="is no address of the web"):
        fetch("german_credit", tmp_path, "openml", openml.address)


def test_without_a_connection_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be reached") as error:
        fetch("adult", tmp_path, "openml", "http://127.0.0.1:9")
    assert "needs a connection to the internet" in error.value.hint


def test_more_than_a_table_is_not_read(
    openml: OpenML, monkeypatch: pytest.MonkeyPatch
) -> None:
    openml.bodies["/large"] = b"x" * 11
    monkeypatch.setattr("lexfed.evaluate.datasets.archives.download._MOST_BYTES", 10)
    with pytest.raises(DataError, match="more than any of the tables"):
        download(f"{openml.address}/large", openml.address)


def test_a_source_that_does_not_have_a_table_names_one_that_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`openml` does not have it") as error:
        fetch("heart_uci4", tmp_path, "openml")
    assert error.value.hint == "fetch it from uci"
    with pytest.raises(DataError, match="no archive `kaggle`") as error:
        fetch("adult", tmp_path, "kaggle")
    assert error.value.hint == "known: uci, openml"


def test_the_other_tables_are_read_in_the_columns_of_openml(
    openml: OpenML, tmp_path: Path
) -> None:
    # Their rows are too few, which shows that everything before was understood.
    names = (
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
        "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
        "hours-per-week", "native-country", "class",
    )  # fmt: skip
    row = (
        "25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, "
        "Black, Male, 0, 0, 40, ?, <=50K"
    )
    openml.has(1590, arff(names, row))
    with pytest.raises(DataError, match="sends 1 rows, but 48842 are published"):
        fetch("adult", tmp_path, "openml", openml.address)
    openml.has(4541, arff(("readmitted", "max_glu_serum", "A1Cresult"), "NO,None,?"))
    with pytest.raises(DataError, match="something else than the published table"):
        fetch("diabetes130", tmp_path, "openml", openml.address)
    numbered = (*(f"x{n}" for n in range(1, 24)), "y")
    openml.has(42477, arff(numbered, ",".join(["20"] * 24)))
    with pytest.raises(DataError, match="sends 1 rows, but 30000 are published"):
        fetch("taiwan_default", tmp_path, "openml", openml.address)


def arff(names: tuple[str, ...], *rows: str) -> str:
    lines = [f"@attribute {name} string" for name in names]
    return "\n".join(["@relation made", *lines, "@data", *rows])


def test_a_copy_with_the_same_rows_is_told_apart(tmp_path: Path) -> None:
    assert "written for" in FetchedTable(tmp_path, True).words
    assert "own checksum" in FetchedTable(tmp_path, False).words


def test_quotes_and_gaps_of_arff_are_read() -> None:
    text = arff(("a", "'b c'"), "'x, y',?", "% a remark", "", "'it\\'s',2")
    frame = read_arff(text)
    assert frame.columns.tolist() == ["a", "b c"]
    assert frame.to_numpy().tolist() == [["x, y", "?"], ["it's", "2"]]


def test_the_command_fetches_from_openml_and_says_what_came(
    openml: OpenML, tmp_path: Path
) -> None:
    openml.has(31, LOANS)
    options = ["--into", str(tmp_path), "--source", "openml"]
    done = CliRunner().invoke(
        app,
        ["evaluate", "fetch", "german_credit", *options, "--archive", openml.address],
    )
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "german_credit") in done.stdout
    assert "not comparable" in done.stderr
