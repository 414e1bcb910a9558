# SPDX-License-Identifier: Apache-2.0
"""Last known addresses of the other parties, and their dates, for an investigation.

TLS keys of a kit can be stolen, and a thief can connect in its name. Nothing that is
signed can be forged with them, but rounds fail for no visible reason. So the process
that lives between jobs writes down at both ends, in `KIT/flare/connections.json`, where
each party connects from. A site that did not restart, and whose coordinator did not
either, has no reason to register again.
"""

import contextlib
import json
import logging
import os
import re
import time
from dataclasses import asdict, dataclass, replace

from pydantic import ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError
from lexfed.federation.flare import notices
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.visible_text import visible

FILE = "connections.json"

watched: Kit | None = None
"""The kit of the process that lives between jobs; none in the processes of jobs."""

_ADDRESS = r"([0-9A-Za-z.:-]{1,253}?):\d+"
_FROM_SITE = re.compile(rf"Connection \[\w+ \S+ <= {_ADDRESS} SSL (\w+)\] is created")
_TO_SERVER = re.compile(rf"Connection \[\w+ \S+ => {_ADDRESS} SSL \S+\] is created")
_SITE_IN = re.compile(r"Client: New client (\w+)@|Re-activate the client: (\w+) at")
_WE_IN = re.compile(r"Successfully registered client:")


@dataclass(frozen=True)
class PeerConnection:
    """The address of a party (at a site: of the coordinator), and its history."""

    address: str = ""
    since: str = ""
    before: str = ""
    registered: str = ""

    def __str__(self) -> str:
        words = []
        if self.address:
            words.append(f"at {self.address} since {self.since}")
        if self.before:
            words.append(f"before at {self.before}")
        if self.registered:
            words.append(f"registered {self.registered}")
        return ", ".join(words)


class _Row(ClosedModel):
    address: str
    since: str
    before: str
    registered: str


def last_connections(kit: Kit) -> dict[str, PeerConnection]:
    """Return the last connections of parties, by name; damaged ones are not known."""
    try:
        content = json.loads((kit.flare_folder / FILE).read_bytes())
        rows = {name: _Row.model_validate(row) for name, row in content.items()}
    except (OSError, ValueError, AttributeError, ValidationError):
        return {}
    return {name: PeerConnection(**row.model_dump()) for name, row in rows.items()}


def connections_after(
    known: dict[str, PeerConnection], message: str, now: str
) -> dict[str, PeerConnection]:
    """Return the known connections after a message of FLARE's log."""
    name, address = _of(message)
    if not name:
        return known
    old = known.get(name, PeerConnection())
    if not address:
        return {**known, name: replace(old, registered=now)}
    if address == old.address:
        return known
    moved = replace(old, address=address, since=now, before=old.address)
    return {**known, name: moved}


def _of(message: str) -> tuple[str, str]:
    """Return the party of a message, and the address if it is about a connection."""
    if match := _FROM_SITE.match(message):
        return match[2], match[1]
    if match := _TO_SERVER.match(message):
        return COORDINATOR, match[1]
    if match := _SITE_IN.match(message):
        return match[1] or match[2], ""
    return (COORDINATOR if _WE_IN.match(message) else ""), ""


class Connections(logging.Handler):
    """Keeps the file, and tells the terminal when a party comes from elsewhere."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take in a message of FLARE's log."""
        if watched is None:
            return
        known = last_connections(watched)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        new = connections_after(known, record.getMessage(), now)
        if new == known:
            return
        text = json.dumps({n: asdict(each) for n, each in new.items()}, indent=2)
        # A failed write is no reason to end; the log has it too.
        with contextlib.suppress(RunFolderError):
            write_atomically(watched.flare_folder / FILE, f"{text}\n".encode())
        for name, each in new.items():
            moved = each.address != known.get(name, PeerConnection()).address
            if moved and each.before and notices.terminal is not None:
                words = f"`{name}` is at {each.address} now, before at {each.before}"
                with contextlib.suppress(OSError):
                    os.write(notices.terminal, f"{visible(words)}\n".encode())
