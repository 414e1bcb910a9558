# SPDX-License-Identifier: Apache-2.0
"""Figures of quality are what they say, on schemas the tagger has not seen."""

from pathlib import Path

import pytest
from benchmarks import evaluate_tagger as measured
from benchmarks.evaluate_tagger import (
    JudgedColumn,
    judge_file,
    judge_packs,
    measure_accuracy,
    non_english_columns,
)

from lexfed.errors import DataError
from lexfed.law.tagger.metadata.packs import parse_pack
from lexfed.law.tagger.suggestions import DescribedColumn, Suggestion, TaggerSettings

HEAD = "source,table,column,description,dtype,label_tier,label_category,lang\n"


def judged(tier: str, category: str, label: str, review: bool = False) -> JudgedColumn:
    column = DescribedColumn("t", "c")
    found = Suggestion(column, tier, category, 0.5, review, (), "en")
    return JudgedColumn(found, label, "s", "de" if review else "en")


def test_figures_by_hand() -> None:
    found = measure_accuracy(
        [
            judged("special", "health", "health"),
            judged("special", "health", "technical"),
            judged("personal", "location", "person_key", review=True),
            judged("non_personal", "technical", "contact"),
        ]
    )
    assert found.columns == 4
    assert found.right == 0.25
    assert found.by_tier["special"] == pytest.approx((0.5, 1.0, 2 / 3))
    assert found.by_tier["identifier"] == (0.0, 0.0, 0.0)
    assert found.macro_f1 == pytest.approx(2 / 12)
    assert found.caught == pytest.approx(2 / 3)
    assert found.reviewed == 0.25
    assert found.missed["contact"] == (1, 1)
    assert found.missed["health"] == (0, 1)


def test_nothing_is_worth_nothing() -> None:
    assert measure_accuracy([]).macro_f1 == 0.0
    assert measure_accuracy([]).caught == 1.0


def test_columns_in_other_languages_are_told_apart() -> None:
    found = [judged("personal", "location", "location", r) for r in (False, True)]
    assert [one.language for one in non_english_columns(found)] == ["de"]


def test_each_source_of_a_file_is_tagged_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        HEAD + "a,main,email,,string,identifier,contact,en\n"
        "b,main,Diagnose,,,special,health,de\n",
        encoding="utf-8",
    )
    found = judge_file(path, TaggerSettings())
    assert [one.right for one in found] == [True, True]
    assert [one.source for one in found] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    ["", HEAD, "a,b\n1,2\n", HEAD + "a,t,c,,,special,technical,en\n", "\0"],
)
def test_a_file_without_labels_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.csv"):
        judge_file(path, TaggerSettings())


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        judge_file(tmp_path / "none.csv", TaggerSettings())


def test_packs_are_judged_without_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"# lang: de\nt\tzzqxw\tspecial\thealth\nt\temail\tidentifier\tcontact"
    packs = (parse_pack("one", rows), parse_pack("two", rows))
    seen = []

    def tag(
        columns: list[DescribedColumn], settings: TaggerSettings
    ) -> tuple[Suggestion, ...]:
        seen.append(settings.without)
        return tuple(
            Suggestion(column, "identifier", "contact", 1.0, False, (), "en")
            for column in columns
        )

    monkeypatch.setattr(measured, "all_packs", lambda: packs)
    monkeypatch.setattr(measured, "tag_columns", tag)
    found = list(judge_packs(TaggerSettings(), folds=2))
    assert seen == [{"one"}, {"two"}]
    assert [one.right for one in found] == [False, True] * 2
    assert {one.language for one in found} == {"de"}
