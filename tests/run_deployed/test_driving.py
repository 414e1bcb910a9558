# SPDX-License-Identifier: Apache-2.0
"""The coordinator: who must be at the table, what it believes, and going on."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.config import loads
from lexfed.errors import ConfigError, Refused, RunFolderError
from lexfed.federation.programme.json_form import from_bytes, to_bytes
from lexfed.ledger.charging import LastingLedger
from lexfed.models.networks.architectures import build
from lexfed.models.networks.specifications import network_weights
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.coordinator.run_place import RunPlace, place_run
from lexfed.run.deployed.signed_messages import (
    ProgrammeConsent,
    RunStart,
    SiteStatement,
    kind_of,
    refusal,
    seal,
    unseal,
)
from lexfed.run.deployed.site.consent import cost_in_words, give_consent
from lexfed.run.deployed.terms import bundle
from lexfed.run.deployed.terms.agreement import agreed_programme
from lexfed.run.deployed.terms.bundle import (
    Bundle,
    named_files,
    require_deployable,
    site_names,
)
from lexfed.run.deployed.terms.site_statements import read_statements
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import Signer, create_key
from support.deployed.leader import with_sigma
from support.deployed.worlds import SITES, Spy, World, config_text

EPOCHS = {
    "trust": "distributed",
    "privacy": 'accountant = "rdp"',
    "federation": "setup_rounds = 2",
}


def test_a_run_begins_with_everybody(world: World) -> None:
    name = world.agree(config_text())
    spy = Spy(world.doors())
    with pytest.raises(Refused, match="site `east` did not answer"):
        drive_epoch(world.coordinator, name, spy, ("north", "south"))
    spy.from_site = lambda name, said: None if name == "south" else said
    with pytest.raises(Refused, match="site `south` did not answer"):
        drive_epoch(world.coordinator, name, spy, SITES)
    assert not RunPlace(world.coordinator, name).begun
    spy.from_site = lambda _, said: said
    assert drive_epoch(world.coordinator, name, spy, SITES)


def test_a_site_without_a_key_in_the_roster_is_not_asked_for_long(
    world: World,
) -> None:
    name = world.agree(config_text())
    place = RunPlace(world.coordinator, name)
    text = config_text().replace("east.csv", "west.csv")
    (place.folder / "lexfed.toml").write_text(text)
    spy = Spy({**world.doors(), "west": lambda _: b""})
    with pytest.raises(Refused, match="site `west` is not in the roster"):
        drive_epoch(world.coordinator, name, spy, ("north", "south", "west"))


def test_a_run_goes_on_without_those_it_can_do_without(world: World) -> None:
    (world.folder / "four").mkdir()
    four = World.make(world.folder / "four", (*SITES, "west"))
    words = {**EPOCHS, "federation": "setup_rounds = 3\ndropouts = 1"}
    text = config_text(**words).replace('"east.csv"', '"east.csv", "west.csv"')
    name = four.agree(text)
    assert (
        drive_epoch(four.coordinator, name, Spy(four.doors()), (*SITES, "west"))
        is False
    )
    with pytest.raises(Refused, match="`south` did not answer; site `east` did not"):
        drive_epoch(four.coordinator, name, Spy(four.doors()), ("north", "west"))
    assert drive_epoch(four.coordinator, name, Spy(four.doors()), SITES) is False
    assert drive_epoch(four.coordinator, name, Spy(four.doors()), (*SITES, "west"))
    four.close()
    shown = CliRunner().invoke(app, ["verify", str(four.run_folder(name))])
    assert shown.exit_code == 0, shown.output


def test_every_refusal_is_told_at_once_in_words(world: World) -> None:
    path = world.write(config_text())
    name = place_run(world.coordinator, path)
    with pytest.raises(Refused) as refused:
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)
    for site in SITES:
        assert f"site `{site}` refuses: its people did not consent" in str(
            refused.value
        )
    assert not RunPlace(world.coordinator, name).begun


def _lies(kind: str, change: Callable[[bytes], bytes]) -> Callable[[str, bytes], bytes]:
    def tamper(name: str, said: bytes) -> bytes:
        return change(said) if name == "south" and kind_of(said) == kind else said

    return tamper


def test_answers_of_strangers_and_of_other_runs_are_not_believed(
    world: World, tmp_path: Path
) -> None:
    name = world.agree(config_text())
    spy = Spy(world.doors())
    stranger = Signer("south", create_key(tmp_path / "strange" / "key.pem"))
    south = world.signer("south")

    def told(kind: str, change: Callable[[bytes], bytes], words: str) -> None:
        spy.from_site = _lies(kind, change)
        with pytest.raises(Exception, match=words) as found:
            drive_epoch(world.coordinator, name, spy, SITES)
        assert "south" in str(found.value)
        world.doors()
        spy.doors = world.open_doors

    def statement(said: bytes) -> SiteStatement:
        return unseal("statement", said, SiteStatement, south.public)

    def other(said: bytes, **changed: object) -> bytes:
        return seal("statement", statement(said).model_copy(update=changed), south)

    told(
        "statement",
        lambda said: seal("statement", statement(said), stranger),
        "not signed",
    )
    told("statement", lambda said: other(said, run="0" * 64), "`run`")
    told("statement", lambda said: other(said, software="lexfed-0.0"), "`software`")
    told("statement", lambda _: b"lexfed/statement/1\n{}", "expected exactly the keys")
    told("statement", lambda _: refusal("data"), "refuses: its data do not fit")
    assert not RunPlace(world.coordinator, name).begun
    told(
        "consent",
        lambda said: seal(
            "consent",
            unseal("consent", said, ProgrammeConsent, south.public).model_copy(
                update={"programme": "0" * 64}
            ),
            south,
        ),
        "consents to something else",
    )
    assert not RunPlace(world.coordinator, name).begun
    told(
        "begun",
        lambda said: seal(
            "begun",
            unseal("begun", said, RunStart, south.public).model_copy(
                update={"log": "elsewhere"}
            ),
            south,
        ),
        "begins something else",
    )
    spy.from_site = lambda _, said: said
    assert drive_epoch(world.coordinator, name, spy, SITES)


def test_who_comes_back_is_held_to_what_it_said(world: World) -> None:
    name = world.agree(config_text(**EPOCHS))
    assert drive_epoch(world.coordinator, name, Spy(world.doors()), SITES) is False
    world.data("south").write_text("patient,age,ward,ill\nXq7-1,40,a,1\n")
    with pytest.raises(Refused, match="`south` says something else about itself"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)


def test_a_run_of_another_configuration_is_not_gone_on_with(world: World) -> None:
    name = world.agree(config_text(**EPOCHS))
    place = RunPlace(world.coordinator, name)
    assert drive_epoch(world.coordinator, name, Spy(world.doors()), SITES) is False
    before = (place.folder / "lexfed.toml").read_bytes()
    (place.folder / "lexfed.toml").write_text(config_text())
    with pytest.raises(RunFolderError, match="another configuration"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)
    path = world.write(config_text())
    (place.folder / "lexfed.toml").write_bytes(before)
    with pytest.raises(RunFolderError, match="run of another configuration"):
        place_run(world.coordinator, path)
    with pytest.raises(RunFolderError, match="another configuration"):
        place.session(Bundle.read(path))


def test_a_configuration_may_change_until_the_run_begins(world: World) -> None:
    name = world.agree(config_text().replace("epsilon = 3.0", "epsilon = 2.0"))
    place = RunPlace(world.coordinator, name)
    first = place.session(place.bundle())
    assert place.session(place.bundle()).run == first.run
    assert world.agree(config_text()) == name
    assert place.session(place.bundle()).run != first.run
    assert world.agree(config_text()) == name
    assert drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)


def test_another_machine_goes_on_with_the_same_programme(world: World) -> None:
    name = world.agree(config_text(**EPOCHS))
    place = RunPlace(world.coordinator, name)
    assert drive_epoch(world.coordinator, name, Spy(world.doors()), SITES) is False
    path = place.folder / "programme.json"
    ours = from_bytes(path.read_bytes())
    priced = place.settled(_priced(world, place))
    assert priced.programme == ours
    path.write_bytes(to_bytes(with_sigma(ours, 1.0 + 2**-48)))
    assert place.settled(_priced(world, place)).programme != ours
    path.write_bytes(to_bytes(replace(ours, seed=9)))
    with pytest.raises(RunFolderError, match="another programme"):
        place.settled(_priced(world, place))
    path.unlink()
    with pytest.raises(RunFolderError, match="damaged"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)


def _priced(world: World, place: RunPlace) -> PricedRun:
    bundle = place.bundle()
    session = place.session(bundle)
    roster = {name: world.signer(name).public for name in SITES}
    said = read_statements(session.statements, bundle, session.run, roster)
    return agreed_programme(bundle, place.base, said)


def test_a_damaged_session_is_not_guessed_at(world: World) -> None:
    name = world.agree(config_text())
    place = RunPlace(world.coordinator, name)
    place.session(place.bundle())
    (place.folder / "join.json").write_text("{}")
    with pytest.raises(RunFolderError, match="damaged"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)


def test_a_run_is_placed_once(world: World) -> None:
    path = world.write(config_text())
    name = place_run(world.coordinator, path)
    place = RunPlace(world.coordinator, name)
    assert place.base == world.folder
    (place.folder / "base").unlink()
    assert place.base == place.folder
    other = World.make(_made(world.folder / "b"))
    (other.coordinator.folder / "runs").write_text("in the way")
    with pytest.raises(RunFolderError, match="cannot write"):
        place_run(other.coordinator, path)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def reserved(world: World, site: str) -> bool:
    """Return True if a site's lasting ledger has room set aside for a run."""
    lasting = LastingLedger.open(world.sites[site].state / "lasting.ledger")
    with closing(lasting):
        kinds = [row.kind for row in lasting.rows()]
    assert "reserve" in kinds
    return kinds.count("reserve") > kinds.count("release")


