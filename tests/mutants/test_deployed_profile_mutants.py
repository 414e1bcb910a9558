# SPDX-License-Identifier: Apache-2.0
"""Ways to get a profile between organisations wrong, each noticed by a check."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lexfed.config.tables.root import Config
from lexfed.federation.programme.json_form import from_bytes
from lexfed.privacy.claim.proof import load_claim
from lexfed.run.deployed.coordinator.epoch_driver import end_profile
from lexfed.run.deployed.signed_messages import refusal_code
from lexfed.run.deployed.site.own_profiles import OwnProfiles
from lexfed.run.deployed.terms import bundle
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.purchases import profile_purchase
from support.deployed.leader import Leader
from support.deployed.worlds import World, config_text
from support.mutant import Mutant, Patch, both_tests

PRICE = 20.0
BUDGET = ("epsilon = 3.0", "epsilon = 25.0")


@contextmanager
def world() -> Iterator[World]:
    """Make a deployment."""
    with tempfile.TemporaryDirectory() as folder:
        made = World.make(Path(folder))
        try:
            yield made
        finally:
            made.close()


def text_of(**words: str) -> str:
    return config_text(trust="central", **words).replace(*BUDGET)


def _agree_anyway(made: World, leader: Leader) -> None:
    """Write a consent past the checks that people are helped by."""
    for kit in made.sites.values():
        path = kit.state / "consents.json"
        known = json.loads(path.read_text())
        known["consents"][leader.bundle.digest] = None
        path.write_text(json.dumps(known))


def training_is_no_profile() -> None:
    with world() as made:
        made.agree(text_of())
        made.doors()
        path = made.folder / "lexfed.toml"
        assert (
            refusal_code(Leader(made, path, profile=PRICE).join("north")) == "consent"
        )


def a_price_is_agreed_to() -> None:
    with world() as made:
        made.agree(text_of(), PRICE)
        made.doors()
        path = made.folder / "lexfed.toml"
        assert refusal_code(Leader(made, path, profile=24.0).join("north")) == "consent"


def the_strictest_site_decides() -> None:
    with world() as made:
        rules = made.sites["north"].folder / "site.toml"
        rules.write_text("[budget]\nepsilon = 18.0\n")
        made.agree(text_of(), PRICE)
        made.doors()
        leader = Leader(made, made.folder / "lexfed.toml", profile=PRICE)
        leader.join_all()
        assert leader.priced().budget.epsilon == 18.0


def a_cheaper_claim_is_not_believed() -> None:
    """The sent claim says a hundredth of the price; the own record says the truth."""
    with world() as made:
        out = made.run(text_of(), profile=PRICE)
        end_profile(made.coordinator, "small-profile")
        copy = made.folder / "copy"
        copy.mkdir()
        for name in ("claim.json", "encoding.json", "profile.json"):
            shutil.copy(out / name, copy / name)
        said = json.loads((copy / "claim.json").read_text())
        for row in said["releases"]:
            for group in row["release"]["groups"]:
                group["sigma"] *= 10.0
        (copy / "claim.json").write_text(json.dumps(said))
        leader = Leader(made, made.write(text_of(data='profile = "copy"')))
        _agree_anyway(made, leader)
        made.doors()
        leader.join_all()
        programme = from_bytes((out.parent / "programme.json").read_bytes())
        assert refusal_code(leader.offer("north", programme)) == "configuration"


def what_a_profile_cost_is_taken_off() -> None:
    with world() as made:
        out = made.run(text_of(), profile=PRICE)
        end_profile(made.coordinator, "small-profile")
        folder = out.relative_to(made.folder)
        made.agree(text_of(data=f'profile = "{folder}"'))
        made.doors()
        leader = Leader(made, made.folder / "lexfed.toml")
        leader.join_all()
        assert refusal_code(leader.offer("north", leader.priced().programme)) is None


# Mutants


def _of_configuration_alone(patch: Patch) -> None:
    patch.setattr(Bundle, "digest", property(lambda _: "0" * 64))


def _any_price(patch: Patch) -> None:
    patch.setattr(bundle, "decimal", lambda _: "1.0")


def _no_limits(patch: Patch) -> None:
    patch.setattr(profile_purchase, "budget_within_limits", lambda budget, _: budget)


def _believing(patch: Patch) -> None:
    def record(_: OwnProfiles, config: Config, base: Path) -> object:
        if config.data.profile is None:
            return None
        folder = base / config.data.profile
        claim = load_claim((folder / "claim.json").read_bytes())
        return claim, json.loads((folder / "encoding.json").read_bytes())

    patch.setattr(OwnProfiles, "_record", record)


def _free(patch: Patch) -> None:
    patch.setattr(OwnProfiles, "paid", lambda *_: ())


MUTANTS = (
    Mutant("a consent is to anything", _of_configuration_alone, training_is_no_profile),
    Mutant("a consent is to any price", _any_price, a_price_is_agreed_to),
    Mutant("limits of sites do not count", _no_limits, the_strictest_site_decides),
    Mutant(
        "a site believes the claim it is sent",
        _believing,
        a_cheaper_claim_is_not_believed,
    ),
    Mutant("a site takes nothing off", _free, what_a_profile_cost_is_taken_off),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
