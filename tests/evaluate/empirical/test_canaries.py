# SPDX-License-Identifier: Apache-2.0
"""Canaries could exist, and differ exactly where their coin says."""

import numpy as np
import pytest

from lexfed.evaluate.empirical.game import LABEL, Canaries, CanaryStock
from lexfed.tiers import Tier
from support.federation.worlds import encoding

STOCK = CanaryStock(encoding(), places=2, classes=3)


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def test_values_are_ends_middles_and_single_levels() -> None:
    made = STOCK.in_or_out(50, rng())
    code = STOCK.encoding
    assert made.tails is None
    for name in code.columns:
        slots = code.slots_of_column(name)
        kind = code.slots[slots[0]].kind
        if kind == "onehot":
            assert (made.heads[:, slots].sum(axis=1) == 1.0).all()
            continue
        seen = set(made.heads[:, slots[0]].tolist())
        assert seen == ({-1.0, 0.0, 1.0} if kind == "number" else {0.0, 1.0})
        assert (made.heads[:, slots[1:]] == 0.0).all()  # never missing


@pytest.mark.parametrize("tier", list(Tier)[:3])
def test_the_coin_moves_the_columns_of_one_tier_alone(tier: Tier) -> None:
    made = STOCK.replaced(50, rng(), tier)
    assert made.tails is not None
    inside = STOCK.encoding.slots_of(tier)
    others = np.setdiff1d(np.arange(STOCK.encoding.width), inside)
    assert (made.heads[:, others] == 0.0).all()
    assert (made.tails[:, others] == 0.0).all()
    for name in STOCK.encoding.columns_of(tier):
        slots = STOCK.encoding.slots_of_column(name)
        assert (made.heads[:, slots] != made.tails[:, slots]).any(axis=1).all()


def test_the_coin_of_a_record_moves_every_column() -> None:
    made = STOCK.replaced(20, rng())
    assert made.tails is not None
    for name in STOCK.encoding.columns:
        slots = STOCK.encoding.slots_of_column(name)
        assert (made.heads[:, slots] != made.tails[:, slots]).any(axis=1).all()


def test_a_site_holds_what_the_coins_say() -> None:
    coins = np.array([True, False, True])
    heads, tails = np.ones((3, 2)), np.zeros((3, 2))
    assert len(Canaries(heads, None).chosen(coins)) == 2
    held = Canaries(heads, tails).chosen(coins)
    assert held[:, 0].tolist() == [1.0, 0.0, 1.0]


def test_units_have_one_row_of_weight_one_and_no_class() -> None:
    units = STOCK.units(STOCK.in_or_out(4, rng()).heads)
    assert units.weights.tolist() == [[1.0, 0.0]] * 4
    assert (units.targets[:, 0] == LABEL).all()
    assert units.members is not None
    assert not units.members.any()
    assert len(STOCK.units(np.zeros((0, STOCK.encoding.width)))) == 0
