# SPDX-License-Identifier: Apache-2.0
"""A record shows which sum was opened, and no other passes for it."""

import base64
import json
from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lexfed.canonical import canonical_bytes
from lexfed.secagg.mask_sessions.round_record import RoundRecord
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from support.secagg.secure_sums import Epoch, names, refused, setting


@pytest.fixture(scope="module")
def epoch() -> Epoch:
    return Epoch(setting(5, colluders=1, least=3))


@pytest.fixture(scope="module")
def server(epoch: Epoch) -> ServerSession:
    return epoch.set_up()


@pytest.fixture(scope="module")
def record(epoch: Epoch, server: ServerSession) -> RoundRecord:
    epoch.round(server, names(5)[1:])
    return server.record()


def test_a_record_names_the_sites_of_the_sum(
    epoch: Epoch, server: ServerSession, record: RoundRecord
) -> None:
    assert server.survivors == names(5)[1:]
    assert record.survivors == (1, 2, 3, 4)
    assert set(record.consents) == set(names(5)[1:])
    assert epoch.sent["consent", "site001"][-96:-64] == record.signed_list
    record.check(epoch.agreed)


def test_a_record_of_anything_else_does_not_pass(
    epoch: Epoch, record: RoundRecord
) -> None:
    signers = dict(record.consents)
    first = signers.pop("site001")
    for other, why in (
        (replace(record, round=2), "not signed"),
        (replace(record, model=sha256(b"other").digest()), "not signed"),
        (replace(record, key_list=bytes(32)), "not signed"),
        (replace(record, cohort=(0, 1, 2, 3, 4, 5)), "not signed"),
        (replace(record, survivors=(0, 1, 2, 3, 4)), "not signed"),
        (replace(record, survivors=(1, 2, 3)), "too small"),
        (replace(record, consents=signers), "too small"),
        (replace(record, consents={**signers, "site000": first}), "not in its sum"),
        (replace(record, cohort=(1, 2, 3)), "not in its sum or cohort"),
        (replace(record, names=record.names[:2]), "too small"),
        (replace(record, names=record.names[:4]), "not in the key list"),
        (replace(record, names=(*record.names[:-1], "x")), "not in its sum"),
        (replace(record, names=("x", *record.names[1:])), "not signed"),
    ):
        assert why in refused(partial(other.check, epoch.agreed)).message


def test_a_record_under_other_terms_does_not_pass(record: RoundRecord) -> None:
    weaker = setting(5, colluders=0, least=3)
    assert "of another" in refused(lambda: record.check(weaker)).message
    bent = replace(record, terms=weaker.terms)
    assert "not signed" in refused(lambda: bent.check(weaker)).message


def test_a_record_of_another_setting_does_not_pass(
    epoch: Epoch, record: RoundRecord
) -> None:
    stray = sha256(b"other").digest()
    for other in (
        replace(record, session=stray),
        replace(record, policy=stray),
        replace(record, server=stray),
        replace(record, roster=stray),
        replace(record, epoch=2),
    ):
        assert "of another" in refused(partial(other.check, epoch.agreed)).message


def test_bytes_of_a_record_are_read_back(epoch: Epoch, record: RoundRecord) -> None:
    data = record.to_bytes()
    again = RoundRecord.from_bytes(data)
    assert again == record
    assert again.to_bytes() == data
    again.check(epoch.agreed)


