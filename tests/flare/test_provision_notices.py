# SPDX-License-Identifier: Apache-2.0
"""Lines of FLARE's log on the terminal, and those that are not shown."""

import logging
import os

import pytest

from lexfed.federation.flare import notices
from lexfed.federation.flare.notices import Notices, words_for

SAID = [
    ("Server started", "ready: waiting for sites"),
    (
        "Client: New client north@10.0.0.1 joined. Sent token.  Total clients: 1",
        "site `north` is here",
    ),
    ("Re-activate the client: north at north", "site `north` is here again"),
    ("Remove the dead Client. Name: north.  Total clients: 0", "site `north` is gone"),
    ("Successfully registered client:north for project trial.", "connected to"),
    ("Connection [CN00003 a:1 => b:2 SSL coordinator] is created: PID: 1", "connected"),
    ("Connection [CN00003 a:1 => b:2 SSL coordinator] is closed PID: 1", "ended"),
    (
        "Connector [CH00001 ACTIVE http://b:2] failed with exception "
        "ClientConnectorCertificateError: [SSL: CERTIFICATE_VERIFY_FAILED] x",
        "compare the pin by telephone",
    ),
    (
        "Connector [CH00001 ACTIVE http://b:2] failed with exception "
        "ClientConnectorSSLError: x",
        "TLS was refused",
    ),
    (
        "Connector [CH00001 ACTIVE http://b:2] failed with exception "
        "ClientConnectorError: ssl:<ssl.SSLContext object> [Connect call failed]",
        "no connection to the coordinator; trying again",
    ),
    ("Connector [CH00001 PASSIVE http://b:2] failed with exception x", "cannot be"),
]


@pytest.mark.parametrize(("message", "words"), SAID)
def test_what_is_said(message: str, words: str) -> None:
    assert words in (words_for(message) or "")


@pytest.mark.parametrize(
    "message",
    [
        "Connector [CH00001 ACTIVE http://b:2] is starting",
        "Connection [CN00002 b:2 <= a:1 SSL north] is created: PID: 1",
        "Verified received token and signature successfully",
        "patient 4711 has a fever",
    ],
)
def test_what_is_not_said(message: str) -> None:
    assert words_for(message) is None


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, "x", 1, message, None, None)


def test_a_line_is_not_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    monkeypatch.setattr(notices, "terminal", write)
    handler = Notices()
    for message in ("Server started", "Server started", "secret", "Server started"):
        handler.emit(record(message))
    os.close(write)
    with open(read) as said:
        assert said.read() == "ready: waiting for sites\n"
    handler.emit(record("Re-activate the client: north at north"))  # nobody listens


def test_a_job_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notices.terminal is None
    Notices().emit(record("Server started"))
