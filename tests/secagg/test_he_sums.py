# SPDX-License-Identifier: Apache-2.0
"""Sums under encryption are exact, or refused; TenSEAL is there only where it must."""

import sys
import tracemalloc
from functools import partial
from math import exp
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.secagg.encrypted.ciphertexts import add, pack, unpack, zeros
from lexfed.secagg.encrypted.parties import read_opened
from lexfed.secagg.encrypted.tenseal_bfv import BfvPublicKey, BfvSecretKey
from lexfed.secagg.encrypted.terms import (
    CIPHER,
    DEGREE,
    ERROR,
    EncryptionTerms,
    Moduli,
    is_prime,
    moduli_for,
)
from support.secagg.encrypted_sums import HOLDER, SERVER, Encrypted, agreed
from support.secagg.secure_sums import MODEL, names, refused

WIDEST = 2**31 - 1


@pytest.mark.parametrize("length", [1, 5, DEGREE, DEGREE + 1, 3 * DEGREE - 1])
def test_sums_are_exact_at_every_length(length: int) -> None:
    epoch = Encrypted(agreed(length=length))
    found = epoch.round()
    assert found.sites == names(4)
    assert found.values.tolist() == epoch.truth(names(4))


def test_sums_are_exact_whoever_is_missing_in_several_rounds() -> None:
    epoch = Encrypted(agreed(5))
    for number, here in enumerate(
        (names(5), names(5)[1:], names(2), names(5)[::2], names(5)), start=1
    ):
        found = epoch.round(number, here)
        assert found.sites == here
        assert found.values.tolist() == epoch.truth(here, number)


@pytest.mark.parametrize(
    ("bound", "sites"), [(1, 2), (2**15, 3), (10**6, 20), (WIDEST, 20), (WIDEST, 180)]
)
def test_sums_within_the_bound_are_exact_and_no_other_looks_so(
    bound: int, sites: int
) -> None:
    # Every site at the bound: one alone is at it, two or more must be seen beyond.
    moduli = moduli_for(bound, sites)
    secret = BfvSecretKey(moduli)
    public = BfvPublicKey(moduli, secret.public)
    signs = np.where(np.arange(DEGREE) % 2 == 0, 1, -1)
    rows, total = public.encrypt(bound * signs), zeros(1)
    for count in range(1, sites + 1):
        add(total, rows, moduli)
        if count == 1:
            assert np.array_equal(secret.decrypt(total, DEGREE), bound * signs)
        elif count in (2, sites // 2, sites - 1, sites):
            assert int(np.abs(secret.decrypt(total, DEGREE)).min()) > bound
    # What went round comes back exactly. Twice the errors are still within their room.
    negated = public.encrypt(-bound * signs)
    for _ in range(sites - 1):
        add(total, negated, moduli)
    assert np.array_equal(secret.decrypt(total, DEGREE), bound * signs)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(1, WIDEST),
    st.integers(0, 2**32 - 1),
)
def test_random_sums_are_exact_or_seen_to_be_beyond(
    sites: int, bound: int, seed: int
) -> None:
    moduli = moduli_for(bound, sites)
    secret = BfvSecretKey(moduli)
    public = BfvPublicKey(moduli, secret.public)
    rng, total = np.random.default_rng(seed), zeros(1)
    truth = np.zeros(7, dtype=np.int64)
    for _ in range(sites):
        values = rng.integers(-bound, bound + 1, 7)
        truth += values
        add(total, public.encrypt(values), moduli)
    found, inside = secret.decrypt(total, 7), np.abs(truth) <= bound
    assert np.array_equal(found[inside], truth[inside])
    assert not np.any(np.abs(found[~inside]) <= bound)


