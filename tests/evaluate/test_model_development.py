# SPDX-License-Identifier: Apache-2.0
"""The instrument for changed rules: what it measures, pairs and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.model_development import (
    DEVELOPMENT,
    REPORTED,
    by_factor,
    cell,
    chosen,
    compared,
    lines,
    main,
    measured,
    positive_numbers,
    require_data,
    stored,
)

from lexfed.errors import ConfigError, DataError
from lexfed.evaluate.datasets import prepare
from lexfed.evaluate.datasets.source_folder import VARIABLE
from lexfed.evaluate.datasets.synthetic import SUITE

TINY = "suite-tiny-plain"


def of_seed(cascade: float | None, **more: Any) -> dict[str, Any]:
    return {
        "data": "d",
        "rows": 105,
        "score": "auc",
        "truth": 0.8,
        "none": 0.75,
        "additive": 0.77,
        "additive_by": "splines",
        "cascade": {"1.0": cascade},
        "seconds": 0.1,
        **more,
    }


def line_of(*scores: float | None, **more: Any) -> dict[str, Any]:
    by_seed = {seed: of_seed(score, **more) for seed, score in enumerate(scores)}
    (line,) = lines(TINY, by_seed, (1.0,))
    return line


def kept(*rows: dict[str, Any]) -> dict[tuple[str, float], dict[str, Any]]:
    return {(row["table"], row["epsilon"]): row for row in rows}


@pytest.mark.parametrize("name", sorted(REPORTED))
def test_reported_tables_are_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ConfigError, match="results are reported on") as caught:
        chosen(f"suite-centre,{name}")
    assert name in str(caught.value)
    assert "says little by its result there" in caught.value.hint


@pytest.mark.parametrize("name", ["heart-flamby", "german-four", "eicu-four"])
def test_what_is_made_from_a_reported_table_is_refused_too(name: str) -> None:
    with pytest.raises(ConfigError, match="results are reported on"):
        chosen(name)


def test_names_and_patterns_mean_tables_each_once() -> None:
    assert chosen("suite-rows-150, suite-rows-*")[0] == "suite-rows-150"
    assert len(chosen("suite-rows-150,suite-rows-*")) == 5
    everything = chosen("*")
    assert set(everything) == {*SUITE, *DEVELOPMENT}
    assert not REPORTED & set(everything)
    with pytest.raises(ConfigError, match="no table is called `suite-row-150`"):
        chosen("suite-row-150")


def test_caps_are_those_of_a_first_configuration(tmp_path: Path) -> None:
    case = cell(prepare(TINY, tmp_path, rows=200), 2.0, 0)
    assert (case.record_epsilon, case.attribute_epsilon) == (2.0, 0.3)
    assert case.personal_epsilon == 1.2
    assert case.neighbours == "replace-one"


@pytest.mark.parametrize(
    ("name", "score"),
    [(TINY, "auc"), ("suite-classes-small", "auc"), ("suite-number-small", "r2")],
)
def test_every_kind_of_outcome_is_measured(name: str, score: str) -> None:
    found = measured(name, 0, (8.0,))
    assert found["score"] == score
    assert found["truth"] > found["additive"] > 0.5
    assert found["truth"] > found["none"] > 0.5
    assert found["truth"] > found["cascade"]["8.0"]
    assert found["data"] != measured_data(name)


def measured_data(name: str) -> str:
    """Return the digest of the same table under another seed."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return prepare(name, Path(folder), seed=1).digest[:12]


def test_a_line_has_means_and_every_seed() -> None:
    line = line_of(0.6, 0.7)
    assert line["cascade"] == 0.65
    assert (line["none"], line["additive"], line["truth"]) == (0.75, 0.77, 0.8)
    assert line["factor"] == "corners"
    assert set(line["seeds"]) == {"0", "1"}
    # What nobody knows, or what was lost in one seed, has no mean.
    assert line_of(0.6, None)["cascade"] is None
    assert line_of(0.6, truth=None)["truth"] is None


def test_gains_are_paired_by_seed() -> None:
    before = kept(line_of(0.6, 0.7))
    after = compared(line_of(0.62, 0.74, 0.9), before)
    assert after["gain"] == pytest.approx(0.03)
    assert after["paired"] == 2
    assert after["half"] == pytest.approx(12.706 * 0.01, rel=1e-3)
    assert list(by_factor([after])) == [
        "corners          epsilon 1    +0.0300 (+0.0300 to +0.0300, 1 tables)"
    ]


def test_other_rows_lost_numbers_and_other_tables_are_not_paired() -> None:
    before = kept(line_of(0.6, 0.7))
    for line in (
        line_of(0.6, 0.7, data="other"),
        line_of(0.6, 0.7, truth=0.81),
        line_of(None, None),
        {**line_of(0.6), "epsilon": 2.0},
    ):
        found = compared(line, before)
        assert (found["gain"], found["half"], found["paired"]) == (None, None, 0)
        assert list(by_factor([found])) == []
    assert compared(line_of(0.7), before)["half"] is None


def test_an_earlier_output_is_read_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "before.jsonl"
    path.write_text(f"{json.dumps(line_of(0.6))}\n")
    assert set(stored(path)) == {(TINY, 1.0)}
    for text in (
        "{",
        "[]",
        "{}",
        '{"table": 1}',
        '{"table":"a","epsilon":1,"seeds":3}',
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match="cannot be read as the output"):
            stored(path)
    with pytest.raises(ConfigError):
        stored(tmp_path / "none.jsonl")
    # As it is when the shell sends the output of the call into the same file.
    path.write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        stored(path)


def test_epsilons_are_positive_numbers() -> None:
    assert positive_numbers(".1,1,1") == (0.1, 1.0)
    for text in ("", "0", "-1", "nan", "inf", "a"):
        with pytest.raises(ValueError, match=r".*"):
            positive_numbers(text)


def test_a_refusal_is_told_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--tables", "adult"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: --tables: `adult` is one of the tables")
    assert "hint: a rule that was chosen on a table" in said.err


def test_missing_public_tables_are_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_data([TINY])
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match="no folder synthea") as caught:
        require_data([TINY, "synthea"])
    assert caught.value.hint == "without public tables: `--tables 'suite-*'`"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(DataError, match="not set"):
        require_data(["synthea"])


@pytest.mark.slow
def test_a_table_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "synthea").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    asked = ["--tables", f"synthea,{TINY}", "--seeds", "1", "--epsilons", "8"]
    assert main(asked) == 2
    said = capsys.readouterr()
    assert [json.loads(line)["table"] for line in said.out.splitlines()] == [TINY]
    assert said.err.startswith("synthea, seed 0: ")
    assert "Traceback" not in said.err
    assert "error: synthea: not measured" in said.err


@pytest.mark.slow
def test_a_call_is_compared_with_an_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (before,) = lines(TINY, {0: measured(TINY, 0, (8.0,))}, (8.0,))
    path = tmp_path / "before.jsonl"
    path.write_text(json.dumps(before))
    asked = ["--tables", TINY, "--seeds", "1", "--epsilons", "8"]
    assert main([*asked, "--against", str(path)]) == 0
    said = capsys.readouterr()
    (line,) = map(json.loads, said.out.splitlines())
    assert line["paired"] == 1
    # In a process of its own everything but the noise is the same.
    for fixed in ("truth", "none", "additive"):
        assert line[fixed] == before[fixed]
    assert said.err.startswith("corners")
