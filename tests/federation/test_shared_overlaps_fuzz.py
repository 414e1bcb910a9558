# SPDX-License-Identifier: Apache-2.0
"""Broken messages of overlaps and relays crash nothing, and change nothing if refused.

Half of them are broken anywhere, half are signed lies: only their payload is changed.
"""

import random
from collections.abc import Callable

from lexfed.errors import SecAggError
from lexfed.federation.sharing.overlap_protocol import open_overlaps
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.relay import MaskRelay, RelayedServer
from support.secagg import overlap_sums as sums
from support.secagg.broken_messages import HEAD, changed
from support.secagg.secure_sums import MODEL, SERVER, Epoch, identity, names, setting

TRIES = 400
OVERLAP = sums.agreed(sums.plan(4, 8))
RELAYS = Roster({"east": identity("east").public})


def lie(coins: random.Random, message: bytes, signer: str) -> bytes:
    start = HEAD + message[HEAD - 1] + 4
    payload = changed(coins, message[start:-64])
    return seal(EnvelopeKind(message[5]), OVERLAP.context(1), identity(signer), payload)


def fuzzed(
    take: Callable[[bytes], object], message: bytes, signer: str
) -> tuple[int, int]:
    """Offer broken messages; return how many were refused, and taken."""
    coins = random.Random(7)
    refused = taken = 0
    for at in range(TRIES):
        bad = changed(coins, message) if at % 2 else lie(coins, message, signer)
        try:
            take(bad)
        except SecAggError:
            refused += 1
        else:
            taken += 1
    return refused, taken


def computation() -> sums.Computation:
    found = sums.Computation(OVERLAP)
    found.deal(sums.made(OVERLAP.plan, 4))
    return found


def test_broken_triples_are_refused_and_the_right_one_is_taken() -> None:
    world = computation()
    for name, message in world.triple().items():
        party = world.parties[name]
        assert fuzzed(party.receive, message, "coordinator") == (TRIES, 0)
        party.receive(message)


def test_broken_shares_of_d_are_refused_and_the_right_one_is_taken() -> None:
    world = computation()
    world.receive()
    signed = world.signed()
    one, two = world.parties.values()
    one.hide(signed)
    message = two.hide(signed)
    assert fuzzed(one.test, message, "university") == (TRIES, 0)
    one.test(message)


def test_broken_tests_and_counts_crash_nothing() -> None:
    """A lie about words is one that only its aggregator could notice."""
    world = computation()
    world.receive()
    signed = world.signed()
    one, two = world.parties.values()
    hidden = one.hide(signed), two.hide(signed)
    tested = one.test(hidden[1]), two.test(hidden[0])
    before = one._work

    def again(message: bytes) -> None:
        one._work = before
        one.multiply(message)

    refused, _ = fuzzed(again, tested[1], "university")
    assert refused > TRIES // 2
    one._work = before
    products = [one.multiply(tested[1]), two.multiply(tested[0])]

    def opened(message: bytes) -> None:
        open_overlaps(OVERLAP, 1, [products[0], message])

    refused, _ = fuzzed(opened, products[1], "university")
    assert refused > TRIES // 2
    opened(products[1])


def test_broken_sums_of_regions_crash_nothing() -> None:
    epoch = Epoch(setting(4))
    epoch.set_up()
    agreed = epoch.established.cohort.agreed
    relay = MaskRelay(identity("east"), epoch.agreed, RELAYS, agreed)
    relay.begin(1, MODEL)
    for name in names(4):
        message = epoch.sites[name].mask(1, MODEL, epoch.vector(name, 1))
        bad = changed(random.Random(1), message)
        try:
            relay.take(bad)
        except SecAggError:
            relay.take(message)
    forwarded = relay.forward()
    coins = random.Random(3)
    start = HEAD + forwarded[HEAD - 1] + 4
    context = epoch.agreed.context(1, MODEL)
    refused = 0
    for at in range(TRIES):
        server = RelayedServer(SERVER, epoch.established, RELAYS)
        server.begin(1, MODEL)
        bad = changed(coins, forwarded)
        if at % 2:
            payload = changed(coins, forwarded[start:-64])
            bad = seal(EnvelopeKind.RELAYED, context, identity("east"), payload)
        try:
            server.relayed(bad)
        except SecAggError:
            refused += 1
            assert server.relayed(forwarded) == names(4)
    assert refused > TRIES // 2
