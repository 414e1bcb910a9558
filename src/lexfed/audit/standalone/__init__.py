# SPDX-License-Identifier: Apache-2.0
"""The verifier that auditors take with them: one file, without the rest of lexfed.

`verify.py` needs Python 3.9 and `cryptography` and imports nothing from here,
so that an auditor reads one file and trusts no other. Evidence bundles carry a
copy of it, byte for byte, under this name.

It repeats code of lexfed on purpose: two verifiers that share no code must give
the same verdict, and tests compare them. Do not import, split or rename it; its
names are its own and may equal names elsewhere.
"""

from importlib import resources

NAME = "verify.py"


def source() -> bytes:
    """Return the bytes of the verifier, as evidence bundles carry them."""
    return resources.files(__name__).joinpath(NAME).read_bytes()
