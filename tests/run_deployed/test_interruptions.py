# SPDX-License-Identifier: Apache-2.0
"""Runs that are interrupted anywhere, or lose answers, come to a sound end."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.federation.programme.messages import (
    Reply,
    answer_from_bytes,
    answer_to_bytes,
)
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.signed_messages import kind_of
from lexfed.run.deployed.site.door import SiteDoor
from support.deployed.worlds import SITES, Spy, World, config_text

TRUSTS = {
    "local": {"trust": "local"},
    "central": {"trust": "central"},
    "distributed": {"trust": "distributed", "privacy": 'accountant = "rdp"'},
}


class Killed(Exception):
    """The coordinator's process ends here."""


@dataclass
class Fragile:
    """A channel that kills the coordinator before or after one of its exchanges."""

    spy: Spy
    at: int
    answered: bool
    seen: int = 0
    replies: dict[str, int] = field(default_factory=dict)

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring messages to the sites, or die."""
        self.seen += 1
        if self.seen == self.at and not self.answered:
            raise Killed
        found = self.spy.exchange(messages, most)
        if self.seen == self.at:
            raise Killed
        return found


def charged(world: World, site: str) -> int:
    [path] = (world.sites[site].state / "runs").glob("*/ledger.jsonl")
    return len(path.read_text().splitlines())


def verified(out: Path) -> None:
    shown = CliRunner().invoke(app, ["verify", str(out)])
    assert shown.exit_code == 0, shown.output


@pytest.mark.no_cover
@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("at", [2, 4, 6])
@pytest.mark.parametrize("answered", [False, True])
def test_a_coordinator_that_dies_anywhere_goes_on(
    world: World, trust: str, at: int, answered: bool
) -> None:
    name = world.agree(config_text(**TRUSTS[trust]))
    spy = Spy(world.doors())
    with pytest.raises(Killed):
        drive_epoch(world.coordinator, name, Fragile(spy, at, answered), SITES)
    spy.doors = world.doors()
    assert drive_epoch(world.coordinator, name, spy, SITES)
    out = world.run_folder(name)
    verified(out)
    result = json.loads((out / "result.json").read_text())
    claim = json.loads((out / "claim.json").read_text())
    planned = result["rounds"] + result["lost"]
    assert result["lost"] <= 1
    assert claim["rounds"] == planned == 7
    for site in SITES:
        assert charged(world, site) <= planned
    if trust == "local":
        for site in SITES:
            assert charged(world, site) == _replies(spy, site)


def _replies(spy: Spy, site: str) -> int:
    """Return the number of sums that a site has sent."""
    return sum(
        name == site
        and kind_of(content) is None
        and not content.startswith(b"lexfed/refusal")
        and isinstance(answer_from_bytes(content), Reply)
        for name, content in spy.answers
    )


def test_answers_that_are_lost_stay_paid(world: World) -> None:
    name = world.agree(config_text())
    rounds: list[bytes] = []

    def lose_the_third(site: str, content: bytes) -> bytes | None:
        if site == "south" and kind_of(content) is None:
            rounds.append(content)
            return None if len(rounds) == 3 else content
        return content

    spy = Spy(world.doors(), from_site=lose_the_third)
    assert drive_epoch(world.coordinator, name, spy, SITES)
    out = world.run_folder(name)
    verified(out)
    result = json.loads((out / "result.json").read_text())
    assert (result["rounds"], result["lost"]) == (6, 1)
    assert {charged(world, site) for site in SITES} == {7}


@pytest.mark.parametrize("trust", ["local", "central"])
def test_a_sum_that_is_changed_on_its_way_is_not_counted(
    world: World, trust: str
) -> None:
    """Whoever has a site's TLS key and the network in its hands can change bytes."""
    name = world.agree(config_text(**TRUSTS[trust]))
    changed = 0

    def change(site: str, content: bytes) -> bytes:
        nonlocal changed
        if site == "south" and kind_of(content) is None and not changed:
            reply = answer_from_bytes(content)
            if isinstance(reply, Reply):
                changed += 1
                return answer_to_bytes(replace(reply, total=reply.total + 1))
        return content

    assert drive_epoch(
        world.coordinator, name, Spy(world.doors(), from_site=change), SITES
    )
    out = world.run_folder(name)
    verified(out)
    result = json.loads((out / "result.json").read_text())
    assert (result["rounds"], result["lost"]) == (6, 1)


def test_a_site_that_restarts_sits_out_until_the_next_epoch(world: World) -> None:
    """Its door is new and has agreed to nothing yet; its ledger is the old one."""
    words = {**TRUSTS["distributed"], "federation": "setup_rounds = 3\ndropouts = 1"}
    (world.folder / "four").mkdir()
    four = World.make(world.folder / "four", (*SITES, "west"))
    text = config_text(**words).replace('"east.csv"', '"east.csv", "west.csv"')
    name = four.agree(text)
    doors = dict(four.doors())
    asked = 0

    def restart(site: str, content: bytes) -> bytes:
        nonlocal asked
        asked += site == "west" and kind_of(content) is None
        if site == "west" and asked == 6:
            four.open_doors["west"].close()
            four.open_doors["west"] = fresh = SiteDoor(
                four.sites["west"], four.data("west")
            )
            spy.doors = {**doors, "west": fresh}
        return content

    spy = Spy(doors, to_site=restart)
    everybody = (*SITES, "west")
    assert drive_epoch(four.coordinator, name, spy, everybody) is False
    before = charged(four, "west")
    assert before < 3 == charged(four, "north")
    assert drive_epoch(four.coordinator, name, Spy(four.doors()), everybody) is False
    assert charged(four, "west") == before + 3
    assert drive_epoch(four.coordinator, name, Spy(four.doors()), everybody)
    four.close()
    verified(four.run_folder(name))
