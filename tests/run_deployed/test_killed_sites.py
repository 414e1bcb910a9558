# SPDX-License-Identifier: Apache-2.0
"""A site that is killed anywhere answers no round twice, and is paid for all it says.

The process of a job ends by SIGKILL before or after each of its syncs to disk, while it
answers a round. A new process then hears the same question again: either the first one
never answered and this round is lost or answered now, or it did and the round is over.
"""

import os
import shutil
import signal
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lexfed.federation.programme.messages import Reply, answer_from_bytes
from lexfed.ledger.charging import LastingLedger
from support.deployed.leader import RUN, Leader, rounds
from support.deployed.worlds import World, config_text

SYNCS = {"true": 3, "false": 8}
"""Of one answer: the place and its folder, the run's ledger; with a lasting one also
the pending charge and its folder, and the pin with its folders."""


def reopened(world: World) -> Leader:
    """Open all sites anew, as a new job does, up to the first round."""
    world.doors()
    leader = Leader(world, world.folder / "lexfed.toml")
    leader.join_all()
    leader.opened("north")
    return leader


def ledger(world: World) -> int:
    path = world.sites["north"].state / "runs" / RUN / "ledger.jsonl"
    return len(path.read_text().splitlines())


def lasting(world: World) -> int:
    with closing(LastingLedger.open(world.sites["north"].state / "lasting.ledger")) as (
        ledger
    ):
        return len(ledger.rounds(RUN).paid)


def answered_by_a_process(
    world: World, query: bytes, at: int, before: bool
) -> bytes | None:
    """Ask north in a process that is killed at one of its syncs; return the answer.

    None if it died before the answer had left.
    """
    world.close()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by a signal, or at once
        try:
            reopened(world)
            real, seen = os.fsync, 0

            def deadly(handle: Any) -> None:
                nonlocal seen
                seen += 1
                if seen == at and before:
                    os.kill(os.getpid(), signal.SIGKILL)
                real(handle)
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)

            pytest.MonkeyPatch().setattr(os, "fsync", deadly)
            answer = world.open_doors["north"](query)
            os.write(into, struct.pack(">I", len(answer)) + answer)
        finally:
            os._exit(0)
    os.close(into)
    with open(out, "rb") as file:
        content = file.read()
    os.waitpid(child, 0)
    return content[4:] if content else None


def is_reply(answer: bytes | None) -> bool:
    return answer is not None and isinstance(answer_from_bytes(answer), Reply)


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("test", ["true", "false"], ids=["one ledger", "two ledgers"])
def test_a_site_that_is_killed_answers_no_round_twice(
    world: World, tmp_path: Path, before: bool, test: str
) -> None:
    world.agree(config_text(test=test))
    Path(os.environ["XDG_STATE_HOME"]).mkdir(exist_ok=True)
    leader = reopened(world)
    first = rounds(leader.priced()).next().query.to_bytes()
    world.close()
    state, pins = world.sites["north"].state, Path(os.environ["XDG_STATE_HOME"])
    shutil.copytree(state, tmp_path / "before" / "state")
    shutil.copytree(pins, tmp_path / "before" / "pins")
    died = 0
    for at in range(1, 40):
        world.close()
        for folder, name in ((state, "state"), (pins, "pins")):
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / "before" / name, folder)
        one = answered_by_a_process(world, first, at, before)
        died += one is None
        reopened(world)
        two = world.open_doors["north"](first)
        assert is_reply(one) + is_reply(two) <= 1
        assert ledger(world) >= is_reply(one) + is_reply(two)
        if test == "false":
            assert lasting(world) == ledger(world)
        if one is not None:
            assert is_reply(one)
            break
    assert died >= SYNCS[test] - 1
