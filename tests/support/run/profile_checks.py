# SPDX-License-Identifier: Apache-2.0
"""Checks of profiles: what tables read, whom they are about, and that they are paid."""

import tempfile
from pathlib import Path

import numpy as np

from lexfed.config import load
from lexfed.config.open_decisions import load_open
from lexfed.data.people.lots import LotKeys
from lexfed.federation.planning.purchase_programmes import hidden_shares
from lexfed.privacy.scopes import record_epsilon
from lexfed.run import load_population, price
from lexfed.run.purchases.profile_population import load_profile_population
from lexfed.run.purchases.profile_purchase import buy_profile
from lexfed.tiers import Tier
from support.federation.profile_worlds import COLUMNS, profile_world, slots_of
from support.federation.worlds import play, with_slots
from support.run.profile_files import NUMBERS_ONLY, written


def a_table_moves_with_no_tier_above_its_own() -> None:
    """Change all special values: no table that is charged to less moves."""
    of = profile_world()
    slots = slots_of(COLUMNS, Tier.SPECIAL)
    before, after = play(of), play(with_slots(of, slots, np.zeros_like))
    for query, one, two in zip(
        before.queries, before.totals, after.totals, strict=False
    ):
        assert query.release is not None
        if query.release.reads is None or query.release.reads < Tier.SPECIAL:
            assert np.array_equal(one, two), f"{query.release.name} reads more"


def a_profile_and_its_run_cost_the_budget_together() -> None:
    """Both together stay within epsilon."""
    with tempfile.TemporaryDirectory() as place:
        path = written(Path(place), text=NUMBERS_ONLY)
        claim = buy_profile(path, 6.0, path.parent / "p").result.claim
        assert claim is not None
        text = path.read_text().replace('range = "?"', "range = [0, 128]")
        text = text.replace('"number" }', '"number", range = [0, 64] }')
        path.write_text(text.replace("[data]\n", '[data]\nprofile = "p"\n'))
        config = load(path)
        population = load_population(config, path.parent)
        priced = price(config, population, path.parent)
        paid = [(row.release.release(), row.count) for row in claim.releases]
        both = [*paid, *priced.programme.charges()]
        assert record_epsilon(both, 1e-6, "add-remove") <= 12.0


def a_profile_counts_the_persons_of_training() -> None:
    """Who is kept for tests is not counted, and nobody changes the site."""
    with tempfile.TemporaryDirectory() as place:
        opened = load_open(written(Path(place)))
        coins = LotKeys.fresh()
        profiled = load_profile_population(opened, Path(place), coins).population
        trained = load_population(opened.config, Path(place), coins)
        assert profiled.sizes == trained.sizes
        assert profiled.units == trained.units
        for one, other in zip(profiled.sites, trained.sites, strict=True):
            assert one.train.keys is not None
            assert other.train.keys is not None
            assert np.array_equal(one.train.keys, other.train.keys)
            assert len(one.test) == 0


def noise_of_every_site_hides_more() -> None:
    """Where every site adds all of the noise, a value must be more common."""
    central, local = profile_world(), profile_world(trust="local")
    few = hidden_shares(central.programme, central.facts.units)
    many = hidden_shares(local.programme, local.facts.units)
    # Two sites: their variances add, and a share grows by about the root of two.
    assert many[-1].share > 1.35 * few[-1].share
