# SPDX-License-Identifier: Apache-2.0
"""Submitting a run epoch by epoch. FLARE is left out: jobs run in this process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lexfed.errors import LexfedError, Refused, RunFolderError
from lexfed.federation.engines.channel import InProcessChannel
from lexfed.run.deployed import flare_parts
from lexfed.run.deployed.coordinator import job_submission
from lexfed.run.deployed.coordinator.job_submission import WaitLimits, deploy_run
from lexfed.run.deployed.coordinator.run_place import EpochOutcome, RunPlace
from lexfed.run.deployed.flare_parts import RunEpoch, SiteWork
from lexfed.run.deployed.signed_messages import GuardedDoor, SignedChannel
from lexfed.run.deployed.site.run_state import SiteLock
from support.deployed.worlds import SITES, World, config_text

QUICK = WaitLimits(sites=0.5, latecomers=0.0, ending=0.0, look=0.01)
DISTRIBUTED = config_text(
    trust="distributed",
    privacy='accountant = "rdp"',
    federation="dropouts = 1\nsetup_rounds = 3",
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World.make(tmp_path)
    yield made
    made.close()


@dataclass
class Direct:
    """An administrator whose jobs run at once, with the sites of a world.

    Attributes:
        world: whose run it is.
        here: the sites that are connected, at each look.
        stale: jobs that an earlier coordinator left.
        ended: jobs that were ended.
        crash: says which jobs crash.
    """

    world: World
    here: Callable[[], set[str]] = lambda: set(SITES)
    stale: tuple[str, ...] = ()
    ended: list[str] = field(default_factory=list)
    crash: Callable[[int], bool] = lambda _: False
    jobs: int = 0
    lasting: bool = False

    def __enter__(self) -> "Direct":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def sites(self) -> frozenset[str]:
        return frozenset(self.here())

    def unfinished(self, name: str) -> tuple[str, ...]:
        assert name == "lexfed-small"
        return self.stale

    def end(self, job: str) -> None:
        self.ended.append(job)

    def over(self, job: str) -> bool:
        assert job
        return not self.lasting

    def submit(self, job: Path) -> str:
        here = sorted(self.here())
        self.jobs += 1
        if self.crash(self.jobs):
            return f"job {self.jobs}"
        config = json.loads((job / "app/config/config_fed_server.json").read_text())
        [workflow] = config["workflows"]
        assert workflow["path"].endswith(".RunEpoch")
        job_name, key = f"job {self.jobs}", self.world.signer().public
        doors = {
            name: GuardedDoor(door, key, name, job_name)
            for name, door in self.world.doors().items()
        }
        RunEpoch(**workflow["args"]).drive(InProcessChannel(doors), here, job_name)
        return f"job {self.jobs}"


@pytest.fixture
def direct(world: World, monkeypatch: pytest.MonkeyPatch) -> Direct:
    made = Direct(world)
    monkeypatch.setattr(job_submission, "AdminSession", lambda _: made)
    monkeypatch.setenv("LEXFED_KIT", str(world.coordinator.folder))
    return made


def run(world: World, path: Path, *, resuming: bool = False) -> list[str]:
    said: list[str] = []
    deploy_run(
        path, world.coordinator, resuming=resuming, say=said.append, waiting=QUICK
    )
    return said


def agreed(world: World, text: str = DISTRIBUTED) -> Path:
    world.agree(text)
    return world.folder / "lexfed.toml"


def test_one_job_per_epoch_until_the_run_is_finished(direct: Direct) -> None:
    path = agreed(direct.world)
    said = run(direct.world, path)
    assert direct.jobs == 3  # seven rounds, three in an epoch
    assert [line.split()[:4] for line in said] == [
        ["round", str(number), "of", "7"] for number in range(1, 8)
    ]


def test_a_long_run_is_told_in_ten_lines(direct: Direct) -> None:
    text = config_text(trust="local").replace("rounds = 2", "rounds = 20")
    said = run(direct.world, agreed(direct.world, text))
    assert [line.split()[1] for line in said][-3:] == ["36", "40", "43"]
    assert len(said) == 11


def test_a_finished_run_is_not_run_again(direct: Direct) -> None:
    path = agreed(direct.world)
    run(direct.world, path)
    [line] = run(direct.world, path, resuming=True)
    assert line.endswith("is finished already; nothing was spent")
    assert direct.jobs == 3


def test_a_run_is_not_begun_twice(direct: Direct) -> None:
    path = agreed(direct.world)
    direct.crash = lambda number: number > 1
    with pytest.raises(RunFolderError, match="3 jobs in a row ended without a word"):
        run(direct.world, path)
    assert direct.jobs == 4
    with pytest.raises(RunFolderError, match="already contains a run"):
        run(direct.world, path)
    direct.crash = lambda _: False
    run(direct.world, path, resuming=True)
    assert RunPlace(direct.world.coordinator, "small").begun


def test_jobs_of_a_coordinator_that_crashed_are_cleared(direct: Direct) -> None:
    direct.stale = ("left 1", "left 2")
    run(direct.world, agreed(direct.world))
    assert direct.ended == ["left 1", "left 2"]


def test_a_job_that_flare_does_not_end_is_ended(direct: Direct) -> None:
    direct.lasting = True
    run(direct.world, agreed(direct.world))
    assert direct.ended == ["job 1", "job 2", "job 3"]


def test_a_run_begins_with_everybody(direct: Direct) -> None:
    direct.here = lambda: {"north", "south"}
    with pytest.raises(RunFolderError, match="not connected: east"):
        run(direct.world, agreed(direct.world))
    assert direct.jobs == 0


def test_a_run_goes_on_without_those_it_can_do_without(direct: Direct) -> None:
    path = agreed(direct.world)
    direct.here = lambda: set(SITES) if direct.jobs < 1 else {"north", "south"}
    said = run(direct.world, path)
    assert "going on without east" in said


def test_latecomers_are_named_once(direct: Direct) -> None:
    looks = iter(range(1000))
    direct.here = lambda: set(SITES) if next(looks) > 2 else {"north"}
    said = run(direct.world, agreed(direct.world))
    assert said.count("waiting for east, south") == 1


def test_what_ends_an_epoch_is_said_with_its_exit_code(direct: Direct) -> None:
    path = direct.world.write(DISTRIBUTED)  # nobody consented
    with pytest.raises(LexfedError, match="did not consent") as caught:
        run(direct.world, path)
    assert caught.value.exit_code == Refused.exit_code
    assert caught.value.hint


def test_ctrl_c_ends_the_job(direct: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(job: str) -> bool:
        raise KeyboardInterrupt

    path = agreed(direct.world)
    monkeypatch.setattr(direct, "over", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(direct.world, path)
    assert direct.ended == ["job 1"]


def test_a_site_cannot_start_a_run(world: World) -> None:
    with pytest.raises(RunFolderError, match="is the kit of a site"):
        deploy_run(agreed(world), world.sites["north"])


# What processes of a job do


def test_an_error_that_is_not_ours_is_told_by_its_type(
    direct: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise ZeroDivisionError("age 47")

    monkeypatch.setattr(flare_parts, "drive_epoch", broken)
    with pytest.raises(LexfedError, match="ZeroDivisionError") as caught:
        run(direct.world, agreed(direct.world))
    assert "47" not in caught.value.message


def test_a_site_opens_the_kit_and_table_it_was_started_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = SiteWork()
    work.close_door()  # nothing was opened
    monkeypatch.setenv("LEXFED_KIT", str(world.sites["north"].folder))
    with pytest.raises(RunFolderError, match="without its data"):
        work.open_door("job")
    monkeypatch.setenv("LEXFED_DATA", str(world.data("north")))
    sites = InProcessChannel({"north": work.open_door("job")})
    signed = SignedChannel(sites, world.signer(), "job")
    assert b"refusal" in signed.exchange({"north": b"lexfed/join/1\n"})["north"]
    work.close_door()


def test_a_site_waits_for_the_process_of_an_earlier_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = world.sites["north"]
    monkeypatch.setenv("LEXFED_KIT", str(kit.folder))
    monkeypatch.setenv("LEXFED_DATA", str(world.data("north")))
    earlier = SiteLock(kit)
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        earlier.close()

    monkeypatch.setattr("lexfed.run.deployed.flare_parts.time.sleep", nap)
    SiteWork().open_door("job")
    assert len(naps) == 1


def test_a_site_does_not_wait_forever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = world.sites["north"]
    monkeypatch.setenv("LEXFED_KIT", str(kit.folder))
    monkeypatch.setenv("LEXFED_DATA", str(world.data("north")))
    monkeypatch.setattr(flare_parts, "_EARLIER_S", 0.01)
    with SiteLock(kit):
        assert callable(SiteWork().open_door("job"))


def test_an_outcome_is_that_of_its_job(tmp_path: Path) -> None:
    assert EpochOutcome.read(tmp_path, "a") is None
    EpochOutcome("a", finished=True).write(tmp_path)
    assert EpochOutcome.read(tmp_path, "a") == EpochOutcome("a", finished=True)
    assert EpochOutcome.read(tmp_path, "b") is None
    EpochOutcome("b", False, Refused("too much", "spend less")).write(tmp_path)
    found = EpochOutcome.read(tmp_path, "b")
    assert found is not None
    assert found.error is not None
    assert (found.error.message, found.error.hint) == ("too much", "spend less")
    assert found.error.exit_code == Refused.exit_code
