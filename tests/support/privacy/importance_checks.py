# SPDX-License-Identifier: Apache-2.0
"""Checks of importances: what they read, what they cost, what noise makes of them."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lexfed.budget import column_importance
from lexfed.budget.noise_plan import Budget
from lexfed.config import load
from lexfed.errors import ClaimError
from lexfed.federation.planning import purchase_programmes as buying
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import record_epsilon
from lexfed.run import load_population, price
from lexfed.run.purchases.importance_purchase import buy_importance
from lexfed.terms import Accountant
from lexfed.tiers import Tier
from support.configurations import configuration
from support.federation.worlds import encoding, play, with_slots, world

CONFIG = configuration(
    {
        "run": {"name": "small", "test": True},
        "data.generator": {"patients": 120, "sites": 2},
        "budget.allocation": "multiplier",
        "budget.importance_from": "paid:bought",
        "federation": None,
    }
)


def check_importance_reads() -> None:
    """A release of importances moves with no tier above the one that it reads."""
    base = world(sizes=(20, 15))
    programme = buying.plan_importance(base.facts, base.budget, base.choices)
    of = replace(base, programme=programme)
    slots = [int(place) for place in of.encoding.slots_of(Tier.SPECIAL)]
    before, after = play(of), play(with_slots(of, slots, np.zeros_like))
    for query, one, two in zip(
        before.queries, before.totals, after.totals, strict=True
    ):
        assert query.release is not None
        if query.release.reads is None or query.release.reads < Tier.SPECIAL:
            assert np.array_equal(one, two), f"{query.release.name} reads more"


def check_importance_is_paid() -> None:
    """Importances and the run that uses them cost the budget together."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "lexfed.toml"
        path.write_text(CONFIG)
        buy_importance(path, 1.0, path.parent / "bought")
        config = load(path)
        priced = price(config, load_population(config, path.parent), path.parent)
        spent = priced.population.importance.paid
        both = [*spent, *priced.programme.charges()]
        assert record_epsilon(both, 1e-5, "add-remove") <= 3.0


def check_noise_in_shares_needs_renyi() -> None:
    """What is left beside noise in shares is said by Rényi accounting alone."""
    shared = Release(
        "shares", (ReleaseGroup("s", 1.0, 20.0),), 1.0, None, 9, noise="skellam"
    )
    budget = Budget(2.0, 1e-6, "add-remove", {})
    assert (
        column_importance.remaining_budget(budget, [(shared, 1)], "rdp").epsilon < 2.0
    )
    accountants: tuple[Accountant, ...] = ("gdp", "pld")
    for accountant in accountants:
        with pytest.raises(ClaimError, match="Rényi accounting only"):
            column_importance.remaining_budget(budget, [(shared, 1)], accountant)


def check_noise_is_not_importance() -> None:
    """A column of nothing but noise has hardly any length.

    60 entries of standard normal noise per column: their mean square is within 7
    standard errors, 7 sqrt(2/60) = 1.28, of 1 but for a probability below 1e-9.
    """
    code = encoding()
    noise = np.random.default_rng(0).normal(size=(code.width, 60))
    found = column_importance.importance_by_column(code, noise, np.ones(code.width))
    for name, length in found.items():
        entries = 60 * len(code.slots_of_column(name))
        assert length**2 <= 7 * np.sqrt(2 * entries)
