# SPDX-License-Identifier: Apache-2.0
"""Associations against their definitions, and proxies as an output of their own."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.proxies import (
    LEAST,
    MOST_PROXIES,
    Association,
    Variable,
    VariableStack,
    associations,
    proxies_of,
    variable_of,
)
from lexfed.law.tagger.suggestions import DescribedColumn, Suggestion

RNG = np.random.default_rng(11)
N = 200


def variable(values: Sequence[object]) -> Variable:
    found = variable_of([str(v) for v in values])
    assert found is not None
    return found


def between(one: Sequence[object], other: Sequence[object]) -> Association:
    (found,) = associations(variable(one), VariableStack([variable(other)]))
    return found


def test_cramers_v_against_its_definition() -> None:
    one = RNG.integers(0, 3, N)
    other = np.where(RNG.random(N) < 0.6, one, RNG.integers(0, 4, N))
    table = stats.contingency.crosstab(one, other).count
    chi = stats.chi2_contingency(table, correction=False).statistic
    rows, columns = table.shape
    phi = max(0.0, chi / N - (rows - 1) * (columns - 1) / (N - 1))
    least = min(
        rows - (rows - 1) ** 2 / (N - 1), columns - (columns - 1) ** 2 / (N - 1)
    )
    found = between(list(one), list(other))
    assert found.measure == "cramers_v"
    assert found.strength == pytest.approx((phi / (least - 1)) ** 0.5)
    assert found.rows == N


def test_correlation_ratio_against_analysis_of_variance() -> None:
    groups = RNG.integers(0, 4, N)
    numbers = groups + RNG.normal(size=N)
    f = stats.f_oneway(*(numbers[groups == g] for g in range(4))).statistic
    eta = f * 3 / (f * 3 + N - 4)
    adjusted = 1 - (1 - eta) * (N - 1) / (N - 4)
    found = between(list(groups), list(numbers))
    assert found.measure == "correlation_ratio"
    assert found.strength == pytest.approx(adjusted**0.5)


def test_pearson_against_scipy_with_gaps() -> None:
    x = RNG.normal(size=N)
    y = 0.5 * x + RNG.normal(size=N)
    first = ["" if n % 7 == 0 else str(v) for n, v in enumerate(x)]
    second = ["NA" if n % 5 == 0 else str(v) for n, v in enumerate(y)]
    there = [n for n in range(N) if n % 7 and n % 5]
    found = between(first, second)
    assert found.measure == "pearson"
    assert found.rows == len(there)
    expected = abs(stats.pearsonr(x[there], y[there]).statistic)
    assert found.strength == pytest.approx(expected)


@pytest.mark.parametrize("kinds", ["dd", "dn", "nn"])
def test_a_strength_is_the_same_both_ways_and_between_0_and_1(kinds: str) -> None:
    hidden = RNG.normal(size=N)
    columns = [
        list((hidden + RNG.normal(size=N)).round(6))
        if kind == "n"
        else [int(v > 0) + int(v > 1) for v in hidden + RNG.normal(size=N)]
        for kind in kinds
    ]
    there, back = between(*columns), between(*columns[::-1])
    assert there.strength == pytest.approx(back.strength)
    assert there.chance == pytest.approx(back.chance)
    assert 0.0 < there.strength < 1.0


def test_one_column_that_determines_another() -> None:
    letters = list("abcd" * 50)
    assert between(letters, [v.upper() for v in letters]).strength == pytest.approx(1.0)
    numbers = list(RNG.normal(size=N))
    assert between(numbers, [-3 * n for n in numbers]).strength == pytest.approx(1.0)


def test_one_against_many_is_one_against_each() -> None:
    hidden = RNG.normal(size=N)
    columns: list[list[object]] = [
        [int(v > 0) for v in hidden],
        list(hidden + RNG.normal(size=N)),
        ["x" if v > 1 else "" if v < -1 else "y" for v in hidden],
        list(RNG.normal(size=N)),
    ]
    for target in columns:
        together = associations(
            variable(target), VariableStack([variable(c) for c in columns])
        )
        for one in together:
            assert one.strength == pytest.approx(
                between(target, columns[one.at]).strength
            )


def test_chance_is_not_reported() -> None:
    # 19,900 independent pairs; each is reported with a chance of at most 1e-5 by the
    # bound, so that one is with a chance below .2 and two with one below .02.
    discrete = [RNG.integers(0, RNG.integers(2, 14), N) for _ in range(100)]
    numeric = [RNG.normal(size=N) for _ in range(100)]
    variables = [variable(list(v)) for v in (*discrete, *numeric)]
    above = 0
    for at, target in enumerate(variables[:-1]):
        found = associations(target, VariableStack(variables[at + 1 :]))
        above += sum(one.strength >= max(LEAST, one.chance) for one in found)
    assert above <= 1


@pytest.mark.parametrize(
    "values",
    [
        ["a"] * N,
        [f"id{n}" for n in range(N)],
        ["a", "b"] * 5,
        ["5.0"] * N,
        [""] * N,
    ],
)
def test_columns_that_tell_nothing(values: list[str]) -> None:
    assert variable_of(values) is None


def test_numbers_beyond_all_bounds_are_left_out() -> None:
    values = [f"1e{300 + n}" for n in range(40)] + [str(n) for n in range(40)]
    found = variable_of(values)
    assert found is not None
    assert found.numbers is not None
    assert variable_of([f"1e{400 + n}" for n in range(40)]) is None
    assert variable_of([f"{10**15}.{n:02}" for n in range(40)]) is None


def suggested(column: DescribedColumn, tier: str, category: str) -> Suggestion:
    return Suggestion(column, tier, category, 1.0, False, (), "en")


def world() -> tuple[list[DescribedColumn], list[Suggestion]]:
    race = RNG.choice(["a", "b", "c"], N)
    area = [f"{r}{n}" for r, n in zip(race, RNG.integers(0, 2, N), strict=True)]
    noise = RNG.choice(["x", "y"], N)
    key = [f"{r}{n:04}" for n, r in enumerate(race)]
    columns = [
        DescribedColumn("t", "race", values=tuple(map(str, race))),
        DescribedColumn("t", "area", values=tuple(area)),
        DescribedColumn("t", "noise", values=tuple(map(str, noise))),
        DescribedColumn("t", "key", values=tuple(k[:1] for k in key)),
        DescribedColumn("u", "elsewhere", values=tuple(area)),
        DescribedColumn("t", "ragged", values=tuple(area[:150])),
        DescribedColumn("t", "named"),
    ]
    kinds = [
        ("special", "ethnicity"),
        ("personal", "location"),
        ("personal", "behavioural"),
        ("identifier", "person_key"),
        ("personal", "location"),
        ("personal", "location"),
        ("personal", "location"),
    ]
    return columns, [
        suggested(column, *kind) for column, kind in zip(columns, kinds, strict=True)
    ]


def test_a_proxy_is_found_and_nothing_else() -> None:
    columns, suggestions = world()
    found = proxies_of(columns, suggestions)
    (proxy,) = found[1]
    assert (proxy.column, proxy.category, proxy.measure) == (
        "race",
        "ethnicity",
        "cramers_v",
    )
    assert proxy.strength == pytest.approx(1.0, abs=0.02)
    assert not any(found[at] for at in (0, 2, 4, 5, 6))


def test_identifiers_are_never_reported() -> None:
    columns, suggestions = world()
    assert proxies_of(columns, suggestions)[3] == ()


def test_no_more_than_three_are_reported_the_strongest_first() -> None:
    hidden = RNG.normal(size=N)
    columns = [
        DescribedColumn(
            "t", f"s{n}", values=tuple(map(str, hidden + n / 4 * RNG.normal(size=N)))
        )
        for n in range(1, 6)
    ]
    columns.append(DescribedColumn("t", "other", values=tuple(map(str, hidden))))
    suggestions = [suggested(c, "special", "health") for c in columns[:-1]]
    suggestions.append(suggested(columns[-1], "personal", "other_personal"))
    strengths = [p.strength for p in proxies_of(columns, suggestions)[-1]]
    assert len(strengths) == MOST_PROXIES
    assert strengths == sorted(strengths, reverse=True)


def test_proxies_change_no_tier() -> None:
    diagnosis = RNG.choice(["I10.1", "E11.9", "J45.0", "C50.1"], N)
    district = [f"district {d[0]}" for d in diagnosis]
    columns = [
        DescribedColumn("people", "diagnosis", values=tuple(map(str, diagnosis))),
        DescribedColumn("people", "city", values=tuple(district)),
    ]
    shuffled = [
        columns[0],
        DescribedColumn("people", "city", values=tuple(RNG.permutation(district))),
    ]
    linked, apart = tag_columns(columns)[1], tag_columns(shuffled)[1]
    assert linked.proxies
    assert not apart.proxies
    assert (linked.tier, linked.category, linked.score) == (
        apart.tier,
        apart.category,
        apart.score,
    )
