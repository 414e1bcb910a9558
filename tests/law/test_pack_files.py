# SPDX-License-Identifier: Apache-2.0
"""Every schema pack keeps to the format, so that names and labels can be trusted.

A pack is a UTF-8 file of comment lines (`# title: ...`) followed by rows of six
fields: table, column, tier, category, dtype, description.
"""

import re
from importlib import resources

import pytest

from lexfed.law.tagger.suggestions import TIER_OF, TIERS

DTYPES = {"string", "integer", "float", "date", "timestamp", "boolean", "text", ""}
HEADER = ("title", "source", "lang", "domain")
FOLDER = resources.files("lexfed") / "law" / "tagger" / "packs"
PACKS = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".tsv"))
INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u00a0\u00ad\u200b-\u200f\ufeff\ufffd]")


def read(name: str) -> str:
    return (FOLDER / name).read_bytes().decode("utf-8", errors="strict")


def problems(pack: str) -> list[str]:
    """Return the problems of a pack's text, each with its line number."""
    lines = pack.split("\n")
    found = [] if lines.pop() == "" else ["the last line does not end"]
    header = [line for line in lines if line.startswith("# ")]
    stated = [line[2:].partition(": ")[0] for line in header]
    if stated != list(HEADER) or lines[: len(header)] != header:
        found.append(f"1: the header states {stated}, expected {list(HEADER)} on top")
    found += [
        f"{number}: `{line[2:].partition(':')[0]}` is empty"
        for number, line in enumerate(header, 1)
        if not line.partition(": ")[2].strip()
    ]
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines[len(header) :], len(header) + 1):
        fields = line.split("\t")
        if len(fields) != 6:
            found.append(f"{number}: {len(fields)} fields, expected 6")
            continue
        table, column, tier, category, dtype, description = fields
        if INVISIBLE.search(line) or any(f != f.strip() for f in fields):
            found.append(f"{number}: invisible characters or blanks around a field")
        if not table or not column:
            found.append(f"{number}: no name")
        if TIER_OF.get(category) != tier:
            found.append(f"{number}: `{category}` is no category of tier `{tier}`")
        if dtype not in DTYPES:
            found.append(f"{number}: unknown dtype `{dtype}`")
        if len(description) > 120:
            found.append(f"{number}: the description is no longer short")
        key = (table.casefold(), column.casefold())
        if key in seen:
            found.append(f"{number}: `{table}.{column}` again, see line {seen[key]}")
        seen[key] = number
    return found if seen else [*found, "no rows"]


def test_packs_keep_to_the_format() -> None:
    wrong = {name: problems(read(name)) for name in PACKS}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_packs_are_named_plainly_and_state_a_language() -> None:
    for name in PACKS:
        assert re.fullmatch(r"[a-z0-9_]+\.tsv", name)
        stated = [li for li in read(name).split("\n") if li.startswith("# lang: ")]
        assert len(stated) == 1, name
        assert re.fullmatch(r"# lang: [a-z]{2}", stated[0]), name


def test_packs_are_many_and_use_every_tier() -> None:
    rows = [
        line.split("\t")
        for name in PACKS
        for line in read(name).splitlines()
        if not line.startswith("#")
    ]
    assert len(PACKS) >= 45
    assert len(rows) >= 1800
    assert {row[2] for row in rows} == set(TIERS)


GOOD = "# title: t\n# source: s\n# lang: en\n# domain: d\n"
ROW = "person\tage\tpersonal\tdemographic\tinteger\tage in years\n"


@pytest.mark.parametrize(
    ("pack", "complaint"),
    [
        (GOOD, "no rows"),
        (GOOD + ROW[:-1], "does not end"),
        (GOOD + ROW + ROW, "again, see line 5"),
        (GOOD + ROW + ROW.upper().replace("PERSONAL", "personal"), "again"),
        (ROW + GOOD, "expected"),
        (GOOD.replace("# lang: en\n", "") + ROW, "the header states"),
        (GOOD.replace("title: t", "title: ") + ROW, "`title` is empty"),
        (GOOD + ROW.replace("personal", "special"), "no category of tier"),
        (GOOD + ROW.replace("demographic", "age"), "no category of tier"),
        (GOOD + ROW.replace("integer", "int"), "unknown dtype"),
        (GOOD + ROW.replace("\tage in", "  age in"), "5 fields"),
        (GOOD + ROW.replace("in years", "in\tyears"), "7 fields"),
        (GOOD + ROW.replace("\tage\t", "\t\t"), "no name"),
        (GOOD + ROW.replace("\tage\t", "\tage \t"), "blanks"),
        (GOOD + ROW.replace("in years", "in\u200byears"), "invisible"),
        (GOOD + ROW.replace("in years", "x" * 121), "short"),
        (GOOD + ROW.replace("\n", "\r\n"), "invisible"),
    ],
)
def test_a_broken_pack_is_found(pack: str, complaint: str) -> None:
    assert any(complaint in problem for problem in problems(pack))


def test_a_sound_pack_is_accepted() -> None:
    assert problems(GOOD + ROW) == []
