# SPDX-License-Identifier: Apache-2.0
"""Agreed keys: the same for two who see the same, and for nobody else."""

import hmac
from dataclasses import replace
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes import key_agreement
from lexfed.secagg.envelopes.key_agreement import Context, derived_key, private_key
from support.secagg import checks as secagg_checks

HASH = st.binary(min_size=32, max_size=32)
CONTEXT = Context(
    session=bytes([1] * 32),
    epoch=2,
    round=3,
    model=bytes([4] * 32),
    policy=bytes([5] * 32),
    roster=bytes([6] * 32),
)
PAIR = ("north", "south")
DIGEST = "398e0ad9fcfa05b6babaa120c115c34aba24e32e20fdc32ec6f2e3bd64ef60a9"
DERIVED = "09b57de2786186ccb70db6e2404d54a0"
AGREED = "7ba7824899efdd185f611c1e349e1163"


def _key(number: int) -> X25519PrivateKey:
    return private_key(bytes([number] * 32), bytes(32), "test")


def _public(number: int) -> bytes:
    return _key(number).public_key().public_bytes_raw()


def test_vectors_of_our_own_stay_as_they_are() -> None:
    assert CONTEXT.digest.hex() == DIGEST
    assert derived_key(bytes(32), CONTEXT.digest, "self mask", 16).hex() == DERIVED
    agreed = key_agreement.pairwise_key(
        _key(1), _public(2), CONTEXT.digest, "mask", PAIR
    )
    assert agreed.hex() == AGREED


def test_the_key_is_hkdf_of_the_exchange() -> None:
    """HKDF written out from RFC 5869: extract, then one block of expand."""
    shared = _key(1).exchange(_key(2).public_key())
    info = CONTEXT.digest + b"\x00\x04mask\x00\x05north\x00\x05south"
    extracted = hmac.new(bytes(32), shared, sha256).digest()
    wanted = hmac.new(extracted, info + b"\x01", sha256).digest()[:16]
    found = key_agreement.pairwise_key(
        _key(1), _public(2), CONTEXT.digest, "mask", ("south", "north")
    )
    assert found == wanted


def test_the_context_is_sha256_of_its_parts() -> None:
    numbers = b"".join(number.to_bytes(8, "big") for number in (1, 2, 3))
    hashes = b"".join(bytes([byte] * 32) for byte in (1, 4, 5, 6))
    assert (
        CONTEXT.digest == sha256(b"lexfed secagg context" + numbers + hashes).digest()
    )


@given(HASH, HASH, HASH, st.sampled_from([16, 32]))
def test_both_get_the_same_key(a: bytes, b: bytes, context: bytes, size: int) -> None:
    one, two = (private_key(seed, bytes(32), "mask key") for seed in (a, b))
    public = [key.public_key().public_bytes_raw() for key in (one, two)]
    mine = key_agreement.pairwise_key(one, public[1], context, "mask", PAIR, size)
    theirs = key_agreement.pairwise_key(
        two, public[0], context, "mask", PAIR[::-1], size
    )
    assert mine == theirs
    assert len(mine) == size


def test_another_model_is_another_key() -> None:
    secagg_checks.another_model_is_another_key()


def test_every_part_of_the_context_changes_the_key() -> None:
    changes = [
        {"session": bytes(32)},
        {"epoch": 3},
        {"round": 4},
        {"model": bytes(32)},
        {"policy": bytes(32)},
        {"roster": bytes(32)},
        {"version": 2},
        {"epoch": 3, "round": 2},
        {"model": CONTEXT.policy, "policy": CONTEXT.model},
    ]
    contexts = [CONTEXT, *(replace(CONTEXT, **change) for change in changes)]  # type: ignore[arg-type]
    keys = {
        key_agreement.pairwise_key(_key(1), _public(2), context.digest, "mask", PAIR)
        for context in contexts
    }
    assert len(keys) == len(contexts)


def test_purposes_and_names_cannot_be_read_as_others() -> None:
    asked = [
        ("mask", ("north", "south")),
        ("channel", ("north", "south")),
        ("mask", ("nor", "thsouth")),
        ("masknorth", ("", "south")),
        ("mask", ("north", "west")),
    ]
    keys = {
        key_agreement.pairwise_key(_key(1), _public(2), CONTEXT.digest, purpose, pair)
        for purpose, pair in asked
    }
    assert len(keys) == len(asked)
    assert len({derived_key(bytes(32), bytes(32), purpose) for purpose in "ab"}) == 2


@pytest.mark.parametrize("peer", [bytes(32), bytes([1]) + bytes(31), b"", bytes(31)])
def test_keys_of_small_order_or_size_are_refused(peer: bytes) -> None:
    with pytest.raises(SecAggError, match="between `north` and `south`"):
        key_agreement.pairwise_key(_key(1), peer, CONTEXT.digest, "mask", PAIR)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": bytes(31)}, "`model` of 32 bytes"),
        ({"session": b""}, "`session` of 32 bytes"),
        ({"round": -1}, "`round`"),
        ({"epoch": 2**64}, "`epoch`"),
    ],
)
def test_contexts_that_cannot_be_are_refused(
    change: dict[str, bytes | int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        replace(CONTEXT, **change)  # type: ignore[arg-type]


def test_a_context_that_is_no_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="a context of 32 bytes"):
        derived_key(bytes(32), b"short", "mask")
