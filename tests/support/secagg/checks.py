# SPDX-License-Identifier: Apache-2.0
"""Checks of the parts of secure aggregation, for tests and for their mutants."""

from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from lexfed.errors import SecAggError
from lexfed.randomness import SeededSource
from lexfed.secagg.envelopes import key_agreement
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives import keystreams, shamir


def no_share_is_the_secret() -> None:
    """The polynomial at 0 is the secret: nobody may be given that value."""
    secrets = shamir.random_secret(SeededSource(1), 3)
    shares = shamir.share(secrets, 3, 5, SeededSource(2))
    assert not any(np.array_equal(one, secrets) for one in shares)


def every_set_opens_the_secret() -> None:
    """Sets of one size after one another: none may get another's weights."""
    secrets = shamir.random_secret(SeededSource(1), 2)
    shares = shamir.share(secrets, 4, 7, SeededSource(2))
    for held in combinations(range(1, 8), 4):
        opened = shamir.reconstruct(held, shares[np.array(held) - 1])
        assert np.array_equal(opened, secrets)


def the_stream_counts_from_two() -> None:
    """By either way, the first block is the encryption of 2."""
    key = bytes(range(16))
    block = (2).to_bytes(16, "big")
    # A single block; ECB is the definition of it.
    wanted = (
        Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
        .encryptor()
        .update(block)
    )
    for way in (keystreams.by_gcm, keystreams.by_ctr):
        room = bytearray(16)
        way(key).update_into(memoryview(bytes(16)), memoryview(room))
        assert bytes(room) == wanted


def another_model_is_another_key() -> None:
    """Two sites that were shown different models share no mask."""
    one = key_agreement.private_key(bytes(32), bytes(32), "test")
    two = key_agreement.private_key(bytes([1] * 32), bytes(32), "test")
    public = (one.public_key().public_bytes_raw(), two.public_key().public_bytes_raw())
    contexts = [
        key_agreement.Context(
            bytes(32), 1, 1, bytes([model] * 32), bytes(32), bytes(32)
        )
        for model in (1, 2)
    ]
    pair = ("north", "south")
    mine, theirs = (
        key_agreement.pairwise_key(private, peer, context.digest, "mask", pair)
        for private, peer, context in zip(
            (one, two), public[::-1], contexts, strict=True
        )
    )
    assert mine != theirs
    same = key_agreement.pairwise_key(two, public[0], contexts[0].digest, "mask", pair)
    assert mine == same


def a_key_has_one_spelling() -> None:
    """X25519 ignores the highest bit and reduces by p; other bytes are another key."""
    mine = key_agreement.private_key(bytes(32), bytes(32), "test")
    theirs = mine.public_key().public_bytes_raw()
    key_agreement.pairwise_key(mine, theirs, bytes(32), "mask", ("north", "south"))
    with_high_bit = theirs[:31] + bytes([theirs[31] | 0x80])
    beyond_p = (9 + 2**255 - 19).to_bytes(32, "little")
    for other in (with_high_bit, beyond_p):
        with pytest.raises(SecAggError, match="not sound"):
            key_agreement.pairwise_key(
                mine, other, bytes(32), "mask", ("north", "south")
            )


def a_lying_server_never_gets_both_kinds() -> None:
    """Play the best the server can do: colluders give both kinds, others one each."""
    for sites in range(2, 40):
        for colluders in range(sites - 1):
            t = Threshold.malicious(sites, colluders).shares
            honest = sites - colluders
            for told_alive in range(honest + 1):
                of_one_kind = told_alive + colluders
                of_the_other = honest - told_alive + colluders
                assert min(of_one_kind, of_the_other) < t
