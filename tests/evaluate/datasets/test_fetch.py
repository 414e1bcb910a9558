# SPDX-License-Identifier: Apache-2.0
"""Fetching from a mirror on this machine, and what is said where there is none."""

import json
import resource
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.errors import DataError
from lexfed.evaluate.datasets import prepare
from lexfed.evaluate.datasets.archives.retrieval import fetch
from lexfed.evaluate.datasets.archives.uci import SHAPES
from lexfed.evaluate.datasets.declarations import load_declaration, public_names
from lexfed.evaluate.datasets.source_folder import FETCHED

HEADER = ",".join(f"Attribute{n}" for n in range(1, 21)) + ",class\n"
LOAN = "A11,6,A34,A43,1169,A65,A75,4,A9{n},A101,4,A121,67,A143,A152,2,A173,1,A192,A201"
LOANS = HEADER + "".join(
    LOAN.format(n=2 + number % 2) + f",{1 + (number % 10 < 3)}\n"
    for number in range(1000)
)


@pytest.fixture
def mirror() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Serve the bytes that a test puts under a path."""
    bodies: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()
    server.server_close()


GERMAN = "/static/public/144/data.csv"


def test_a_fetched_table_is_prepared_like_a_kept_one(
    mirror: tuple[str, dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, bodies = mirror
    bodies[GERMAN] = LOANS.encode()
    came = fetch("german_credit", tmp_path, address=address)
    folder = came.folder
    # Made up rows: their number and columns are right, they are not.
    assert not came.same_rows
    assert "not comparable with published ones" in came.words
    monkeypatch.setenv("LEXFED_DATA", str(tmp_path))
    found = prepare("german_credit", tmp_path / "prepared")
    rows = (tmp_path / "prepared" / "table.csv").read_text().splitlines()
    assert len(rows) == 1001
    record = json.loads((folder / FETCHED).read_text())
    assert record["rows"] == 1000
    assert record["from"] == [address + GERMAN]
    # Other bytes than the kept ones: results on them can be told apart.
    assert record["sha256"] != load_declaration("german_credit").sha256
    assert len(found.digest) == 64
    with pytest.raises(DataError, match="already there"):
        fetch("german_credit", tmp_path, address=address)
    (folder / "german_credit.csv").write_text("changed")
    with pytest.raises(DataError, match="SHA-256"):
        prepare("german_credit", tmp_path / "again")
    (folder / FETCHED).write_text("{}")
    with pytest.raises(DataError, match="cannot be read as the record"):
        prepare("german_credit", tmp_path / "again")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (LOANS.rsplit("\n", 2)[0] + "\n", "sends 999 rows, but 1000 are published"),
        ("<html>gone</html>\n", "something else than the published table"),
        (LOANS.replace("Attribute4,", "Other,"), "something else"),
    ],
)
def test_what_is_not_the_published_table_leaves_nothing_behind(
    mirror: tuple[str, dict[str, bytes]], tmp_path: Path, body: str, said: str
) -> None:
    address, bodies = mirror
    bodies[GERMAN] = body.encode()
    with pytest.raises(DataError, match=said):
        fetch("german_credit", tmp_path, address=address)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_whole_is_not_there(
    mirror: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    address, bodies = mirror
    bodies[GERMAN] = LOANS.encode()
    # As on a full disk, the table breaks off.
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, usual[1]))
    try:
        with pytest.raises(DataError, match=r"german_credit: cannot be written \(File"):
            fetch("german_credit", tmp_path, address=address)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(tmp_path.iterdir()) == []
    # So the next attempt is not told that it is there.
    assert fetch("german_credit", tmp_path / "new", address=address).folder.is_dir()
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["german_credit"]


def test_a_table_without_a_declared_column_is_refused(
    mirror: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    address, bodies = mirror
    bodies["/static/public/880/data.csv"] = b"age,dzgroup\n50,Coma\n"
    with pytest.raises(DataError, match="a table without adlsc, alb"):
        fetch("support2", tmp_path, address=address)


def test_without_a_connection_it_says_so(tmp_path: Path) -> None:
    nowhere = ["--into", str(tmp_path), "--archive", "http://127.0.0.1:9"]
    done = CliRunner().invoke(app, ["evaluate", "fetch", "adult", *nowhere])
    assert isinstance(done.exception, DataError)
    assert "cannot be reached" in done.exception.message
    assert "needs a connection to the internet" in done.exception.hint


def test_an_answer_of_the_archive_that_is_no_table_is_not_taken(
    mirror: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="cannot be reached"):
        fetch("taiwan_default", tmp_path, address=mirror[0])


@pytest.mark.parametrize("name", [n for n in public_names() if n not in SHAPES])
def test_sets_that_no_program_can_fetch_say_where_they_are(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="cannot be fetched: it is"):
        fetch(name, tmp_path)


def test_the_command_prints_the_new_folder(
    mirror: tuple[str, dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, bodies = mirror
    bodies[GERMAN] = LOANS.encode()
    monkeypatch.setenv("LEXFED_DATA", str(tmp_path))
    done = CliRunner().invoke(
        app, ["evaluate", "fetch", "german_credit", "--archive", address]
    )
    assert done.exit_code == 0
    assert str(tmp_path / "german_credit") in done.stdout


def test_files_of_the_archive_are_brought_into_form() -> None:
    adult = SHAPES["adult"]([b"age,education-num,income\n30,9,<=50K.\n40,?,>50K\n"])
    assert adult["income"].tolist() == ["0", "1"]
    assert adult["education_num"].isna().tolist() == [False, True]
    names = ["ID", *(f"X{n}" for n in range(1, 24)), "Y"]
    row = ",".join(str(n) for n in range(25))
    taiwan = SHAPES["taiwan_default"]([f"{','.join(names)}\n{row}\n".encode()])
    assert taiwan["PAY_AMT6"].tolist() == ["23"]
    assert taiwan["default_next_month"].tolist() == ["24"]
    body = b"readmitted,max_glu_serum,A1Cresult\n<30,,>7\nNO,>200,?\n"
    diabetes = SHAPES["diabetes130"]([body])
    assert diabetes["readmit30"].tolist() == ["1", "0"]
    assert diabetes["A1Cresult"].tolist() == [">7", "None"]
    patient = "63.0,1.0,1.0,145.0,-9,1.0,2.0,150.0,0.0,2.3,3.0,?,6.0,{num}\n"
    files = [patient.format(num=n).encode() for n in range(4)]
    heart = SHAPES["heart_uci4"](files)
    assert heart["site"].tolist() == ["cleveland", "hungarian", "switzerland", "va"]
    assert heart["target"].tolist() == ["0", "1", "1", "1"]
    assert heart["chol"].isna().all()