def test_a_run_that_cannot_begin_leaves_no_room_set_aside(world: World) -> None:
    name = world.agree(config_text(test="false"))

    def refuse(site: str, content: bytes) -> bytes:
        begins = kind_of(content) == "begin"
        return b"lexfed/begin/1\n" if site == "south" and begins else content

    spy = Spy(world.doors(), to_site=refuse)
    with pytest.raises(Refused, match="site `south` refuses"):
        drive_epoch(world.coordinator, name, spy, SITES)
    assert not reserved(world, "north")
    assert not reserved(world, "east")
    assert drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)
    assert not reserved(world, "south")


def test_a_site_that_cannot_begin_sets_no_room_aside(world: World) -> None:
    name = world.agree(config_text(test="false"))
    doors = world.doors()

    def damage(site: str, content: bytes) -> bytes:
        if site == "south" and kind_of(content) == "begin":
            [state] = (world.sites[site].state / "runs").iterdir()
            (state / "answered").write_bytes(b"?")
        return content

    with pytest.raises(Refused, match="site `south` refuses: its state"):
        drive_epoch(world.coordinator, name, Spy(doors, to_site=damage), SITES)
    world.close()
    lasting = LastingLedger.open(world.sites["south"].state / "lasting.ledger")
    with closing(lasting):
        assert [row.kind for row in lasting.rows()] == ["open"]


