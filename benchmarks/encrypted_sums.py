# SPDX-License-Identifier: Apache-2.0
"""What sums under encryption cost against masks, without a network; a line of JSON.

    python -m benchmarks.encrypted_sums [--sites 20] [--length 100000] [--rounds 5]

`encrypted` is BFV with a key holder, once with a bound that needs 32 bits and once with
one that 16 bits hold. `masked` is the protocol of
`lexfed.secagg.mask_sessions.site` with a 32-bit ring. All run in turn in every
round, without a site lost, and every sum is compared with the true one. Figures are CPU
milliseconds on one core, medians over rounds: of the median site, of the server for all
sites, of the key holder. Bytes are those of a round: what a site sends, for masks with
a round's part of the set-up, and what the server sends to the key holder.
"""

import argparse
import json
import os
import statistics
from collections.abc import Callable
from hashlib import sha256

import numpy as np

from benchmarks.secure_rounds import Watch, set_up
from lexfed.arrays import Integers
from lexfed.secagg.encrypted.parties import (
    CiphertextSum,
    KeyHolder,
    SiteEncryptor,
    read_opened,
)
from lexfed.secagg.encrypted.terms import EncryptionSetting, EncryptionTerms
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring

BOUNDS = {"encrypted_32_bits": 2**31 - 1, "encrypted_16_bits": 2**15 - 1}
SIZE = 1000
POLICY, MODEL = sha256(b"policy").digest(), sha256(b"model").digest()

Figures = dict[str, float]
Round = Callable[[int, list[Integers]], Figures]


def roster(*members: Identity) -> Roster:
    """Return who is enrolled."""
    return Roster({each.name: each.public for each in members})


def encrypted(people: list[Identity], length: int, bound: int) -> Round:
    """Set up sums under encryption and return how a round is run."""
    server, holder = Identity.generate("server"), Identity.generate("regulator")
    setting = EncryptionSetting(
        os.urandom(32),
        1,
        POLICY,
        roster(*people),
        roster(server),
        roster(holder),
        EncryptionTerms(2, bound, length),
    )
    sites = {each.name: SiteEncryptor(each, setting) for each in people}
    key, adder = KeyHolder(holder, setting), CiphertextSum(server, setting)
    for site in sites.values():
        key.admit(site.join())
    announced = key.announce()
    for site in sites.values():
        site.accept(announced)

    def run(number: int, vectors: list[Integers]) -> Figures:
        watch, opener = Watch(), Watch()
        adder.start(number, MODEL)
        for (name, site), values in zip(sites.items(), vectors, strict=True):
            message = watch.by_site(name, site.encrypt, number, MODEL, values)
            watch.by_server(adder.take, message)
        summed = watch.by_server(adder.close)
        opened = opener.by_server(key.open, number, MODEL, summed)
        found = read_opened(setting, number, MODEL, opened)
        assert np.array_equal(found.values, np.sum(vectors, axis=0))
        return {
            **_figures(watch),
            "key_holder_ms": 1e3 * opener.server,
            "bytes_to_key_holder": len(summed),
            "bytes_of_public_key": len(announced),
        }

    return run


def masked(people: list[Identity], length: int, rounds: int) -> Round:
    """Set up masks and return how a round is run."""
    identity = Identity.generate("server")
    terms = MaskTerms(rounds, 0, 2, Ring(32), length)
    setting = MaskSetting(
        os.urandom(32), 1, POLICY, roster(*people), roster(identity), terms
    )
    sites = {each.name: SiteSession(each, setting) for each in people}
    server, begun = set_up(sites, setting, identity)
    part = statistics.median(begun.sent.values()) / rounds

    def run(number: int, vectors: list[Integers]) -> Figures:
        watch = Watch()
        server.begin(number, MODEL)
        for (name, site), values in zip(sites.items(), vectors, strict=True):
            message = watch.by_site(name, site.mask, number, MODEL, values)
            watch.by_server(server.masked, message)
        survivors = watch.by_server(server.close_masked)
        for name, site in sites.items():
            message = watch.by_site(name, site.consent, survivors)
            watch.by_server(server.consented, message)
        consents = watch.by_server(server.close_consents)
        for name, site in sites.items():
            message = watch.by_site(name, site.unmask, consents)
            watch.by_server(server.unmasked, message)
        assert watch.by_server(server.reconstruct) is None
        total = watch.by_server(server.total, SIZE * len(sites))
        assert np.array_equal(total, np.sum(vectors, axis=0))
        figures = _figures(watch)
        return {**figures, "bytes_of_site": figures["bytes_of_site"] + part}

    return run


def _figures(watch: Watch) -> Figures:
    return {
        "site_ms": 1e3 * statistics.median(watch.site.values()),
        "server_ms": 1e3 * watch.server,
        "bytes_of_site": statistics.median(watch.sent.values()),
    }


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--length", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    people = [Identity.generate(f"site{at:03d}") for at in range(asked.sites)]
    ways: dict[str, Round] = {
        name: encrypted(people, asked.length, bound) for name, bound in BOUNDS.items()
    }
    ways["masked"] = masked(people, asked.length, asked.rounds)
    taken: dict[str, list[Figures]] = {name: [] for name in ways}
    coins = np.random.default_rng(1)
    for number in range(1, asked.rounds + 1):
        vectors = [coins.integers(-SIZE, SIZE + 1, asked.length) for _ in people]
        for name, run in ways.items():
            taken[name].append(run(number, vectors))
    result = {
        name: {
            what: round(statistics.median(each[what] for each in figures), 1)
            for what in figures[0]
        }
        for name, figures in taken.items()
    }
    print(
        json.dumps(
            {
                "sites": asked.sites,
                "length": asked.length,
                "rounds": asked.rounds,
                **result,
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )


if __name__ == "__main__":
    main()
