# SPDX-License-Identifier: Apache-2.0
"""Whole rounds over several aggregators in one process."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.aggregator import (
    AggregatorSession,
    ListedSum,
    open_sum,
    propose_list,
)
from lexfed.secagg.shares.schemes import (
    AdditiveSharing,
    PolynomialSharing,
    SharingScheme,
)
from lexfed.secagg.shares.site import OperatorSetting, OperatorTerms, SharingSite
from support.secagg.secure_sums import MODEL, POLICY, SESSION, identity, names, vector


def operators(count: int) -> tuple[str, ...]:
    return tuple(f"operator{at}" for at in range(count))


def additive(count: int = 3, bits: int = 32, length: int = 5) -> AdditiveSharing:
    return AdditiveSharing(count, Ring(bits), length)


def polynomial(count: int = 5, needed: int = 3, length: int = 5) -> PolynomialSharing:
    return PolynomialSharing(count, needed, length)


def agreed(
    scheme: SharingScheme,
    sites: int = 4,
    *,
    liars: int = 0,
    least: int = 2,
    policy: bytes = POLICY,
    session: bytes = SESSION,
) -> OperatorSetting:
    return OperatorSetting(
        session,
        1,
        policy,
        Roster({name: identity(name).public for name in names(sites)}),
        Roster({name: identity(name).public for name in operators(scheme.operators)}),
        OperatorTerms(scheme, least, min(scheme.largest, 10**6), liars),
    )


@dataclass
class Round:
    """Sites that deal and aggregators that hold; each step can be left to a test."""

    setting: OperatorSetting
    number: int = 1
    model: bytes = MODEL
    sessions: dict[str, AggregatorSession] = field(default_factory=dict)
    sites: dict[str, SharingSite] = field(default_factory=dict)
    sent: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sessions:
            for name in self.setting.operators.names:
                self.sessions[name] = AggregatorSession(identity(name), self.setting)
            keys = [session.announce() for session in self.sessions.values()]
            for name in self.setting.sites.names:
                self.sites[name] = SharingSite(identity(name), self.setting, keys)
        for session in self.sessions.values():
            session.start(self.number, self.model)
        for name, site in self.sites.items():
            values = vector(name, self.number, self.setting.terms.scheme.length)
            self.sent[name] = site.deal(self.number, self.model, values)

    def next(self) -> "Round":
        return Round(
            self.setting, self.number + 1, self.model, self.sessions, self.sites
        )

    def take(
        self, sites: Iterable[str] | None = None, alive: Iterable[str] | None = None
    ) -> None:
        for operator in alive or self.sessions:
            for site in sites or self.sites:
                assert self.sessions[operator].take(self.sent[site][operator]) == site

    def sign(self, alive: Iterable[str] | None = None) -> list[bytes]:
        here = [self.sessions[name] for name in alive or self.sessions]
        held = [session.held() for session in here]
        listed = propose_list(self.setting, self.number, self.model, held)
        return [session.sign(listed) for session in here]

    def add(
        self, signed: list[bytes], alive: Iterable[str] | None = None
    ) -> list[bytes]:
        return [self.sessions[name].add(signed) for name in alive or self.sessions]

    def open(self, signed: list[bytes], sums: list[bytes]) -> ListedSum:
        return open_sum(self.setting, self.number, self.model, signed, sums)

    def true_sum(self, sites: Iterable[str]) -> list[int]:
        length = self.setting.terms.scheme.length
        vectors = [vector(site, self.number, length) for site in sites]
        return [int(value) for value in np.sum(vectors, axis=0)]
