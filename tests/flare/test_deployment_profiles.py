# SPDX-License-Identifier: Apache-2.0
"""A profile on FLARE and training with it, every party in processes of its own."""

from pathlib import Path

import pytest

from lexfed.privacy.claim.proof import load_claim
from lexfed.run.deployed.site.consent import give_consent
from lexfed.run.purchases.profile_purchase import buy_profile
from support.audit.two_verifiers import both, failed
from support.deployed.federations import federation
from support.deployed.worlds import SITES, config_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

PRICE = 20.0
WORDS = {"trust": "distributed", "privacy": 'accountant = "rdp"'}


def closed_text(**words: str) -> str:
    text = config_text(**WORDS, **words)
    return text.replace("epsilon = 3.0", "epsilon = 25.0")


def open_text(**words: str) -> str:
    return closed_text(**words).replace("range = [0, 100]", 'range = "?"')


def test_three_sites_are_profiled_as_in_one_process_and_trained(tmp_path: Path) -> None:
    with federation(tmp_path, SITES) as made:
        path = tmp_path / "lexfed.toml"
        path.write_text(open_text())
        for name in SITES:
            give_consent(made.kits[name], path, PRICE)
        said = made.run(path, "--profile", "--epsilon", "20")
        assert "at 3 sites; intervals hold" in said
        out = made.coordinator.runs / "small-profile" / "run"
        again = made.run(path, "--profile", "--epsilon", "20", "--resume")
        assert "is finished already; nothing was spent" in again
        alone = tmp_path / "alone.toml"
        alone.write_text(open_text(engine="inprocess"))
        buy_profile(alone, PRICE, tmp_path / "alone")
        for name in ("profile.json", "claim.json", "state.safetensors"):
            assert (out / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
        assert "<html" in (out / "profile.html").read_text()
        assert not failed(both(out)[1])
        assert len({tuple(made.ledger(name)) for name in SITES}) == 1
        folder = out.relative_to(tmp_path)
        text = closed_text(data=f'profile = "{folder}"')
        made.run(made.agree(text))
        assert not failed(both(made.out)[1])
        claim = load_claim((made.out / "claim.json").read_bytes())
        assert any("the profile, released before" in gap for gap in claim.not_covered)
