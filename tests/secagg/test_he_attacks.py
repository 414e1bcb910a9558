# SPDX-License-Identifier: Apache-2.0
"""Refusals of sites, server and key holder, by name; and limits of their sight."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256

import numpy as np
import pytest

from lexfed.secagg.encrypted.ciphertexts import (
    Coefficients,
    add,
    fingerprint,
    pack,
    pack_tags,
    summed_tags,
    zeros,
)
from lexfed.secagg.encrypted.parties import CiphertextSum, KeyHolder, SiteEncryptor
from lexfed.secagg.encrypted.tenseal_bfv import BfvSecretKey
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import pack_bundle
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from support.secagg.encrypted_sums import (
    HOLDER,
    SERVER,
    Encrypted,
    agreed,
    claimed,
    parts,
    receipts_of,
)
from support.secagg.secure_sums import MODEL, identity, names, refused

OTHER = sha256(b"other").digest()


@pytest.fixture
def epoch() -> Encrypted:
    return Encrypted(agreed())


Lie = Callable[[list[Coefficients], int], Coefficients]


def _single(rows: list[Coefficients], modulus: int) -> Coefficients:
    return rows[0]


def _twice(rows: list[Coefficients], modulus: int) -> Coefficients:
    total = sum(rows, start=rows[0].astype(object))
    return np.asarray(total % modulus, dtype=np.uint64)


def _one_left_out(rows: list[Coefficients], modulus: int) -> Coefficients:
    total = sum(rows[1:], start=zeros(1).astype(object))
    return np.asarray(total % modulus, dtype=np.uint64)


def _one_number_changed(rows: list[Coefficients], modulus: int) -> Coefficients:
    total = sum(rows, start=zeros(1).astype(object))
    total[0, 7] += 1
    return np.asarray(total % modulus, dtype=np.uint64)


def _nothing(rows: list[Coefficients], modulus: int) -> Coefficients:
    return zeros(1)


LIES = pytest.mark.parametrize(
    "lie", [_single, _twice, _one_left_out, _one_number_changed, _nothing]
)


@LIES
def test_a_server_that_adds_something_else_gets_nothing_decrypted(
    epoch: Encrypted, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = epoch.encrypt()
    rows = [parts(epoch, message)[1] for message in sent.values()]
    false = lie(rows, epoch.setting.moduli.cipher)
    honest = epoch.add(1, sent)
    used: list[object] = []
    monkeypatch.setattr(BfvSecretKey, "decrypt", lambda *given: used.append(given))
    message = claimed(epoch, receipts_of(epoch, sent), false)
    error = refused(lambda: epoch.holder.open(1, MODEL, message))
    assert "not the sum of what the listed sites encrypted" in error.message
    # The try has used the round up: there is no second guess.
    error = refused(lambda: epoch.holder.open(1, MODEL, honest))
    assert "is over" in error.message
    assert not used


def test_without_fingerprints_the_key_holder_would_be_an_oracle(
    epoch: Encrypted, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The negative control: the same lie with the check left out opens one site.
    monkeypatch.setattr(KeyHolder, "_check", lambda *_: None)
    sent = epoch.encrypt()
    alone = parts(epoch, sent["site002"])[1]
    message = claimed(epoch, receipts_of(epoch, sent), alone)
    found = epoch.read(1, epoch.holder.open(1, MODEL, message))
    assert found.sites == names(4)
    assert found.values.tolist() == epoch.vector("site002").tolist()


def test_a_site_that_helps_the_server_opens_another_site(epoch: Encrypted) -> None:
    # The limit that the documents state. The helper knows the seed, so it can say of
    # any ciphertext that it fits; no site but a helper can.
    sent = epoch.encrypt()
    context, modulus = epoch.setting.context(1, MODEL), epoch.setting.moduli.cipher
    helper = epoch.sites["site003"]
    rows = {name: parts(epoch, message)[1] for name, message in sent.items()}
    tag = partial(fingerprint, seed=helper._seed, context=context, modulus=modulus)
    others = summed_tags([tag(rows[name]) for name in names(3)], modulus)
    wanted = rows["site000"]
    lie = tuple((a - b) % modulus for a, b in zip(tag(wanted), others, strict=True))
    receipts = receipts_of(epoch, sent)[:3]
    receipts.append(helper._receipt(context, b"", pack_tags(lie)))
    message = claimed(epoch, receipts, wanted)
    found = epoch.read(1, epoch.holder.open(1, MODEL, message))
    assert found.values.tolist() == epoch.vector("site000").tolist()


def test_a_site_that_lies_about_its_fingerprint_stops_the_round(
    epoch: Encrypted,
) -> None:
    sent = epoch.encrypt()
    context = epoch.setting.context(1, MODEL)
    raw = sent["site001"][-epoch.setting.vector_bytes :]
    false = epoch.sites["site001"]._receipt(context, raw, pack_tags((1, 2)))
    summed = epoch.add(1, {**sent, "site001": false + raw})
    error = refused(lambda: epoch.holder.open(1, MODEL, summed))
    assert "not the sum" in error.message
    assert "or a site lied about its own" in error.hint
    assert error.blamed == ()


def test_short_lists_are_refused() -> None:
    epoch = Encrypted(agreed(least=3))
    sent = epoch.encrypt()
    epoch.server.start(1, MODEL)
    for name in names(2):
        epoch.server.take(sent[name])
    assert "too small" in refused(epoch.server.close).message
    # Nor does the key holder take one that a server has signed, and nothing is used up.
    rows = [parts(epoch, sent[name])[1] for name in names(2)]
    total = zeros(1)
    for each in rows:
        add(total, each, epoch.setting.moduli)
    short = claimed(epoch, receipts_of(epoch, sent)[:2], total)
    error = refused(lambda: epoch.holder.open(1, MODEL, short))
    assert "a sum of 2 sites is too small: at least 3" in error.message
    empty = claimed(epoch, [], zeros(1))
    assert "too small" in refused(lambda: epoch.holder.open(1, MODEL, empty)).message
    for name in names(4)[2:]:
        epoch.server.take(sent[name])
    whole = epoch.holder.open(1, MODEL, epoch.server.close())
    assert epoch.read(1, whole).sites == names(4)
    few = KeyHolder(identity(HOLDER), agreed(least=3))
    assert "an epoch of 0 sites" in refused(few.announce).message


def test_lists_that_name_a_site_twice_or_out_of_order_are_refused(
    epoch: Encrypted,
) -> None:
    sent = epoch.encrypt()
    first, second, *rest = receipts_of(epoch, sent)
    for receipts in ([first, first, second], [second, first, *rest]):
        message = claimed(epoch, receipts, zeros(1))
        error = refused(partial(epoch.holder.open, 1, MODEL, message))
        assert "twice, or is not in order" in error.message


def test_replays_are_refused(epoch: Encrypted) -> None:
    sent = epoch.encrypt()
    epoch.server.start(1, MODEL)
    epoch.server.take(sent["site000"])
    error = refused(lambda: epoch.server.take(sent["site000"]))
    assert "has sent its vector already" in error.message
    for name in names(4)[1:]:
        epoch.server.take(sent[name])
    summed = epoch.server.close()
    assert "no round is open" in refused(epoch.server.close).message
    late = refused(lambda: epoch.server.take(sent["site001"]))
    assert "no round is open" in late.message
    assert epoch.holder.open(1, MODEL, summed)
    assert "is over" in refused(lambda: epoch.holder.open(1, MODEL, summed)).message
    error = refused(lambda: epoch.holder.open(2, MODEL, summed))
    assert "is of round 1" in error.message
    epoch.server.start(2, MODEL)
    error = refused(lambda: epoch.server.take(sent["site000"]))
    assert "is of round 1" in error.message
    assert "is over" in refused(lambda: epoch.server.start(2, MODEL)).message
    values = epoch.vector("site000")
    error = refused(lambda: epoch.sites["site000"].encrypt(1, MODEL, values))
    assert "is over" in error.message
    # Receipts of round 1 under a sum of round 2.
    message = claimed(epoch, receipts_of(epoch, sent), zeros(1), number=2)
    error = refused(lambda: epoch.holder.open(2, MODEL, message))
    assert "is of round 1" in error.message


def test_strangers_are_refused(epoch: Encrypted) -> None:
    sent = epoch.encrypt()
    context = epoch.setting.context(1, MODEL)
    epoch.server.start(1, MODEL)
    receipt, rows = parts(epoch, sent["site000"])
    raw = pack(rows, epoch.setting.moduli)
    payload = receipt[-64 - 64 : -64]
    for name, what in (("stranger", "not enrolled"), ("site000", "not signed by")):
        forged = seal(
            EnvelopeKind.HE_RECEIPT, context, Identity.generate(name), payload
        )
        error = refused(partial(epoch.server.take, forged + raw))
        assert what in error.message
        message = claimed(epoch, [forged, *receipts_of(epoch, sent)[1:]], rows)
        error = refused(partial(epoch.holder.open, 1, MODEL, message))
        assert what in error.message
        joining = seal(
            EnvelopeKind.HE_JOIN,
            epoch.setting.context(),
            Identity.generate(name),
            OTHER,
        )
        fresh = KeyHolder(identity(HOLDER), epoch.setting)
        assert what in refused(partial(fresh.admit, joining)).message
    # Another server, and another key holder, under the enrolled names.
    for build, name in (
        (CiphertextSum, SERVER),
        (KeyHolder, HOLDER),
        (SiteEncryptor, "site000"),
    ):
        error = refused(partial(build, Identity.generate(name), epoch.setting))
        assert "enrolled with another key" in error.message
    fake = seal(
        EnvelopeKind.HE_SUM,
        context,
        Identity.generate(SERVER),
        pack_bundle(receipts_of(epoch, sent)) + raw,
    )
    assert "not signed by" in refused(lambda: epoch.holder.open(1, MODEL, fake)).message
    site = SiteEncryptor(identity("site000"), epoch.setting)
    other = BfvSecretKey(epoch.setting.moduli).public
    substituted = seal(
        EnvelopeKind.HE_KEY,
        epoch.setting.context(),
        identity(SERVER),
        OTHER + pack(other, epoch.setting.moduli) + bytes(50),
    )
    assert "not enrolled" in refused(lambda: site.accept(substituted)).message


def test_a_site_that_did_not_join_is_refused() -> None:
    epoch = Encrypted(agreed(), joined=names(3))
    sent = epoch.encrypt()
    site = SiteEncryptor(identity("site003"), epoch.setting)
    error = refused(lambda: site.accept(epoch.announced))
    assert "not for `site003`" in error.message
    error = refused(lambda: site.encrypt(1, MODEL, epoch.vector("site003")))
    assert "no key of the key holder yet" in error.message
    payload = parts(epoch, sent["site000"])[0][-64 - 64 : -64]
    context = epoch.setting.context(1, MODEL)
    foreign = seal(EnvelopeKind.HE_RECEIPT, context, identity("site003"), payload)
    message = claimed(epoch, [*receipts_of(epoch, sent), foreign], zeros(1))
    error = refused(lambda: epoch.holder.open(1, MODEL, message))
    assert "`site003` has not joined" in error.message
    error = refused(lambda: epoch.holder.admit(site.join()))
    assert "nobody joins" in error.message
    assert "once an epoch" in refused(epoch.holder.announce).message
    # It was refused before anything was decrypted: the round can still be opened.
    assert epoch.holder.open(1, MODEL, epoch.add(1, sent))


def test_keys_are_taken_once_and_only_by_the_site_that_they_are_for(
    epoch: Encrypted,
) -> None:
    error = refused(lambda: epoch.sites["site000"].accept(epoch.announced))
    assert "announced its key already" in error.message
    fresh = KeyHolder(identity(HOLDER), epoch.setting)
    joining = SiteEncryptor(identity("site000"), epoch.setting).join()
    fresh.admit(joining)
    assert "has joined already" in refused(lambda: fresh.admit(joining)).message
    # A site that was restarted has another key: the seed is not for it.
    again = SiteEncryptor(identity("site000"), epoch.setting)
    error = refused(lambda: again.accept(epoch.announced))
    assert f"what `{HOLDER}` sent to `site000` cannot be decrypted" in error.message
    # Keys of small order agree with nobody.
    small = seal(
        EnvelopeKind.HE_JOIN, epoch.setting.context(), identity("site001"), bytes(32)
    )
    fresh.admit(small)
    assert "not sound" in refused(fresh.announce).message


def test_tags_made_in_another_round_do_not_decrypt(epoch: Encrypted) -> None:
    # A new signature does not move a fingerprint: its key is bound to the round.
    first = parts(epoch, epoch.encrypt(1)["site000"])[0]
    sent = epoch.encrypt(2)
    context = epoch.setting.context(2, MODEL)
    moved = seal(EnvelopeKind.HE_RECEIPT, context, identity("site000"), first[-128:-64])
    receipts = [moved, *receipts_of(epoch, sent)[1:]]
    message = claimed(epoch, receipts, zeros(1), number=2)
    error = refused(lambda: epoch.holder.open(2, MODEL, message))
    assert "what `site000` sent to `regulator` cannot be decrypted" in error.message
    assert error.blamed == ("site000",)
