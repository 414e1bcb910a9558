# SPDX-License-Identifier: Apache-2.0
"""Values, ciphertexts and opened sums that are not what they should be are refused."""

from functools import partial
from hashlib import sha256

import numpy as np
import pytest

from lexfed.secagg.encrypted import tenseal_bfv
from lexfed.secagg.encrypted.ciphertexts import pack, zeros
from lexfed.secagg.encrypted.parties import (
    KeyHolder,
    OpenedSum,
    SiteEncryptor,
    pack_opened,
    read_opened,
)
from lexfed.secagg.encrypted.tenseal_bfv import BfvPublicKey, BfvSecretKey
from lexfed.secagg.encrypted.terms import CIPHER, DEGREE, moduli_for
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from support.secagg.encrypted_sums import (
    HOLDER,
    SERVER,
    Encrypted,
    agreed,
    claimed,
    parts,
    receipts_of,
    roster,
)
from support.secagg.secure_sums import MODEL, SESSION, identity, names, refused, vector

OTHER = sha256(b"other").digest()


@pytest.fixture
def epoch() -> Encrypted:
    return Encrypted(agreed())


def test_other_models_policies_sessions_and_terms_are_refused(
    epoch: Encrypted,
) -> None:
    epoch.server.start(1, MODEL)
    bent = epoch.sites["site000"].encrypt(1, OTHER, epoch.vector("site000"))
    assert "is of model" in refused(lambda: epoch.server.take(bent)).message
    for changed, what in (
        (agreed(policy=OTHER), "policy"),
        (agreed(session=OTHER), "session"),
        (agreed(epoch=2), "epoch"),
        (agreed(5), "roster"),
        (agreed(least=3), "policy"),
        (agreed(bound=10_001), "policy"),
        (agreed(length=6), "policy"),
        (agreed(holder="somebody"), "policy"),
    ):
        other = Encrypted(changed)
        sent = other.encrypt()
        message = sent["site000"]
        receipt = message[: len(message) - changed.vector_bytes]
        message = receipt + bytes(epoch.setting.vector_bytes)
        error = refused(partial(epoch.server.take, message))
        assert f"is of {what}" in error.message
        site = SiteEncryptor(identity("site000"), epoch.setting)
        assert f"is of {what}" in refused(partial(site.accept, other.announced)).message
        holder = KeyHolder(identity(HOLDER), epoch.setting)
        joining = other.sites["site000"].join()
        assert f"is of {what}" in refused(partial(holder.admit, joining)).message
        summed = other.add(1, sent)
        error = refused(partial(epoch.holder.open, 1, MODEL, summed))
        assert f"is of {what}" in error.message


def test_values_that_do_not_fit_are_refused(epoch: Encrypted) -> None:
    encrypt = partial(epoch.sites["site000"].encrypt, 1, MODEL)
    for size in (10_001, -10_001):
        big = np.full(5, size, dtype=np.int64)
        assert "beyond what sums are bound to" in refused(partial(encrypt, big)).message
    for shape in (np.zeros(4, dtype=np.int64), np.zeros(5, dtype=np.int32)):
        assert "a vector of 5" in refused(partial(encrypt, shape)).message
    # A round that was refused was not used.
    assert encrypt(np.full(5, 10_000, dtype=np.int64))


