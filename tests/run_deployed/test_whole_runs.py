# SPDX-License-Identifier: Apache-2.0
"""Whole runs in one process: a deployment releases what `inprocess` does."""

import json
import tomllib

import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import lexfed
from lexfed.audit.entries import PolicyEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.rules import catalogue_bytes
from lexfed.cli.app import app
from lexfed.ledger.charging import LastingLedger
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from support.deployed.worlds import MARKER, SITES, Spy, World, config_text

DISTRIBUTED = {"trust": "distributed", "privacy": 'accountant = "rdp"'}
FILES = ("model.safetensors", "state.safetensors", "claim.json", "plan.json")
PROFILE = '[budget.profiles.strict]\nsites = ["south"]\nepsilon = 1.0'
CLASS = '[[budget.classes]]\nname = "old"\nwhere = "age >= 80"\nepsilon = 1.0'
SKETCHES = '[sketches]\nshare = 0.5\nweights = "overlap"\ncolumns = 1'
TRUSTS = [
    {"trust": "local"},
    {"trust": "central"},
    DISTRIBUTED,
    {"trust": "central", "privacy": 'mechanism = "none"'},
    {"trust": "central", "held": "0.3", "metrics": "paid"},
    {"trust": "local", "neighbours": "add-remove", "data": "units = 180"},
    {"trust": "central", "federation": "sampling_rate = 0.5\nlearning_rate = 0.5"},
    {"trust": "local", "federation": 'weighting = "sites"'},
    {"trust": "local", "budget": PROFILE},
    {"trust": "central", "budget": CLASS},
    {
        "trust": "central",
        "federation": 'learning_rate = 0.5\n[adapt]\nnoise = "convergence"',
    },
    {
        "trust": "central",
        "budget": 'unit = "client"',
        "federation": "learning_rate = 0.5\nlocal_steps = 2\nsampling_rate = 0.5",
    },
]


@pytest.mark.no_cover
@pytest.mark.parametrize("words", TRUSTS)
def test_a_deployment_releases_what_one_process_does(
    world: World, words: dict[str, str]
) -> None:
    out = world.run(config_text(**words))
    path = world.write(config_text(**{**words, "engine": "inprocess"}))
    alone = lexfed.train(path).folder
    for name in FILES:
        if name == "claim.json" and "none" in words.get("privacy", ""):
            # Without noise there is nothing to claim, neither here nor there.
            assert not (alone / name).exists()
            assert not (out / name).exists()
        else:
            assert (out / name).read_bytes() == (alone / name).read_bytes(), name


# With local trust 60 persons of a site would be lost in the noise.
@pytest.mark.parametrize("words", TRUSTS[1:3])
def test_sites_elsewhere_count_persons_and_columns_alike(
    world: World, words: dict[str, str]
) -> None:
    """Keys of persons and tables are the same where every site reads its own file."""

    def text(engine: str) -> str:
        said = config_text(**words, engine=engine, federation=SKETCHES)
        return said.replace("epsilon = 3.0", "epsilon = 30.0")

    out = world.run(text("flare"))
    alone = lexfed.train(world.write(text("inprocess"))).folder
    for name in FILES:
        assert (out / name).read_bytes() == (alone / name).read_bytes(), name
    shown = CliRunner().invoke(app, ["verify", str(out)])
    assert shown.exit_code == 0, shown.output
    kept = load_file(out / "state.safetensors")
    tables = [name for name in kept if "sketch." in name and "variance" in name]
    assert len(tables) >= 2


def test_rows_without_a_person_train_the_same_model(world: World) -> None:
    """Nobody is held back: every site would flip coins of its own for whom."""

    def text(engine: str) -> str:
        said = config_text(trust="central", engine=engine).replace(
            'person = "patient"\n', ""
        )
        lines = said.splitlines()
        return "\n".join(line for line in lines if not line.startswith("patient ="))

    out = world.run(text("flare"))
    alone = lexfed.train(world.write(text("inprocess"))).folder
    model = (out / "model.safetensors").read_bytes()
    assert model == (alone / "model.safetensors").read_bytes()


@pytest.mark.parametrize("words", TRUSTS[:3])
def test_the_run_folder_verifies_and_is_reported_on(
    world: World, words: dict[str, str]
) -> None:
    out = world.run(config_text(**words))
    shown = CliRunner().invoke(app, ["verify", str(out)])
    assert shown.exit_code == 0, shown.output
    shown = CliRunner().invoke(app, ["report", str(out)])
    assert shown.exit_code == 0, shown.output
    assert (out / "report.html").exists()
    parties = json.loads((out / "parties.json").read_text())
    assert parties == {name: world.signer(name).fingerprint for name in SITES}
    evidence = read_evidence(out)
    [policy] = [each.entry for each in evidence.records if each.key == "policy"]
    assert isinstance(policy, PolicyEntry)
    assert (policy.transport, policy.trust) == ("flare", words["trust"])
    [rule] = [
        rule
        for rule in tomllib.loads(catalogue_bytes().decode())["rule"]
        if rule["check"] == "encrypted"
    ]
    assert policy.transport in rule["parameters"]["transports"]


def test_a_run_goes_on_with_the_next_epoch(world: World) -> None:
    """Sites and coordinator are new processes each time; nothing else changes."""
    whole = world.run(config_text(**DISTRIBUTED))
    model = (whole / "model.safetensors").read_bytes()
    (world.folder / "again").mkdir()
    other = World.make(world.folder / "again")
    name = other.agree(config_text(**DISTRIBUTED, federation="setup_rounds = 2"))
    epochs: list[bool] = []
    while not any(epochs):
        spy = Spy(other.doors())
        epochs.append(drive_epoch(other.coordinator, name, spy, SITES))
    assert len(epochs) == 4
    out = other.run_folder(name)
    assert (out / "model.safetensors").read_bytes() == model
    assert drive_epoch(other.coordinator, name, Spy({}), ()) is True
    other.close()
    shown = CliRunner().invoke(app, ["verify", str(out)])
    assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize("words", TRUSTS[:3])
def test_no_row_leaves_a_site(world: World, words: dict[str, str]) -> None:
    spy = Spy({})
    world.run(config_text(**words), spy)
    assert len(spy.answers) > 9 * 3
    for _, content in (*spy.answers, *spy.asked):
        assert MARKER.encode() not in content
    for kit in world.sites.values():
        assert not (kit.state / "site.log").exists()
        for file in kit.state.rglob("*"):
            assert file.is_dir() or MARKER.encode() not in file.read_bytes()


def test_what_is_ever_spent_is_counted_at_the_site(world: World) -> None:
    out = world.run(config_text(test="false", trust="central"))
    claim = json.loads((out / "claim.json").read_text())
    assert claim["stamp"] is None
    for name, kit in world.sites.items():
        ledger = LastingLedger.open(kit.state / "lasting.ledger")
        assert (ledger.site, ledger.data_set) == (name, f"{name}.csv")
        rows = [row.kind for row in ledger.rows()]
        ledger.close()
        assert rows.count("commit") == 7
        assert (rows.count("reserve"), rows[-1]) == (1, "release")


@pytest.mark.parametrize(
    "words",
    [
        {"test": "false", "trust": "central", "privacy": 'mechanism = "none"'},
        {"test": "true", "trust": "central"},
    ],
)
def test_a_run_without_secret_noise_is_written_down_at_the_site(
    world: World, words: dict[str, str]
) -> None:
    world.run(config_text(**words))
    ledger = LastingLedger.open(world.sites["north"].state / "lasting.ledger")
    assert [row.kind for row in ledger.rows()] == ["open", "unprotected"]
    ledger.close()
