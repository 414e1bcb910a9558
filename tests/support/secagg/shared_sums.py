# SPDX-License-Identifier: Apache-2.0
"""Sketches of three sites, added by every road there is, in one process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lexfed.federation.sharing.sketch_terms import (
    encryption_terms,
    masking_terms,
    sharing_terms,
)
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.randomness import SeededSource
from lexfed.secagg.encrypted.parties import (
    CiphertextSum,
    KeyHolder,
    SiteEncryptor,
    read_opened,
)
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.shares.aggregator import (
    AggregatorSession,
    ListedSum,
    open_sum,
    propose_list,
)
from lexfed.secagg.shares.site import OperatorSetting, SharingSite
from lexfed.sketch.releases.noised_sketch import Contribution, GaussianColumn, NoisePlan
from lexfed.sketch.sharing.sum_plan import MaskedPlan, SharedPlan
from lexfed.sketch.tables.counts import CountSketch, CountTable, ExactCounts
from lexfed.sketch.tables.domains import IntegerDomain as Wholes
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier
from support.secagg.secure_sums import POLICY, SERVER, SESSION, Epoch, identity, names
from support.sketch.paying_checks import ledger_for

Integers = NDArray[np.int64]

CODES = Wholes(0, 999)
WARDS = Wholes(0, 4)
SHAPES = (
    SketchShape(SketchKind.COUNT_SKETCH, 3, 16, 7, CODES.digest),
    SketchShape(SketchKind.EXACT, 1, 5, 0, WARDS.digest),
)
COLUMNS = (
    GaussianColumn("code", Tier.SPECIAL, Contribution(depth=3, signed=True), 16, 4.0),
    GaussianColumn("ward", Tier.PERSONAL, Contribution(), 5, 3.0),
)


def plan(sites: int = 3, people: int = 500, **cohort: int) -> SharedPlan:
    """What the sites agree on."""
    noise = NoisePlan("codes and wards", COLUMNS, people)
    return SharedPlan(MaskedPlan(noise, NoiseCohort(sites, **cohort)), SHAPES)


def tables(site: int, shapes: Sequence[SketchShape] = SHAPES) -> list[CountTable]:
    """A site's own tables."""
    rng = np.random.default_rng(site)
    codes, wards = rng.integers(0, 1000, 100), rng.integers(0, 5, 100)
    return [
        CountSketch.build(shapes[0], CODES.keys(codes)),
        ExactCounts.build(shapes[1], WARDS.keys(wards)),
    ]


def shares(agreed: SharedPlan, seed: str = "") -> dict[str, Integers]:
    """What every site would send: tables and its share of noise, charged."""
    count = agreed.masked.cohort.sites
    return {
        name: agreed.share(
            tables(at),
            ledger_for(agreed.masked.event()),
            SeededSource(at, seed),
        )
        for at, name in enumerate(names(count))
    }


def roster(members: Iterable[str]) -> Roster:
    return Roster({name: identity(name).public for name in members})


def masked(agreed: SharedPlan, vectors: Mapping[str, Integers]) -> Integers:
    """The sum under masks, by real sessions of sites and server."""
    epoch = mask_epoch(agreed)
    server = epoch.set_up()
    server.begin(1, agreed.digest)
    for name, values in vectors.items():
        server.masked(epoch.sites[name].mask(1, agreed.digest, values))
    epoch.consented(server, vectors)
    epoch.unmasked(server, vectors)
    return server.total(agreed.masked.bound())


def mask_epoch(agreed: SharedPlan) -> Epoch:
    """Sites that are about to set masks up."""
    sites = roster(names(agreed.masked.cohort.sites))
    server = Roster({"server": SERVER.public})
    terms = masking_terms(agreed)
    return Epoch(MaskSetting(SESSION, 1, POLICY, sites, server, terms))


def shared(
    agreed: SharedPlan, vectors: Mapping[str, Integers], operators: Sequence[str]
) -> ListedSum:
    """The sum by shares for aggregators, which may be sites."""
    setting = OperatorSetting(
        SESSION,
        1,
        POLICY,
        roster(names(agreed.masked.cohort.sites)),
        roster(operators),
        sharing_terms(agreed, len(operators)),
    )
    sessions = {name: AggregatorSession(identity(name), setting) for name in operators}
    keys = [session.announce() for session in sessions.values()]
    for session in sessions.values():
        session.start(1, agreed.digest)
    for name, values in vectors.items():
        site = SharingSite(identity(name), setting, keys)
        for operator, message in site.deal(1, agreed.digest, values).items():
            sessions[operator].take(message)
    held = [session.held() for session in sessions.values()]
    listed = propose_list(setting, 1, agreed.digest, held)
    signed = [session.sign(listed) for session in sessions.values()]
    sums = [session.add(signed) for session in sessions.values()]
    return open_sum(setting, 1, agreed.digest, signed, sums)


def encrypted(agreed: SharedPlan, vectors: Mapping[str, Integers]) -> Integers:
    """The sum under encryption; needs TenSEAL."""
    setting = EncryptionSetting(
        SESSION,
        1,
        POLICY,
        roster(names(agreed.masked.cohort.sites)),
        roster(["adder"]),
        roster(["regulator"]),
        encryption_terms(agreed),
    )
    holder = KeyHolder(identity("regulator"), setting)
    sites = {name: SiteEncryptor(identity(name), setting) for name in vectors}
    for site in sites.values():
        holder.admit(site.join())
    key = holder.announce()
    adder = CiphertextSum(identity("adder"), setting)
    adder.start(1, agreed.digest)
    for name, values in vectors.items():
        sites[name].accept(key)
        adder.take(sites[name].encrypt(1, agreed.digest, values))
    opened = holder.open(1, agreed.digest, adder.close())
    return read_opened(setting, 1, agreed.digest, opened).values


def truth(vectors: Mapping[str, Integers]) -> Integers:
    """The plain sum."""
    total: Integers = np.sum(list(vectors.values()), axis=0)
    return total


def other_seed() -> tuple[SketchShape, ...]:
    return (replace(SHAPES[0], seed=8), SHAPES[1])
