# SPDX-License-Identifier: Apache-2.0
"""A server of secure aggregation in a process of its own, so that its memory shows."""

import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring


def agreed(keys: Mapping[str, bytes], server: bytes, length: int) -> MaskSetting:
    """What sites with these keys agree on."""
    return MaskSetting(
        session=bytes(32),
        epoch=1,
        policy=bytes(32),
        sites=Roster(dict(keys)),
        server=Roster({"server": server}),
        terms=MaskTerms(1, 0, 2, Ring(32), length),
    )


def peak_bytes() -> int:
    """The most memory that this process has had.

    Of the program that runs now: `getrusage` would count what it was forked from.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith("VmHWM"))
    return 1024 * int(found.split()[1])


def _serve(line: Connection, hoard: bool) -> None:
    identity = Identity.generate("server")
    line.send(identity.public)
    setting = agreed(*line.recv())
    server: ServerSetup | ServerSession = ServerSetup(identity, setting)
    kept = []
    while (asked := line.recv()) is not None:
        name, given = asked
        if name == "piece" and hoard:
            kept.append(given)
        if name == "peak":
            line.send(peak_bytes())
        elif isinstance(server, ServerSetup) and name == "established":
            server = ServerSession(identity, server.established())
            line.send(None)
        elif name == "total":
            assert isinstance(server, ServerSession)
            total = server.total(*given)
            line.send(sha256(total.data).hexdigest())
        else:
            line.send(getattr(server, name)(*given))


@dataclass(frozen=True)
class FarServer:
    """The server, as its process is asked.

    Attributes:
        line: to the process.
        setting: what sites agree on with it.
    """

    line: Connection
    setting: MaskSetting

    def ask(self, name: str, *given: Any) -> Any:
        """Call the server's method of that name; of a sum return the SHA-256."""
        self.line.send((name, given))
        return self.line.recv()


@contextmanager
def far_server(
    keys: Mapping[str, bytes], length: int, *, hoard: bool = False
) -> Iterator[FarServer]:
    """Start a server in a process of its own.

    Args:
        keys: of the sites.
        length: of the vectors.
        hoard: keep every piece that comes, as the server must not.
    """
    context = multiprocessing.get_context("spawn")
    line, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, hoard), daemon=True)
    process.start()
    other.close()
    public = line.recv()
    line.send((dict(keys), public, length))
    yield FarServer(line, agreed(keys, public, length))
    line.send(None)
    process.join()
    line.close()
