# SPDX-License-Identifier: Apache-2.0
"""Profiles between organisations: the same counts, each site agreeing and paying."""

import json
from pathlib import Path

import pytest

from lexfed.audit.entries import Export
from lexfed.audit.log.evidence import read_evidence
from lexfed.errors import ConfigError, Refused, RunFolderError
from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.claim.proof import load_claim
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch, end_profile
from lexfed.run.deployed.coordinator.run_place import RunPlace, place_run
from lexfed.run.deployed.signed_messages import refusal_code
from lexfed.run.deployed.site.consent import cost_in_words, give_consent
from lexfed.run.deployed.site.door import LOG
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.purchases.profile_purchase import buy_profile, default_epsilon
from support.audit.two_verifiers import both, failed
from support.deployed.leader import Leader
from support.deployed.worlds import MARKER, SITES, Spy, World, config_text

PRICE = 30.0
FILES = ("state.safetensors", "claim.json", "plan.json", "profile.json")
TRUSTS = (
    {"trust": "central"},
    {"trust": "local"},
    {"trust": "distributed", "privacy": 'accountant = "rdp"'},
    {"trust": "central", "neighbours": "add-remove", "data": "units = 180"},
    {"trust": "central", "held": "0.3"},
)
NAME = "small-profile"


def open_text(**words: str) -> str:
    """Return a configuration in which nobody knows the range of ages."""
    text = config_text(**words).replace("range = [0, 100]", 'range = "?"')
    return text.replace("epsilon = 3.0", "epsilon = 60.0")


def leader(world: World, price: float | None = PRICE, **words: str) -> Leader:
    """Have all consent to a profile and open all doors; return who asks for one."""
    world.agree(open_text(**words), PRICE)
    world.doors()
    return Leader(world, world.folder / "lexfed.toml", profile=price)


def own_log(world: World) -> str:
    return (world.sites["north"].state / LOG).read_text()


@pytest.mark.parametrize("words", TRUSTS)
def test_a_deployment_profiles_as_one_process_does(
    world: World, words: dict[str, str]
) -> None:
    spy = Spy({})
    out = world.run(open_text(**words), spy, profile=PRICE)
    bought = end_profile(world.coordinator, NAME)
    assert bought.result.folder == out
    path = world.write(open_text(**{**words, "engine": "inprocess"}))
    alone = world.folder / "alone"
    buy_profile(path, PRICE, alone)
    for name in FILES:
        assert (out / name).read_bytes() == (alone / name).read_bytes(), name
    found = bought.profile.column("age")
    assert found is not None
    assert found.range is not None
    verdict, rows = both(out)
    assert verdict.ok
    assert not failed(rows)
    for _, content in (*spy.answers, *spy.asked):
        assert MARKER.encode() not in content


def test_rows_without_a_person_are_profiled_by_their_place(world: World) -> None:
    def text(**words: str) -> str:
        said = open_text(trust="central", held="0", **words)
        said = said.replace('person = "patient"\n', "")
        lines = said.splitlines()
        return "\n".join(line for line in lines if not line.startswith("patient ="))

    out = world.run(text(), profile=PRICE)
    end_profile(world.coordinator, NAME)
    alone = world.folder / "alone"
    buy_profile(world.write(text(engine="inprocess")), PRICE, alone)
    assert (out / FILES[0]).read_bytes() == (alone / FILES[0]).read_bytes()


def test_a_profile_goes_on_where_it_stopped(world: World) -> None:
    whole = world.run(open_text(trust="central"), profile=PRICE)
    other = world.folder / "other"
    other.mkdir()
    again = World.make(other)
    text = open_text(trust="central", federation="setup_rounds = 1")
    name = again.agree(text, PRICE)
    epochs = 0
    while not drive_epoch(again.coordinator, name, Spy(again.doors()), SITES):
        epochs += 1
        with pytest.raises(RunFolderError, match="no finished profile"):
            end_profile(again.coordinator, name)
    assert epochs > 1
    out = again.run_folder(name)
    assert (out / FILES[0]).read_bytes() == (whole / FILES[0]).read_bytes()
    end_profile(again.coordinator, name)
    (out / "profile.json").unlink()
    end_profile(again.coordinator, name)  # what a crash has prevented is done again
    exports = read_evidence(out).of(Export)
    assert len([found for found in exports if found.entry.what == "profile"]) == 1
    assert not failed(both(out)[1])
    again.close()


