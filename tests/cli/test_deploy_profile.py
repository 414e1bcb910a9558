# SPDX-License-Identifier: Apache-2.0
"""Profiles of a deployment from the command line; its rounds run in this process."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lexfed.cli.progress import INTERRUPTED
from lexfed.federation.flare.kit.folder import COORDINATOR
from lexfed.run.deployed.coordinator import job_submission
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.coordinator.run_place import place_run
from support.deployed.deployments import deployment
from support.deployed.worlds import SITES, Spy, World, config_text, write_data

Lexfed = Callable[..., Any]
RUN = ("deploy", "run", "lexfed.toml", "--kit", "trial/coordinator")
PROFILE = ("--profile", "--epsilon", "20")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Kits as `lexfed deploy init` makes them, and a configuration to be profiled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user state"))
    kits = deployment(tmp_path / "trial", SITES)
    for seed, name in enumerate(SITES):
        write_data(tmp_path / f"{name}.csv", seed)
    text = config_text(trust="central").replace("range = [0, 100]", 'range = "?"')
    (tmp_path / "lexfed.toml").write_text(
        text.replace("epsilon = 3.0", "epsilon = 25.0")
    )
    leader = kits.pop(COORDINATOR)
    made = World(tmp_path, leader, kits)
    yield made
    made.close()


def driven(world: World, config: str, price: float | None) -> None:
    """Run what people agreed to, without FLARE."""
    name = place_run(world.coordinator, world.folder / config, price)
    while not drive_epoch(world.coordinator, name, Spy(world.doors()), SITES):
        pass


def agree(lexfed: Lexfed, config: str, *words: str) -> None:
    for name in SITES:
        said = lexfed("site", "consent", f"trial/{name}", config, *words, "--yes")
        assert said.code == 0, said.err


def test_from_an_open_range_to_a_model_that_is_paid_for(
    lexfed: Lexfed, world: World
) -> None:
    agree(lexfed, "lexfed.toml", *PROFILE)
    driven(world, "lexfed.toml", 20.0)
    said = lexfed(*RUN, *PROFILE)
    assert said.code == 2
    assert "already contains a run" in said.err
    said = lexfed(*RUN, *PROFILE, "--resume")
    assert said.code == 0, said.err
    assert "is finished already; nothing was spent" in said.err
    assert "profile of 180 people declared at 3 sites" in said.out
    folder = "trial/coordinator/runs/small-profile/run"
    assert re.search(rf"`lexfed init --profile \S*{folder}`", said.err)
    assert "<html" in (world.folder / folder / "profile.html").read_text()
    assert lexfed("verify", folder).code == 0
    said = lexfed(*RUN, *PROFILE, "--resume", "--json")
    assert json.loads(said.out)["claims"]["record"]["epsilon"] <= 20.0
    assert lexfed("init", "--profile", folder).code == 0
    text = (world.folder / "profiled.toml").read_text()
    assert f'profile = "{folder}"' in text
    agree(lexfed, "profiled.toml")
    driven(world, "profiled.toml", None)
    run = ("deploy", "run", "profiled.toml", "--kit", "trial/coordinator", "--resume")
    assert lexfed(*run).code == 0
    assert lexfed("verify", "trial/coordinator/runs/small/run").code == 0


def test_a_site_reads_and_agrees_to_a_profile(lexfed: Lexfed, world: World) -> None:
    consent = ("site", "consent", "trial/north", "lexfed.toml")
    said = lexfed(*consent, "--profile")
    assert said.code == 0
    assert "a PROFILE: no model" in said.out
    assert "at most epsilon 6.25 at" in said.out
    assert f"{' '.join(consent)} --profile --epsilon 6.25 --yes" in said.err
    said = lexfed(*consent, *PROFILE, "--yes")
    assert "`north` agrees to one profile at epsilon 20" in said.err
    known = (world.sites["north"].state / "consents.json").read_text()
    [digest] = re.findall(r"digest ([0-9a-f]{64})", said.out)
    assert digest in known


def test_what_cannot_be_asked_for_is_refused(lexfed: Lexfed, world: World) -> None:
    for words in (RUN, ("site", "consent", "trial/north", "lexfed.toml")):
        said = lexfed(*words, "--epsilon", "1")
        assert said.code == 2
        assert "`--epsilon`: is the price of a profile" in said.err
        said = lexfed(*words, "--profile", "--epsilon", "26")
        assert said.code == 2
        assert "below `budget.epsilon` = 25" in said.err
        said = lexfed(*words)
        assert said.code == 2
        assert "range" in said.err
    path = world.folder / "lexfed.toml"
    for words in (RUN, ("site", "consent", "trial/north", "lexfed.toml")):
        missing = [word.replace("lexfed.toml", "none.toml") for word in words]
        said = lexfed(*missing, *PROFILE)
        assert said.code == 2
        assert "there is no such file" in said.err
    path.write_text(path.read_text().replace('"flare"', '"inprocess"'))
    said = lexfed(*RUN, *PROFILE)
    assert said.code == 2
    assert 'a deployment needs "flare"' in said.err
    assert re.search(r"lexfed\.toml:\d+: ", said.err)


def test_an_interrupted_profile_says_how_to_go_on(
    lexfed: Lexfed, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job_submission, "deploy_run", pressed)
    said = lexfed(*RUN, *PROFILE)
    assert said.code == INTERRUPTED
    again = f"lexfed {' '.join(RUN)} --profile --epsilon 20.0 --resume"
    assert f"continue with `{again}`" in said.err