def test_malformed_ciphertexts_never_reach_the_parser_of_seal(
    epoch: Encrypted, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = epoch.encrypt()
    read: list[object] = []
    monkeypatch.setattr(tenseal_bfv._Scheme, "load", lambda *given: read.append(given))
    setting, context = epoch.setting, epoch.setting.context(1, MODEL)
    size, modulus = setting.vector_bytes, setting.moduli.cipher
    receipt = parts(epoch, sent["site000"])[0]
    raw = sent["site000"][-size:]
    above = zeros(1)
    above[0, -1] = modulus
    outside = pack(above, setting.moduli)
    site = epoch.sites["site000"]
    epoch.server.start(1, MODEL)
    for message, what in (
        (receipt + raw[:-1], "ends too early"),
        (receipt + raw + b"\0", "has bytes after its end"),
        (receipt + raw + bytes(10**6), "has bytes after its end"),
        (receipt + raw[:-1] + bytes((raw[-1] ^ 1,)), "are not what it signed"),
        (receipt, "ends too early"),
        (raw, "ends too early"),
        (b"", "ends too early"),
        (site._receipt(context, outside, bytes(16)) + outside, "not below the modulus"),
    ):
        assert what in refused(partial(epoch.server.take, message)).message
    error = refused(
        lambda: epoch.holder.open(
            1, MODEL, claimed(epoch, receipts_of(epoch, sent), above)
        )
    )
    assert "a sum holds a number that is not below the modulus" in error.message
    server = identity(SERVER)
    for payload, what in (
        (b"", "a payload of 0 bytes is not expected"),
        (bytes(size + 2 + 4 * 516 + 1), "is not expected"),
        (bytes(size + 3), "has bytes after its end"),
        (b"\xff" * (size + 40), "ends too early"),
    ):
        message = seal(EnvelopeKind.HE_SUM, context, server, payload)
        error = refused(partial(epoch.holder.open, 1, MODEL, message))
        assert what in error.message
    key = above + np.uint64(0)
    announced = seal(
        EnvelopeKind.HE_KEY,
        setting.context(),
        identity(HOLDER),
        epoch.announced[-64 - 4 * 50 - setting.key_bytes - 32 : -64 - 4 * 50][:32]
        + pack(key, setting.moduli)
        + epoch.announced[-64 - 4 * 50 : -64],
    )
    unset = epoch.sites["site000"]
    unset._key = None
    error = refused(lambda: unset.accept(announced))
    assert "the key holder's key holds a number that is not below" in error.message
    assert not read


def test_what_seal_refuses_is_said_in_words() -> None:
    moduli = moduli_for(100, 2)
    secret = BfvSecretKey(moduli)
    above = np.full((1, 2 * DEGREE), CIPHER[3], dtype=np.uint64)
    error = refused(lambda: secret.decrypt(above, 5))
    assert "TenSEAL refuses a ciphertext or a key" in error.message
    error = refused(lambda: BfvPublicKey(moduli, above[0]))
    assert "TenSEAL refuses a ciphertext or a key" in error.message


def test_what_was_encrypted_to_another_key_is_refused() -> None:
    # Under another key it is noise: its error is as large as can be.
    moduli = moduli_for(100, 2)
    other = BfvPublicKey(moduli, BfvSecretKey(moduli).public)
    rows = other.encrypt(np.zeros(5, dtype=np.int64))
    error = refused(lambda: BfvSecretKey(moduli).decrypt(rows, 5))
    assert "noise of a ciphertext is too large" in error.message


def test_opened_sums_are_checked() -> None:
    setting = agreed(least=3)
    context, holder = setting.context(1, MODEL), identity(HOLDER)
    values = vector("site000", 1, 5)
    good = pack_opened(setting, OpenedSum(values, names(3), OTHER))
    read = partial(read_opened, setting, 1, MODEL)
    assert read(seal(EnvelopeKind.HE_OPENED, context, holder, good)).sites == names(3)
    far = OpenedSum(np.full(5, 10_001), names(3), OTHER)
    for payload, signer, what in (
        (good, identity(SERVER), "not enrolled"),
        (good, Identity.generate(HOLDER), "not signed by"),
        (good[:-2], holder, "a sum of 2 sites is too small"),
        (good[:-1], holder, "ends too early"),
        (good[:-2] + good[-4:-2], holder, "twice, or is not in order"),
        (good[:-1] + b"\x09", holder, "not in the key list"),
        (pack_opened(setting, far), holder, "left its bound"),
        (good + bytes(6), holder, "is not expected"),
        (good[:40], holder, "is not expected"),
    ):
        message = seal(EnvelopeKind.HE_OPENED, context, signer, payload)
        assert what in refused(partial(read, message)).message
    message = seal(EnvelopeKind.HE_OPENED, setting.context(2, MODEL), holder, good)
    assert "is of round 2" in refused(lambda: read(message)).message


def test_a_setting_has_one_server_and_one_key_holder() -> None:
    whole = agreed()
    with pytest.raises(ValueError, match="one server and one key holder"):
        type(whole)(
            SESSION,
            1,
            whole.policy,
            whole.sites,
            whole.server,
            roster(HOLDER, "second"),
            whole.terms,
        )