def test_every_site_pays_from_its_own_ledgers(world: World) -> None:
    text = open_text(trust="central", test="false")
    out = world.run(text, profile=PRICE)
    events = [
        json.loads(row) for row in (out / "events.jsonl").read_text().split("\n")[:-1]
    ]
    asked = sum(event["type"] == "charge" for event in events)
    assert asked > 2
    assert load_claim((out / "claim.json").read_bytes()).epsilon <= PRICE
    for kit in world.sites.values():
        ledger = LastingLedger.open(kit.state / "lasting.ledger")
        rows = [row.kind for row in ledger.rows()]
        ledger.close()
        assert rows.count("commit") == asked
        assert (rows.count("reserve"), rows[-1]) == (1, "release")


# Agreeing


def test_a_consent_is_to_a_profile_at_a_price_or_to_training(world: World) -> None:
    asking = leader(world, data="units = 180")
    assert refusal_code(asking.join("north")) is None
    for change in ({"profile": "30.5"}, {"profile": "3.0"}):
        assert refusal_code(asking.join("north", **change)) == "consent"
    # Trained with, the configuration would have to be decided.
    assert refusal_code(asking.join("north", profile=None)) == "configuration"
    assert refusal_code(asking.join("north", profile="1e+999")) == "configuration"
    assert refusal_code(asking.join("north", profile="0")) == "configuration"
    closed = config_text(budget="").replace("epsilon = 3.0", "epsilon = 60.0")
    world.agree(closed)
    assert refusal_code(Leader(world, asking.path).join("north")) is None
    only = Leader(world, asking.path, profile=PRICE)
    assert refusal_code(only.join("north")) == "consent"
    give_consent(world.sites["north"], asking.path, PRICE)
    assert refusal_code(only.join("north")) is None


def test_what_is_open_is_part_of_what_is_agreed_to(world: World) -> None:
    """Its stand-in, declared, would be another thing."""
    path = world.write(open_text())
    opened = Bundle.read(path, profile=PRICE)
    stated = open_text().replace('range = "?"', "range = [-1e300, 1e300]")
    declared = Bundle.read(world.write(stated), profile=PRICE)
    assert declared.config.digest == opened.config.digest
    assert declared.digest != opened.digest
    assert Bundle.read(world.write(stated)).digest != declared.digest


def test_training_consent_is_no_consent_to_a_profile(world: World) -> None:
    world.agree(config_text())
    name = place_run(world.coordinator, world.folder / "lexfed.toml", 1.0)
    assert name == NAME
    with pytest.raises(Refused, match="site `north` refuses: its people did not"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)
    assert not RunPlace(world.coordinator, name).begun


def test_people_read_that_it_is_a_profile(world: World) -> None:
    text = open_text(budget="caps = { special = 40.0 }")
    words = "\n".join(cost_in_words(world.sites["north"], world.write(text), PRICE))
    assert "run `small-profile` with 3 sites" in words
    assert "a PROFILE: no model" in words
    assert "sought, since open: age" in words
    assert "how many people the sites share" in words
    assert "at most epsilon 30 at delta 0.0001 about the whole record" in words
    assert "at most epsilon 20 about special columns" in words
    limits = "[budget]\nepsilon = 2.0\ncaps = { special = 0.5 }\n"
    (world.sites["north"].folder / "site.toml").write_text(limits)
    path = world.write(
        config_text().replace('person = "patient"\n', "").replace("patient =", "no =")
    )
    words = "\n".join(cost_in_words(world.sites["north"], path, 2.5))
    assert "at most epsilon 2 at" in words
    assert "at most epsilon 0.5 about special columns" in words
    assert "sought" not in words
    assert "share" not in words


# What a site insists on


def test_the_strictest_site_decides_what_a_profile_costs(world: World) -> None:
    rules = "[budget]\nepsilon = 20.0\ncaps = { personal = 15.0 }\n"
    (world.sites["north"].folder / "site.toml").write_text(rules)
    asking = leader(world, trust="central")
    asking.join_all()
    priced = asking.priced()
    assert (priced.budget.epsilon, priced.budget.delta) == (20.0, 1e-4)
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    assert claim.epsilon <= 20.0
    assert claim.tiers["personal"].epsilon <= 15.0
    assert refusal_code(asking.offer("north", priced.programme)) is None


