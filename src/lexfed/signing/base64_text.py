# SPDX-License-Identifier: Apache-2.0
"""Base64 with one spelling for every value, and decimal numbers likewise.

Standard alphabet, padded, no white space, unused bits zero [RFC 4648, 4 and 3.5]. The
decoders of most languages accept more, so the same bytes would have several texts and
a changed text could pass for the signed one.
"""

import binascii
import re

from lexfed.errors import AuditError

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


def encode_base64(data: bytes) -> str:
    """Return padded standard base64 without a newline."""
    return binascii.b2a_base64(data, newline=False).decode()


def decode_base64(text: str, where: str) -> bytes:
    """Return the bytes; `AuditError` naming `where` unless it is their one spelling."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:  # binascii.Error, or a character beyond ASCII
        raise AuditError(f"{where}: not standard base64") from error
    if encode_base64(data) != text:
        raise AuditError(f"{where}: base64 with more than one spelling")
    return data


def decode_hash(text: str, where: str) -> bytes:
    """Return a hash of 32 bytes from its base64 text."""
    data = decode_base64(text, where)
    if len(data) != 32:
        raise AuditError(f"{where}: expected 32 bytes, got: {len(data)}")
    return data


def parse_decimal(text: str, where: str) -> int:
    """Return a number below 2^63 written without sign or leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else -1
    if not 0 <= number < 2**63:
        raise AuditError(
            f"{where}: not a decimal number from 0 to 2^63-1, got: {text[:30]!a}"
        )
    return number
