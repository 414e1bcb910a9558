# SPDX-License-Identifier: Apache-2.0
"""Messages are taken only as they were signed, for what they were signed for."""

from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest

from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import (
    pack_seats,
    read_bundle,
    read_consents,
    read_delivery,
    read_seats,
)
from lexfed.secagg.envelopes.sealed_messages import (
    EnvelopeKind,
    OpenedMessage,
    open_sealed,
    seal,
)
from lexfed.secagg.masks.terms import MaskTerms
from lexfed.secagg.primitives.ring import Ring
from support.secagg.secure_sums import refused

A, B = sha256(b"a").digest(), sha256(b"b").digest()
CONTEXT = Context(A, 1, 2, A, A, A)
NORTH = Identity.generate("north")
ROSTER = Roster({"north": NORTH.public})
MESSAGE = seal(EnvelopeKind.MASKED, CONTEXT, NORTH, b"payload")


def opened(
    message: bytes, kind: EnvelopeKind = EnvelopeKind.MASKED, context: Context = CONTEXT
) -> OpenedMessage:
    return open_sealed(message, kind, context, ROSTER, (7,))


def test_a_message_says_what_was_sealed() -> None:
    found = opened(MESSAGE)
    assert found.sender == "north"
    assert bytes(found.payload) == b"payload"
    assert found.signature == MESSAGE[-64:]


@pytest.mark.parametrize(
    ("context", "what"),
    [
        (replace(CONTEXT, session=B), "session"),
        (replace(CONTEXT, epoch=2), "epoch"),
        (replace(CONTEXT, round=3), "round"),
        (replace(CONTEXT, model=B), "model"),
        (replace(CONTEXT, policy=B), "policy"),
        (replace(CONTEXT, roster=B), "roster"),
    ],
)
def test_a_message_of_another_context_is_refused(context: Context, what: str) -> None:
    assert f"is of {what}" in refused(partial(opened, MESSAGE, context=context)).message
    # Nor can its head be rewritten: the signature covers it.
    other = seal(EnvelopeKind.MASKED, context, NORTH, b"payload")
    assert "not signed" in refused(lambda: opened(MESSAGE[:-64] + other[-64:])).message


def test_another_kind_or_length_is_refused() -> None:
    assert (
        "is of kind" in refused(lambda: opened(MESSAGE, EnvelopeKind.CONSENT)).message
    )
    longer = seal(EnvelopeKind.MASKED, CONTEXT, NORTH, b"payload!")
    assert "8 bytes is not expected" in refused(lambda: opened(longer)).message


def test_every_cut_and_every_addition_is_refused() -> None:
    for size in range(len(MESSAGE)):
        refused(partial(opened, MESSAGE[:size]))
    assert "after its end" in refused(lambda: opened(MESSAGE + b"\0")).message


def test_every_flipped_bit_is_refused() -> None:
    for at in range(len(MESSAGE)):
        changed = bytearray(MESSAGE)
        changed[at] ^= 1 << at % 8
        refused(partial(opened, bytes(changed)))


def test_names_have_a_length_and_are_text() -> None:
    at = MESSAGE.index(b"\x05north")
    for name in (b"\x00", b"\x21" + b"n" * 33, b"\x02\xff\xfe"):
        refused(partial(opened, MESSAGE[:at] + name + MESSAGE[at + 6 :]))
    for bad in ("", "n" * 33):
        identity = Identity(bad, NORTH.private)
        refused(partial(seal, EnvelopeKind.MASKED, CONTEXT, identity, b""))


def test_a_payload_that_no_envelope_holds_is_refused() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 2**32

    assert (
        "too long"
        in refused(lambda: seal(EnvelopeKind.MASKED, CONTEXT, NORTH, Huge())).message
    )


def test_lists_in_payloads_are_exact() -> None:
    assert read_seats(pack_seats((0, 3, 4)), 5) == (0, 3, 4)
    assert read_seats(b"", 5) == ()
    for bad in (b"\0", pack_seats((1, 1)), pack_seats((2, 1)), pack_seats((5,))):
        refused(partial(read_seats, bad, 5))
    for bad in (b"", b"\0\1", b"\0\1\0\0\0\2a", b"\0\0a"):
        refused(partial(read_bundle, memoryview(bad)))
    refused(lambda: read_consents(memoryview(bytes(67)), 5))
    part = bytes(32 + 32 + 64 + 64 + 16)
    rows = [pack_seats((seat,)) + part for seat in (0, 1, 5)]
    assert set(read_delivery(memoryview(rows[0] + rows[1]), 1, 5)) == {0, 1}
    for bad in (rows[0][:-1], rows[0] + rows[0], rows[1] + rows[0], rows[2]):
        refused(partial(read_delivery, memoryview(bad), 1, 5))


@pytest.mark.parametrize(
    "wrong",
    [{"rounds": 0}, {"least_sites": 2}, {"length": 0}, {"least_change": 0}],
)
def test_terms_that_protect_nobody_are_refused(wrong: dict[str, int]) -> None:
    terms = MaskTerms(3, 1, 3, Ring(32), 10)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(terms, **wrong)  # type: ignore[arg-type]
