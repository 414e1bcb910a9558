# SPDX-License-Identifier: Apache-2.0
"""Every lexicon file keeps to the format, so that a term has one known meaning.

A file is UTF-8 text: a header line, then one term a line with its category, weight,
English gloss and, if there is one, a note, divided by tabs, sorted by category and
then by the folded term.
"""

import re
from importlib import resources
from itertools import pairwise

import pytest

from lexfed.law.tagger.words.lexicon import LANGUAGES, MEANINGS, build_lexicon
from lexfed.law.tagger.words.normalisation import fold, words

HEADER = "term\tcategory\tweight\tgloss\tnote"
FOLDER = resources.files("lexfed") / "law" / "tagger" / "lexicon"
FILES = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".tsv"))
WEIGHT = re.compile(r"[0-5](\.\d+)?")
GOOD = f"{HEADER}\nalter\tdemographic\t5\tage\t\nname\tword\t1\tname\t\n"


def read(name: str) -> str:
    return (FOLDER / name).read_bytes().decode("utf-8", errors="strict")


def rows(text: str) -> list[tuple[int, list[str]]]:
    """Return the fields of every line after the header, with its number."""
    lines = text.removesuffix("\n").split("\n")
    return [(number, line.split("\t")) for number, line in enumerate(lines[1:], 2)]


def misshapen(text: str) -> list[str]:
    """Return the lines that are not five fields with sound contents."""
    found = [] if text.endswith("\n") and "\r" not in text else ["0: line ends"]
    if text.partition("\n")[0] != HEADER:
        found.append(f"1: the header is not `{HEADER}`")
    for number, fields in rows(text):
        if len(fields) not in (4, 5):
            found.append(f"{number}: {len(fields)} fields, expected 4 or 5")
            continue
        term, category, weight, gloss = fields[:4]
        if any(field != field.strip() for field in fields):
            found.append(f"{number}: blanks around a field")
        if term != term.lower() or "  " in term or not words(term):
            found.append(f"{number}: `{term}` is not lower-case words")
        if re.search(r"[^\w \-]", term):
            found.append(f"{number}: `{term}` has signs that no column name keeps")
        if category not in MEANINGS:
            found.append(f"{number}: `{category}` is no category")
        if not WEIGHT.fullmatch(weight) or float(weight) > 5:
            found.append(f"{number}: weight `{weight}` is not from 0 to 5")
        if not gloss or not gloss.isprintable() or len(gloss) > 80:
            found.append(f"{number}: `{term}` has no short gloss")
    return found


def repeated(text: str) -> list[str]:
    """Return the terms that an earlier line has, by their letters alone.

    Terms are looked up that way, so a second one would count twice.
    """
    found, seen = [], dict[str, int]()
    for number, fields in rows(text):
        letters = re.sub(r"\W", "", fold(fields[0]))
        first = seen.setdefault(letters, number)
        if first != number:
            found.append(f"{number}: `{fields[0]}` again, see line {first}")
    return found


def unsorted(text: str) -> list[str]:
    """Return the lines that belong before the line above them."""
    keys = [(fields[1], fold(fields[0]), number) for number, fields in rows(text)]
    return [
        f"{after[2]}: belongs before line {before[2]}"
        for before, after in pairwise(keys)
        if after[:2] < before[:2]
    ]


def test_every_language_has_a_file() -> None:
    assert {f"{language}.tsv" for language in LANGUAGES} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_lines_are_well_formed(name: str) -> None:
    assert misshapen(read(name)) == []


@pytest.mark.parametrize("name", FILES)
def test_no_term_is_repeated(name: str) -> None:
    assert repeated(read(name)) == []


@pytest.mark.parametrize("name", FILES)
def test_lines_are_sorted_by_category_and_term(name: str) -> None:
    assert unsorted(read(name)) == []


@pytest.mark.parametrize("name", FILES)
def test_every_category_has_terms_and_every_line_is_read(name: str) -> None:
    text = read(name)
    lexicon = build_lexicon({name.removesuffix(".tsv"): text.encode()}, name)
    entries = {entry for found in lexicon.terms.values() for entry in found}
    assert {entry.meaning for entry in entries} == MEANINGS
    assert len(entries) == len(rows(text))


@pytest.mark.parametrize(
    ("name", "least"), [("en.tsv", 1200), ("de.tsv", 1200), ("nl.tsv", 600)]
)
def test_the_vocabulary_is_large_enough(name: str, least: int) -> None:
    assert len(rows(read(name))) >= least


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("term\t", "word\t"),
        ("\t5\tage\t", "\t5"),
        ("\t5\t", "\t6\t"),
        ("\t5\t", "\t5.5\t"),
        ("\t5\t", "\t-1\t"),
        ("demographic", "demografic"),
        ("\tage", "\t"),
        ("alter", "Alter"),
        ("alter", " alter"),
        ("alter", "alter's"),
        ("alter", ""),
        ("name\t\n", "name\t"),
    ],
)
def test_a_spoilt_line_is_found(old: str, new: str) -> None:
    assert misshapen(GOOD) == []
    assert misshapen(GOOD.replace(old, new)) != []


@pytest.mark.parametrize("again", ["Alter", "älter", "alter", "al ter", "al-ter"])
def test_a_term_of_the_same_letters_is_repeated(again: str) -> None:
    assert repeated(GOOD) == []
    assert repeated(GOOD + f"{again}\tword\t0\tolder\t\n") != []


@pytest.mark.parametrize("name", FILES)
def test_no_gloss_of_a_count_reads_as_a_key(name: str) -> None:
    """`number` is the key of something, so a count is glossed as a count."""
    assert [f for _, f in rows(read(name)) if f[3].startswith("number of")] == []


@pytest.mark.parametrize("late", ["zahl\tbusiness", "adresse\tword"])
def test_a_line_out_of_order_is_found(late: str) -> None:
    assert unsorted(GOOD) == []
    assert unsorted(GOOD + f"{late}\t1\tnumber\t\n") != []
