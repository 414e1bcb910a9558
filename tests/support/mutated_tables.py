# SPDX-License-Identifier: Apache-2.0
"""Tables written in every way that people write them, with what is in them.

A writing is drawn by a seed: separator, quotes, encoding, marks of numbers, words for
missing values, case, order of dates, index column, separators at the ends of lines.
`written_table` knows the values, so a reader can be compared with them. About one file
in six is damaged in addition; it must be refused.
"""

import gzip
import io
import random
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lexfed.data.file_format import MARKS, SeparatorName

WARDS = ("Überwachung", "Süd", "north wing", "Intensive Care", "day clinic")
VALUES = {
    "ward": WARDS, "sex": ("female", "male"), "smoker": ("no", "yes"),
    "outcome": ("no", "yes"),
}  # fmt: skip
NUMBERS = {
    "age": (0.0, 120.0), "income": (0.0, 2e6), "dose": (-50.0, 50.0),
    "share": (0.0, 100.0), "hour": (0.0, 24.0),
}  # fmt: skip
DAMAGES = (
    "a field too many", "a field too few", "a name twice", "a quote left open",
    "text among numbers", "two units", "another encoding", "cut short",
)  # fmt: skip
FIRST_DAY = datetime(2001, 1, 1)

Value = str | float | datetime | None


@dataclass(frozen=True)
class Writing:
    """One way to write a table."""

    separator: SeparatorName
    quoting: str
    codec: str
    line_end: str
    decimal: str
    thousands: str
    missing: tuple[str, ...]
    dates: str
    cases: str
    unit: str
    percent: str
    index: bool
    trailing: bool
    header: bool
    padding: str
    blank_lines: bool
    packing: str
    times: str
    truth: tuple[str, str]
    minus: str
    damage: str

    def __str__(self) -> str:
        return " ".join(f"{k}={v!r}" for k, v in vars(self).items())


@dataclass(frozen=True)
class WrittenTable:
    """The bytes of a file, its name, and the values that are in it."""

    writing: Writing
    name: str
    content: bytes
    values: Mapping[str, Sequence[Value]]


def drawn_writing(draw: random.Random) -> Writing:
    """Return a writing that contradicts itself nowhere."""
    separator: SeparatorName = draw.choice(list(MARKS))
    decimal = draw.choice([".", ","])
    groups = ["", "", " ", "\u00a0", "'", "," if decimal == "." else "."]
    header = draw.random() < 0.85
    return Writing(
        separator=separator,
        quoting=draw.choice(["minimal", "minimal", "all", "texts"]),
        codec=draw.choice(
            ["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
             "cp1252", "latin-1"]
        ),
        line_end=draw.choice(["\n", "\n", "\r\n", "\r\n", "\r"]),
        decimal=decimal,
        thousands=draw.choice(groups),
        missing=draw.choice(
            [("",), ("NA",), ("N/A",), ("?",), ("-",), ("null",), ("NaN",), ("n/a", ""),
             ("NULL", "?"), ("na", "NA", ""), ("None",), (".",), ("#N/A",), ("nan",)]
        ),
        dates=draw.choice(
            ["%Y-%m-%d", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d",
             "%d %b %Y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M"]
        ),
        cases=draw.choice(["as is", "as is", "lower", "upper", "mixed"]),
        unit=draw.choice(["", "", "€ {}", "{} €", "${}", "{} EUR"]),
        percent=draw.choice(["{}", "{}%", "{} %"]),
        index=header and draw.random() < 0.25,
        trailing=draw.random() < 0.15,
        header=header,
        padding=draw.choice(["", "", "", " "]),
        blank_lines=draw.random() < 0.1,
        packing=draw.choice(["", "", "", ".gz", ".zip"]),
        times=draw.choice(["%H:%M", "%H:%M", "%H:%M:%S", "%I:%M %p"]),
        truth=draw.choice(
            [("no", "yes"), ("0", "1"), ("false", "true"), ("FALSE", "TRUE"),
             ("N", "Y"), ("f", "t"), ("No", "Yes")]
        ),
        minus=draw.choice(["-", "-", "\u2212"]),
        damage=draw.choice([""] * 5 * len(DAMAGES) + list(DAMAGES)),
    )  # fmt: skip


def written_table(seed: int) -> WrittenTable:
    """Return the table of a seed, in the writing of that seed."""
    draw = random.Random(seed)
    writing = drawn_writing(draw)
    possible = {
        "a name twice": writing.header,
        "another encoding": writing.codec.startswith("utf-8"),
        "cut short": writing.packing == ".gz",
    }
    if not possible.get(writing.damage, True):
        writing = replace(writing, damage="a field too many")
    values = drawn_values(draw, writing)
    names = list(values)
    lines = [list(names)] if writing.header else []
    lines += [
        [_cell(name, values[name][row], row, writing, draw) for name in names]
        for row in range(len(values["age"]))
    ]
    if writing.index:
        lines = [
            [("" if number == 0 else str(number - 1)), *line]
            for number, line in enumerate(lines)
        ]
    if writing.damage in _DAMAGED_LINES:
        _DAMAGED_LINES[writing.damage](lines, names, int(writing.index))
    text = _text(lines, writing, draw)
    content = _encoded(text, writing)
    name = f"visits-{seed}.csv"
    if writing.packing == ".gz":
        packed_content = gzip.compress(content)
        if writing.damage == "cut short":
            packed_content = packed_content[:-12]
        return WrittenTable(writing, name + ".gz", packed_content, values)
    if writing.packing == ".zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        return WrittenTable(writing, name + ".zip", packed.getvalue(), values)
    return WrittenTable(writing, name, content, values)


