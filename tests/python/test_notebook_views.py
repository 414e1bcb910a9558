# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: every name as text, and no value."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import lexfed
from lexfed.audit.verify import Check, RunVerdict, Status
from lexfed.notebook_html import html_table
from lexfed.privacy.claim.schema import Claim
from lexfed.python.settings import Settings
from lexfed.run.results.run_result import RunResult
from support.hostile_names import HOSTILE

MARKUP = '<img src=x onerror="alert(1)">&amp;</td>'
KNOWN = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


class _Reader(HTMLParser):
    """Collects tags and text, and refuses what a table does not need."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN, tag
        assert attrs in ([], [("style", "text-align: left")])
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _text(shown: object) -> str:
    return _Reader(shown._repr_html_()).text  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [MARKUP, *HOSTILE.values()])
def test_every_text_is_text(name: str) -> None:
    shown = html_table(name, [name], [[name]], [name])
    read = _Reader(shown).text
    assert read.isprintable() or "\n" in read
    assert not set(read) & set("\x1b\r\x07\x08\u202e\u2028\u200b")
    if name == MARKUP:
        assert read.count(MARKUP) == 4


@pytest.fixture
def result(place: Path, patients: pd.DataFrame, settings: Settings) -> RunResult:
    return lexfed.train(patients, **settings)


def test_results_and_verdicts(result: RunResult) -> None:
    shown = _text(result)
    assert "auc" in shown
    assert "whole record" in shown
    assert "one value, special" in shown
    assert "Not covered: test rows" in shown
    assert "NOT PRIVATE" not in shown
    assert repr(result).startswith("<RunResult: auc 0.")
    assert "per record, replace-one" in repr(result)
    verdict = lexfed.verify(result)
    assert _text(verdict).startswith("Verified")
    assert repr(verdict).startswith("<RunVerdict: verified, ")
    failed = RunVerdict((Check(MARKUP, Status.FAIL, MARKUP),))
    assert MARKUP in _text(failed)
    assert "NOT VERIFIED, 0 claims hold, 1 fail" in repr(failed)
    unprotected = replace(result, claim=None, metrics={}, gains={}, verdict="bad")
    assert "NOT PRIVATE" in _text(unprotected)
    assert "no metrics; NOT PRIVATE" in repr(unprotected)


def test_a_claim_shows_its_numbers_rounded_up(result: RunResult) -> None:
    claim = result.claim
    assert isinstance(claim, Claim)
    strange = claim.model_copy(
        update={
            "epsilon": 1.23401,
            "stamp": "NOT PRIVATE",
            "not_covered": (MARKUP,),
            "tiers": {
                name: tier.model_copy(update={"columns": (MARKUP, "age\x1b[2K")})
                for name, tier in claim.tiers.items()
            },
        }
    )
    shown = _text(strange)
    assert "1.235" in shown
    assert "the noise was seeded" in shown
    assert MARKUP in shown
    assert "age\\u001b[2K" in shown
    assert repr(strange).startswith("<Claim: NOT PRIVATE, epsilon 1.235 at delta")


def test_plans_and_checks(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    plan = lexfed.plan(patients, **settings)
    assert "Nothing was spent" in _text(plan)
    assert "tower special" in _text(plan)
    assert "One value of special columns: epsilon" in _text(plan)
    assert repr(plan).startswith("<RunPlan: epsilon ")
    settings["columns"] = {**settings["columns"], "age": (0, 40)}
    found = lexfed.check(patients, **settings)
    assert any("age" in remark for remark in found.remarks)
    assert "age" in str(found)
    # Counts are exact: they are printed, and not saved with the notebook.
    assert _text(found).split() == [
        "No", "problems", "Values", "were", "bent", "to", "fit:", "print", "it", "to",
        "see", "which.",
    ]  # fmt: skip
    assert repr(found) == "<RunCheck: 0 problems, 1 remark>"
    settings["tiers"] = {MARKUP: "special"}
    wrong = lexfed.check(patients, **settings)
    assert MARKUP in _text(wrong)
    settings["more"] = {"privacy.mechanism": "none", "federation.rounds": 1}
    del settings["tiers"]
    settings["tiers"] = dict.fromkeys(settings["columns"], "special")
    bare = lexfed.plan(patients, **settings)
    assert "NOT PRIVATE" in _text(bare)
    assert "NOT PRIVATE" in repr(bare)


def test_tags_show_no_evidence_of_values() -> None:
    numbers = pd.DataFrame({"zq": [f"DE8937040044053201300{n}" for n in range(9)]})
    hostile = pd.DataFrame({MARKUP: ["x"] * 9, "age": range(9)})
    for frame in (numbers, hostile):
        shown = _text(lexfed.tag(frame))
        assert "tagged" in shown
        assert not [cell for cell in frame.iloc[:, 0] if cell in shown and cell != "x"]
    assert MARKUP in shown
    tags = lexfed.tag(hostile)
    assert repr(tags).startswith("<TaggedColumns: ")
    assert repr(lexfed.tag([])) == "<TaggedColumns: none>"


def test_a_saved_notebook_does_not_name_rows(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    wrong = patients.astype({"died": object})
    wrong.loc[[7, *range(40, 90)], "died"] = None
    found = lexfed.check(wrong, **settings)
    assert "row 8" in str(found)
    assert "31 more problems" in str(found)
    shown = found._repr_html_()
    assert shown.count("the target is missing") == 1
    assert "print it to see which" in shown
    assert not any(char.isdigit() for char in shown)