def test_a_sum_beyond_its_bound_is_refused_and_never_comes_back_inside() -> None:
    # Four sites at the bound: the sum is four bounds, the farthest it can get.
    epoch = Encrypted(agreed(bound=16_000))
    for sign in (1, -1):
        number = 1 if sign == 1 else 2
        values = np.array([sign * 16_000, 0, 0, 0, 0])
        sent = {
            name: site.encrypt(number, MODEL, values)
            for name, site in epoch.sites.items()
        }
        summed = epoch.add(number, sent)
        error = refused(partial(epoch.holder.open, number, MODEL, summed))
        assert "left its bound" in error.message
    assert moduli_for(16_000, 4).plain > 5 * 16_000


def test_moduli_follow_from_bound_and_sites() -> None:
    assert moduli_for(10_000, 5) == Moduli(65_537, CIPHER[0])
    assert moduli_for(WIDEST, 20) == Moduli(45_097_246_721, CIPHER[2])
    for bound, sites in ((WIDEST, 180), (10**6, 120), (32_767, 1000), (1, 2)):
        moduli = moduli_for(bound, sites)
        assert moduli.plain > (sites + 1) * bound
        assert moduli.cipher >= 4 * moduli.plain * sites * ERROR
    for bound, sites in ((WIDEST, 182), (10**6, 2**16)):
        error = refused(partial(moduli_for, bound, sites))
        assert "too large a modulus" in error.message


def test_moduli_are_the_primes_that_they_are_said_to_be() -> None:
    sieve = np.ones(2**16, dtype=bool)
    for divisor in range(2, 2**8):
        sieve[2 * divisor :: divisor] = False
    odd = range(39, 2**16, 2)
    assert [each for each in odd if is_prime(each)] == [
        each for each in odd if sieve[each]
    ]
    # Carmichael numbers and squares of primes fool weaker tests.
    for composite in (825_265, 321_197_185, 3_215_031_751, CIPHER[0] * 3, 65_537**2):
        assert not is_prime(composite)
    for bits, prime in zip((40, 48, 56, 60), CIPHER, strict=True):
        higher = range(2**bits + 1 - 2 * DEGREE, prime, -2 * DEGREE)
        assert is_prime(prime)
        assert not any(map(is_prime, higher))
        assert prime % (2 * DEGREE) == 1
    for bound in (1, 999, 16_384, 10**6, WIDEST):
        plain = moduli_for(bound, 3).plain
        assert plain % (2 * DEGREE) == 1
        assert is_prime(plain)
    assert 2 * exp(-(ERROR**2) / (21 * (2 * DEGREE + 1))) < 2**-139


