# SPDX-License-Identifier: Apache-2.0
"""Training with a profile that the sites paid for: each takes the price off itself."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lexfed
from lexfed.errors import ConfigError, RunFolderError
from lexfed.federation.programme.json_form import from_bytes
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.claim.schema import counted_releases
from lexfed.privacy.scopes import record_epsilon
from lexfed.run.deployed.coordinator.epoch_driver import end_profile
from lexfed.run.deployed.signed_messages import refusal_code
from lexfed.run.deployed.site.consent import cost_in_words, give_consent
from lexfed.run.deployed.site.door import LOG
from lexfed.run.deployed.site.own_profiles import OwnProfiles
from lexfed.run.deployed.terms.bundle import Bundle, named_files
from lexfed.run.pricing.priced_run import OutsideTerms, price
from lexfed.run.purchases.profile_purchase import buy_profile
from support.audit.two_verifiers import both, failed
from support.deployed.leader import Leader
from support.deployed.worlds import World, config_text

PRICE = 20.0
FOLDER = "kit_coordinator/runs/small-profile/run"
DISTRIBUTED = {"trust": "distributed", "privacy": 'accountant = "rdp"'}


def text_of(profile: str | None, **words: str) -> str:
    """Return a configuration with room for a profile, which it may use."""
    said = {"trust": "central", **words}
    if profile is not None:
        said["data"] = f'{said.get("data", "")}\nprofile = "{profile}"'
    return config_text(**said).replace("epsilon = 3.0", "epsilon = 25.0")


def profiled(world: World, **words: str) -> Path:
    """Buy a profile in a deployment; return its folder."""
    out = world.run(text_of(None, **words), profile=PRICE)
    end_profile(world.coordinator, "small-profile")
    return out


def own_log(world: World, site: str = "north") -> str:
    return (world.sites[site].state / LOG).read_text()


def joined(world: World, text: str) -> Leader:
    world.agree(text)
    world.doors()
    asking = Leader(world, world.folder / "lexfed.toml")
    asking.join_all()
    return asking


@pytest.mark.parametrize("words", [{}, DISTRIBUTED])
def test_what_a_profile_cost_is_taken_off_by_everybody(
    world: World, words: dict[str, str]
) -> None:
    before = load_claim((profiled(world, **words) / "claim.json").read_bytes())
    out = world.run(text_of(FOLDER, **words))
    assert not failed(both(out)[1])
    claim = load_claim((out / "claim.json").read_bytes())
    assert any("the profile, released before" in gap for gap in claim.not_covered)
    releases = (*counted_releases(before.releases), *counted_releases(claim.releases))
    accountant = claim.accountant.name
    joint = record_epsilon(releases, claim.delta, claim.neighbours, accountant)
    assert claim.epsilon < joint <= 25.0
    # One process with the same profile trains the same model.
    alone = world.write(text_of("alone", **words, engine="inprocess"))
    buying = world.folder / "buying.toml"
    buying.write_text(text_of(None, **words, engine="inprocess"))
    buy_profile(buying, PRICE, world.folder / "alone")
    model = (out / "model.safetensors").read_bytes()
    trained = lexfed.train(alone).folder
    assert (trained / "model.safetensors").read_bytes() == model


def test_files_of_the_profile_are_part_of_what_is_agreed_to(world: World) -> None:
    profiled(world)
    asking = joined(world, text_of(FOLDER))
    assert set(named_files(asking.bundle.config)) == {
        f"{FOLDER}/{name}" for name in ("claim.json", "encoding.json", "profile.json")
    }
    agreed_to = asking.bundle.digest
    path = world.folder / FOLDER / "profile.json"
    path.write_bytes(path.read_bytes().replace(b"180", b"181"))
    assert asking.bundle.digest != agreed_to
    assert refusal_code(asking.join("north")) == "consent"


def test_people_read_what_it_cost(world: World) -> None:
    out = profiled(world)
    cost = load_claim((out / "claim.json").read_bytes()).epsilon
    path = world.write(text_of(FOLDER))
    words = cost_in_words(world.sites["north"], path)
    assert any(f"uses a profile that cost epsilon {cost:g}" in line for line in words)
    path = world.write(text_of(None))
    assert not any("uses" in line for line in cost_in_words(world.sites["north"], path))


def test_a_site_that_took_no_part_does_not_agree(world: World) -> None:
    profiled(world)
    path = world.write(text_of(FOLDER))
    kit = world.sites["north"]
    for record in kit.state.glob("runs/*/claim.json"):
        record.unlink()
    with pytest.raises(ConfigError, match="has not taken part in that profile"):
        give_consent(kit, path)


def test_a_profile_of_one_process_is_nothing_sites_know(world: World) -> None:
    buying = world.write(text_of(None, engine="inprocess"))
    buy_profile(buying, PRICE, world.folder / "alone")
    with pytest.raises(ConfigError, match="has not taken part in that profile"):
        world.agree(text_of("alone"))


def _cheaper(folder: Path) -> None:
    """Say that less was released: the claim holds, and is not of that profile."""
    path = folder / "claim.json"
    said = json.loads(path.read_bytes())
    for row in said["releases"]:
        for group in row["release"]["groups"]:
            group["sigma"] *= 10.0
    path.write_text(json.dumps(said))


def _raised(folder: Path) -> None:
    """Say that columns were paid for at the price of a tier above their own."""
    path = folder / "encoding.json"
    said = path.read_text()
    assert "non_personal" in said
    path.write_text(said.replace("non_personal", "special"))


def _no_claim(folder: Path) -> None:
    (folder / "claim.json").write_text("{}")


def _no_columns(folder: Path) -> None:
    (folder / "encoding.json").write_text("{")


def _no_profile(folder: Path) -> None:
    (folder / "profile.json").write_text("{}")


@pytest.mark.parametrize(
    ("lie", "told"),
    [
        (_cheaper, "has not taken part in that profile"),
        (_raised, "has not taken part in that profile"),
        (_no_claim, "claim: "),
        (_no_columns, "is damaged"),
        (_no_profile, "profile.json"),
    ],
)
def test_a_coordinator_that_lies_about_the_price_is_refused(
    world: World, lie: Callable[[Path], None], told: str
) -> None:
    """Even if people have agreed: the site looks into its own records."""
    out = profiled(world)
    copy = world.folder / "copy"
    copy.mkdir()
    for name in ("claim.json", "encoding.json", "profile.json"):
        shutil.copy(out / name, copy / name)
    lie(copy)
    path = world.write(text_of("copy"))
    with pytest.raises(ConfigError, match=told):
        give_consent(world.sites["north"], path)
    digest = Bundle.read(path).digest
    for kit in world.sites.values():
        known = json.loads((kit.state / "consents.json").read_text())
        known["consents"][digest] = None
        (kit.state / "consents.json").write_text(json.dumps(known))
    world.doors()
    asking = Leader(world, path)
    asking.join_all()
    # It is found before programmes are compared, so any will do.
    programme = from_bytes((out.parent / "programme.json").read_bytes())
    assert refusal_code(asking.offer("north", programme)) == "configuration"
    assert told in own_log(world)


def test_prices_of_different_things_do_not_add_up_at_a_site(world: World) -> None:
    out = profiled(world)
    asking = joined(world, text_of(FOLDER, trust="local"))
    programme = from_bytes((out.parent / "programme.json").read_bytes())
    assert refusal_code(asking.offer("north", programme)) == "configuration"
    assert 'made with `trust = "central"`' in own_log(world)
    with pytest.raises(ConfigError, match="made with `trust"):
        asking.priced()


def test_a_tier_that_a_site_raised_since_then_is_not_paid_for(world: World) -> None:
    out = profiled(world)
    tags = '[columns]\nage = { tier = "special", reason = "a small village" }\n'
    (world.sites["south"].folder / "tags.toml").write_text(tags)
    asking = joined(world, text_of(FOLDER))
    programme = from_bytes((out.parent / "programme.json").read_bytes())
    assert refusal_code(asking.offer("north", programme)) == "configuration"
    assert "`age` in the tier personal, and it is special now" in own_log(world)


def test_the_programme_without_the_price_taken_off_is_refused(world: World) -> None:
    profiled(world)
    asking = joined(world, text_of(FOLDER))
    ours = asking.priced()
    unaware = OutsideTerms(before=lambda *_: ())
    greedy = price(ours.config, ours.population, world.folder, unaware)
    assert greedy.programme.digest != asking.priced().programme.digest
    assert refusal_code(asking.offer("north", greedy.programme)) == "programme"
    assert refusal_code(asking.offer("north", asking.priced().programme)) is None


def test_a_damaged_record_is_no_record(world: World) -> None:
    profiled(world)
    path = world.write(text_of(FOLDER))
    kit = world.sites["north"]
    [record] = kit.state.glob("runs/*/claim.json")
    record.write_text("{}")
    with pytest.raises(RunFolderError, match="is damaged"):
        OwnProfiles(kit).claim(Bundle.read(path).config, path.parent)


def test_a_record_that_is_another_ends_the_profile(world: World) -> None:
    world.agree(text_of(None), PRICE)
    world.doors()
    asking = Leader(world, world.folder / "lexfed.toml", profile=PRICE)
    priced = asking.opened("north")
    [record] = world.sites["north"].state.glob("runs/*/claim.json")
    record.write_text("{}")
    world.doors()
    asking.join_all()
    assert refusal_code(asking.offer("north", priced.programme)) == "programme"
    assert "another claim" in own_log(world)


def test_training_leaves_no_record_of_a_profile(world: World) -> None:
    world.run(text_of(None))
    for kit in world.sites.values():
        assert not list(kit.state.glob("runs/*/claim.json"))


def test_a_profile_elsewhere_does_not_travel(world: World) -> None:
    with pytest.raises(ConfigError, match="not in the folder of the configuration"):
        Bundle.read(world.write(text_of("../profile")))
