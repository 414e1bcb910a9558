# SPDX-License-Identifier: Apache-2.0
"""Messages of secure aggregation that are cut, changed, too long, or signed lies."""

import random

from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from support.secagg.secure_sums import MODEL, Epoch

HEAD = 4 + 2 + 32 + 8 + 8 + 32 * 3 + 1


def changed(coins: random.Random, data: bytes) -> bytes:
    """Return other bytes than those given."""
    result = data
    while result == data:
        result = _changed(coins, data)
    return result


def _changed(coins: random.Random, data: bytes) -> bytes:
    way = coins.randrange(7)
    at = coins.randrange(len(data) + 1)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + coins.randbytes(coins.randrange(1, 40)) + data[at:]
    if way == 2:
        return data[:at] + data[at + coins.randrange(1, 40) :]
    if way == 3:
        return data[at:] + data[:at]
    if way == 4:
        return data + coins.randbytes(coins.randrange(1, 2**14))
    result = bytearray(data)
    for _ in range(coins.randrange(1, 4)):
        if result:
            result[coins.randrange(len(result))] = coins.randrange(256)
    return bytes(result)


def broken(
    coins: random.Random, message: bytes, signer: Identity, epoch: Epoch, at: int
) -> bytes:
    """Break a message, or only its payload under the right signature."""
    if coins.random() < 0.5:
        return changed(coins, message)
    start = HEAD + message[HEAD - 1] + 4
    context = epoch.agreed.context(at, MODEL) if at else epoch.agreed.context()
    payload = changed(coins, message[start:-64])
    return seal(EnvelopeKind(message[5]), context, signer, payload)
