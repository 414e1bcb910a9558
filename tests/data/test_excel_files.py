# SPDX-License-Identifier: Apache-2.0
"""Workbooks of Excel: what is in the cells is read, or a sentence says why not."""

import io
import re
import sys
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from lexfed.data.file_format import PLAIN, FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.column_guesses import guess_table
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.table_files import read_file
from lexfed.data.schema import Column, Schema
from lexfed.errors import DataError

Rows = Sequence[Sequence[Any]]


def workbook(path: Path, rows: Rows, title: str = "Visits") -> Any:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)
    return book


def frame_of(path: Path, written: FileFormat = PLAIN) -> Frame:
    problems = Problems()
    frame = read_file(path, None, problems, written)
    problems.raise_if_any()
    assert frame is not None
    return frame


def refusal(path: Path, written: FileFormat = PLAIN) -> str:
    problems = Problems()
    assert not problems.kept
    read_file(path, None, problems, written)
    assert problems.kept, "nothing was refused"
    text = str(problems.error())
    assert str(path) in text
    return " ".join([text, *(problem.hint for problem in problems.kept)])


def replaced(path: Path, part: str, old: str, new: str) -> None:
    """Replace a text in a part of a workbook."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(content, "w") as after:
        for name in before.namelist():
            text = before.read(name)
            if name == part:
                changed = re.sub(old.encode(), new.encode(), text)
                assert changed != text
                text = changed
            after.writestr(name, text, zipfile.ZIP_DEFLATED)
    path.write_bytes(content.getvalue())


SHEET = "xl/worksheets/sheet1.xml"


def test_cells_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "visits.xlsx"
    workbook(
        path,
        [
            ("id", "n", "x", "flag", "day", "moment", "time", "word", "gap", "long"),
            (2**49 + 1, 1, 1.5, True, date(2020, 2, 3), datetime(2020, 2, 3, 4, 5),
             time(14, 30), " ill ", None, timedelta(hours=30)),
            (7, 2, 2, False, date(2021, 1, 1), datetime(2021, 1, 1), time(0, 15), "",
             "  ", timedelta(minutes=30)),
        ],
    )  # fmt: skip
    frame = frame_of(path)
    assert {name: raw.kind for name, raw in frame.columns.items()} == {
        "id": "number", "n": "number", "x": "number", "flag": "flag", "day": "date",
        "moment": "date", "time": "text", "word": "text", "gap": "text",
        "long": "number",
    }  # fmt: skip
    assert frame.columns["id"].values.tolist() == [2**49 + 1, 7]
    assert frame.columns["x"].values.tolist() == [1.5, 2.0]
    assert frame.columns["time"].values.tolist() == ["14:30:00", "00:15:00"]
    assert frame.columns["long"].values.tolist() == [30.0, 0.5]
    assert frame.columns["word"].missing.tolist() == [False, True]
    assert frame.columns["gap"].missing.all()
    assert frame.columns["moment"].values[0] == np.datetime64("2020-02-03T04:05")
    assert frame.rows.tolist() == [2, 3]
    kinds = {guess.name: guess.kind for guess in guess_table(path).columns}
    assert kinds["day"] == kinds["moment"] == "date"
    assert kinds["flag"] == "flag"


def test_a_workbook_reads_as_the_file_that_it_was_saved_as(tmp_path: Path) -> None:
    rows = [("age", "dose", "ill"), *((20 + n, n / 4, n % 2 == 0) for n in range(50))]
    workbook(tmp_path / "a.xlsx", rows)
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    schema = Schema(
        (
            Column("age", "number", range=(0, 99)),
            Column("dose", "number", range=(0, 99)),
            Column("ill", "flag"),
        ),
        "ill",
    )
    one, other = (read_files([tmp_path / f"a{s}"], schema) for s in (".xlsx", ".csv"))
    for name in one.columns:
        assert one.columns[name].tolist() == other.columns[name].tolist()


@pytest.mark.parametrize("decimal", ["point", "comma"])
def test_a_number_among_texts_reads_the_same_under_every_format(
    tmp_path: Path, decimal: Any
) -> None:
    path = tmp_path / "a.xlsx"
    values = [1.5, 1.234, -0.25, 1234567, 1e-7, "NA", 12.0, "3"]
    workbook(path, [("x", "y"), *((value, 1) for value in values)])
    thousands: Any = "point" if decimal == "comma" else "comma"
    written = FileFormat(decimal=decimal, thousands=thousands, missing=("NA",))
    columns = (Column("x", "number", range=(-1e9, 1e9)), Column("y", "flag"))
    table = read_files([path], Schema(columns, "y", written=written))
    assert table.numbers("x").tolist()[:5] == [1.5, 1.234, -0.25, 1234567, 1e-7]
    assert np.isnan(table.numbers("x")[5])
    assert table.numbers("x").tolist()[6:] == [12.0, 3.0]


def formatted(path: Path, column: Sequence[tuple[Any, str]]) -> None:
    book = openpyxl.Workbook()
    for row, (value, shown) in enumerate([("share", "General"), *column], start=1):
        cell = book.active.cell(row, 1, value)
        cell.number_format = shown
    book.save(path)


def test_a_percentage_is_the_number_before_its_sign(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    formatted(path, [(0.07, "0%"), (0.125, "0.0%"), (1, "0%")])
    raw = frame_of(path).columns["share"]
    assert raw.values.tolist() == [7.0, 12.5, 100.0]
    assert raw.unit == "%"
    formatted(path, [(0.07, "0%"), ("unknown", "General"), (0.125, "0.0%")])
    assert frame_of(path).columns["share"].values.tolist() == [
        "7%",
        "unknown",
        "125e-1%",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [("0%", "0.00"), ("[$€-407]0.00", "[$$-409]0.00"), ("0 €", "0%")],
)
def test_two_units_in_one_column_are_refused(
    tmp_path: Path, first: str, second: str
) -> None:
    path = tmp_path / "a.xlsx"
    formatted(path, [(0.5, first), (0.75, second)])
    text = refusal(path)
    assert "column `share`: has " in text
    assert "0.5" not in text
    assert "75" not in text


@pytest.mark.parametrize("shown", ['0.00 "% of all"', "0.00\\%", "#,##0.00", "[Red]0"])
def test_a_format_without_a_unit_has_none(tmp_path: Path, shown: str) -> None:
    path = tmp_path / "a.xlsx"
    formatted(path, [(0.5, shown), (0.75, "0.00")])
    assert frame_of(path).columns["share"].values.tolist() == [0.5, 0.75]


def test_one_of_several_sheets_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = workbook(path, [("a", "b"), (1, 2)])
    book.create_sheet("Empty")
    book.save(path)
    assert len(frame_of(path)) == 1
    other = book.create_sheet("Second")
    other.append(("c",))
    other.append((3,))
    book.save(path)
    text = refusal(path)
    assert "has 2 sheets with cells" in text
    assert "`Visits`, `Second`" in text
    assert list(frame_of(path, FileFormat(sheet="Second")).columns) == ["c"]
    assert "is not in this workbook" in refusal(path, FileFormat(sheet="Third"))
    assert "is empty" in refusal(path, FileFormat(sheet="Empty"))
    assert guess_table(path, sheet="Second").format.to_dict() == {"sheet": "Second"}


def test_merged_cells_and_titles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = workbook(path, [("Report of 2024",), (), ("age", "ill"), (1, 0)])
    assert "columns with values have no name: B" in refusal(path)
    book.active.merge_cells("A1:B1")
    book.save(path)
    assert "has merged cells at A1:B1" in refusal(path)
    workbook(path, [(), ("age", "ill"), (1, 0)])
    assert "its first row is blank" in refusal(path)
    workbook(path, [("age", "ill"), (1, 0, 5)])
    assert "no name: C" in refusal(path)
    workbook(path, [(None, "age"), (0, 5)])
    assert frame_of(path).unnamed == (1,)  # an index, as pandas writes it
    book = openpyxl.Workbook()
    book.save(path)
    assert "no cells" in refusal(path)


def test_a_header_may_have_numbers_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [(2019, 2020.5, date(2021, 1, 1), time(1), "x"), (1, 2, 3, 4, 5)])
    names = list(frame_of(path).columns)
    assert names == ["2019", "2020.5", "2021-01-01", "01:00:00", "x"]
    plain = frame_of(path, FileFormat(header=False))
    assert list(plain.columns) == [f"column_{n}" for n in range(1, 6)]
    assert len(plain) == 2
    workbook(path, [("x", "x"), (1, 2)])
    assert "names it twice" in refusal(path)


def test_blank_rows_count_and_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x",), (1,), (None,), ("",), (4,)])
    assert frame_of(path).rows.tolist() == [2, 5]


def test_formulas_count_by_their_stored_results(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x", "y"), (1, "=A2*2"), (2, "=A3*2")])
    text = refusal(path)
    assert "row 2: a formula without a stored result" in text
    assert "A2" not in text
    # As Excel saves it: a number, and a formula whose result is no text at all.
    replaced(path, SHEET, r"<f>A2\*2</f><v ?/>", "<f>A2*2</f><v>2</v>")
    replaced(path, SHEET, r'<c r="B3"><f>', '<c r="B3" t="str"><f>')
    raw = frame_of(path).columns["y"]
    assert raw.missing.tolist() == [False, True]
    assert raw.values[0] == 2


def test_a_wrong_size_hides_no_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x", "y"), (1, 2), (3, 4)])
    replaced(path, SHEET, r'<dimension ref="[^"]*"', '<dimension ref="A1:A2"')
    frame = frame_of(path)
    assert frame.columns["y"].values.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'<row r="2"', '<row r="99999999"'),
        (r'<row r="3"', '<row r="1"'),
        (r'<c r="B2"', '<c r="ZZZ2"'),
        (r'<c r="B2"', '<c r="A2"'),
        (r'<c r="B2"', '<c r="B9"'),
        (r'<c r="B2"', '<c r="B02"'),
        (r'<row r="2"', '<row r="x"'),
        (r"</sheetData>", ""),
        (r"<v>2</v>", "<v>many</v>"),
        (r"<worksheet", "<!DOCTYPE x [<!ENTITY a 'b'>]><worksheet"),
    ],
)
def test_a_strange_sheet_is_refused_or_read_in_full(
    tmp_path: Path, old: str, new: str
) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x", "y"), (1, 2), (3, 4)])
    replaced(path, SHEET, old, new)
    problems = Problems()
    frame = read_file(path, None, problems, PLAIN)
    if frame is None:
        assert problems.kept[0].kind == "file-packed"
        assert "many" not in str(problems.error())
    else:
        assert frame.columns["y"].values.tolist() == [2, 4]


def test_a_small_file_does_not_unpack_to_a_huge_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x",), *(("a" * 1000,) for _ in range(1000))])
    assert len(frame_of(path)) == 1000
    monkeypatch.setattr("lexfed.data.reading.typed_cells.workbook_check.MOST_PACKED", 1)
    monkeypatch.setattr("lexfed.data.reading.typed_cells.workbook_check.MOST_RATIO", 1)
    assert "unpacks to far more than a table would" in refusal(path)


def test_locked_and_old_workbooks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert "locked with a password" in refusal(path)
    path = tmp_path / "a.xls"
    path.write_bytes(b"")
    assert "save it as `.xlsx`" in refusal(path)


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x",), (1,)])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert 'pip install "lexfed[xlsx]"' in refusal(path)


def test_only_wanted_columns_are_read_and_others_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, [("x", "y"), (1, "a"), (3, "b")])
    problems = Problems()
    frame = read_file(path, ["x"], problems, PLAIN)
    assert frame is not None
    assert frame.ignored == ("y",)
    with pytest.raises(DataError, match="is not in this sheet"):
        read_files([path], Schema((Column("z", "flag"),), "z"))
