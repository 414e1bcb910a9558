# SPDX-License-Identifier: Apache-2.0
"""A deployment of a few sites in one process: kits, files, doors, and a spy between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from lexfed.federation.engines.channel import InProcessChannel
from lexfed.federation.flare.kit.enrolment import enrol, install_roster, write_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit, kit_text
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.coordinator.run_place import place_run
from lexfed.run.deployed.site.consent import give_consent
from lexfed.run.deployed.site.door import SiteDoor
from lexfed.signing.keys import Signer, load_key

SITES = ("north", "south", "east")
MARKER = "Xq7-"
"""Begins the key of every person; it may never leave a site. With its hyphen it is not
in base64, and in random bytes once in 2^32."""

PERSONS = 60

_CONFIG = """\
version = 1

[run]
name = "small"
seed = 3
test = @test

[data]
sites = { files = ["north.csv", "south.csv", "east.csv"] }
target = "ill"
person = "patient"
test_size = @held
@data

[data.columns]
patient = { kind = "text" }
age = { kind = "number", range = [0, 100] }
ward = { kind = "category", values = ["a", "b"] }
ill = { kind = "flag" }

[law.columns]
patient = { tier = "identifier", reason = "a person's number" }
age = { tier = "personal", reason = "a person's age" }
ward = { tier = "non_personal", reason = "which ward" }
ill = { tier = "special", reason = "health" }

[budget]
epsilon = 3.0
delta = 1e-4
neighbours = "@neighbours"
@budget

[privacy]
trust = "@trust"
@privacy

[federation]
engine = "@engine"
rounds = 2
@federation

[evaluation]
metrics = "@metrics"
"""


def config_text(**words: str) -> str:
    """Return the text of a configuration; words take the place of the usual ones."""
    said = {
        "engine": "flare",
        "trust": "local",
        "test": "true",
        "held": "0.0",
        "neighbours": "replace-one",
        "metrics": "outside-guarantee",
        **dict.fromkeys(("data", "budget", "privacy", "federation"), ""),
        **words,
    }
    text = _CONFIG
    for word in sorted(said, key=len, reverse=True):
        text = text.replace(f"@{word}", said[word])
    return text


def write_data(path: Path, seed: int = 5) -> None:
    """Write the rows of one site."""
    chance = np.random.default_rng(seed)
    lines = []
    for number in range(PERSONS):
        age, ward = chance.integers(20, 90), chance.choice(["a", "b"])
        ill = int(chance.random() < age / 100)
        lines.append(f"{MARKER}{path.stem}-{number},{age},{ward},{ill}")
    path.write_text("\n".join(["patient,age,ward,ill", *lines, ""]))


Tamper = Callable[[str, bytes], bytes | None]
"""Changes a message to a site, or what it answers; None loses it."""


def _honest(_: str, content: bytes) -> bytes:
    return content


@dataclass
class Spy:
    """A channel that keeps everything that passes, and may change it.

    Attributes:
        doors: of the sites.
        asked: messages to sites, in order.
        answers: what came back, in order.
        to_site: changes messages to sites.
        from_site: changes answers.
    """

    doors: Mapping[str, Callable[[bytes], bytes]]
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    answers: list[tuple[str, bytes]] = field(default_factory=list)
    to_site: Tamper = _honest
    from_site: Tamper = _honest

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site."""
        found = {}
        for name, content in messages.items():
            sent = self.to_site(name, content)
            if sent is None:
                continue
            self.asked.append((name, sent))
            [answer] = (
                InProcessChannel(self.doors).exchange({name: sent}, most).values()
            )
            self.answers.append((name, answer))
            came = self.from_site(name, answer)
            if came is not None:
                found[name] = came
        return found


@dataclass
class World:
    """Kits of a coordinator and some sites, with data, in one folder."""

    folder: Path
    coordinator: Kit
    sites: dict[str, Kit]
    open_doors: dict[str, SiteDoor] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, names: tuple[str, ...] = SITES) -> "World":
        """Make the kits of a deployment, enrolled with each other."""
        kits = {name: _kit(folder, name, names) for name in (COORDINATOR, *names)}
        for kit in kits.values():
            enrol(kit)
        leader = kits.pop(COORDINATOR)
        write_roster(leader, [kit.enrolment for kit in kits.values()])
        for place, kit in enumerate(kits.values()):
            install_roster(kit, leader.roster)
            write_data(folder / f"{kit.name}.csv", seed=5 + place)
        return cls(folder, leader, kits)

    def data(self, name: str) -> Path:
        """Return the file of a site."""
        return self.folder / f"{name}.csv"

    def write(self, text: str) -> Path:
        """Write a configuration beside the data."""
        path = self.folder / "lexfed.toml"
        path.write_text(text)
        return path

    def agree(self, text: str, profile: float | None = None) -> str:
        """Have all people consent to a configuration; return the name of its run."""
        path = self.write(text)
        for kit in self.sites.values():
            give_consent(kit, path, profile)
        return place_run(self.coordinator, path, profile)

    def doors(self) -> dict[str, SiteDoor]:
        """Open every site anew, as processes of a new job do."""
        self.close()
        for name, kit in self.sites.items():
            self.open_doors[name] = SiteDoor(kit, self.data(name))
        return dict(self.open_doors)

    def close(self) -> None:
        """End the processes of the sites."""
        for door in self.open_doors.values():
            door.close()
        self.open_doors.clear()

    def run(
        self,
        text: str,
        spy: Spy | None = None,
        epochs: int = 40,
        profile: float | None = None,
    ) -> Path:
        """Consent and drive a run to its end, each epoch with new processes.

        Returns:
            The run folder.
        """
        name = self.agree(text, profile)
        for _ in range(epochs):
            channel = spy or Spy({})
            channel.doors = self.doors()
            if drive_epoch(self.coordinator, name, channel, tuple(self.sites)):
                return self.run_folder(name)
        raise AssertionError("the run did not come to its end")

    def run_folder(self, name: str) -> Path:
        """Return the folder of a run."""
        return self.coordinator.runs / name / "run"

    def signer(self, name: str = COORDINATOR) -> Signer:
        """Return the key of a party."""
        kit = self.sites.get(name, self.coordinator)
        return Signer(name, load_key(kit.identity_key))


def _kit(folder: Path, name: str, names: tuple[str, ...]) -> Kit:
    home = folder / f"kit_{name}"
    home.mkdir(mode=0o700)
    role = "coordinator" if name == COORDINATOR else "site"
    kit = Kit(home, "trial", "site", name, "localhost", 8102, "0" * 64, names)
    if role == "coordinator":
        kit = replace(kit, role="coordinator")
    (home / "kit.toml").write_text(kit_text(kit))
    return kit