def drawn_values(draw: random.Random, writing: Writing) -> dict[str, list[Value]]:
    """Return values that the writing can hold exactly."""
    rows, digits = draw.randint(40, 90), draw.randint(1, 3)
    # Whole numbers that are all different could be a key.
    incomes = [float(draw.randint(0, 1_999_999)) for _ in range(30)]
    clock = "%H" in writing.dates
    second = 60 if "%S" not in writing.dates else 1
    columns: dict[str, list[Value]] = {
        "patient": [f"P{draw.randint(0, 400):04}" for _ in range(rows)],
        "age": [float(draw.randint(0, 99)) for _ in range(rows)],
        "income": [draw.choice(incomes) for _ in range(rows)],
        "dose": [round(draw.uniform(-50, 50), digits) for _ in range(rows)],
        "share": [round(draw.uniform(0, 100), 1) for _ in range(rows)],
        "hour": [draw.randint(0, 24 * 60 - 1) / 60 for _ in range(rows)],
        "ward": [draw.choice(WARDS) for _ in range(rows)],
        "sex": [draw.choice(VALUES["sex"]) for _ in range(rows)],
        "smoker": [draw.choice(VALUES["smoker"]) for _ in range(rows)],
        "outcome": [draw.choice(VALUES["outcome"]) for _ in range(rows)],
        "admitted": [
            FIRST_DAY
            + timedelta(
                days=draw.randint(0, 9000),
                seconds=draw.randrange(0, 86400, second) if clock else 0,
            )
            for _ in range(rows)
        ],
        "note": [
            draw.choice(["fine", 'a "quoted" word', "two\nlines", "a, b; c|d\te", "ü"])
            for _ in range(rows)
        ],
    }
    for name, column in columns.items():
        if name not in ("patient", "note", "outcome"):
            share = draw.choice([0.0, 0.05, 0.2])
            columns[name] = [None if draw.random() < share else v for v in column]
    return columns


def _cell(
    name: str, value: Value, row: int, writing: Writing, draw: random.Random
) -> str:
    if value is None:
        return draw.choice(writing.missing)
    if name == "hour" and isinstance(value, float):
        time = FIRST_DAY + timedelta(minutes=round(value * 60))
        return time.strftime(writing.times)
    if isinstance(value, datetime):
        return value.strftime(writing.dates)
    if isinstance(value, float):
        return _number(name, value, writing)
    if name in ("smoker", "outcome"):
        return writing.truth[value == "yes"]
    if name in VALUES:
        if writing.cases == "mixed":
            return draw.choice([value, value.lower(), value.upper()])
        if writing.cases != "as is":
            return value.lower() if writing.cases == "lower" else value.upper()
    return value


def _number(name: str, value: float, writing: Writing) -> str:
    plain = f"{value:,.0f}" if value.is_integer() else f"{value:,}"
    marks = {",": writing.thousands, ".": writing.decimal, "-": writing.minus}
    text = "".join(marks.get(each, each) for each in plain)
    if name == "income" and writing.unit:
        return writing.unit.format(text)
    return writing.percent.format(text) if name == "share" else text


def _text(lines: list[list[str]], writing: Writing, draw: random.Random) -> str:
    for sign, older in {"€": "£", "\u2212": "-"}.items():
        if not _can_hold(sign, writing.codec):
            lines = [[cell.replace(sign, older) for cell in line] for line in lines]
    parts, mark = [], MARKS[writing.separator]
    for number, line in enumerate(lines):
        cells = [_written(cell, mark, writing) for cell in line]
        if writing.trailing:
            cells.append("")
        if writing.damage == "a quote left open" and number == 7:
            cells[0] = '"' + cells[0].strip('"')
        parts.append(mark.join(cells) + writing.line_end)
        if writing.blank_lines and number and draw.random() < 0.1:
            parts.append(writing.line_end)
    return "".join(parts)


def _written(cell: str, mark: str, writing: Writing) -> str:
    """Return a cell in quotes where it needs them; R puts them around all texts."""
    bare = bool(cell) and all(each.isdigit() or each in ".-" for each in cell)
    texts = writing.quoting == "texts" and not bare
    if texts or writing.quoting == "all" or {mark, '"', "\n", "\r"} & set(cell):
        doubled = cell.replace('"', '""')
        return f'"{doubled}"'
    return cell + writing.padding if cell else cell


def _can_hold(sign: str, codec: str) -> bool:
    try:
        sign.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: str, writing: Writing) -> bytes:
    content = text.encode(writing.codec)
    if writing.damage == "another encoding" and writing.codec.startswith("utf-8"):
        # One cell from a system that writes Windows-1252.
        return content[::-1].replace("ü".encode()[::-1], b"\xfc", 1)[::-1]
    return content


def _too_many(lines: list[list[str]], names: list[str], first: int) -> None:
    lines[7].append("1")


def _too_few(lines: list[list[str]], names: list[str], first: int) -> None:
    lines[7].pop()
    lines[7].pop()


def _name_twice(lines: list[list[str]], names: list[str], first: int) -> None:
    lines[0][first + names.index("dose")] = "age"


def _text_among_numbers(lines: list[list[str]], names: list[str], first: int) -> None:
    lines[7][first + names.index("dose")] = "about nine"


def _two_units(lines: list[list[str]], names: list[str], first: int) -> None:
    place = first + names.index("share")
    filled = [line for line in lines[1:] if any(map(str.isdigit, line[place]))]
    for number, line in enumerate(filled):
        bare = line[place].rstrip(" %")
        line[place] = f"{bare} %" if number % 2 else bare


_DAMAGED_LINES = {
    "a field too many": _too_many, "a field too few": _too_few,
    "a name twice": _name_twice, "text among numbers": _text_among_numbers,
    "two units": _two_units,
}  # fmt: skip
