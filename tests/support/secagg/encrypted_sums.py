# SPDX-License-Identifier: Apache-2.0
"""Whole rounds under encryption in one process; each step can be left to a test."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from lexfed.arrays import Integers
from lexfed.secagg.encrypted.ciphertexts import Coefficients, pack, unpack
from lexfed.secagg.encrypted.parties import (
    CiphertextSum,
    KeyHolder,
    OpenedSum,
    SiteEncryptor,
    read_opened,
)
from lexfed.secagg.encrypted.terms import EncryptionSetting, EncryptionTerms
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.payloads import pack_bundle
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from support.secagg.secure_sums import MODEL, POLICY, SESSION, identity, names, vector

HOLDER, SERVER = "regulator", "adder"


def roster(*members: str) -> Roster:
    return Roster({name: identity(name).public for name in members})


def agreed(
    sites: int = 4,
    *,
    least: int = 2,
    bound: int = 10_000,
    length: int = 5,
    policy: bytes = POLICY,
    session: bytes = SESSION,
    epoch: int = 1,
    holder: str = HOLDER,
) -> EncryptionSetting:
    return EncryptionSetting(
        session,
        epoch,
        policy,
        roster(*names(sites)),
        roster(SERVER),
        roster(holder),
        EncryptionTerms(least, bound, length),
    )


@dataclass
class Encrypted:
    """Sites, a server and a key holder after their set-up."""

    setting: EncryptionSetting
    joined: tuple[str, ...] | None = None
    sites: dict[str, SiteEncryptor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.holder = KeyHolder(identity(self.setting.holder.names[0]), self.setting)
        self.server = CiphertextSum(identity(SERVER), self.setting)
        for name in self.joined or self.setting.sites.names:
            self.sites[name] = SiteEncryptor(identity(name), self.setting)
            assert self.holder.admit(self.sites[name].join()) == name
        self.announced = self.holder.announce()
        for site in self.sites.values():
            site.accept(self.announced)

    def vector(self, name: str, number: int = 1) -> Integers:
        return vector(name, number, self.setting.terms.length)

    def encrypt(
        self, number: int = 1, here: Iterable[str] | None = None, model: bytes = MODEL
    ) -> dict[str, bytes]:
        return {
            name: self.sites[name].encrypt(number, model, self.vector(name, number))
            for name in here or self.sites
        }

    def add(self, number: int, sent: dict[str, bytes], model: bytes = MODEL) -> bytes:
        self.server.start(number, model)
        for name, message in sent.items():
            assert self.server.take(message) == name
        return self.server.close()

    def read(self, number: int, message: bytes) -> OpenedSum:
        return read_opened(self.setting, number, MODEL, message)

    def round(self, number: int = 1, here: Iterable[str] | None = None) -> OpenedSum:
        summed = self.add(number, self.encrypt(number, here))
        return self.read(number, self.holder.open(number, MODEL, summed))

    def truth(self, here: Iterable[str], number: int = 1) -> list[int]:
        vectors = [self.vector(name, number) for name in here]
        return [int(value) for value in np.sum(vectors, axis=0)]


def parts(epoch: Encrypted, message: bytes) -> tuple[bytes, Coefficients]:
    """A site's receipt and ciphertexts."""
    cut = len(message) - epoch.setting.vector_bytes
    return message[:cut], unpack(message[cut:], epoch.setting.moduli, "it")


def claimed(
    epoch: Encrypted, receipts: list[bytes], rows: Coefficients, number: int = 1
) -> bytes:
    """What a server that lies signs."""
    payload = pack_bundle(receipts) + pack(rows, epoch.setting.moduli)
    return seal(
        EnvelopeKind.HE_SUM,
        epoch.setting.context(number, MODEL),
        identity(SERVER),
        payload,
    )


def receipts_of(epoch: Encrypted, sent: dict[str, bytes]) -> list[bytes]:
    return [parts(epoch, message)[0] for message in sent.values()]