# What cannot be deployed


@pytest.mark.parametrize(
    ("words", "change", "told"),
    [
        (
            {"held": "0.2"},
            ("", ""),
            "`evaluation.metrics`: `outside-guarantee` needs test rows",
        ),
        ({"held": "0.2", "metrics": "public"}, ("", ""), "`public` needs test rows"),
        ({"engine": "inprocess"}, ("", ""), 'a deployment needs "flare"'),
        (
            {"federation": 'model = "os:abort"'},
            ("", ""),
            "would run code of whoever wrote the configuration",
        ),
        (
            {},
            ("rounds = 2", "rounds = 10001"),
            "`federation.rounds`: at most 10000 in a deployment, got: 10001",
        ),
        (
            {"federation": 'model = "mlp:4000,4000"'},
            ("", ""),
            "at most 10000000 weights in a deployment, got: 16016001",
        ),
        ({}, ('"north.csv"', '"no-rth.csv"'), "`no-rth` is not the name of a site"),
        ({}, ('"north.csv"', '"coordinator.csv"'), "`coordinator` is not the name"),
        ({}, ('"north.csv"', '"a/south.csv"'), "names site `south` twice"),
        ({"budget": 'policy = "../policy.toml"'}, ("", ""), "is not in the folder"),
        (
            {"budget": 'ledgers = "l"', "test": "false"},
            ("", ""),
            "`budget.ledgers`: does nothing",
        ),
        ({}, ("seed = 3", 'out = "here"'), "`run.out`: does nothing"),
        ({"budget": 'policy = "/policy.toml"'}, ("", ""), "is not in the folder"),
        (
            {"budget": 'importance_from = "public:a.csv"\nallocation = "multiplier"'},
            ("", ""),
            "`budget.importance_from`: reads a table",
        ),
    ],
)
def test_what_a_coordinator_without_data_cannot_run(
    words: dict[str, str], change: tuple[str, str], told: str
) -> None:
    config = loads(config_text(**words).replace(*change))
    with pytest.raises(ConfigError) as found:
        require_deployable(config)
    assert told in str(found.value)


