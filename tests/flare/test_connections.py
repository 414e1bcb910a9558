# SPDX-License-Identifier: Apache-2.0
"""Addresses of connections, and their dates, are known at both ends."""

import logging
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.federation.flare import connections, notices
from lexfed.federation.flare.connections import (
    FILE,
    Connections,
    PeerConnection,
    connections_after,
    last_connections,
)
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit, kit_text

IN = "Connection [CN00002 10.0.0.1:8002 <= {}:40112 SSL north] is created: PID: 7"
OUT = "Connection [CN00003 10.0.0.9:5 => {}:8002 SSL coordinator] is created: PID: 7"


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    folder = tmp_path / "coordinator"
    (folder / "flare").mkdir(parents=True)
    sites = ("north", "south")
    made = Kit(folder, "trial", "coordinator", COORDINATOR, "h", 1, "0" * 64, sites)
    (folder / "kit.toml").write_text(kit_text(made))
    monkeypatch.setattr(connections, "watched", made)
    return made


def say(message: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, message, (), None)
    Connections().emit(record)


def test_a_change_of_address_is_kept_with_its_time() -> None:
    known = connections_after({}, IN.format("10.0.0.7"), "t1")
    assert known == {"north": PeerConnection("10.0.0.7", "t1")}
    assert (
        connections_after(known, IN.format("10.0.0.7"), "t2") == known
    )  # the process of a job
    moved = connections_after(known, IN.format("10.6.6.6"), "t3")
    assert moved == {"north": PeerConnection("10.6.6.6", "t3", "10.0.0.7")}
    back = connections_after(moved, IN.format("10.0.0.7"), "t4")
    assert back == {"north": PeerConnection("10.0.0.7", "t4", "10.6.6.6")}


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Client: New client north@10.0.0.7 joined. Sent token: x", "north"),
        ("Re-activate the client: north at north", "north"),
        ("Successfully registered client:north for project trial.", COORDINATOR),
    ],
)
def test_who_registers_again_is_kept_with_the_time(message: str, name: str) -> None:
    known = {name: PeerConnection("10.0.0.7", "t1")}
    assert connections_after(known, message, "t2") == {
        name: PeerConnection("10.0.0.7", "t1", "", "t2")
    }


def test_a_site_knows_where_the_coordinator_was() -> None:
    assert connections_after({}, OUT.format("10.0.0.1"), "t") == {
        COORDINATOR: PeerConnection("10.0.0.1", "t")
    }


@pytest.mark.parametrize(
    "message",
    [
        "Server started",
        "Connection [CN00002 Not Connected] is closed PID: 7",
        "Connection [CN00001 /proc/self/fd/7/ab:9 <= :9] is created: PID: 7",
        IN.format("\x1b[2J"),
    ],
)
def test_other_messages_change_nothing(message: str) -> None:
    assert connections_after({}, message, "t") == {}


def test_a_move_is_told_at_once_and_shown_later(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, into = os.pipe()
    monkeypatch.setattr(notices, "terminal", into)
    for address in ("10.0.0.7", "10.0.0.7", "10.6.6.6"):
        say(IN.format(address))
    say("Client: New client north@10.6.6.6 joined. Sent token: x")
    os.close(into)
    with open(out) as told:
        assert told.read() == "`north` is at 10.6.6.6 now, before at 10.0.0.7\n"
    shown = CliRunner().invoke(app, ["deploy", "status", str(kit.folder)]).output
    assert "connection    north at 10.6.6.6 since 20" in shown
    assert "before at 10.0.0.7, registered 20" in shown
    said = CliRunner().invoke(app, ["deploy", "status", str(kit.folder), "--json"])
    assert '"before": "10.0.0.7"' in said.output


def test_processes_of_jobs_write_nothing(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "watched", None)
    say(IN.format("10.0.0.7"))
    assert not (kit.flare_folder / FILE).exists()


@pytest.mark.parametrize("text", ["", "[]", '{"north": {}}', '{"north": 1}', "\xff"])
def test_a_damaged_file_is_not_known_and_is_written_anew(kit: Kit, text: str) -> None:
    (kit.flare_folder / FILE).write_text(text, encoding="latin-1")
    assert last_connections(kit) == {}
    say(IN.format("10.0.0.7"))
    assert last_connections(kit)["north"].address == "10.0.0.7"


def test_a_file_that_cannot_be_written_ends_nothing(kit: Kit) -> None:
    (kit.flare_folder / FILE).mkdir()
    say(IN.format("10.0.0.7"))
    assert last_connections(kit) == {}
