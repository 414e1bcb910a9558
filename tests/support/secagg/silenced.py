# SPDX-License-Identifier: Apache-2.0
"""A server that silences sites by inquiries, and lists them as survivors all the same.

Six sites agree on sums of all six; four shares open a secret, and as many signatures a
sum. The server asks two sites for shares of which no holder complained, so they take no
part. If it learns their mask keys, a sum of the other four comes out.
"""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.arrays import Integers
from lexfed.secagg.envelopes.payloads import Deal, pack_by_seat, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.masks.epoch_secrets import (
    OWN,
    PAIR,
    _decrypt,
    _part_key,
    add_own,
    add_pairs,
    binding,
    mask_key,
    row,
)
from lexfed.secagg.primitives.shamir import SECRET_BYTES, reconstruct, secret_bytes
from support.secagg.disputes import payload_of
from support.secagg.secure_sums import MODEL, SERVER, Epoch, names, setting

SITES, SHARES = 6, 4
CONTRIBUTING = names(SITES)[:SHARES]
SILENCED = names(SITES)[SHARES:]


def summed_without_the_silenced(asked: int) -> tuple[Integers, Integers]:
    """Return the sum that the server opens, and the true one of those who sent vectors.

    Args:
        asked: how many parts each silenced site is asked to show.
    """
    epoch = Epoch(setting(SITES, least=SITES))
    epoch.set_up()
    cohort = epoch.established.cohort
    keys = {name: _mask_key(epoch, name, asked) for name in SILENCED}
    context = epoch.agreed.context(1, MODEL)
    ring, length = epoch.agreed.terms.ring, epoch.agreed.terms.length
    total, bound = ring.zeros(length), binding(context, cohort.agreed)
    for name in CONTRIBUTING:
        said = epoch.sites[name].mask(1, MODEL, epoch.vector(name, 1))
        ring.add(total, ring.unpack(payload_of(said)[32:], length))
    everybody = cohort.pack_survivors(tuple(range(SITES)))
    survivors = seal(EnvelopeKind.SURVIVORS, context, SERVER, everybody)
    signed = [epoch.sites[name].consent(survivors)[-64:] for name in CONTRIBUTING]
    consents = pack_by_seat(list(enumerate(signed)))
    message = seal(EnvelopeKind.CONSENTS, context, SERVER, consents)
    given = [
        np.frombuffer(payload_of(epoch.sites[name].unmask(message)), dtype="<u2")
        for name in CONTRIBUTING
    ]
    held = np.stack(given).astype(np.uint16).reshape(SHARES, SITES, SECRET_BYTES // 2)
    seeds = reconstruct(range(1, SHARES + 1), held)
    for seat in range(SHARES):
        add_own(total, bound, secret_bytes(seeds[seat]), -1)
    for name, key in keys.items():
        joined = cohort.mask_keys(cohort.listed.names.index(name), 1)
        add_pairs(total, bound, name, key, [joined[at] for at in range(SHARES)], 1)
    return ring.decode(ring.reduce(total), ring.largest), epoch.true_sum(CONTRIBUTING)


def _mask_key(epoch: Epoch, dealer: str, asked: int) -> X25519PrivateKey:
    """Ask a site for parts, and return the mask key that these say."""
    listed, rounds = epoch.established.cohort.listed, epoch.agreed.terms.rounds
    setup = epoch.agreed.context()
    said = seal(EnvelopeKind.INQUIRY, setup, SERVER, pack_seats(range(asked)))
    shown = payload_of(epoch.sites[dealer].prove(said))
    dealt = memoryview(payload_of(epoch.sent["deal", dealer]))
    deal = Deal.read(dealt, listed.names.index(dealer), range(SITES), rounds)
    rows = []
    for seat in range(asked):
        pair = (dealer, listed.names[seat])
        private = X25519PrivateKey.from_private_bytes(shown[32 * seat : 32 * seat + 32])
        key = _part_key(listed.digest, private, listed.keys[seat].channel, *pair)
        rows.append(_decrypt(listed.digest, pair, key, deal.parts[seat]))
    at = slice(row(1, OWN), row(1, PAIR) + 1)
    found = reconstruct(range(1, asked + 1), np.stack([each[at] for each in rows]))
    return mask_key(setup.digest, dealer, 1, secret_bytes(found[PAIR]))
