# SPDX-License-Identifier: Apache-2.0
"""Lines on the terminal while a coordinator or site runs: few, and no secrets.

A few messages of FLARE's log are repeated in other words, one line each, and the same
line never twice in a row. Unknown messages are not shown.
"""

import contextlib
import logging
import os
import re

terminal: int | None = None
"""The descriptor of the terminal; none in the processes of jobs."""

_WORDS = (
    (r"^Server started$", "ready: waiting for sites"),
    (r"^Client: New client (\w+)@", "site `{0}` is here"),
    (r"^Client: (\w+) already registered", "site `{0}` is here again"),
    (r"^Remove the dead Client\. Name: (\w+)\.", "site `{0}` is gone"),
    (r"^Re-activate the client: (\w+) at", "site `{0}` is here again"),
    (r"^Successfully registered client:", "connected to the coordinator"),
    (r"^Connection \[.* => .*\] is created", "connected to the coordinator"),
    (r"^Connection \[.* => .*\] is closed", "the connection to the coordinator ended"),
    (
        r"^Connector \[\w+ ACTIVE .*CERTIFICATE_VERIFY_FAILED",
        "no connection: who answers there is not the coordinator of this kit; "
        "compare the pin by telephone",
    ),
    (r"^Connector \[\w+ ACTIVE .*SSLError", "no connection: TLS was refused"),
    (r"^Connector \[\w+ ACTIVE ", "no connection to the coordinator; trying again"),
    (r"^Connector \[\w+ PASSIVE ", "the port cannot be opened; see flare/log.txt"),
)
_KNOWN = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


def words_for(message: str) -> str | None:
    """Return the terminal's line for a message of FLARE's log, if there is one."""
    for pattern, words in _KNOWN:
        match = pattern.match(message)
        if match is not None and not message.endswith(" is starting"):
            return words.format(*match.groups())
    return None


class Notices(logging.Handler):
    """Shows notable messages on the terminal; silent where there is none."""

    def __init__(self) -> None:
        super().__init__()
        self._last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message in other words, unless it was the last one shown."""
        words = words_for(record.getMessage())
        if words is None or words == self._last or terminal is None:
            return
        self._last = words
        with contextlib.suppress(OSError):  # the terminal may be gone; the work is not
            os.write(terminal, f"{words}\n".encode())
