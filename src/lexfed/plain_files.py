# SPDX-License-Identifier: Apache-2.0
"""Opening plain files only, and reading no more of them than is expected.

A folder that others hand over may hold a pipe, a device or a link where a file belongs.
Opening a pipe waits for ever, a device such as `/dev/zero` has no end, and a link leads
elsewhere. So whatever comes from outside is opened by one of two openers
(`open(path, mode, opener=plain)`) or read by `read_plain`:

    plain           in folders that we or others write: no link as the last part
    plain_or_link   files that a user names: a link to a plain file will do

Everything that is refused is an `OSError` with its reason in words.
"""

import errno
import os
import stat
from pathlib import Path

MOST_OF_A_MODEL = 1 << 32
"""Bytes of the largest model, state or bundle that is read."""

MOST_OF_A_DOCUMENT = 1 << 28
"""Bytes of the largest configuration, schema, claim, profile or journal that is
read."""

NOT_PLAIN = (errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.EISDIR, errno.ENXIO)
"""Numbers of the errors for files that exist and are not as expected."""


def plain(path: str, flags: int) -> int:
    """Open a plain file that is no link; an opener for `open`, raising `OSError`."""
    try:
        return plain_or_link(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link", path) from error
        raise


def plain_or_link(path: str, flags: int) -> int:
    """Open a plain file, also behind a link; an opener for `open`."""
    # O_NONBLOCK: a pipe without a writer must not make us wait.
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        require_plain(handle, path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def require_plain(handle: int, path: str | Path) -> None:
    """Refuse an open file that is a folder, a pipe, a device or a socket."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))


def read_plain(path: Path, most: int, *, links: bool = False) -> bytes:
    """Return the content of a plain file, also behind a link if `links` says so."""
    opener = plain_or_link if links else plain
    with open(path, "rb", buffering=0, opener=opener) as file:
        return read_handle(file.fileno(), most, path)


def read_handle(handle: int, most: int, path: str | Path) -> bytes:
    """Return the content of an open file of at most `most` bytes, or raise OSError."""
    content = bytearray()
    # As much as is there, and one more byte: a file may grow while it is read.
    size = min(os.fstat(handle).st_size, most) + 1
    while len(content) <= most:
        chunk = os.read(handle, size)
        if not chunk:
            return bytes(content)
        content += chunk
    raise _too_long(most, path)


def require_length(handle: int, most: int, path: str | Path) -> None:
    """Refuse an open file that has more bytes than it may have."""
    if os.fstat(handle).st_size > most:
        raise _too_long(most, path)


def _too_long(most: int, path: str | Path) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