def test_a_budget_too_small_for_anything_is_refused_before_it_is_spent(
    world: World,
) -> None:
    (world.sites["east"].folder / "site.toml").write_text("[budget]\nepsilon = 0.01\n")
    name = world.agree(open_text(trust="central"), PRICE)
    with pytest.raises(ConfigError, match="too small to say anything"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)
    assert not RunPlace(world.coordinator, name).begun
    for kit in world.sites.values():
        assert not list(kit.state.glob("runs/*/ledger.jsonl"))


def test_a_column_that_one_site_holds_to_be_a_key_is_not_read(world: World) -> None:
    tags = '[columns]\nward = { tier = "identifier", reason = "a room of one" }\n'
    (world.sites["south"].folder / "tags.toml").write_text(tags)
    world.run(open_text(trust="central"), profile=PRICE)
    known = end_profile(world.coordinator, NAME).profile
    assert [column.name for column in known.columns] == ["age", "ill"]


def test_numbers_of_persons_stay_private(world: World) -> None:
    asking = leader(world, neighbours="add-remove", data="units = 180")
    asking.join_all()
    assert all(asking.said(name).units is None for name in SITES)
    assert asking.priced().population.sizes is None


def test_another_profile_than_it_computes_is_refused(world: World) -> None:
    asking = leader(world, trust="central")
    asking.join_all()
    dearer = Leader(world, asking.path, profile=50.0, statements=asking.statements)
    offered = asking.priced().programme
    said = {n: asking.said(n).model_copy() for n in SITES}
    assert {each.terms for each in said.values()} == {asking.bundle.digest}
    assert dearer.bundle.digest != asking.bundle.digest
    less = offered.stages[:-1]
    changed = type(offered)(**{**vars(offered), "stages": less})
    assert refusal_code(asking.offer("north", changed)) == "programme"
    assert refusal_code(asking.offer("north", offered)) is None


@pytest.mark.parametrize("row", ["Xq7-1,very old,a,1", "Xq7-1,40,a,perhaps"])
def test_what_is_wrong_in_a_file_is_told_at_home_without_values(
    world: World, row: str
) -> None:
    world.data("north").write_text(f"patient,age,ward,ill\n{row}\n")
    asking = leader(world)
    assert refusal_code(asking.join("north")) == "data"
    for secret in ("very old", "perhaps", MARKER):
        assert secret not in own_log(world)


# The coordinator's folder


def test_a_profile_and_training_of_one_configuration_have_two_folders(
    world: World,
) -> None:
    path = world.write(config_text())
    assert place_run(world.coordinator, path) == "small"
    assert place_run(world.coordinator, path, 1.0) == NAME
    assert RunPlace(world.coordinator, "small").bundle().profile is None
    place = RunPlace(world.coordinator, NAME)
    assert place.bundle().profile == 1.0
    # Nothing has begun: another price, or a training of that name, takes the place.
    assert place_run(world.coordinator, path, 1.5) == NAME
    assert place.bundle().profile == 1.5
    other = config_text().replace('name = "small"', f'name = "{NAME}"')
    assert place_run(world.coordinator, world.write(other)) == NAME
    assert place.bundle().profile is None
    with pytest.raises(RunFolderError, match="no finished profile"):
        end_profile(world.coordinator, NAME)
    (place.folder / "profile").write_text("much")
    with pytest.raises(RunFolderError, match="is damaged"):
        place.bundle()


def test_a_begun_profile_keeps_its_price(world: World) -> None:
    world.run(open_text(trust="central"), profile=PRICE)
    with pytest.raises(RunFolderError, match="another configuration"):
        place_run(world.coordinator, world.folder / "lexfed.toml", PRICE + 1)


@pytest.mark.parametrize(
    ("price", "words", "told"),
    [
        (61.0, {}, "below `budget.epsilon`"),
        (1.0, {"engine": "inprocess"}, 'a deployment needs "flare"'),
        (1.0, {"data": 'profile = "before"'}, "names one already"),
        (1.0, {"budget": 'unit = "client"'}, '`unit = "client"`'),
    ],
)
def test_what_has_no_use_for_a_profile_is_refused(
    world: World, price: float, words: dict[str, str], told: str
) -> None:
    path: Path = world.write(open_text(**words))
    with pytest.raises(ConfigError) as found:
        Bundle.read(path, profile=price)
    assert told in str(found.value)


def test_the_usual_price_is_a_quarter_of_the_budget(world: World) -> None:
    config = Bundle.read(world.write(config_text())).config
    assert default_epsilon(config) == pytest.approx(0.75)
