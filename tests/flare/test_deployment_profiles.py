# SPDX-License-Identifier: Apache-2.0
"""A profile on FLARE, every party in processes of its own, on this machine."""

from pathlib import Path

import pytest

from lexfed.run.deployed.consent import consent
from lexfed.run.profile_run import buy_profile
from support.deployed_worlds import SITES, config_text
from support.federations import federation
from support.two_verifiers import both, failed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

PRICE = 30.0
WORDS = {"trust": "distributed", "privacy": 'accountant = "rdp"'}


def open_text(**words: str) -> str:
    text = config_text(**WORDS, **words).replace("range = [0, 100]", 'range = "?"')
    return text.replace("epsilon = 3.0", "epsilon = 60.0")


def test_three_sites_are_profiled_as_in_one_process(tmp_path: Path) -> None:
    with federation(tmp_path, SITES) as made:
        path = tmp_path / "lexfed.toml"
        path.write_text(open_text())
        for name in SITES:
            consent(made.kits[name], path, PRICE)
        said = made.run(path, "--profile", "--epsilon", "30")
        assert "profile of 180 persons at 3 sites" in said
        out = made.coordinator.runs / "small-profile" / "run"
        again = made.run(path, "--profile", "--epsilon", "30", "--resume")
        assert "is finished already; nothing was spent" in again
        alone = tmp_path / "alone.toml"
        alone.write_text(open_text(engine="inprocess"))
        buy_profile(alone, PRICE, tmp_path / "alone")
        for name in ("profile.json", "claim.json", "state.safetensors"):
            assert (out / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
        assert "<html" in (out / "profile.html").read_text()
        assert not failed(both(out)[1])
        assert len({tuple(made.ledger(name)) for name in SITES}) == 1
