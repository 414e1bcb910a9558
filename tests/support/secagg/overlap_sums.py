# SPDX-License-Identifier: Apache-2.0
"""Overlaps of sites that two aggregators compute, whole rounds in one process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator
from lexfed.federation.sharing.overlap_protocol import (
    OverlapSetting,
    deal_triple,
    open_overlaps,
    overlap_terms,
)
from lexfed.randomness import SeededSource
from lexfed.secagg.shares.aggregator import propose_list
from lexfed.secagg.shares.site import OperatorSetting, SharingSite
from lexfed.sketch.sharing.overlap_plan import CommonBits, OverlapPlan
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.domains import IntegerDomain as Wholes
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from support.secagg.secure_sums import POLICY, SESSION, identity, names
from support.secagg.shared_sums import roster

Integers = NDArray[np.int64]

KEYS = Wholes(0, 2**40)
PARTIES = ("ministry", "university")


def shape(width: int = 256, seed: int = 7) -> SketchShape:
    return SketchShape(SketchKind.BLOOM, 1, width, seed, KEYS.digest)


def plan(sites: int = 4, width: int = 256, sigma: float = 3.0) -> OverlapPlan:
    return OverlapPlan("overlaps", sites, shape(width), sigma)


def agreed(planned: OverlapPlan, least: int = 2) -> OverlapSetting:
    operators = OperatorSetting(
        SESSION,
        1,
        POLICY,
        roster(names(planned.sites)),
        roster(PARTIES),
        overlap_terms(planned, least),
    )
    return OverlapSetting(planned, operators, roster(["coordinator"]))


def bits(planned: OverlapPlan, keys: Integers) -> Integers:
    """A site's bits, without a charge."""
    filter_ = BloomFilter.build(planned.shape, KEYS.keys(keys))
    return filter_.bits.astype(np.int64)


def made(planned: OverlapPlan, each: int = 30) -> dict[str, Integers]:
    """Bits of sites of which neighbours share a third of their keys."""
    return {
        name: bits(planned, np.arange(each) + at * each * 2 // 3)
        for at, name in enumerate(names(planned.sites))
    }


@dataclass
class Computation:
    """Two aggregators, a dealer and sites; each step can be left to a test."""

    overlap: OverlapSetting
    number: int = 1
    seed: str = "overlap noise"
    parties: dict[str, OverlapAggregator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for at, name in enumerate(PARTIES):
            source = SeededSource(at, self.seed)
            self.parties[name] = OverlapAggregator(identity(name), self.overlap, source)
        self.keys = [party.announce() for party in self.parties.values()]
        for party in self.parties.values():
            party.meet(self.keys)
        self.start()

    def start(self) -> None:
        for party in self.parties.values():
            party.start(self.number, self.overlap.model)

    def deal(self, vectors: Mapping[str, Integers]) -> None:
        for name, values in vectors.items():
            site = SharingSite(identity(name), self.overlap.operators, self.keys)
            sent = site.deal(self.number, self.overlap.model, values)
            for operator, message in sent.items():
                self.parties[operator].take(message)

    def triple(self) -> dict[str, bytes]:
        return deal_triple(
            identity("coordinator"), self.overlap, self.number, self.keys
        )

    def receive(self) -> None:
        for name, message in self.triple().items():
            self.parties[name].receive(message)

    def signed(self) -> list[bytes]:
        held = [party.held() for party in self.parties.values()]
        listed = propose_list(
            self.overlap.operators, self.number, self.overlap.model, held
        )
        return [party.sign(listed) for party in self.parties.values()]

    def products(self) -> list[bytes]:
        signed = self.signed()
        one, two = self.parties.values()
        hidden = one.hide(signed), two.hide(signed)
        tested = one.test(hidden[1]), two.test(hidden[0])
        return [one.multiply(tested[1]), two.multiply(tested[0])]

    def run(self, vectors: Mapping[str, Integers]) -> CommonBits:
        self.deal(vectors)
        self.receive()
        return open_overlaps(self.overlap, self.number, self.products())


def truth(vectors: Mapping[str, Integers]) -> Integers:
    rows = np.stack(list(vectors.values()))
    counts: Integers = rows @ rows.T
    return counts
