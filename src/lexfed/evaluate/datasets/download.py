# SPDX-License-Identifier: Apache-2.0
"""One file from an archive, or words that say why it did not come."""

from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from lexfed.errors import DataError, Problem

_SECONDS = 30
_MOST_BYTES = 200_000_000


def download(address: str) -> bytes:
    """Return what is at an address of the web.

    Raises:
        DataError: if it is none, cannot be reached, or sends more than any table has.
    """
    if not address.startswith(("https://", "http://")):
        raise DataError([Problem(address, "is no address of the web")])
    try:
        with urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 (checked above)
            body = answer.read(_MOST_BYTES + 1)
    except (URLError, OSError) as error:
        if isinstance(error, HTTPError):
            error.close()
        reason = getattr(error, "reason", error)
        what = f"cannot be reached ({reason})"
        hint = (
            "fetching needs a connection to the internet; on a machine without one set "
            "LEXFED_DATA to a folder that was copied there"
        )
        raise DataError([Problem(address, what, hint)]) from error
    if len(body) > _MOST_BYTES:
        raise DataError([Problem(address, "sends more than any of the tables has")])
    return bytes(body)