def test_bytes_that_are_not_a_record_are_refused(record: RoundRecord) -> None:
    text = record.to_bytes().decode()
    found = json.loads(text)
    for change, why in (
        ({"format": "lexfed-secagg-round-v2"}, "not the record"),
        ({"more": 1}, "not the record"),
        ({"session": "0" * 63}, "not the record"),
        ({"session": "A" * 64}, "not the record"),
        ({"epoch": "1"}, "not the record"),
        ({"round": 1.5}, "not the record"),
        ({"round": True}, "not the record"),
        ({"epoch": 2**53}, "not the record"),
        ({"terms": {**found["terms"], "bits": 17}}, "not the record"),
        ({"terms": {**found["terms"], "rounds": 0}}, "not the record"),
        ({"cohort": [2**16]}, "not the record"),
        ({"survivors": [-1]}, "not the record"),
        ({"names": ["a b"]}, "not the record"),
        ({"consents": {"site001": "A" * 87 + "="}}, "not the record"),
        ({"consents": {"site001": "A" * 85 + "B=="}}, "not the record"),
    ):
        sorted_text = json.dumps(
            {**found, **change}, sort_keys=True, separators=(",", ":")
        )
        changed = sorted_text.encode()
        assert why in refused(partial(RoundRecord.from_bytes, changed)).message
    for name in found:
        rest = {key: value for key, value in found.items() if key != name}
        why = "canonical" if name == "format" else "not the record"
        said = refused(partial(RoundRecord.from_bytes, canonical_bytes(rest)))
        assert why in said.message


def test_a_record_has_one_spelling(record: RoundRecord) -> None:
    text = record.to_bytes().decode()
    for other in (
        text + "\n",
        text.replace(":1,", ": 1,"),
        text.replace('"epoch":1', '"epoch":1,"epoch":1'),
        json.dumps(json.loads(text)),
    ):
        assert other != text
        said = refused(partial(RoundRecord.from_bytes, other.encode()))
        assert "canonical" in said.message
    for broken in (b"", b"[]", b"\xff", text[:-1].encode()):
        said = refused(partial(RoundRecord.from_bytes, broken))
        assert "not the record" in said.message
    long = b" " * (16 * 2**20 + 1)
    assert "too long" in refused(lambda: RoundRecord.from_bytes(long)).message


def test_signatures_can_be_checked_from_the_documentation_alone(
    epoch: Epoch, record: RoundRecord
) -> None:
    """Follows `docs/theory/secure-aggregation.md` and uses nothing of ours."""
    found = json.loads(record.to_bytes())

    def digest(*parts: bytes) -> bytes:
        return sha256(b"".join(parts)).digest()

    def numbers(size: int, *values: int) -> bytes:
        return b"".join(value.to_bytes(size, "big") for value in values)

    part = {name: bytes.fromhex(found[name]) for name in ("session", "policy")}
    part |= {name: bytes.fromhex(found[name]) for name in ("server", "roster")}
    part |= {name: bytes.fromhex(found[name]) for name in ("model", "key_list")}
    order = ("rounds", "colluders", "least_sites", "bits", "length", "least_change")
    terms = numbers(4, *(found["terms"][name] for name in order))
    agreed = digest(b"lexfed secagg terms\0", part["policy"], part["server"], terms)
    listed = digest("\n".join(found["names"]).encode())
    seats = numbers(2, *found["cohort"])
    setup = digest(b"lexfed secagg set-up\0", part["key_list"], listed, seats)
    signed_list = digest(setup, numbers(2, *found["survivors"]))
    assert len(found["consents"]) >= (len(found["names"]) + 1) // 2 + 1
    for name, signature in found["consents"].items():
        signed = b"".join(
            (
                b"lexfed secagg message\0LXSA\x01\x09",
                part["session"],
                numbers(8, found["epoch"], found["round"]),
                part["model"],
                agreed,
                part["roster"],
                numbers(1, len(name)),
                name.encode(),
                numbers(4, 32),
                digest(signed_list),
            )
        )
        key = Ed25519PublicKey.from_public_bytes(epoch.agreed.sites.public(name))
        key.verify(base64.b64decode(signature), signed)
    keys = {name: epoch.agreed.sites.public(name).hex() for name in found["names"]}
    named = canonical_bytes({"lexfed-secagg-roster-v1": keys})
    assert sha256(named).digest() == part["roster"]


def test_there_is_no_record_before_a_sum_can_be_opened(epoch: Epoch) -> None:
    fresh = Epoch(epoch.agreed)
    server = fresh.set_up()
    fresh.masked(server, fresh.sites)
    assert "waits for masked" in refused(server.record).message
