# SPDX-License-Identifier: Apache-2.0
"""Costs are exact, never too small, and add up."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.conftest import release
from lexfed.ledger.bookkeeping.prices import SCALE, SCOPES, concerned_scopes, costs_of
from lexfed.privacy.accountants import composition, gdp, rdp
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

FINE = st.floats(1e-6, 1e6)


def test_scopes_and_relations_follow_theorem_c() -> None:
    found = concerned_scopes(release(reads=Tier.PERSONAL), "record", "add-remove")
    assert found == {
        "record": "add-remove",
        "label": "replace-one",
        "non_personal": "replace-one",
        "personal": "replace-one",
    }
    assert set(concerned_scopes(release(reads=None), "record", "add-remove")) == {
        "record",
        "label",
    }
    assert set(
        concerned_scopes(release(reads=Tier.IDENTIFIER), "record", "add-remove")
    ) == set(SCOPES)


def test_a_record_of_a_client_pays_as_if_it_were_replaced() -> None:
    by_record = costs_of([(release(), 1)], "record", {}, neighbours="add-remove")
    by_client = costs_of([(release(), 1)], "client", {}, neighbours="add-remove")
    assert by_client["record:gdp"] == by_client["label:gdp"]
    assert by_client["record:gdp"] == pytest.approx(4 * by_record["record:gdp"])


@given(clips=st.lists(st.tuples(FINE, FINE), min_size=1, max_size=4))
def test_squares_are_exact_to_the_last_unit(clips: list[tuple[float, float]]) -> None:
    groups = tuple(ReleaseGroup(f"g{n}", c, s) for n, (c, s) in enumerate(clips))
    joint = Release("r", groups, 1.0, None, 1)
    exact = sum((Fraction(c) / Fraction(s)) ** 2 for c, s in clips)
    cost = costs_of([(joint, 1)], "record", {}, neighbours="add-remove")["record:gdp"]
    assert 0 <= Fraction(cost, SCALE) - exact < Fraction(1, SCALE)
    assert cost / SCALE == pytest.approx(joint.noise_multiplier**-2, rel=1e-9)


@given(sigma=st.floats(0.5, 50), rate=st.floats(0.01, 0.99), count=st.integers(0, 5))
def test_costs_of_two_lists_add_up(sigma: float, rate: float, count: int) -> None:
    one, other = release(sigma), release(sigma, Tier.PERSONAL, rate)
    orders = {"record": 8, "special": 4}
    both = costs_of(
        [(one, count), (other, 3)], "record", orders, neighbours="add-remove"
    )
    parts = [
        costs_of([(one, 1)], "record", orders, neighbours="add-remove"),
        costs_of([(other, 1)], "record", orders, neighbours="add-remove"),
    ]
    for name, cost in both.items():
        assert cost == count * parts[0].get(name, 0) + 3 * parts[1].get(name, 0)


@given(sigma=st.floats(0.5, 50), rate=st.floats(0.01, 1.0), order=st.integers(2, 64))
def test_a_divergence_is_the_accountants(sigma: float, rate: float, order: int) -> None:
    asked = release(sigma, Tier.SPECIAL, rate)
    found = costs_of(
        [(asked, 1)],
        "record",
        {"record": order, "special": order},
        neighbours="add-remove",
    )
    for scope, relation in concerned_scopes(asked, "record", "add-remove").items():
        if scope not in ("record", "special"):
            assert f"{scope}:rdp" not in found
            continue
        [known] = rdp.curve([Step(sigma, rate)], relation, (order,))
        assert found[f"{scope}:rdp"] / SCALE == pytest.approx(known, rel=1e-9)


def test_a_divergence_without_bound_costs_as_if_not_sampled() -> None:
    loud = release(1e-160, rate=0.5)
    found = costs_of([(loud, 1)], "record", {"record": 4096}, neighbours="add-remove")
    assert 0 <= 2048 * found["record:gdp"] - found["record:rdp"] < 2048


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_sampled_releases_are_dominated_by_unsampled_ones(
    rate: float, neighbours: Neighbours
) -> None:
    # At every epsilon the exact delta of the sampled release is below that of mu-GDP.
    sigma, scale = 0.8, 1.0 if neighbours == "add-remove" else 2.0
    sampled = composition.composed_distribution([Step(sigma, rate)], neighbours)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        whole = gdp.delta_from(scale / sigma, epsilon)
        assert sampled.get_delta_for_epsilon(epsilon) <= whole * (1 + 1e-6) + 1e-9
    # Control: with a quarter of mu it would not be.
    near = composition.composed_distribution([Step(sigma, 0.95)], neighbours)
    assert near.get_delta_for_epsilon(1.0) > gdp.delta_from(scale / sigma / 4, 1.0)


def test_rounding_up_never_loses_a_unit() -> None:
    tiny = release(1e12)
    assert costs_of([(tiny, 1)], "record", {}, neighbours="add-remove")[
        "record:gdp"
    ] == math.ceil(Fraction(1, 10**24) * SCALE)


def test_who_never_takes_part_pays_nothing() -> None:
    found = costs_of(
        [(release(1.0, rate=0.0), 3)], "record", {"record": 8}, neighbours="add-remove"
    )
    assert set(found.values()) == {0}
