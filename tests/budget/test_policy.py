# SPDX-License-Identifier: Apache-2.0
"""A policy bounds what a run may ask for, and says how tiers weigh."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.policy import (
    BudgetPolicy,
    Level,
    PolicyTerms,
    RunColumns,
    policy_terms,
)
from lexfed.errors import ConfigError
from lexfed.tiers import Tier

STRICT = BudgetPolicy(
    "strict",
    "a policy",
    (
        Level("public", Tier.NON_PERSONAL, 0.5, 2.0, (1.5, 3.0), 1e-4),
        Level("low", Tier.NON_PERSONAL, 1.0, 1.0, (0.8, 1.5), 1e-5),
        Level("metadata", Tier.NON_PERSONAL, 0.2, 5.0),
        Level("medium", Tier.PERSONAL, 1.5, 0.5, (0.3, 0.7), 1e-6),
        Level("high", Tier.SPECIAL, 2.5, 0.1, (0.05, 0.15), 1e-7),
    ),
)
LOOSE = BudgetPolicy(
    "loose",
    "no ceilings",
    (
        Level("low", Tier.NON_PERSONAL, 1.0),
        Level("public", Tier.NON_PERSONAL, 0.5),
        Level("medium", Tier.PERSONAL, 2.0),
        Level("high", Tier.SPECIAL, 4.0),
    ),
)
COLUMNS = {
    Tier.NON_PERSONAL: ("ward", "bed"),
    Tier.PERSONAL: ("age",),
    Tier.SPECIAL: ("bmi",),
}


def under(policy: BudgetPolicy = STRICT, **changed: Any) -> PolicyTerms:
    given: dict[str, Any] = {
        "caps": {},
        "delta": 1e-8,
        "inputs": COLUMNS,
        "target": Tier.SPECIAL,
        "assigned": {},
        **changed,
    }
    caps, delta = given.pop("caps"), given.pop("delta")
    return policy_terms(policy, caps, delta, RunColumns(**given))


def refusals(policy: BudgetPolicy = STRICT, **changed: Any) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        under(policy, **changed)
    return [str(problem) for problem in refused.value.problems]


def test_caps_are_those_of_the_strictest_level_of_a_tier() -> None:
    found = under()
    assert found.caps == {
        Tier.NON_PERSONAL: 1.0,
        Tier.PERSONAL: 0.5,
        Tier.SPECIAL: 0.1,
    }
    assert found.weights == {
        Tier.NON_PERSONAL: 1.0,
        Tier.PERSONAL: 1.5,
        Tier.SPECIAL: 2.5,
    }


@pytest.mark.parametrize(
    ("assigned", "cap", "weight"),
    [
        ({"ward": "public"}, 1.0, 1.0),
        ({"ward": "public", "bed": "public"}, 2.0, 0.5),
        ({"ward": "public", "bed": "metadata"}, 2.0, 0.5),
        ({"ward": "metadata", "bed": "metadata"}, 5.0, 0.2),
    ],
)
def test_a_tier_follows_the_strictest_level_in_it(
    assigned: Mapping[str, str], cap: float, weight: float
) -> None:
    found = under(assigned=assigned)
    assert found.caps[Tier.NON_PERSONAL] == cap
    assert found.weights[Tier.NON_PERSONAL] == weight


def test_weights_without_caps_leave_the_caps_to_the_run() -> None:
    own = {Tier.SPECIAL: 123.0}
    found = under(LOOSE, caps=own, assigned={"ward": "public", "bed": "public"})
    assert found == PolicyTerms(
        own, {Tier.NON_PERSONAL: 0.5, Tier.PERSONAL: 2.0, Tier.SPECIAL: 4.0}
    )
    assert under(LOOSE, assigned={"ward": "public"}).weights[Tier.NON_PERSONAL] == 1.0


@given(cap=st.floats(0.001, 10.0))
def test_an_own_cap_counts_inside_the_range_only(cap: float) -> None:
    if 0.05 <= cap <= 0.15:
        assert under(caps={Tier.SPECIAL: cap}).caps[Tier.SPECIAL] == cap
        return
    (words,) = refusals(caps={Tier.SPECIAL: cap})
    assert "policy `strict`, level `high`: a cap from 0.05 to 0.15" in words


def test_a_level_without_a_range_has_a_fixed_cap() -> None:
    metadata = {"ward": "metadata", "bed": "metadata"}
    assert under(assigned=metadata, caps={Tier.NON_PERSONAL: 5.0}).caps[
        Tier.NON_PERSONAL
    ] == pytest.approx(5.0)
    assert refusals(assigned=metadata, caps={Tier.NON_PERSONAL: 4.0}) == [
        "`budget.caps.non_personal`: policy `strict`, level `metadata`: a cap of 5 "
        "only is allowed, got: 4"
    ]


def test_the_smallest_delta_of_the_levels_in_use_counts() -> None:
    assert refusals(delta=1e-6) == [
        "`budget.delta`: policy `strict`, level `high`: a delta of at most 1e-07 is "
        "allowed, got: 1e-06"
    ]
    columns = {**COLUMNS, Tier.SPECIAL: ()}
    # The label counts too, even where no input has its tier.
    assert len(refusals(delta=1e-6, inputs=columns)) == 1
    found = under(delta=1e-6, inputs=columns, target=Tier.PERSONAL)
    assert Tier.SPECIAL not in found.caps
    only_metadata = {Tier.NON_PERSONAL: ("ward",)}
    assigned = {"ward": "metadata"}
    target = Tier.IDENTIFIER
    under(delta=0.5, inputs=only_metadata, assigned=assigned, target=target)


def test_caps_of_tiers_that_nobody_reads_bind_nobody() -> None:
    found = under(inputs={Tier.PERSONAL: ("age",)}, caps={Tier.SPECIAL: 9.0})
    assert found.caps == {Tier.PERSONAL: 0.5, Tier.SPECIAL: 9.0}


def test_the_largest_weight_is_1_in_the_linear_form() -> None:
    assert under(LOOSE).linear_weights == (0.25, 0.5, 1.0)
    assert under().linear_weights == (0.4, 0.6, 1.0)
    metadata = {"ward": "metadata", "bed": "metadata"}
    assert under(assigned=metadata).linear_weights == (0.25, 0.6, 1.0)


def test_every_contradiction_is_listed() -> None:
    found = refusals(delta=0.1, caps={Tier.SPECIAL: 1.0, Tier.PERSONAL: 0.1})
    assert len(found) == 3


def test_a_column_is_at_a_level_of_its_own_tier() -> None:
    assert refusals(assigned={"bmi": "public", "age": "nope", "zip": "low"}) == [
        "`budget.levels`: policy `strict` has no level `public` for `bmi`, whose tier "
        "is `special`",
        "`budget.levels`: policy `strict` has no level `nope` for `age`, whose tier is "
        "`personal`",
        "`budget.levels`: no model input is called `zip`",
    ]
