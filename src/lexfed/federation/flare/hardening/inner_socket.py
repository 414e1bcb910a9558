# SPDX-License-Identifier: Apache-2.0
"""The way between the processes of one kit: a socket that is a file in it.

The process of a job speaks to the one that started it. FLARE has a TCP port for that,
which every user of the machine can connect to. Its server does the TLS handshake where
it accepts, so one connection that says nothing kept all jobs from starting. A file in a
folder of mode 0700 is there for its owner alone, and needs no certificate. Each start
has one in `KIT/flare/inner`; those of before are removed.
"""

import contextlib
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

from nvflare.fuel.f3.drivers.base_driver import BaseDriver
from nvflare.fuel.f3.drivers.driver_params import DriverCap, DriverParams
from nvflare.fuel.f3.drivers.socket_conn import ConnectionHandler, SocketConnection

from lexfed.federation.flare.kit.folder import Kit

SCHEME = "unix"


class InnerServer(ThreadingMixIn, UnixStreamServer):
    """Accepts the processes of jobs; each has a thread, so none waits for another."""

    daemon_threads = True
    ssl_context = None

    def __init__(self, driver: "InnerDriver", connector: Any, address: str) -> None:
        self.driver = driver
        self.connector = connector
        super().__init__(address, ConnectionHandler)


class InnerDriver(BaseDriver):  # type: ignore[misc]  # FLARE has no types
    """A FLARE driver for connections between processes of one kit.

    Guarantees:
        Only processes of the user that the kit belongs to can connect.
        A connection that says nothing holds up no other.
    """

    def __init__(self) -> None:
        super().__init__()
        self._server: InnerServer | None = None

    @staticmethod
    def supported_transports() -> list[str]:
        """Return the beginning of the addresses that are understood here."""
        return [SCHEME]

    @staticmethod
    def capabilities() -> dict[str, Any]:
        """Return the capabilities that FLARE may ask of it."""
        return {
            DriverCap.SEND_HEARTBEAT.value: True,
            DriverCap.SUPPORT_SSL.value: False,
        }

    @staticmethod
    def get_urls(scheme: str, resources: dict[str, Any]) -> tuple[str, str]:
        """Return an address to connect to and to listen on: they are the same."""
        del resources
        address = f"{scheme}://kit/{secrets.token_hex(8)}"
        return address, address

    def listen(self, connector: Any) -> None:
        """Accept connections until the end."""
        self.connector = connector
        folder = inner_folder(Kit.of_process())
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)  # also one that was there
        for left in folder.iterdir():  # of a process that was killed
            left.unlink()
        with _address(folder, connector) as address:
            self._server = InnerServer(self, connector, address)
        with self._server:
            self._server.serve_forever()

    def connect(self, connector: Any) -> None:
        """Connect to the process that started this one, until the connection ends."""
        self.connector = connector
        joined = socket.socket(socket.AF_UNIX)
        with _address(inner_folder(Kit.of_process()), connector) as address:
            joined.connect(address)
        connection = SocketConnection(joined, connector)
        self.add_connection(connection)
        connection.read_loop()
        self.close_connection(connection)

    def shutdown(self) -> None:
        """End all connections."""
        self.close_all()
        if self._server is not None:
            self._server.shutdown()


def inner_folder(kit: Kit) -> Path:
    """Return the folder of a kit's sockets."""
    return kit.flare_folder / "inner"


@contextlib.contextmanager
def _address(folder: Path, connector: Any) -> Iterator[str]:
    """Give the path of a socket, by a way short enough: 107 bytes is all there is."""
    name = Path(connector.params[DriverParams.PATH.value]).name
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{name}"
    finally:
        os.close(handle)
