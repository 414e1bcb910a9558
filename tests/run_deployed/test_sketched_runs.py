# SPDX-License-Identifier: Apache-2.0
"""Sites that are elsewhere are sketched too: no key leaves, and overlap is found."""

import json
from pathlib import Path

import numpy as np
import pytest

from support.audit.two_verifiers import both, failed
from support.deployed.worlds import MARKER, Spy, World, config_text

PERSONS = 900
TRUST = {
    "local": {"trust": "local"},
    "distributed": {"trust": "distributed", "privacy": 'accountant = "rdp"'},
}


def write_shared(path: Path, first: int) -> None:
    """Write persons whose keys are numbered from one on."""
    chance = np.random.default_rng(first)
    lines = ["patient,age,ward,ill"]
    for number in range(first, first + PERSONS):
        age, ward = chance.integers(20, 90), chance.choice(["a", "b"])
        ill = int(chance.random() < age / 100)
        lines.append(f"{MARKER}{number},{age},{ward},{ill}")
    path.write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize("trust", TRUST)
def test_persons_at_two_sites_are_found_without_their_keys(
    world: World, trust: str
) -> None:
    """North and south have the same persons, and each is declared to be at one site."""
    for name, first in (("north", 0), ("south", 0), ("east", PERSONS)):
        write_shared(world.data(name), first)
    text = config_text(**TRUST[trust]).replace("epsilon = 3.0", "epsilon = 25.0")
    spy = Spy({})
    folder = world.run(f'{text}\n[sketches]\nshare = 0.5\nweights = "overlap"\n', spy)
    said = json.loads((folder / "result.json").read_text())["sketched"]
    named = [line.split("`")[1] for line in said if "what is claimed does not" in line]
    if trust == "distributed":
        assert named == ["north", "south"]
    assert "east" not in named
    verdict, rows = both(folder)
    assert verdict.ok
    assert not failed(rows)
    for _, content in (*spy.asked, *spy.answers):
        assert MARKER.encode() not in content
