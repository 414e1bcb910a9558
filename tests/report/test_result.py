# SPDX-License-Identifier: Apache-2.0
"""The measured result: read strictly, beside a baseline, marked as what it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.documents.report_page import render
from lexfed.report.held_out_scores import HeldOutScores, ScoreGroup, read_held_out
from lexfed.report.sections import tier_gains
from lexfed.report.sections.result import key_figures, measured_result, wilson
from report.compared import configured
from report.conftest import RESULT, MakeDossier, broken_run, measured, refused_run
from support.audit.worlds import FakeRun, fake_run

HELD_OUT: dict[str, Any] = RESULT["held_out"]


def scores(**changes: Any) -> HeldOutScores:
    found = read_held_out({**HELD_OUT, **changes})
    assert found is not None
    return found


def with_result(run: FakeRun, **changes: Any) -> FakeRun:
    run.files["result.json"] = json.dumps({**RESULT, **changes}).encode()
    return run


def test_curves_follow_from_the_groups() -> None:
    found = scores()
    assert found.groups[0] == ScoreGroup(0.1, 0.04, 25)
    points = found.roc()
    assert points[0] == (0.0, 0.0)
    assert points[1] == pytest.approx((5 / 60, 20 / 40))
    assert points[-1] == pytest.approx((1.0, 1.0))
    assert found.operating_point == pytest.approx((10 / 60, 29 / 40))


def test_without_both_classes_there_is_no_curve() -> None:
    one = scores(groups=[[0.1, 20, 0]] * 4, confusion=[[60, 20], [0, 0]])
    assert one.roc() == []
    assert one.operating_point is None
    several = scores(classes=["a", "b", "c"], confusion=[[1, 2, 3]] * 3,
                     threshold=None, groups=[])  # fmt: skip
    assert several.roc() == []
    assert several.operating_point is None


def test_the_majority_follows_from_the_table() -> None:
    assert scores(majority=None).majority == 0.6


@pytest.mark.parametrize(
    "value",
    [
        None, 3, [], {}, {"rows": 0}, {"rows": -1}, {"rows": 1.5}, {"rows": True},
        {**HELD_OUT, "rows": "many"}, {**HELD_OUT, "rows": float("nan")},
        {**HELD_OUT, "classes": ["no"]}, {**HELD_OUT, "classes": [1, 2]},
        {**HELD_OUT, "classes": "no"}, {**HELD_OUT, "confusion": [[1, 2], [3]]},
        {**HELD_OUT, "confusion": [[1, 2]]}, {**HELD_OUT, "threshold": 2.0},
        {**HELD_OUT, "majority": "most"}, {**HELD_OUT, "groups": [[0.1, 1]]},
        {**HELD_OUT, "groups": [[0.1, 0, 0]]}, {**HELD_OUT, "groups": [[7.0, 1, 1]]},
        {**HELD_OUT, "groups": [[0.1, 1, 1]] * 101},
        {**HELD_OUT, "groups": [[1e400, 1, 1]]}, {**HELD_OUT, "rows": 10**400},
        {**HELD_OUT, "confusion": [[0, 0], [0, 0]], "majority": None},
    ],
)  # fmt: skip
def test_what_no_run_writes_is_no_result(value: object) -> None:
    assert read_held_out(value) is None


@given(st.integers(0, 400), st.integers(1, 400))
def test_intervals_hold_their_share(hits: int, rows: int) -> None:
    share = min(hits, rows) / rows
    low, high = wilson(ScoreGroup(0.5, share, rows))
    assert 0.0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1.0


def test_wilson_is_the_published_one() -> None:
    low, high = wilson(ScoreGroup(0.5, 0.1, 10))
    assert (low, high) == pytest.approx((0.01788, 0.40415), abs=1e-5)


def test_metrics_stand_beside_what_needs_no_model(dossier_of: MakeDossier) -> None:
    found = measured_result(dossier_of(measured(fake_run())))
    assert found is not None
    assert found.cover == "outside the guarantee"
    assert found.rows == "100 test rows"
    assert [(m.name, m.value, m.baseline, m.without) for m in found.measures] == [
        ("AUC", "0.836", "0.500", "a coin"),
        ("accuracy", "0.790", "0.600", "`no`, always"),
    ]
    assert found.threshold == "A row is called `yes` from a score of 0.5 on."
    assert found.confusion[1].cells == ((11, "28 %"), (29, "72 %"))
    assert found.roc
    assert found.calibration
    assert found.groups[0] == ("0.100", "0.040", "25")


def test_a_number_has_its_mean_as_a_baseline(dossier_of: MakeDossier) -> None:
    held_out = {"rows": 90, "groups": [[1.0, 1.5, 30], [2.0, 2.5, 30], [3.0, 2.0, 30]]}
    run = with_result(fake_run(), metrics={"r2": 0.75, "rmse": 0.5}, held_out=held_out)
    found = measured_result(dossier_of(run))
    assert found is not None
    assert [m.baseline for m in found.measures] == ["0.000", "1.000"]
    assert found.roc is None
    assert found.calibration
    assert not found.is_class
    assert found.groups[0] == ("1", "1.5", "30")


def test_metrics_of_older_runs_have_no_curves(dossier_of: MakeDossier) -> None:
    found = measured_result(dossier_of(with_result(fake_run(), held_out=None)))
    assert found is not None
    assert (found.rows, found.roc, found.confusion) == ("", None, ())
    few = measured_result(dossier_of(with_result(
        fake_run(), held_out={**HELD_OUT, "groups": [[0.5, 60, 40]]})))  # fmt: skip
    assert few is not None
    assert few.roc is few.calibration is None
    assert few.confusion


def test_without_metrics_there_is_no_result(dossier_of: MakeDossier) -> None:
    assert measured_result(dossier_of(fake_run())) is None


def test_noise_that_decided_is_said_before_the_numbers(
    dossier_of: MakeDossier,
) -> None:
    run = with_result(fake_run(), verdict="noise decided this result: <b>")
    page = render(dossier_of(run), "5a" * 32).decode()
    said = page.index("noise decided this result: &lt;b&gt;")
    assert page.index('id="result"') < said < page.index("Without a model")
    odd = render(dossier_of(with_result(fake_run(), verdict=["x"])), "5a" * 32)
    assert b'class="alarm"' not in odd


def test_key_figures_say_what_each_rests_on(dossier_of: MakeDossier) -> None:
    found = key_figures(dossier_of(measured(fake_run())))
    assert [(f.value, f.name, f.note) for f in found[:3]] == [
        ("0.836", "AUC", "outside the guarantee"),
        ("ε 1.75", "whole record", "proven, per person"),
        ("ε 1.55", "special columns", "proven, per value"),
    ]
    assert found[3].name == "checks passed"


def test_a_failing_log_has_no_figures(dossier_of: MakeDossier) -> None:
    run = measured(fake_run())
    run.files["model.safetensors"] = b"another model"
    assert key_figures(dossier_of(run)) == ()


@pytest.mark.parametrize("settings", [{"mechanism": "none"}, {"test": True}])
def test_a_run_without_privacy_proves_no_figure(
    settings: dict[str, Any], dossier_of: MakeDossier
) -> None:
    found = key_figures(dossier_of(measured(fake_run(**settings))))
    assert not any("proven" in figure.note for figure in found)


def test_paid_counts_have_noise_and_no_intervals(dossier_of: MakeDossier) -> None:
    paid = configured(measured(fake_run()), '[evaluation]\nmetrics = "paid"\n')
    found = measured_result(dossier_of(paid))
    assert found is not None
    assert found.noised
    assert found.rows == "about 100 test rows, a count with noise"
    assert 'class="thin"' not in str(found.calibration)
    assert 'class="thin"' in str(
        getattr(measured_result(dossier_of(measured(fake_run()))), "calibration", "")
    )
    page = render(dossier_of(paid), "5a" * 32).decode()
    assert "counts have noise" in page
    assert "with 95 % intervals" not in page


def test_an_unfinished_run_shows_what_it_has_spent(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(broken_run())
    [spent, checks] = key_figures(dossier)
    assert (spent.name, checks.name) == ("spent so far", "checks passed")
    assert spent.value.startswith("ε ")
    assert spent.note == "whole record, per person, not a guarantee"
    assert "under add/remove by PLD" in render(dossier, "5a" * 32).decode()
    assert [f.name for f in key_figures(dossier_of(refused_run()))] == ["checks passed"]


def test_the_curve_of_an_accuracy_has_the_majority_beside_it(
    dossier_of: MakeDossier,
) -> None:
    run = with_result(measured(fake_run()), metrics={"accuracy": 0.79})
    dossier = dossier_of(run)
    assert tier_gains.baseline(dossier) == 0.6
    assert (
        tier_gains.baseline(
            dossier_of(with_result(fake_run(), held_out={}, metrics={"accuracy": 1}))
        )
        is None
    )
    assert tier_gains.baseline(dossier_of(measured(fake_run()))) == 0.5
