# SPDX-License-Identifier: Apache-2.0
"""A site answers the coordinator of its roster, each message once, and nobody else."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lexfed.errors import AuditError
from lexfed.federation.engines.channel import Handler, InProcessChannel
from lexfed.run.deployed.signed_messages import GuardedDoor, SignedChannel
from lexfed.signing.keys import Signer, create_key


class Wire:
    """A channel that keeps what passes."""

    def __init__(self, doors: dict[str, Handler]) -> None:
        self.doors = doors
        self.sent: list[dict[str, bytes]] = []

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        self.sent.append(dict(messages))
        return InProcessChannel(self.doors).exchange(messages, most)


@pytest.fixture
def leader(tmp_path: Path) -> Signer:
    return Signer("coordinator", create_key(tmp_path / "leader.pem"))


@pytest.fixture
def wire(leader: Signer) -> Wire:
    return Wire(
        {
            name: GuardedDoor(bytes.upper, leader.public, name, "job")
            for name in ("north", "south")
        }
    )


def test_messages_of_the_coordinator_reach_the_door(leader: Signer, wire: Wire) -> None:
    channel = SignedChannel(wire, leader, "job")
    for said in (b"one", b"", b"two"):
        answers = channel.exchange({"north": said, "south": said})
        assert answers == {"north": said.upper(), "south": said.upper()}


def test_another_key_is_refused(wire: Wire, tmp_path: Path) -> None:
    other = Signer("coordinator", create_key(tmp_path / "other.pem"))
    with pytest.raises(AuditError, match="not signed by the coordinator"):
        SignedChannel(wire, other, "job").exchange({"north": b"ask"})


@pytest.mark.parametrize("length", [0, 10, 64, 71, 72])
def test_what_is_too_short_is_refused(wire: Wire, length: int) -> None:
    with pytest.raises(AuditError, match="not signed by the coordinator"):
        wire.doors["north"](bytes(length))


def test_every_bit_is_signed(leader: Signer, wire: Wire) -> None:
    SignedChannel(wire, leader, "job").exchange({"north": b"ask"})
    [content] = wire.sent[0].values()
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(AuditError):
            wire.doors["north"](bytes(changed))


def test_a_message_is_for_one_site_and_one_job(leader: Signer, wire: Wire) -> None:
    SignedChannel(wire, leader, "job").exchange({"north": b"ask"})
    [content] = wire.sent[0].values()
    with pytest.raises(AuditError, match="for this site and job"):
        wire.doors["south"](content)
    later = GuardedDoor(bytes.upper, leader.public, "north", "another job")
    with pytest.raises(AuditError, match="for this site and job"):
        later(content)


def test_a_message_is_answered_once_and_in_order(leader: Signer, wire: Wire) -> None:
    channel = SignedChannel(wire, leader, "job")
    for said in (b"one", b"two"):
        channel.exchange({"north": said})
    for sent in wire.sent:
        with pytest.raises(AuditError, match="came again"):
            wire.doors["north"](sent["north"])
