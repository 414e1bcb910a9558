# SPDX-License-Identifier: Apache-2.0
"""Drafts say what the log knows, leave blanks with a name, and escape the rest."""

import csv
import io
import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from lexfed.audit.entries import RecordOfProcessing
from lexfed.data.schema import Column, Schema
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.report.documents.drafts import dpia, model_card
from lexfed.report.dossier import Dossier
from lexfed.report.sections.processing_record import HEADER, processing, processing_csv
from lexfed.tiers import Tier
from report.conftest import MakeDossier, broken_run, measured, refused_run, told_run
from support.audit.worlds import fake_run

BLANK = re.compile(r"\[to be completed: ([^\]]+)\]")
HOSTILE = "<script>|`x`](https://evil.example) =HYPERLINK()"
FORMULA = "=HYPERLINK(0)"


def _hostile(dossier: Dossier) -> Dossier:
    schema = Schema((Column(HOSTILE, "flag"), Column("y", "flag")), target="y")
    tag = Tag(Tier.SPECIAL, FORMULA, (Obligation("x", HOSTILE),), HOSTILE, "person")
    config = {"run": {"name": HOSTILE}, "report": {"controller": FORMULA}}
    tagged = TaggedSchema(schema, {HOSTILE: tag, "y": tag})
    return replace(dossier, tagged=tagged, config=config)


def test_the_assessment_has_seven_steps(dossier_of: MakeDossier) -> None:
    text = dpia(dossier_of(fake_run())).decode()
    steps = re.findall(r"^## (\d)\. ", text, re.MULTILINE)
    assert steps == list("1234567")


def test_blanks_name_who_fills_them(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(fake_run())
    for draft in (dpia(dossier), model_card(dossier)):
        people = set(BLANK.findall(draft.decode()))
        assert people
        assert people <= {"controller", "DPO", "CISO", "sites"}


def test_what_people_stated_fills_its_blank(dossier_of: MakeDossier) -> None:
    before = dpia(dossier_of(fake_run())).decode()
    after = dpia(dossier_of(told_run())).decode()
    for line in (
        "- Purpose: readmission-research (entry 4)",
        "- Lawful basis: Art. 6.1.e (entry 4)",
        "health: 9.2.j (entry 4)",
        "Residual risk stated: low (entry 4)",
        "| Next review | 2027-01-31 (entry 4) |",
        "model until 2031-12-31 (entry 4)",
        "special-data-at-scale (entry 4)",
        "1 attack in the log (entries 12)",
    ):
        assert line in after
    assert len(BLANK.findall(after)) < len(BLANK.findall(before))


@pytest.mark.parametrize("make", [dpia, model_card], ids=["dpia", "card"])
def test_the_record_stands_before_the_tiers(
    make: object, dossier_of: MakeDossier
) -> None:
    assert callable(make)
    text = make(dossier_of(fake_run())).decode()
    assert text.index("**Whole record:** (ε, δ) = (1.75, 1e-6) per person under ") < (
        text.index("special")
    )


@pytest.mark.parametrize("make", [dpia, model_card], ids=["dpia", "card"])
@pytest.mark.parametrize(
    "run", [refused_run(), broken_run(), fake_run(mechanism="none"),
            fake_run(test=True)],
    ids=["refused", "interrupted", "none", "test"],
)  # fmt: skip
def test_drafts_of_other_runs(
    make: object, run: object, dossier_of: MakeDossier
) -> None:
    assert callable(make)
    dossier = dossier_of(run)  # type: ignore[arg-type]
    text = make(dossier).decode()
    assert ("NOT PRIVATE" in text) == bool(dossier.stamp)
    assert "compliant" not in text


@pytest.mark.parametrize("make", [dpia, model_card], ids=["dpia", "card"])
def test_hostile_names_are_text_in_markdown(
    make: object, dossier_of: MakeDossier
) -> None:
    assert callable(make)
    html = MarkdownIt("gfm-like", {"linkify": False}).render(
        make(_hostile(dossier_of(fake_run()))).decode()
    )
    assert "<script" not in html
    assert "<a " not in html
    assert "&lt;script&gt;|`x`](https://evil.example) =HYPERLINK()</code></td>" in html


def test_results_are_marked_as_not_in_the_log(dossier_of: MakeDossier) -> None:
    with_numbers = model_card(dossier_of(measured(fake_run()))).decode()
    assert "auc 0.836, accuracy 0.790. Measured on test rows" in with_numbers
    assert "These numbers are not in the log." in with_numbers
    without = model_card(dossier_of(fake_run())).decode()
    assert "Nothing was measured on test rows." in without


def _rows(dossier: Dossier) -> list[list[str]]:
    content = processing_csv(dossier).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(content)))


def test_the_record_has_the_seven_groups_of_the_article(
    dossier_of: MakeDossier,
) -> None:
    rows = _rows(dossier_of(fake_run()))
    assert rows[0] == list(HEADER)
    assert [row[0] for row in rows[1:]] == [f"30(1)({c})" for c in "abcdefg"]
    assert {row[2] for row in rows[1:]} == {"missing"}
    assert {row[3] for row in rows[1:]} == {"[to be completed: controller]"}


def test_stated_groups_carry_their_text(dossier_of: MakeDossier) -> None:
    found = {row.article: row for row in processing(dossier_of(told_run()))}
    assert found["30(1)(b)"].state == "stated"
    assert found["30(1)(b)"].text == "care research"
    assert found["30(1)(b)"].entry == 5
    assert found["30(1)(e)"].state == "not applicable"
    assert found["30(1)(e)"].text == "none leave"
    assert found["30(1)(f)"].known == "model until 2031-12-31"
    assert "differential privacy (ε, δ) = (3.00, 1e-6)" in found["30(1)(g)"].known


def test_a_processor_has_four_groups_of_its_own(dossier_of: MakeDossier) -> None:
    run = told_run()
    run.edit(RecordOfProcessing, role="processor", groups={"security": "stated"})
    articles = [row.article for row in processing(dossier_of(run))]
    assert articles[7:] == [f"30(2)({c})" for c in "abcd"]


@pytest.mark.parametrize(
    "blob", [b"{", b"[]", b"[" * 100_000], ids=["cut", "list", "deep"]
)
def test_a_damaged_text_leaves_cells_empty(
    blob: bytes, dossier_of: MakeDossier
) -> None:
    run = told_run()
    run.edit(RecordOfProcessing, text=run.put(blob))
    found = {row.article: row for row in processing(dossier_of(run))}
    assert found["30(1)(b)"].text == ""


def test_no_cell_of_the_record_is_a_formula(dossier_of: MakeDossier) -> None:
    rows = _rows(_hostile(dossier_of(fake_run())))
    cells = [cell for row in rows for cell in row]
    assert any(FORMULA in cell for cell in cells)
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_without_noise_the_record_says_so(dossier_of: MakeDossier) -> None:
    found = {r.article: r for r in processing(dossier_of(fake_run(mechanism="none")))}
    assert found["30(1)(g)"].known == "no noise; signed log"
