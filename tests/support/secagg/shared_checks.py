# SPDX-License-Identifier: Apache-2.0
"""Checks of shared sums: each passes on the real code and fails on its mutants."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import ConfigError, DataError, SecAggError
from lexfed.federation.sharing import sketch_terms
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.randomness import SeededSource
from lexfed.secagg.mask_sessions.relay import MaskRelay, RelayedServer
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import SharedPlan
from support.secagg import shared_sums as sums
from support.secagg.secure_sums import SERVER, identity, names
from support.sketch.paying_checks import ledger_for


def another_seed_is_another_digest() -> None:
    plan = sums.plan()
    assert SharedPlan(plan.masked, sums.other_seed()).digest != plan.digest


def another_seed_is_refused_without_a_charge() -> None:
    plan = sums.plan()
    ledger = ledger_for(plan.masked.event())
    with pytest.raises(DataError):
        plan.share(sums.tables(0, sums.other_seed()), ledger, SeededSource(1))
    assert ledger.events() == ()


def a_site_pays_before_it_shares() -> None:
    plan = sums.plan()
    ledger = ledger_for(plan.masked.event())
    sent = plan.share(sums.tables(0), ledger, SeededSource(1))
    assert ledger.events() == (plan.masked.event(),)
    exact = np.concatenate([table.cells.ravel() for table in sums.tables(0)])
    # 53 values of Skellam noise that are all zero have probability below 1e-20.
    assert np.any(sent != exact)


def few_sites_open_no_sum() -> None:
    """The noise is sized for all three."""
    plan = sums.plan()
    vectors = sums.shares(plan)
    vectors.pop("site002")
    with pytest.raises(SecAggError):
        sums.shared(plan, vectors, ["a", "b"])
    with pytest.raises(SecAggError):
        sums.masked(plan, vectors)


def colluders_cannot_subtract_themselves() -> None:
    plan = sums.plan()
    masked = replace(plan.masked, cohort=NoiseCohort(3, colluders=2))
    with pytest.raises(ConfigError):
        sketch_terms.sharing_terms(replace(plan, masked=masked), 2)


def sums_beyond_their_bound_are_refused() -> None:
    plan = sums.plan()
    vectors = sums.shares(plan)
    vectors["site000"] = vectors["site000"] + 2000
    with pytest.raises(SecAggError):
        sums.shared(plan, vectors, ["a", "b"])


def no_site_is_in_a_sum_twice() -> None:
    plan = sums.plan()
    vectors = sums.shares(plan)
    epoch = sums.mask_epoch(plan)
    epoch.set_up()
    relays = sums.roster(["east", "west"])
    agreed = epoch.established.cohort.agreed
    root = RelayedServer(SERVER, epoch.established, relays)
    root.begin(1, plan.digest)
    sent = [epoch.sites[n].mask(1, plan.digest, vectors[n]) for n in names(3)]
    for region in ("east", "west"):
        relay = MaskRelay(identity(region), epoch.agreed, relays, agreed)
        relay.begin(1, plan.digest)
        for message in sent:
            relay.take(message)
        with pytest.raises(SecAggError):
            relay.take(sent[0])
        if region == "east":
            root.relayed(relay.forward())
        else:
            with pytest.raises(SecAggError):
                root.relayed(relay.forward())


def lies_are_implausible() -> None:
    plan = sums.plan()
    total = np.zeros(plan.length, dtype=np.int64)
    honest = plan.opened(total, 3, private=False)
    assert sum_plan.implausibilities(plan, honest) == ()
    total[-1] = -200
    lied = plan.opened(total, 3, private=False)
    assert len(sum_plan.implausibilities(plan, lied)) == 2
