# SPDX-License-Identifier: Apache-2.0
"""People decide about columns in a real browser, and take the decisions away."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.config.decision_file import read_decisions
from lexfed.config.edits import ColumnDecision
from lexfed.law.articles import load_catalogues, with_articles
from lexfed.law.catalogue import BUILT_IN
from lexfed.law.tagger.suggestions import DescribedColumn, Suggestion, TagEvidence
from lexfed.report.documents.tag_sheet import tag_page
from support.browser import (
    IN_BROWSER,
    check_accessible,
    check_nothing_sticks_out,
    check_silent_and_offline,
)

pytestmark = IN_BROWSER
LAWS = load_catalogues(BUILT_IN)
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "a\\b\"c'd\x7f\u00e9 \U0001f600 = [x]\t# not a comment",
    "__proto__",
    "{{ 7 * 7 }}<style>*{display:none}</style>",
    "x" * 300,
)


def column(name: str, table: str = "t") -> Suggestion:
    evidence = (TagEvidence("name", "special", "health", 4.2, f"says `{name}`"),)
    described = DescribedColumn(table, name, name)
    return Suggestion(described, "special", "health", 0.9, False, evidence, "en")


def written(path: Path, columns: Sequence[Suggestion], source: str = "s.csv") -> Path:
    page = path / "tags.html"
    parts = tag_page(with_articles(columns, LAWS), LAWS, source)
    page.write_text("".join(parts), encoding="utf-8")
    return page


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return written(tmp_path, [column(name) for name in HOSTILE], HOSTILE[0])


@pytest.fixture
def opened(browser: Browser) -> Iterator[Any]:
    pages: list[Page] = []

    def open_page(path: Path, *, phone: bool = False) -> Page:
        size = (
            {"width": 390, "height": 844} if phone else {"width": 1280, "height": 900}
        )
        page = browser.new_page(viewport=size)  # type: ignore[arg-type]
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()


def downloaded(page: Page, to: Path) -> Path:
    with page.expect_download() as found:
        page.click("#download")
    assert found.value.suggested_filename == "decisions.toml"
    found.value.save_as(to)
    return to


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_decisions_are_downloaded_as_they_were_made(
    phone: bool, opened: Any, tmp_path: Path
) -> None:
    path = written(tmp_path, [column("hiv"), column("ward"), column("left open")])
    page = opened(path, phone=phone)
    assert page.is_disabled("#download")
    first, second = page.locator(".form").all()[:2]
    first.locator(".agree").click()
    second.locator(".tier").select_option("non_personal")
    second.locator(".reason").fill("a place,\nnot a person")
    second.locator(".reason").blur()
    assert page.inner_text("#count") == "2 of 3 decided"
    found = read_decisions(downloaded(page, tmp_path / "decisions.toml"))
    assert list(found.decisions) == ["hiv", "ward"]
    assert found.decisions["hiv"].tier == "special"
    assert found.decisions["hiv"].category == "health"
    assert "health by `gdpr.art9.health`" in found.decisions["hiv"].reason
    assert found.decisions["ward"] == ColumnDecision(
        "non_personal", "", "a place, not a person"
    )


CONFIG = """\
version = 1
[run]
name = "tagged"
[data]
source = "t.csv"
target = "hiv"
units = 100
[data.columns]
hiv = { kind = "flag" }
ward = { kind = "category", values = ["a", "b"] }
[law.columns]
hiv = "?"
ward = "?"
[budget]
epsilon = 1.0
delta = 1e-6
"""


def test_keys_alone_decide_and_the_command_takes_the_file(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lexfed.toml").write_text(CONFIG)
    (tmp_path / "t.csv").write_text("hiv,ward\nyes,a\nno,b\n")
    page = opened(written(tmp_path, [column("hiv"), column("ward")]))
    keyboard = page.keyboard
    visited: list[str] = []
    page.locator(".agree").first.focus()
    keyboard.press("Enter")
    while visited[-1:] != ["agree"]:
        assert len(visited) < 20
        keyboard.press("Tab")
        visited.append(page.evaluate("document.activeElement.className"))
        assert page.evaluate(
            """() => { const box = document.activeElement.getBoundingClientRect()
                return box.bottom <= document.getElementById('bar')
                    .getBoundingClientRect().top + 1 }"""
        ), "the bar hides what has the focus"
    assert visited[:3] == ["tier", "category", "reason"]
    keyboard.press("Tab")
    keyboard.type("non")
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.type("a place")
    keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "download"
    with page.expect_download() as found:
        keyboard.press("Enter")
    found.value.save_as(tmp_path / "decisions.toml")
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["tag", "--decisions", "decisions.toml"])
    assert said.exit_code == 0, said.output
    columns = tomllib.loads((tmp_path / "lexfed.toml").read_text())["law"]["columns"]
    assert columns["hiv"]["tier"] == "special"
    assert columns["ward"] == {"tier": "non_personal", "reason": "a place"}


def test_every_field_says_its_column(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("hiv"), column("ward")]))
    for name in ("hiv", "ward"):
        assert page.get_by_role("button", name=f"Agree to {name}").count() == 1
        for role, label in (
            ("combobox", f"Tier of {name}"),
            ("combobox", f"Category of {name}"),
            ("textbox", f"Reason for {name}"),
        ):
            found = page.get_by_role(role, name=label, exact=True)
            assert found.count() == 1, label
    assert page.get_by_role("status").inner_text() == "0 of 2 decided"


def test_hostile_names_come_back_to_the_character(
    hostile: Path, opened: Any, tmp_path: Path
) -> None:
    page = opened(hostile)
    for form in page.locator(".form").all():
        form.locator(".agree").click()
        form.locator(".category").fill('"] = {\\')
        form.locator(".reason").fill('because\n[law]\n# "x" \\ ]]></script>')
    text = downloaded(page, tmp_path / "decisions.toml").read_text()
    columns = tomllib.loads(text)["law"]["columns"]
    assert list(columns) == list(HOSTILE)
    for row in columns.values():
        assert row["category"] == '"] = {\\'
        assert row["reason"] == 'because [law] # "x" \\ ]]></script>'
    assert list(tomllib.loads(text)) == ["law"]


def test_hostile_names_run_nothing_and_hide_nothing(
    hostile: Path, browser: Browser, opened: Any
) -> None:
    check_silent_and_offline(browser, hostile)
    page = opened(hostile)
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.locator(".form").count() == len(HOSTILE)


def test_a_decision_needs_a_reason(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("a"), column("b")]))
    page.locator(".tier").nth(1).select_option("personal")
    page.click("#download")
    assert page.inner_text("#problem") == "a decision has no reason"
    assert page.locator(".reason").nth(1).get_attribute("aria-invalid") == "true"
    assert page.evaluate("document.activeElement.className") == "reason"
    assert page.inner_text("#text") == ""


def test_what_was_agreed_does_not_speak_for_another_tier(
    opened: Any, tmp_path: Path
) -> None:
    page = opened(written(tmp_path, [column("a")]))
    page.click(".agree")
    page.locator(".tier").select_option("personal")
    assert page.input_value(".category") == ""
    assert page.input_value(".reason") == ""


def test_a_name_of_several_tables_is_decided_once(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("id", "a"), column("id", "b")]))
    page.locator(".agree").nth(0).click()
    page.locator(".agree").nth(1).click()
    both = read_decisions(downloaded(page, tmp_path / "decisions.toml"))
    assert list(both.decisions) == ["id"]
    page.locator(".tier").nth(1).select_option("personal")
    page.locator(".reason").nth(1).fill("another")
    page.click("#download")
    assert "decided in two ways" in page.inner_text("#problem")


def test_the_text_can_be_copied_instead(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("a")]))
    page.click(".agree")
    page.click("summary")
    text = page.inner_text("#text")
    assert tomllib.loads(text)["law"]["columns"]["a"]["tier"] == "special"


def test_unsaved_decisions_are_not_lost_silently(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("a")]))
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.click(".agree")
    page.reload()
    assert asked == ["beforeunload"]
    page.click(".agree")
    downloaded(page, tmp_path / "decisions.toml")
    page.reload()
    assert asked == ["beforeunload"]


def test_on_paper_people_write(opened: Any, tmp_path: Path) -> None:
    page = opened(written(tmp_path, [column("a")]))
    assert not page.is_visible(".paper")
    page.emulate_media(media="print")
    assert page.is_visible(".paper")
    assert not page.is_visible("#bar")
    assert not page.is_visible(".form")


@pytest.mark.parametrize(
    ("width", "media"), [(1100, "screen"), (360, "screen"), (673, "print")]
)
def test_nothing_sticks_out(
    width: int, media: str, browser: Browser, hostile: Path
) -> None:
    check_nothing_sticks_out(browser, hostile, width, media)


def test_everybody_can_use_it(browser: Browser, hostile: Path) -> None:
    check_accessible(browser, hostile)
