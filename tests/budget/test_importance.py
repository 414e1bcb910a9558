# SPDX-License-Identifier: Apache-2.0
"""Importances of columns and their groups: what is found, and what is left to spend."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget import column_importance
from lexfed.budget.noise_plan import Budget
from lexfed.data.encoding import build_encoding
from lexfed.data.schema import Column, Schema
from lexfed.errors import ClaimError, Refused
from lexfed.privacy.accountants.gdp import mu_from
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.privacy.importance_checks import check_noise_in_shares_needs_renyi

ENCODING = build_encoding(
    Schema(
        (
            Column("sbp", "number", range=(60, 260), missing=False),
            Column("dbp", "number", range=(30, 160), missing=False),
            Column("ward", "category", values=("a", "b", "c")),
            Column("noise", "number", range=(-1, 1), missing=False),
            Column("y", "flag", missing=False),
        ),
        "y",
    ),
    dict.fromkeys(("sbp", "dbp", "ward", "noise", "y"), Tier.PERSONAL),
)
NAMES = ENCODING.columns


def public_table(rows: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    sbp = generator.uniform(-1, 1, rows)
    ward = generator.integers(0, 3, rows)
    inputs = np.zeros((rows, ENCODING.width))
    inputs[:, 0] = sbp
    inputs[:, 1] = 0.5 * sbp + 0.05 * generator.normal(size=rows)
    inputs[np.arange(rows), 2 + ward] = 1.0
    inputs[:, 5] = generator.uniform(-1, 1, rows)
    goals = (sbp + 0.3 * (ward == 1) + 0.3 * generator.normal(size=rows) > 0)[:, None]
    return inputs, goals.astype(np.float64)


def test_a_column_is_as_long_as_its_slots() -> None:
    values = np.array([[3.0], [0.0], [0.0], [2.0], [1.0], [4.0]])
    found = column_importance.importance_by_column(ENCODING, values, np.zeros(6))
    assert found == pytest.approx(
        {"sbp": 3.0, "dbp": 0.0, "ward": math.sqrt(5.0), "noise": 4.0}
    )


def test_known_noise_is_taken_off() -> None:
    """Over many draws the square of a column's length is that of its signal.

    2000 draws of a mean: the error of the mean square is below 7 standard errors with
    probability 3e-12. Negative control: uncorrected it is off by the variance.
    """
    generator = np.random.default_rng(3)
    signal = np.array([[1.0], [0.0], [0.5], [0.5], [0.5], [0.0]])
    noise = np.full(6, 0.4)
    draws = signal + 0.4 * generator.normal(size=(2000, 6, 1))
    squares = [
        column_importance.importance_by_column(ENCODING, draw, noise)["ward"] ** 2
        for draw in draws
    ]
    raw = [float(np.square(draw[2:5]).sum()) for draw in draws]
    error = float(np.std(raw)) / math.sqrt(2000)
    # Lengths are never negative, so what is cut off at zero raises the mean a little.
    assert abs(float(np.mean(squares)) - 0.75) <= 7 * error + 0.03
    assert float(np.mean(raw)) - 0.75 > 0.4


def test_pure_noise_has_no_length() -> None:
    small = np.full((6, 2), 0.1)
    found = column_importance.importance_by_column(ENCODING, small, np.full(6, 0.5))
    assert set(found.values()) == {0.0}


def test_importances_have_mean_one_and_a_floor() -> None:
    found = column_importance.relative_importance({"a": 8.0, "b": 0.0})
    assert sum(found.values()) == pytest.approx(2.0)
    assert found["b"] == pytest.approx(column_importance.LEAST * found["a"])
    assert column_importance.relative_importance({"a": 0.0, "b": 0.0}) == {
        "a": 1.0,
        "b": 1.0,
    }
    assert column_importance.relative_importance({}) == {}


def test_a_prior_stays_in_part() -> None:
    mixed = column_importance.decayed_importance(
        {"a": 3.0, "b": 1.0}, {"b": 2.0}, decay=0.25
    )
    assert mixed == {"a": 0.25 + 0.75 * 3.0, "b": 0.5 + 0.75}


def test_a_public_table_tells_useful_columns() -> None:
    values, noise = column_importance.first_step(*public_table())
    found = column_importance.relative_importance(
        column_importance.importance_by_column(ENCODING, values, noise)
    )
    assert found["sbp"] > found["ward"] > found["noise"]
    # A column that never changes, and a goal that does not, say nothing.
    inputs, goals = public_table(50)
    inputs[:, 0] = 0.3
    values, _ = column_importance.first_step(inputs, goals)
    assert values[0, 0] == 0.0
    values, _ = column_importance.first_step(inputs, np.ones_like(goals))
    assert not values.any()


# Groups


def test_columns_that_correlate_are_grouped() -> None:
    inputs, _ = public_table()
    pairs = column_importance.correlated_pairs(ENCODING, inputs, 0.9)
    groups = column_importance.joined_groups(NAMES, pairs)
    assert groups == (
        frozenset({"sbp", "dbp"}),
        frozenset({"ward"}),
        frozenset({"noise"}),
    )
    assert column_importance.correlated_pairs(ENCODING, inputs, 0.999999) == []
    inputs[:, 5] = inputs[:, 0]
    assert ("sbp", "noise") in column_importance.correlated_pairs(ENCODING, inputs, 1.0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_groups_are_the_connected_columns(links: list[tuple[int, int]]) -> None:
    names = [f"c{i}" for i in range(7)]
    pairs = [(names[a], names[b]) for a, b in links]
    groups = column_importance.joined_groups(names, pairs)
    assert sorted(name for group in groups for name in group) == names
    home = {name: group for group in groups for name in group}
    assert all(home[a] == home[b] for a, b in pairs)
    # No fewer groups than the links can explain.
    assert len(groups) >= 7 - len({frozenset(p) for p in pairs if len(set(p)) == 2})
    assert column_importance.joined_groups(names, reversed(pairs)) == groups


def test_a_group_is_as_important_as_its_best_column() -> None:
    pairs = column_importance.stated_pairs({"vitals": ["sbp", "dbp"]})
    groups = column_importance.joined_groups(NAMES, pairs)
    found = {"sbp": 0.2, "dbp": 2.0, "ward": 0.5, "noise": 0.01}
    together = column_importance.group_importances(found, groups)
    assert together == {"sbp": 2.0, "dbp": 2.0, "ward": 0.5, "noise": 0.01}
    assert column_importance.omitted_columns(together, 0.05) == ("noise",)
    assert column_importance.omitted_columns(together, 0.3) == ("ward", "noise")
    assert column_importance.omitted_columns(together, 0.0) == ()


# What is left to spend

SPENT = (
    (Release("label rate", (ReleaseGroup("l", 1.0, 40.0),), 1.0, None, 1), 1),
    (
        Release(
            "importance personal",
            (ReleaseGroup("p", 1.0, 20.0),),
            1.0,
            Tier.PERSONAL,
            9,
        ),
        1,
    ),
    (
        Release(
            "importance special", (ReleaseGroup("s", 1.0, 30.0),), 1.0, Tier.SPECIAL, 9
        ),
        1,
    ),
)
CAPS = {Tier.SPECIAL: 1.0, Tier.PERSONAL: 1.5}


def release(epsilon: float, delta: float, reach: float) -> Release:
    """A Gaussian that uses an epsilon up, with a hair's breadth to spare."""
    sigma = reach / mu_from(epsilon, delta) * (1 + 1e-9)
    return Release("rest", (ReleaseGroup("r", 1.0, sigma),), 1.0, Tier.SPECIAL, 1)