def test_the_error_of_fresh_ciphertexts_is_far_below_its_bound(
    tmp_path: Path,
) -> None:
    # 2^12 is 17 deviations; 40 fresh ciphertexts stay below 2^11, that is 8.5
    # deviations of 163,840 coefficients: an honest code fails with chance 1e-11.
    moduli = Moduli(65_537, CIPHER[1])
    secret = BfvSecretKey(moduli)
    public = BfvPublicKey(moduli, secret.public)
    room = (moduli.cipher // (2 * moduli.plain * 2**11)).bit_length() - 1
    for _ in range(40):
        ciphertext = secret._scheme.seal.Ciphertext()
        rows = public.encrypt(np.zeros(5, dtype=np.int64))
        secret._scheme.load(ciphertext, rows[0], str(tmp_path), ntt=False)
        assert secret._decryptor.invariant_noise_budget(ciphertext) >= room


def test_ciphertexts_of_equal_vectors_differ_and_look_uniform() -> None:
    moduli = moduli_for(100, 2)
    public = BfvPublicKey(moduli, BfvSecretKey(moduli).public)
    zero = np.zeros(8 * DEGREE, dtype=np.int64)
    first, second = public.encrypt(zero), public.encrypt(zero)
    # 65,536 numbers below 2^40: two equal ones at one place have a chance of 1e-7.
    assert not np.any(first == second)
    # Chi-square over 64 bins, 63 degrees: beyond 150 with a chance of 1e-8.
    for rows in (first, second):
        bins = (rows.ravel().astype(float) * 64 / moduli.cipher).astype(int)
        counts, expected = np.bincount(bins, minlength=64), rows.size / 64
        assert float(np.sum((counts - expected) ** 2) / expected) < 150


@pytest.mark.parametrize("cipher", CIPHER)
def test_coefficients_travel_unchanged_and_add_modulo_q(cipher: int) -> None:
    moduli = Moduli(65_537, cipher)
    rng = np.random.default_rng(3)
    one = rng.integers(0, cipher, (2, 2 * DEGREE), dtype=np.uint64)
    one[0, :3] = 0, cipher - 1, cipher - 1
    two = rng.integers(0, cipher, one.shape, dtype=np.uint64)
    two[0, :3] = 0, 1, cipher - 1
    data = pack(one, moduli)
    assert len(data) == one.size * moduli.width
    assert np.array_equal(unpack(data, moduli, "it"), one)
    total = one.copy()
    add(total, two, moduli)
    exact = (one.astype(object) + two.astype(object)) % cipher
    assert total.tolist() == exact.tolist()


def test_terms_that_protect_nobody_are_refused() -> None:
    for build, what in (
        (lambda: EncryptionTerms(1, 9, 5), "least_sites"),
        (lambda: EncryptionTerms(2, 0, 5), "bound"),
        (lambda: EncryptionTerms(2, 2**31, 5), "bound"),
        (lambda: EncryptionTerms(2, 9, 0), "length"),
        (lambda: EncryptionTerms(2, 9, 2**27 + 1), "length"),
        (lambda: agreed(holder=SERVER), "other than the server"),
    ):
        with pytest.raises(ValueError, match=what):
            build()
    error = refused(lambda: agreed(600, bound=WIDEST))
    assert "too large a modulus" in error.message


def test_an_opened_sum_is_evidence_that_anyone_can_check() -> None:
    epoch = Encrypted(agreed())
    sent = epoch.encrypt()
    message = epoch.holder.open(1, MODEL, epoch.add(1, sent))
    found = read_opened(agreed(), 1, MODEL, message)
    assert found.sites == names(4)
    assert found.values.tolist() == epoch.truth(names(4))
    other = Encrypted(agreed())
    again = other.holder.open(1, MODEL, other.add(1, other.encrypt()))
    # The same vectors, other ciphertexts: other receipts.
    assert read_opened(agreed(), 1, MODEL, again).receipts != found.receipts


WITHOUT = """
import sys
import tracemalloc
sys.modules["tenseal"] = None
from support.secagg.encrypted_sums import HOLDER, SERVER, KeyHolder
from support.secagg.encrypted_sums import CiphertextSum, agreed
from support.secagg.secure_sums import identity, refused
CiphertextSum(identity(SERVER), agreed()).start(1, bytes(32))
error = refused(lambda: KeyHolder(identity(HOLDER), agreed()))
print(error.message, error.hint)
"""


def test_without_the_extra_a_server_works_and_others_are_told_what_to_install() -> None:
    # In a process of its own: a library that is loaded stays loaded.
    done = run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert "need the package `tenseal`" in done.stdout
    assert "pip install 'lexfed[he]'" in done.stdout
    assert HOLDER not in done.stdout


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenseal.sealapi", None)
    error = refused(lambda: BfvSecretKey(moduli_for(1, 2)))
    assert error.hint == "`pip install 'lexfed[he]'`"


def test_a_server_needs_as_much_memory_for_many_sites_as_for_few() -> None:
    epoch = Encrypted(agreed(8, length=20 * DEGREE))
    peaks = []
    for number, here in enumerate((names(2), names(8)), start=1):
        sent = epoch.encrypt(number, here)
        tracemalloc.start()
        epoch.add(number, sent)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    # Six more vectors would have taken far more than that.
    assert 6 * epoch.setting.vector_bytes > peaks[0]
