# SPDX-License-Identifier: Apache-2.0
"""BFV by TenSEAL, which is imported here only, and only when it is needed.

Needs the extra `lexfed[he]`. TenSEAL's bindings of SEAL read and write files only.
Coefficients go out one by one; they come in through a file that is written here, in
SEAL's format without compression, around numbers that have been checked. The secret key
is never written.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.encrypted.ciphertexts import Coefficients, zeros
from lexfed.secagg.encrypted.terms import DEGREE, Moduli

_MAGIC, _HEADER = 0xA15E, 16


def _library() -> Any:
    try:
        return import_module("tenseal.sealapi")
    except ImportError as error:
        raise SecAggError(
            "sums under encryption need the package `tenseal`",
            "`pip install 'lexfed[he]'`",
        ) from error


@contextmanager
def _refusing(content: str) -> Iterator[None]:
    """Turn exceptions of SEAL into refusals."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError) as error:
        raise SecAggError(f"TenSEAL refuses {content}: {error}") from error


class _Scheme:
    """BFV with the primes of a set-up, at 128 bits of security or more."""

    def __init__(self, moduli: Moduli) -> None:
        self.seal = seal = _library()
        with _refusing("the parameters"):
            parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
            parameters.set_poly_modulus_degree(DEGREE)
            parameters.set_coeff_modulus([seal.Modulus(moduli.cipher)])
            parameters.set_plain_modulus(seal.Modulus(moduli.plain))
            self.context = seal.SEALContext(
                parameters, False, seal.SEC_LEVEL_TYPE.TC128
            )
            self.encoder = seal.BatchEncoder(self.context)
        with TemporaryDirectory() as folder:
            path = Path(folder, "parameters")
            parameters.save(str(path))
            # By these two bytes this SEAL marks what it writes.
            self.version = path.read_bytes()[3:5]

    def load(self, into: Any, row: Coefficients, folder: str, ntt: bool) -> None:
        """Read a ciphertext or a public key from its coefficients."""
        path = Path(folder, "coefficients")
        identity = self.context.first_parms_id()
        path.write_bytes(_written(row, identity, ntt, self.version))
        with _refusing("a ciphertext or a key"):
            into.load(self.context, str(path))


def _written(
    row: Coefficients, identity: list[int], ntt: bool, version: bytes
) -> bytes:
    """Return a ciphertext as SEAL 4 writes it, without compression."""
    numbers = row.astype("<u8", copy=False).tobytes()
    inner = struct.pack("<Q", row.size) + numbers
    # Parameters, form, polynomials, degree, primes, scale, correction factor.
    outer = struct.pack("<4Q?QQQdQ", *identity, ntt, 2, DEGREE, 1, 1.0, 1)
    body = outer + _headed(inner, version)
    return _headed(body, version)


def _headed(content: bytes, version: bytes) -> bytes:
    head = struct.pack("<HB2sBxxQ", _MAGIC, _HEADER, version, 0, _HEADER + len(content))
    return head + content


def _coefficients(ciphertext: Any) -> Coefficients:
    count = 2 * DEGREE
    return np.fromiter(map(ciphertext.__getitem__, range(count)), np.uint64, count)


class BfvPublicKey:
    """The key that sites encrypt with."""

    def __init__(self, moduli: Moduli, row: Coefficients) -> None:
        """Read a public key as it was announced."""
        self._scheme = scheme = _Scheme(moduli)
        key = scheme.seal.PublicKey()
        with TemporaryDirectory() as folder:
            scheme.load(key, row, folder, ntt=True)
        self._encryptor = scheme.seal.Encryptor(scheme.context, key)

    def encrypt(self, values: Integers) -> Coefficients:
        """Return a vector of values of at most t / 2 in size, encrypted."""
        starts = range(0, len(values), DEGREE)
        rows = zeros(len(starts))
        seal = self._scheme.seal
        plain, ciphertext = seal.Plaintext(), seal.Ciphertext()
        for row, start in zip(rows, starts, strict=True):
            block = values[start : start + DEGREE].tolist()
            self._scheme.encoder.encode(block, plain)
            self._encryptor.encrypt(plain, ciphertext)
            row[:] = _coefficients(ciphertext)
        return rows


class BfvSecretKey:
    """The key holder's decryption key; made here, and never leaves the process."""

    def __init__(self, moduli: Moduli) -> None:
        """Draw a key pair; SEAL's generator is seeded by the operating system."""
        self._scheme = scheme = _Scheme(moduli)
        generator = scheme.seal.KeyGenerator(scheme.context)
        public = scheme.seal.PublicKey()
        generator.create_public_key(public)
        self.public: Coefficients = _coefficients(public.data())
        self._decryptor = scheme.seal.Decryptor(scheme.context, generator.secret_key())

    def decrypt(self, rows: Coefficients, length: int) -> Integers:
        """Return the values that were encrypted.

        Guarantees:
            Exact, or refused: the error of every ciphertext is measured first.
        """
        seal, values = self._scheme.seal, np.zeros(len(rows) * DEGREE, dtype=np.int64)
        ciphertext, plain = seal.Ciphertext(), seal.Plaintext()
        with TemporaryDirectory() as folder:
            for at, row in enumerate(rows):
                self._scheme.load(ciphertext, row, folder, ntt=False)
                if self._decryptor.invariant_noise_budget(ciphertext) < 1:
                    raise SecAggError(
                        "the noise of a ciphertext is too large to decrypt it",
                        "a site encrypted with another key, or sent what it should "
                        "not: leave this round out",
                    )
                self._decryptor.decrypt(ciphertext, plain)
                block = self._scheme.encoder.decode_int64(plain)
                values[at * DEGREE : (at + 1) * DEGREE] = block
        return values[:length]
