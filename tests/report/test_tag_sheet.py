# SPDX-License-Identifier: Apache-2.0
"""The page and the table for a data-protection officer: whole, readable, harmless."""

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest

from lexfed.law.articles import TaggedColumn, load_catalogues, with_articles
from lexfed.law.catalogue import BUILT_IN
from lexfed.law.explanations import fingerprint
from lexfed.law.tagger.suggestions import (
    DescribedColumn,
    Proxy,
    Suggestion,
    TagEvidence,
)
from lexfed.report.documents.tag_sheet import HEADER, tag_csv, tag_page

LAWS = load_catalogues(BUILT_IN)
HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\u202e\x1b"
FORMULA = "=HYPERLINK(1)"


def column(
    name: str, description: str = "", kind: str = "name", review: bool = False
) -> Suggestion:
    evidence = (
        TagEvidence(kind, "special", "health", 4.25, f"says `{name}`"),  # type: ignore[arg-type]
        TagEvidence("table", "personal", "location", -1.0, "speaks against it"),
    )
    proxies = (Proxy("origin", "ethnicity", "cramers_v", 0.81),) if review else ()
    return Suggestion(
        DescribedColumn("t", name, description, "", ("a value",)),
        "special", "health", 0.966, review, evidence, "en", proxies,
    )  # fmt: skip


COLUMNS = with_articles(
    [
        column("hiv_status", "result of a test", review=True),
        column(HOSTILE, HOSTILE),
        column(FORMULA),
        Suggestion(
            DescribedColumn("", "x"), "non_personal", "technical", 0.0, True, (), "en"
        ),
    ],
    LAWS,
)


def page(columns: tuple[TaggedColumn, ...] = COLUMNS, source: str = "s.csv") -> str:
    return "".join(tag_page(columns, LAWS, source))


class Reader(HTMLParser):
    """Notes tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids |= {value or "" for name, value in attrs if name == "id"}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_one_script_of_ours_and_nothing_to_fetch() -> None:
    text = page(source=HOSTILE)
    found = read(text)
    assert found.tags.count("script") == 1
    [code] = re.findall(r"<script>(.*)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    for way_out in ("fetch", "XMLHttp", "import", "eval", "innerHTML", "sendBeacon"):
        assert way_out not in code
    assert "img" not in found.tags
    assert "form" not in found.tags
    assert not any(
        name.startswith("on") or name == "src" for name, _ in found.attributes
    )
    links = [value or "" for name, value in found.attributes if name == "href"]
    assert links
    assert all(link.startswith(("#", "data:,")) for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= found.ids
    assert "default-src 'none'" in text
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_text_of_others_is_text() -> None:
    text = page()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert r"\u202e" in text


def test_everything_a_person_needs_is_on_the_page() -> None:
    words = " ".join("".join(read(page()).words).split())
    for part in (
        "4 columns: 3 special, 1 non_personal", "2 need a person", "REVIEW",
        "hiv_status", "result of a test", "score 0.97", "(name, +4.2)",
        "speaks against it (table, -1.0)", "☐ agree", "because",
        "proxy risk: it gives away origin (ethnicity) strongly",
        "GDPR Art. 9(1), 4(15)", "not legal advice",
    ):  # fmt: skip
        assert part in words
    for article in COLUMNS[0].articles:
        assert article.obligation in words
    for digest in (*fingerprint().values(), *(law.digest for law in LAWS)):
        assert digest in words
    assert "a value" not in words


def test_evidence_from_values_belongs_where_the_data_are() -> None:
    warning = "keep this page where the data are"
    assert warning in page()  # the proxy was measured on values
    calm = with_articles([column("x")], LAWS)
    assert warning not in page(calm)
    assert "None is marked for review" in page(calm)
    assert warning in page(with_articles([column("x", kind="values")], LAWS))


def test_much_evidence_is_counted() -> None:
    found = column("x")
    many = Suggestion(found.column, "special", "health", 1.0, False,
                      found.evidence[:1] * 6, "en")  # fmt: skip
    assert "and 3 weaker" in page(with_articles([many], LAWS))


def test_names_reach_the_script_to_the_character() -> None:
    found = read(page())
    names = [json.loads(value or "") for name, value in found.attributes
             if name == "data-column"]  # fmt: skip
    assert names == ["hiv_status", HOSTILE, FORMULA, "x"]


def test_what_is_decided_is_not_asked_again() -> None:
    text = "".join(tag_page(COLUMNS, LAWS, "s.csv", {"x", "hiv_status"}))
    assert text.count("decided in the configuration") == 2
    assert text.count('class="form"') == 2


def test_laws_that_are_silent_say_so() -> None:
    text = page(COLUMNS[3:])
    assert text.count("No rule of this law speaks of these columns.") == 2
    assert "nothing is known about it" in text


def test_no_columns_and_no_laws() -> None:
    text = "".join(tag_page((), (), "s.csv"))
    assert "0 columns" in text
    nobody = with_articles([column("x")], [])
    assert "none of the laws asked" in "".join(tag_page(nobody, (), "s.csv"))


def test_a_table_to_work_in() -> None:
    lines = list(csv.reader(io.StringIO(tag_csv(COLUMNS), newline="")))
    assert tuple(lines[0]) == HEADER
    assert len(lines) == 5
    assert lines[1][:6] == ["t", "hiv_status", "special", "health", "0.97", "review"]
    assert "GDPR Art. 9(1), 4(15)" in lines[1][6]
    assert all(line[-2:] == ["", ""] for line in lines[1:])
    assert "a value" not in tag_csv(COLUMNS)


@pytest.mark.parametrize(
    "name", [FORMULA, "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "\uff1d1"]
)  # fmt: skip
def test_no_cell_begins_like_a_formula(name: str) -> None:
    found = with_articles([column(name, name)], LAWS)
    for line in csv.reader(io.StringIO(tag_csv(found), newline="")):
        for cell in line:
            assert not cell.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n"))