def test_what_is_too_large_is_refused_before_anybody_consents(world: World) -> None:
    """Between its layers it has too few weights to be refused at sight."""
    path = world.write(config_text(federation='model = "mlp:999999,6"'))
    for ask in (give_consent, cost_in_words):
        with pytest.raises(ConfigError, match="at most 10000000 weights"):
            ask(world.sites["north"], path)
    assert not (world.sites["north"].state / "consents.json").exists()
    require_deployable(Bundle.read(path).config)


@pytest.mark.parametrize("model", ["logistic", "cnn", "mlp:2400"])
def test_many_values_and_classes_are_as_large_as_wide_layers(
    world: World, model: str
) -> None:
    text = config_text(federation=f'model = "{model}"')
    declared = {"ward": 'values = ["a", "b"]', "ill": 'kind = "flag"'}
    values = "values = " + json.dumps([f"v{at}" for at in range(4000)])
    text = text.replace(declared["ward"], values)
    give_consent(world.sites["north"], world.write(text))  # two classes: it fits
    text = text.replace(declared["ill"], f'kind = "category", {values}')
    with pytest.raises(ConfigError, match="at most 10000000 weights"):
        give_consent(world.sites["south"], world.write(text))


@pytest.mark.parametrize("model", ["logistic", "linear", "cnn", "mlp:5", "mlp:7,3"])
@pytest.mark.parametrize(("slots", "outputs"), [(1, 1), (4, 3), (9, 2)])
def test_weights_are_counted_as_models_have_them(
    model: str, slots: int, outputs: int
) -> None:
    made = sum(each.numel() for each in build(model, slots, outputs, 0).parameters())
    assert network_weights(model, slots, outputs) == made


def test_a_programme_that_no_site_reads_is_refused_in_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = world.agree(config_text())
    monkeypatch.setattr(bundle, "MOST_PROGRAMME", 1000)
    with pytest.raises(ConfigError, match=r"has \d+ bytes, sites read 1000"):
        drive_epoch(world.coordinator, name, Spy(world.doors()), SITES)


def test_sites_are_named_by_their_files() -> None:
    assert site_names(loads(config_text())) == SITES
    text = config_text(engine="inprocess").replace(
        'files = ["north.csv", "south.csv", "east.csv"]',
        'column = "ward", names = ["a"]',
    )
    text = text.replace("[data]\n", '[data]\nsource = "all.csv"\n')
    with pytest.raises(ConfigError, match="one file for every site"):
        require_deployable(loads(text))


def test_files_travel_with_the_configuration(world: World) -> None:
    path = world.write(config_text(budget='policy = "policy.toml"'))
    with pytest.raises(ConfigError, match=r"`policy\.toml`: cannot be read"):
        Bundle.read(path)
    (world.folder / "policy.toml").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="more than"):
        Bundle.read(path)
    (world.folder / "policy.toml").write_bytes(b"version = 1\n")
    bundle = Bundle.read(path)
    assert bundle.files == {"policy.toml": b"version = 1\n"}
    bundle.write(world.folder / "copy")
    assert (world.folder / "copy" / "policy.toml").read_bytes() == b"version = 1\n"
    (world.folder / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot write"):
        bundle.write(world.folder / "file")
    with pytest.raises(ConfigError, match="other files than it names"):
        _ = Bundle(bundle.text, {}).config
    signed = bundle.text.replace(
        'policy = "policy.toml"', 'policy = "policy.toml"\npolicy_keys = ["board.pem"]'
    )
    assert set(named_files(loads(signed))) == {
        "policy.toml",
        "policy.toml.sig",
        "board.pem",
    }