@pytest.mark.parametrize("sites", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_both_together_cost_exactly_the_budget(neighbours: Any, sites: int) -> None:
    budget = Budget(2.0, 1e-6, neighbours, CAPS, sites)
    rest = column_importance.remaining_budget(budget, SPENT, "gdp")
    reach = sites * (2.0 if neighbours == "replace-one" else 1.0)
    both = [*SPENT, (release(rest.epsilon, 1e-6, reach), 1)]
    cost = record_epsilon(both, 1e-6, neighbours, "gdp", sites)
    assert 2.0 - 1e-5 <= cost <= 2.0
    # The formula: mu² is what is left of the square.
    spent = sum(1.0 / r.noise_multiplier**2 for r, _ in SPENT) * reach**2
    left = math.sqrt(mu_from(2.0, 1e-6) ** 2 - spent)
    assert mu_from(rest.epsilon, 1e-6) == pytest.approx(left, rel=1e-6)
    for tier, cap in CAPS.items():
        both = [*SPENT, (release(rest.caps[tier], 1e-6, 2.0 * sites), 1)]
        assert cap - 1e-5 <= tier_epsilon(both, tier, 1e-6, "gdp", sites) <= cap


def test_a_tier_pays_only_for_what_reads_it() -> None:
    budget = Budget(2.0, 1e-6, "add-remove", {Tier.SPECIAL: 0.5})
    rest = column_importance.remaining_budget(budget, SPENT[:2], "gdp")
    assert rest.caps == {Tier.SPECIAL: 0.5}
    assert rest.epsilon < 2.0


def test_rest_of_a_budget_by_renyi_accounting_is_safe() -> None:
    budget = Budget(2.0, 1e-6, "add-remove", {})
    rest = column_importance.remaining_budget(budget, SPENT, "rdp")
    exact = column_importance.remaining_budget(budget, SPENT, "gdp")
    assert rest.epsilon < 2.0
    assert rest.epsilon == pytest.approx(exact.epsilon, rel=0.05)


@pytest.mark.parametrize("accountant", ["gdp", "pld"])
def test_noise_in_shares_has_a_price_in_renyi_accounting_only(accountant: Any) -> None:
    budget = Budget(2.0, 1e-6, "add-remove", CAPS)
    shared = ((replace(SPENT[0][0], noise="skellam"), 1), *SPENT[1:])
    with pytest.raises(ClaimError, match="Rényi accounting only"):
        column_importance.remaining_budget(budget, shared, accountant)
    # Negative control: the same multipliers with Gaussian noise have a price.
    assert column_importance.remaining_budget(budget, SPENT, accountant).epsilon < 2.0
    check_noise_in_shares_needs_renyi()


def test_nothing_left_is_refused() -> None:
    with pytest.raises(Refused, match="what is fixed costs more"):
        column_importance.remaining_budget(
            Budget(0.05, 1e-6, "add-remove", {}), SPENT, "gdp"
        )
