# SPDX-License-Identifier: Apache-2.0
"""Identities and the roster: who signed, and that all know the same keys."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.errors import ConfigError, SecAggError
from lexfed.secagg.envelopes.identities import Identity, Roster


def _identity(name: str) -> Identity:
    seed = name.encode().ljust(32, b".")
    return Identity(name, Ed25519PrivateKey.from_private_bytes(seed))


NORTH, SOUTH = _identity("north"), _identity("south")
ROSTER = Roster({"south": SOUTH.public, "north": NORTH.public})


def test_a_known_signature() -> None:
    """Test 2 of RFC 8032, 7.1."""
    seed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
    public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))
    one = Identity("one", key)
    assert one.public.hex() == public
    assert one.sign(b"\x72").hex() == signature
    Roster({"one": one.public}).verify("one", b"\x72", bytes.fromhex(signature))


def test_new_identities_differ() -> None:
    assert Identity.generate("a").public != Identity.generate("a").public


def test_text_shows_names_only() -> None:
    assert repr(NORTH) == str(NORTH) == "Identity('north')"
    assert repr(ROSTER) == "Roster(north, south)"


def test_sites_are_in_the_order_of_names_from_point_one() -> None:
    assert ROSTER.names == ("north", "south")
    assert [ROSTER.point(name) for name in ROSTER.names] == [1, 2]
    assert len(ROSTER) == 2
    assert "north" in ROSTER
    assert "east" not in ROSTER
    assert ROSTER.public("south") == SOUTH.public


def test_the_digest_tells_names_and_keys_and_not_their_order() -> None:
    same = Roster({"north": NORTH.public, "south": SOUTH.public})
    assert same.digest == ROSTER.digest
    assert len(ROSTER.digest) == 32
    others = [
        {"north": NORTH.public},
        {"north": SOUTH.public, "south": NORTH.public},
        {"north": NORTH.public, "west": SOUTH.public},
        {"north": NORTH.public, "south": _identity("west").public},
    ]
    assert ROSTER.digest not in {Roster(keys).digest for keys in others}


def test_only_the_named_site_can_have_signed() -> None:
    signature = NORTH.sign(b"message")
    ROSTER.verify("north", b"message", signature)
    forged = [
        ("south", b"message", signature),
        ("north", b"another", signature),
        ("north", b"message", SOUTH.sign(b"message")),
        ("north", b"message", signature[:-1]),
        ("north", b"message", b""),
    ]
    for name, message, claimed in forged:
        with pytest.raises(SecAggError, match=f"not signed by site `{name}`"):
            ROSTER.verify(name, message, claimed)


def test_strangers_are_refused() -> None:
    calls = (
        lambda: ROSTER.verify("east", b"", b""),
        lambda: ROSTER.public("east"),
        lambda: ROSTER.point("east"),
    )
    for call in calls:
        with pytest.raises(SecAggError, match="not enrolled"):
            call()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "a key of its own"),
        ({"a": bytes(32), "b": bytes(32)}, "a key of its own"),
        ({"a": bytes(31)}, "not an Ed25519 public key of 32 bytes"),
        ({"a b": bytes(32)}, "not a name"),
        ({"": bytes(32)}, "not a name"),
        ({"a\n": bytes(32)}, "not a name"),
        ({"x" * 33: bytes(32)}, "not a name"),
    ],
)
def test_rosters_that_cannot_be_are_refused(keys: dict[str, bytes], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Roster(keys)
