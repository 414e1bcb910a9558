# SPDX-License-Identifier: Apache-2.0
"""The socket between processes of a kit: in a file, for its owner, never held up."""

import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.fuel.f3.drivers.net_utils import parse_url

from lexfed.federation.flare.hardening.inner_socket import InnerDriver, inner_folder
from lexfed.federation.flare.kit.folder import KIT_VARIABLE, Kit, kit_text


class Monitor:
    """FLARE's monitor of connections."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.states: list[str] = []

    def state_change(self, connection: Any) -> None:
        self.states.append(connection.state.name)
        connection.register_frame_receiver(self)

    def process_frame(self, frame: bytes) -> None:
        self.frames.append(bytes(frame))


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A kit at a path that is too long for a socket."""
    folder = tmp_path / ("x" * 100) / "north"
    folder.mkdir(parents=True)
    made = Kit(folder, "trial", "site", "north", "h", 1, "0" * 64, ("north", "south"))
    (folder / "kit.toml").write_text(kit_text(made))
    made.flare_folder.mkdir()
    monkeypatch.setenv(KIT_VARIABLE, str(folder))
    return made


def connector(url: str) -> Any:
    return SimpleNamespace(params=parse_url(url), mode=SimpleNamespace(name="ACTIVE"))


@pytest.fixture
def listener(kit: Kit) -> Iterator[tuple[str, InnerDriver, Monitor]]:
    url, same = InnerDriver.get_urls("unix", {})
    assert url == same
    driver, monitor = InnerDriver(), Monitor()
    driver.register_conn_monitor(monitor)
    inner_folder(kit).mkdir()
    (inner_folder(kit) / "left").touch()
    thread = threading.Thread(target=driver.listen, args=(connector(url),), daemon=True)
    thread.start()
    while not (found := list(inner_folder(kit).iterdir())) or found[0].name == "left":
        time.sleep(0.01)
    yield url, driver, monitor
    driver.shutdown()
    thread.join(timeout=10)
    assert not thread.is_alive()


def until(happened: Any) -> None:
    end = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_frames_pass_while_others_say_nothing(
    kit: Kit,
    listener: tuple[str, InnerDriver, Monitor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, _, monitor = listener
    [path] = inner_folder(kit).iterdir()
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(inner_folder(kit).stat().st_mode) & 0o077 == 0
    monkeypatch.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path.name)
        until(lambda: monitor.states == ["CONNECTED"])
        driver, own = InnerDriver(), Monitor()
        driver.register_conn_monitor(own)
        thread = threading.Thread(
            target=driver.connect, args=(connector(url),), daemon=True
        )
        thread.start()
        until(lambda: own.states == ["CONNECTED"])
        [connection] = driver.connections.values()
        frame = (24).to_bytes(4, "big") + bytes(12) + b"in clear"
        connection.send_frame(frame)
        until(lambda: monitor.frames == [frame])
        driver.shutdown()
        thread.join(timeout=10)
        assert own.states == ["CONNECTED", "CLOSED"]


def test_what_it_can_do() -> None:
    assert InnerDriver.supported_transports() == ["unix"]
    assert InnerDriver.capabilities() == {"send_heartbeat": True, "support_ssl": False}


def test_addresses_are_never_the_same() -> None:
    assert len({InnerDriver.get_urls("unix", {}) for _ in range(100)}) == 100
