# SPDX-License-Identifier: Apache-2.0
"""The verifier that auditors take with them: one file, without the rest of lexfed.

Evidence bundles carry a copy of `verify.py`, byte for byte, under this name. It
repeats code of lexfed on purpose: two verifiers that share no code must give
the same verdict, and tests compare them. Do not import, split or rename it.
"""

from importlib import resources

NAME = "verify.py"


def source() -> bytes:
    """Return the bytes of the verifier, as evidence bundles carry them."""
    return resources.files(__name__).joinpath(NAME).read_bytes()
