# SPDX-License-Identifier: Apache-2.0
"""Canonical bytes of a JSON value (RFC 8785), so that a hash means one thing."""

import hashlib
from typing import Any

import rfc8785


def canonical_bytes(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a JSON value."""
    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()
