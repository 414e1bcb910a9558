# SPDX-License-Identifier: Apache-2.0
"""The made-up suite: repeatable, known to the last bit, different in one factor each.

Seeds are fixed, so nothing here fails by chance. Intervals are at least four deviations
wide at these sizes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from lexfed.config import from_mapping
from lexfed.errors import DataError
from lexfed.evaluate.comparison.case import Case, configuration
from lexfed.evaluate.datasets import prepare
from lexfed.evaluate.datasets.synthetic import SUITE
from lexfed.evaluate.datasets.synthetic.suite import (
    TABLES,
    TEST_ROWS,
    Factors,
    facts,
    frame,
)
from lexfed.evaluate.datasets.synthetic.suite.columns import (
    ListColumn,
    NumberColumn,
    columns_of,
)
from lexfed.evaluate.datasets.synthetic.suite.effects import NumberCurve, level_effects
from lexfed.evaluate.datasets.synthetic.suite.factors import Shape
from lexfed.evaluate.datasets.synthetic.suite.rows import probabilities, truth_of
from lexfed.evaluate.datasets.synthetic.suite.tables import CENTRE, group_of
from lexfed.run import seeded_population

RUN: dict[str, Any] = {
    "version": 1,
    "run": {"name": "evaluate"},
    "budget": {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace-one"},
    "evaluation": {"metrics": "public"},
}


def numbers(factors: Factors) -> list[NumberColumn]:
    return [c for c in columns_of(factors) if isinstance(c, NumberColumn)]


def test_the_suite_spans_every_factor_that_was_asked_for() -> None:
    every = list(TABLES.values())
    assert len(every) >= 40
    assert len(set(every)) == len(every)
    wanted: dict[str, set[Any]] = {
        "rows": {150, 400, 1000, 3000, 10_000, 30_000},
        "columns": {6, 15, 40},
        "shape": set(get_args(Shape)),
        "width": {10.0, 30.0, 100.0},
        "collinearity": {0.5, 0.8, 0.95},
        "positives": {0.5, 0.2, 0.05, 0.02},
        "sensitive": {0.2, 0.5, 0.8},
        "signal": {"both", "sensitive", "others"},
        "outcome": {"flag", "three classes", "number"},
        "levels": {20},
    }
    for factor, values in wanted.items():
        assert values <= {getattr(one, factor) for one in every}
    assert {"centre", "rows", "corners", "other outcomes"} <= set(map(group_of, TABLES))


def test_all_but_corners_differ_from_the_centre_in_one_factor() -> None:
    for name, factors in TABLES.items():
        differing = [
            one for one in vars(CENTRE) if getattr(factors, one) != getattr(CENTRE, one)
        ]
        if group_of(name) not in ("centre", "corners", "other outcomes"):
            assert differing == [group_of(name)]


@pytest.mark.parametrize("name", ["suite-tiny-plain", "suite-classes-small"])
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    one = prepare(name, tmp_path / "one", rows=300)
    two = prepare(name, tmp_path / "two", rows=300)
    other = prepare(name, tmp_path / "other", rows=300, seed=1)
    bytes_of = [(d.folder / "table.csv").read_bytes() for d in (one, two, other)]
    assert bytes_of[0] == bytes_of[1] != bytes_of[2]
    assert one.digest == two.digest != other.digest
    assert one.tables == other.tables


def test_two_tables_have_two_digests(tmp_path: Path) -> None:
    digests = {
        prepare(name, tmp_path / name, rows=100).digest
        for name in ("suite-centre", "suite-width-10")
    }
    assert len(digests) == 2


@pytest.mark.parametrize(
    "name", ["suite-tiny-plain", "suite-laboratory", "suite-bank", "suite-number-small"]
)
def test_a_table_is_read_by_the_product_as_it_is_declared(
    name: str, tmp_path: Path
) -> None:
    rows = 400
    found = prepare(name, tmp_path, rows=rows)
    config = configuration(found, Case(0), {"privacy": {"mechanism": "cascade"}})
    seen = seeded_population(config, found.folder)
    # Nothing lies outside its range or list, whatever its tail is.
    assert not any(seen.clamped.values())
    assert not any(seen.undeclared.values())
    assert not [slot for slot in seen.encoding.slots if slot.column.startswith("true")]
    factors = TABLES[name]
    share = factors.rows / (factors.rows + TEST_ROWS)
    assert seen.units == pytest.approx(rows * share, abs=1)


def test_every_declaration_is_accepted_and_no_range_is_below_zero() -> None:
    for name, factors in TABLES.items():
        stated = facts(name, factors, factors.all_rows)
        tables = stated.tables(factors.all_rows)
        model = "linear" if factors.outcome == "number" else "logistic"
        from_mapping({**RUN, **tables, "federation": {"model": model}})
        assert len(stated.columns) == factors.columns + 1
        assert len({column.name for column in columns_of(factors)}) == factors.columns
        assert {"special", "personal"} <= set(stated.tiers.values())
        for column in numbers(factors):
            assert 0.0 <= column.low < column.middle < column.high


def test_declarations_do_not_depend_on_seed_or_rows() -> None:
    factors = TABLES["suite-laboratory"]
    one, other = (facts("x", factors, rows) for rows in (100, 7000))
    assert one.columns == other.columns
    assert (
        one.tables(100)["data"]["test_size"] == other.tables(7000)["data"]["test_size"]
    )


@pytest.mark.parametrize("positives", [0.5, 0.05])
def test_outcomes_follow_the_truth_that_stands_beside_them(positives: float) -> None:
    rows = frame(replace(CENTRE, positives=positives), 3, 40_000)
    said = probabilities(rows[["true_1"]].to_numpy())[:, 1]
    assert abs(rows["outcome"].mean() - positives) < 0.012
    # In ten groups by what is true, as many as it says.
    groups = pd.qcut(said, 10, labels=False)
    for group in range(10):
        inside = groups == group
        error = np.sqrt(said[inside].mean() / inside.sum())
        gap = rows["outcome"][inside].mean() - said[inside].mean()
        assert abs(gap) < 4.5 * error


def test_nothing_ranks_better_than_the_truth() -> None:
    rows = frame(replace(CENTRE, shape="linear", categories=0.0), 0, 20_000)
    names = [column.name for column in numbers(CENTRE)]
    best = roc_auc_score(rows["outcome"], rows["true_1"])
    assert 0.78 < best < 0.87
    for name in names:
        alone = roc_auc_score(rows["outcome"], rows[name])
        assert max(alone, 1 - alone) < best


def test_three_classes_and_numbers_have_a_truth_too() -> None:
    classes = frame(replace(CENTRE, outcome="three classes"), 0, 20_000)
    said = probabilities(classes[["true_1", "true_2"]].to_numpy())
    for place, name in enumerate(("low", "medium", "high")):
        share = (classes["outcome"] == name).mean()
        assert abs(share - said[:, place].mean()) < 0.015
    number = frame(replace(CENTRE, outcome="number"), 0, 20_000)
    noise = number["outcome"] - number["true_1"]
    assert abs(noise.std() - 1.0) < 0.025
    assert abs(number["true_1"].std() - CENTRE.strength) < 0.1


def test_truth_and_effects_do_not_change_with_the_size() -> None:
    small, large = (truth_of(replace(CENTRE, rows=rows), 0) for rows in (150, 30_000))
    np.testing.assert_array_equal(small.weights, large.weights)
    np.testing.assert_array_equal(small.offset, large.offset)
    assert not np.array_equal(small.weights, truth_of(CENTRE, 1).weights)


@pytest.mark.parametrize("seed", range(3))
def test_sensitive_columns_have_about_their_share_of_the_truth(seed: int) -> None:
    weights = truth_of(CENTRE, seed).weights[:, 0] ** 2
    special = np.array([c.tier == "special" for c in columns_of(CENTRE)])
    assert 0.3 < weights[special].sum() / weights.sum() < 0.75


@pytest.mark.parametrize(
    ("signal", "silent"), [("sensitive", "personal"), ("others", "special")]
)
def test_a_signal_is_where_it_is_said_to_be(signal: Any, silent: str) -> None:
    factors = replace(CENTRE, signal=signal)
    weights = truth_of(factors, 0).weights[:, 0]
    tiers = np.array([column.tier for column in columns_of(factors)])
    assert not weights[tiers == silent].any()
    assert weights.any()


@pytest.mark.parametrize("shape", [s for s in get_args(Shape) if s != "mixed"])
def test_curves_have_mean_zero_and_variance_one(shape: str) -> None:
    normal = ndtri((np.arange(5000) + 0.5) / 5000)
    effect = NumberCurve(shape, 0.4).of(normal)
    assert abs(effect.mean()) < 0.01
    assert abs(effect.std() - 1.0) < 0.01
    # Flat beyond three deviations, whatever comes.
    far = NumberCurve(shape, 0.4).of(np.array([3.0, 40.0, np.inf]))
    assert len(set(far.tolist())) == 1


def test_mixed_shapes_are_several() -> None:
    curves = truth_of(replace(CENTRE, shape="mixed"), 0).curves.values()
    assert len({curve.shape for curve in curves}) > 2


def test_level_effects_have_mean_zero_and_variance_one() -> None:
    shares = ListColumn("x", "special", 20).shares
    assert shares[-1] < 0.02 < 0.2 < shares[0]
    effects = level_effects(np.random.default_rng(0), shares)
    assert abs(shares @ effects) < 1e-12
    assert abs(shares @ effects**2 - 1.0) < 1e-12


def test_groups_are_collinear_and_proxies_cross_tiers() -> None:
    factors = replace(CENTRE, collinearity=0.8, categories=0.0)
    first, *group = [column.name for column in numbers(factors)][:4]
    rows = frame(factors, 0, 10_000)
    for name in group:
        assert abs(rows[first].corr(rows[name]) - 0.8) < 0.02
    # One of a group says it all, the others only look like it.
    weights = truth_of(factors, 0).weights[:4, 0]
    assert weights[0]
    assert not weights[1:].any()
    factors = replace(CENTRE, proxy=0.9, categories=0.0)
    special = next(c.name for c in numbers(factors) if c.tier == "special")
    personal = next(c.name for c in numbers(factors) if c.tier == "personal")
    rows = frame(factors, 0, 10_000)
    assert abs(rows[special].corr(rows[personal]) - 0.9) < 0.02
    rows = frame(CENTRE, 0, 10_000)
    assert abs(rows[special].corr(rows[personal])) < 0.05


def test_gaps_are_as_frequent_as_stated_and_say_nothing() -> None:
    rows = frame(replace(CENTRE, missing=0.3), 0, 10_000)
    cells = rows.drop(columns=["outcome", "true_1"])
    assert 0.15 < cells.isna().to_numpy().mean() < 0.45
    gaps = cells.isna().sum(axis=1)
    assert abs(gaps.corr(rows["outcome"])) < 0.05


@pytest.mark.parametrize(("width", "tail"), [(10.0, "normal"), (100.0, "log-normal")])
def test_ranges_are_wide_against_the_values(width: float, tail: Any) -> None:
    factors = replace(CENTRE, width=width, tail=tail)
    rows = frame(factors, 0, 5000)
    for column in numbers(factors):
        low, high = np.quantile(rows[column.name], [0.01, 0.99])
        found = (column.high - column.low) / (high - low)
        assert 0.85 * width < found < 1.35 * width


def test_heavy_tails_reach_far_and_decide_nothing() -> None:
    factors = replace(CENTRE, tail="heavy", width=100.0)
    rows = frame(factors, 0, 10_000)
    column = numbers(factors)[0]
    deviations = column.deviations(rows[column.name].to_numpy())
    assert deviations.max() > 20.0
    assert rows["true_1"].abs().max() < 15.0


def test_pairs_move_the_outcome_beyond_what_columns_say_alone() -> None:
    factors = replace(CENTRE, interactions=6)
    truth = truth_of(factors, 0)
    assert len(set(truth.pairs)) == 6
    alone = frame(CENTRE, 0, 3000)["true_1"]
    together = frame(factors, 0, 3000)["true_1"]
    assert alone.corr(together) < 0.9


def test_names_of_the_suite_are_known_and_others_are_not(tmp_path: Path) -> None:
    assert set(SUITE) == set(TABLES)
    with pytest.raises(DataError) as caught:
        prepare("suite-center", tmp_path)
    assert caught.value.hint == "did you mean `suite-centre`?"
    with pytest.raises(DataError, match="cannot be drawn"):
        prepare("suite-centre", tmp_path, rows=0)
