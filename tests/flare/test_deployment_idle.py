# SPDX-License-Identifier: Apache-2.0
"""Idle connections on everything that listens keep nobody from running a job."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.federation.flare.connections import last_connections
from lexfed.federation.flare.kit.folder import COORDINATOR
from support.deployed.deployments import logged, until
from support.deployed.federations import Federation, federation
from support.deployed.worlds import SITES, config_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path, SITES) as three:
        yield three


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    """Return the TCP ports of a process, as somebody on this machine reaches them."""
    found = [each for each in process.net_connections("tcp") if each.status == "LISTEN"]
    return [("127.0.0.1", each.laddr.port) for each in found]


def idle(made: Federation, stack: ExitStack) -> dict[str, int]:
    """Connect to whatever a party listens on, and say nothing; count per party."""
    count = {}
    for name, process in made.processes.items():
        ports = listening(process)
        for address in ports:
            stack.enter_context(socket.create_connection(address, timeout=10))
        inner = sorted(made.kits[name].flare_folder.glob("inner/*"))
        for path in inner:
            connection = socket.socket(socket.AF_UNIX)
            stack.enter_context(connection)
            with chdir(path.parent):  # the path of a socket has 107 bytes
                connection.connect(path.name)
        count[name] = len(ports) + len(inner)
    return count


def test_idle_connections_block_no_job(made: Federation) -> None:
    until(lambda: all(logged(made.kits[n], "registered client") for n in SITES))
    with ExitStack() as stack:
        count = idle(made, stack)
        # The coordinator's port and everybody's inner socket: else nothing is shown.
        assert count == {COORDINATOR: 2, **dict.fromkeys(SITES, 1)}
        made.run(made.agree(config_text(trust="local")))
    for name in SITES:
        assert last_connections(made.coordinator)[name].address == "127.0.0.1"
        assert last_connections(made.coordinator)[name].registered
        own = last_connections(made.kits[name])[COORDINATOR]
        assert (own.address, own.before) == ("127.0.0.1", "")
        assert own.registered
    said = CliRunner().invoke(app, ["deploy", "status", str(made.coordinator.folder)])
    assert "connection    north at 127.0.0.1 since" in said.output
    # Nobody but a party itself can reach what is inside a kit.
    for name, process in made.processes.items():
        ports = listening(process)
        assert len(ports) == (name == COORDINATOR)
