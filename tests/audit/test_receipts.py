# SPDX-License-Identifier: Apache-2.0
"""Receipts: signed by one site, for one round of one run, and nothing else."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.entries import ChargedEvent, receipts
from lexfed.audit.entries.receipts import PAYLOAD_TYPE, Receipt
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer
from lexfed.signing.strict_text import encode_base64
from lexfed.tiers import Tier

LOG, RUN, PROGRAMME = "audit.example/run", "0123456789abcdef", "a" * 64


def signer(number: int) -> Signer:
    key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    return Signer(f"site-{number}", key)


SITES = [signer(1), signer(2), signer(3)]
EVENT = ChargedEvent.of(
    Release(
        "tower",
        (ReleaseGroup("a", 1.0, 4.0), ReleaseGroup("b", 0.5, 8.0)),
        1.0,
        Tier.SPECIAL,
        100,
    )
)
KEYS = {site.fingerprint: site.public for site in SITES}


def receipt(**changes: Any) -> Receipt:
    fields: dict[str, Any] = {
        "log": LOG, "run": RUN, "programme": PROGRAMME, "round": 3, "query": "b" * 64,
        "clips": ("1.0", "0.5"), "charged": 3,
    }  # fmt: skip
    return Receipt(**fields | changes)


def enveloped(payload: bytes, *signers: Signer, kind: str = PAYLOAD_TYPE) -> bytes:
    return SignedEnvelope.sign(payload, *signers, payload_type=kind).to_bytes()


def test_a_receipt_says_who_signed_and_what() -> None:
    envelope = receipts.sign(receipt(), SITES[0])
    assert receipts.check(envelope, KEYS) == (SITES[0].fingerprint, receipt())


def test_the_signed_bytes_are_these() -> None:
    assert receipt(query=None).to_bytes() == (
        b'{"charged":3,"clips":["1.0","0.5"],"log":"audit.example/run","programme":"'
        + PROGRAMME.encode()
        + b'","query":null,"round":3,"run":"0123456789abcdef"}'
    )
    named = receipt(event="c" * 64).to_bytes()
    assert named.startswith(b'{"charged":3,"clips":["1.0","0.5"],"event":"ccc')


def test_only_one_given_key_has_signed() -> None:
    payload = receipt().to_bytes()
    with pytest.raises(AuditError, match="is not that of a site"):
        receipts.check(enveloped(payload, signer(9)), KEYS)
    with pytest.raises(AuditError, match="expected one signature, got: 2"):
        receipts.check(enveloped(payload, SITES[0], signer(9)), KEYS)


def test_a_changed_payload_is_refused() -> None:
    made = SignedEnvelope.parse(receipts.sign(receipt(), SITES[0]))
    other = SignedEnvelope(receipt(round=4).to_bytes(), PAYLOAD_TYPE, made.signatures)
    with pytest.raises(AuditError, match="signature of key"):
        receipts.check(other.to_bytes(), KEYS)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"[]", "receipt"),
        (b'{"round":', "receipt"),
        (b"[" * 40_000, "receipt"),
        (receipt().to_bytes().replace(b'"round":3', b'"round":-3'), "`round`"),
        (receipt().to_bytes().replace(b'"round":3', b'"round":"3"'), "`round`"),
        (receipt().to_bytes().replace(b'"charged"', b'"rows"'), "`charged`"),
        (receipt().to_bytes().replace(b'"1.0"', b'"-1.0"'), "`clips.0`"),
        (receipt().to_bytes() + b" ", "not canonical"),
        (receipt().to_bytes().replace(b"],", b'],"event":null,'), "not canonical"),
        (
            receipt().to_bytes().replace(b'"round":3', b'"round":2,"round":3'),
            "not canonical",
        ),
    ],
    ids=[
        "a list", "cut off", "deep", "negative", "number as text", "unknown field",
        "negative clip", "trailing space", "no event, said", "duplicate key",
    ],
)  # fmt: skip
def test_the_payload_is_a_receipt_in_its_only_form(
    payload: bytes, message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        receipts.check(enveloped(payload, SITES[0]), KEYS)


def test_an_envelope_of_another_kind_is_no_receipt() -> None:
    envelope = enveloped(receipt().to_bytes(), SITES[0], kind="application/other+json")
    with pytest.raises(AuditError, match="another payload type"):
        receipts.check(envelope, KEYS)


SUBJECT = receipts.ReceiptSubject(LOG, RUN, PROGRAMME, 3, EVENT)


def test_a_receipt_is_for_one_round_of_one_run_in_one_log() -> None:
    wanted = {"event_signed": False, "answer_signed": False}
    receipts.expect(receipt(), SUBJECT, **wanted)
    for name, other in (
        ("log", "other.example/run"),
        ("run", "f" * 16),
        ("programme", "c" * 64),
        ("round", 2),
        ("clips", ("1.0",)),
        ("event", "d" * 64),
    ):
        with pytest.raises(AuditError, match=f"receipt: `{name}` is not that"):
            receipts.expect(receipt(**{name: other}), SUBJECT, **wanted)


def test_the_event_is_compared_wherever_it_is_signed() -> None:
    signed = receipt(event=EVENT.digest)
    for needed in (True, False):
        receipts.expect(signed, SUBJECT, event_signed=needed, answer_signed=False)
    with pytest.raises(AuditError, match="receipt: `event` is not that"):
        receipts.expect(receipt(), SUBJECT, event_signed=True, answer_signed=False)
    louder = {**EVENT.model_dump(), "groups": [
        {**group.model_dump(), "sigma": "4000.0"} for group in EVENT.groups
    ]}  # fmt: skip
    other = ChargedEvent.model_validate_json(canonical_bytes(louder))
    assert other != EVENT
    changed = replace(SUBJECT, event=other)
    for needed in (True, False):
        with pytest.raises(AuditError, match="receipt: `event` is not that"):
            receipts.expect(signed, changed, event_signed=needed, answer_signed=False)


def test_without_noise_there_is_no_event_to_sign() -> None:
    quiet = replace(SUBJECT, event=None)
    receipts.expect(receipt(clips=()), quiet, event_signed=True, answer_signed=False)
    with pytest.raises(AuditError, match="receipt: `event` is not that"):
        receipts.expect(
            receipt(clips=(), event=EVENT.digest),
            quiet,
            event_signed=False,
            answer_signed=False,
        )


def test_a_receipt_may_have_to_commit_to_a_sum() -> None:
    wanted = {"event_signed": False, "answer_signed": True}
    with pytest.raises(AuditError, match="the site signed no sum"):
        receipts.expect(receipt(), SUBJECT, **wanted)
    receipts.expect(receipt(answer="c" * 64), SUBJECT, **wanted)
    assert receipt(answer="c" * 64).to_bytes().startswith(b'{"answer":"ccc')


def test_a_commitment_to_a_sum_is_this_hash_and_hides_it() -> None:
    total, salt = (7).to_bytes(8, "little"), bytes(range(32))
    said = hashlib.sha256(b"lexfed/answer/1\n" + salt + total).hexdigest()
    assert receipts.answer_digest(total, salt) == said
    assert receipts.answer_digest(total, bytes(32)) != said
    for short in (b"", salt[:-1], salt + b"x"):
        with pytest.raises(AuditError, match="expected 32 bytes of salt"):
            receipts.answer_digest(total, short)


def test_what_is_signed_of_an_event_is_the_hash_of_its_bytes_in_the_log() -> None:
    assert EVENT.digest == hashlib.sha256(
        b'{"groups":[{"clip":"1.0","name":"a","sigma":"4.0"},'
        b'{"clip":"0.5","name":"b","sigma":"8.0"}],"name":"tower","reads":"special",'
        b'"samples":100,"sampling_rate":"1.0"}'
    ).hexdigest()  # fmt: skip
    shares = EVENT.model_copy(update={"noise": "skellam"})
    assert shares.digest != EVENT.digest


def test_receipts_are_one_blob_sorted_by_key_id() -> None:
    envelopes = [receipts.sign(receipt(), site) for site in SITES]
    blob = receipts.encode(envelopes)
    assert blob == receipts.encode(reversed(envelopes))
    found = receipts.decode(blob)
    assert set(found) == set(envelopes)
    assert [receipts.check(each, KEYS)[0] for each in found] == sorted(KEYS)
    assert receipts.decode(receipts.encode([])) == ()


def test_one_key_cannot_be_counted_twice() -> None:
    twice = [receipts.sign(receipt(charged=n), SITES[0]) for n in (1, 2)]
    with pytest.raises(AuditError, match="two are signed with key"):
        receipts.encode(twice)
    texts = [encode_base64(envelope) for envelope in twice]
    with pytest.raises(AuditError, match="two are signed with key"):
        receipts.decode(canonical_bytes(texts))


def blobs() -> dict[str, bytes]:
    good = [receipts.sign(receipt(), site) for site in SITES[:2]]
    ordered = [encode_base64(each) for each in receipts.decode(receipts.encode(good))]
    two = enveloped(receipt().to_bytes(), *SITES[:2])
    return {
        "not JSON": b"receipts",
        "an object": b"{}",
        "numbers": b"[1]",
        "not base64": b'["*"]',
        "no envelope": canonical_bytes([encode_base64(b"{}")]),
        "two signatures": canonical_bytes([encode_base64(two)]),
        "unsorted": canonical_bytes(ordered[::-1]),
        "spaced": canonical_bytes(ordered) + b"\n",
    }


@pytest.mark.parametrize("name", blobs())
def test_every_other_blob_is_refused(name: str) -> None:
    with pytest.raises(AuditError):
        receipts.decode(blobs()[name])


def test_sealed_receipts_are_what_the_commitment_was_made_of() -> None:
    blob = receipts.encode([receipts.sign(receipt(), SITES[0])])
    commitment, sealed = receipts.seal(blob, b"s" * 32)
    assert receipts.unseal(sealed, commitment) == blob
    assert commitment != receipts.seal(blob, b"t" * 32)[0]
    other = receipts.seal(receipts.encode([]), b"s" * 32)[1]
    for wrong in (other, sealed + b" ", b"[]", b"{}", b'{"receipts":1,"salt":1}'):
        with pytest.raises(AuditError):
            receipts.unseal(wrong, commitment)
    with pytest.raises(AuditError, match="32 bytes of salt"):
        receipts.seal(blob, b"short")
