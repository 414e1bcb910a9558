# SPDX-License-Identifier: Apache-2.0
"""The page: one file, well-formed, self-contained, honest, and deaf to hostile text."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from lexfed.audit.entries import (
    CompletionEntry,
    Deletion,
    Entry,
    FeatureTags,
    PolicyEntry,
)
from lexfed.data.schema import Column, Schema
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.report.documents.report_page import render
from lexfed.report.dossier import Dossier
from lexfed.report.markup.page_templates import words
from lexfed.tiers import Tier
from report.conftest import (
    MakeDossier,
    broken_run,
    certified,
    early_run,
    measured,
    refused_run,
    told_run,
)
from support.audit.masked_runs import masked_run
from support.audit.worlds import FakeRun, fake_run

SALT = "5a" * 32
VOID = {"meta", "link", "br", "line", "polyline", "rect", "circle"}
RUNS: dict[str, Callable[[], FakeRun]] = {
    "finished": lambda: measured(fake_run()),
    "stated, attacked, certified": lambda: certified(told_run()),
    "early": early_run,
    "refused at round 1": refused_run,
    "interrupted": broken_run,
    "not private": lambda: fake_run(mechanism="none"),
    "test": lambda: fake_run(test=True),
    "secret sampling": lambda: fake_run(unit="client", sampling_rate=0.5),
    "no receipts": lambda: fake_run(sites=0),
    "distributed": masked_run,
}
HOSTILE = '</td><script>alert("x")</script><img src=x onerror=alert(1)>\u202e'


class Page(HTMLParser):
    """The page as a browser reads it: tags, links, text, and sound nesting."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(content.decode())
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(params=RUNS, ids=lambda name: str(name))
def page(request: Any, dossier_of: MakeDossier) -> Page:
    return Page(render(dossier_of(RUNS[request.param]()), SALT))


def test_the_page_is_self_contained(page: Page) -> None:
    assert not {"script", "iframe", "object", "embed", "form", "img"} & set(page.tags)
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("#", "data:"))


def test_every_link_leads_somewhere(page: Page) -> None:
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert {target for target in targets if target.startswith("e")} <= set(ids)
    assert "entry-0" in ids


def test_the_record_stands_before_every_tier(page: Page) -> None:
    assert page.text.index("Whole record") < page.text.index("Guarantee of each tier")


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "word", ["compliant", "robust", "powerful", "seamless", "guarantees compliance"]
)
def test_no_word_promises_too_much(word: str, page: Page) -> None:
    assert word not in page.text.lower()


def test_what_software_cannot_show_is_always_there(page: Page) -> None:
    assert "one noisy number does not reveal its variance" in page.text


def test_a_run_without_privacy_is_stamped(dossier_of: MakeDossier) -> None:
    for settings in ({"mechanism": "none"}, {"test": True}):
        run = fake_run(**settings)
        content = render(dossier_of(run), SALT).decode()
        assert '<p class="stamp">NOT PRIVATE</p>' in content
        assert '@top-center { content: "NOT PRIVATE"' in content
    assert "NOT PRIVATE" not in render(dossier_of(fake_run()), SALT).decode()


def test_a_failing_log_is_marked_without_colour(dossier_of: MakeDossier) -> None:
    run = fake_run()
    run.files["model.safetensors"] = b"another model"
    content = render(dossier_of(run), SALT).decode()
    assert 'class="verdict failed"' in content
    assert ">FAIL</span>" in content
    assert "as claimed and not proven" in content


def test_the_salt_hides_metrics_from_whoever_has_the_digest(
    dossier_of: MakeDossier,
) -> None:
    dossier = dossier_of(measured(fake_run()))
    one, other = render(dossier, SALT), render(dossier, "a5" * 32)
    assert SALT.encode() in one
    assert one.replace(SALT.encode(), b"").replace(SALT[:16].encode(), b"") == (
        other.replace(b"a5" * 32, b"").replace(b"a5" * 8, b"")
    )


def test_the_same_dossier_gives_the_same_page(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(certified(told_run()))
    assert render(dossier, SALT) == render(dossier, SALT)


def _hostile(dossier: Dossier) -> Dossier:
    schema = Schema((Column(HOSTILE, "flag"), Column("y", "flag")), target="y")
    tag = Tag(Tier.SPECIAL, HOSTILE, (Obligation("x", HOSTILE),), HOSTILE, "person")
    tagged = TaggedSchema(schema, {HOSTILE: tag, "y": tag})
    config = {"run": {"name": HOSTILE}, "report": {"controller": HOSTILE}}
    return replace(dossier, tagged=tagged, config=config)


def test_hostile_text_stays_text(dossier_of: MakeDossier) -> None:
    content = render(_hostile(dossier_of(fake_run())), SALT)
    parsed = Page(content)
    assert "script" not in parsed.tags
    assert "img" not in parsed.tags
    assert '</td><script>alert("x")</script>' in parsed.text
    assert "\u202e" not in content.decode()


def test_notes_of_the_run_are_shown_as_text(dossier_of: MakeDossier) -> None:
    run = fake_run()
    notes = ["site `a`: 5 % are at other sites too", HOSTILE, 3]
    run.files["result.json"] = json.dumps({"notes": notes}).encode()
    content = render(dossier_of(run), SALT)
    parsed = Page(content)
    assert "5 % are at other sites too" in parsed.text
    assert "script" not in parsed.tags
    plain = render(dossier_of(fake_run()), SALT).decode()
    assert "notes about itself" not in plain


def test_backticks_become_code_and_nothing_else() -> None:
    assert words("`a` <b> `c") == "<code>a</code> &lt;b&gt; `c"
    assert words("`<i>`") == "<code>&lt;i&gt;</code>"


def test_an_erased_table_of_columns_is_said(dossier_of: MakeDossier) -> None:
    run = fake_run()
    [tags] = run.of(FeatureTags)
    assert isinstance(tags.entry, FeatureTags)
    del run.blobs[tags.entry.tags]
    run.add(Deletion(artefact="tags", digest=tags.entry.tags), "deletion/tags")
    dossier = dossier_of(run)
    assert dossier.tagged is None
    assert "The table of columns is not at hand" in render(dossier, SALT).decode()


@pytest.mark.parametrize("name", ["config", "tags", "claim"])
def test_blobs_of_another_shape_do_not_break_the_page(
    name: str, dossier_of: MakeDossier
) -> None:
    run = fake_run()
    kinds: dict[str, type[Entry]] = {
        "config": PolicyEntry,
        "tags": FeatureTags,
        "claim": CompletionEntry,
    }
    run.edit(kinds[name], 0, **{name: run.put(b'{"not": [what it should be')})
    dossier = dossier_of(run)
    assert dossier.failures
    Page(render(dossier, SALT))


def test_stated_and_tested_things_are_cited(dossier_of: MakeDossier) -> None:
    text = Page(render(dossier_of(certified(told_run())), SALT)).text
    assert "membership lira-1.0 auc 0.507" in text
    assert "proxy-review" in text
    assert re.search(r"Shown: \d+ of the 12 rules that software can show; ", text)
    assert "measure how much is shown, not whether anything is lawful" in text
