# SPDX-License-Identifier: Apache-2.0
"""What a site does and sends for tables that are only opened as a sum.

A part of `benchmarks.sketch_sharing`, which runs it.
"""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from lexfed.federation.sharing.sketch_terms import (
    encryption_terms,
    masking_terms,
    sharing_terms,
)
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.secagg.encrypted.parties import KeyHolder, SiteEncryptor
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.shares.aggregator import AggregatorSession
from lexfed.secagg.shares.site import OperatorSetting, SharingSite
from lexfed.sketch.releases.noised_sketch import Contribution, GaussianColumn, NoisePlan
from lexfed.sketch.sharing.sum_plan import MaskedPlan, SharedPlan
from lexfed.sketch.tables.domains import IntegerDomain as Wholes
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier

KEYS = Wholes(0, 2**40)
DEPTH, WIDTH = 5, 1024
POLICY = sha256(b"policy").digest()

Result = TypeVar("Result")


class Watch:
    """CPU seconds by what was done."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def run(self, what: str, work: Callable[[], Result]) -> Result:
        """Do something and add up how long it took."""
        start = time.process_time()
        result = work()
        spent = time.process_time() - start
        self.taken[what] = self.taken.get(what, 0.0) + spent
        return result


def roster(members: list[Identity]) -> Roster:
    """Return who is enrolled."""
    return Roster({each.name: each.public for each in members})


def sums(sites: int, repeats: int) -> dict[str, Any]:
    """Return what one of many sites does and sends for its tables."""
    column = GaussianColumn(
        "keys", Tier.PERSONAL, Contribution(depth=DEPTH, signed=True), WIDTH, 10.0
    )
    masked = MaskedPlan(NoisePlan("keys", (column,), 10_000), NoiseCohort(sites))
    shape = SketchShape(SketchKind.COUNT_SKETCH, DEPTH, WIDTH, 7, KEYS.digest)
    plan = SharedPlan(masked, (shape,))
    people = [Identity.generate(f"site{at}") for at in range(sites)]
    ways = {"masks": _by_masks, "shares": _by_shares}
    if find_spec("tenseal"):
        ways["encryption"] = _by_encryption
    values = np.random.default_rng(1).integers(-50, 51, plan.length)
    result: dict[str, Any] = {"ring": masked.ring(), "cells": plan.length}
    for name, way in ways.items():
        send = way(plan, people, repeats)
        watch, taken, size = Watch(), [], 0
        for number in range(1, repeats + 1):
            size = watch.run(str(number), partial(send, number, values))
            taken.append(watch.taken[str(number)])
        result[name] = {"ms": round(1e3 * statistics.median(taken), 2), "bytes": size}
    return result


def _by_masks(
    plan: SharedPlan, people: list[Identity], repeats: int
) -> Callable[[int, Any], int]:
    server = Identity.generate("server")
    terms = masking_terms(plan, repeats)
    setting = MaskSetting(
        os.urandom(32), 1, POLICY, roster(people), roster([server]), terms
    )
    setup = ServerSetup(server, setting)
    sites = [SiteSession(each, setting) for each in people]
    for site in sites:
        setup.advertised(site.advertise())
    keys = setup.close_keys()
    for site in sites:
        setup.dealt(site.deal(keys))
    first = sites[0]
    first.accept(setup.close_deals()[first.name])
    return lambda number, values: len(first.mask(number, plan.digest, values))


def _by_shares(
    plan: SharedPlan, people: list[Identity], repeats: int
) -> Callable[[int, Any], int]:
    del repeats
    operators = [Identity.generate(f"operator{at}") for at in range(3)]
    setting = OperatorSetting(
        os.urandom(32), 1, POLICY, roster(people), roster(operators),
        sharing_terms(plan, 3),
    )  # fmt: skip
    keys = [AggregatorSession(each, setting).announce() for each in operators]
    site = SharingSite(people[0], setting, keys)

    def send(number: int, values: Any) -> int:
        return sum(map(len, site.deal(number, plan.digest, values).values()))

    return send


def _by_encryption(
    plan: SharedPlan, people: list[Identity], repeats: int
) -> Callable[[int, Any], int]:
    del repeats
    server, holder = Identity.generate("server"), Identity.generate("regulator")
    setting = EncryptionSetting(
        os.urandom(32), 1, POLICY, roster(people), roster([server]),
        roster([holder]), encryption_terms(plan),
    )  # fmt: skip
    sites = [SiteEncryptor(each, setting) for each in people]
    keeper, site = KeyHolder(holder, setting), sites[0]
    for each in sites:
        keeper.admit(each.join())
    site.accept(keeper.announce())
    return lambda number, values: len(site.encrypt(number, plan.digest, values))
