# SPDX-License-Identifier: Apache-2.0
"""Whole runs on FLARE, every party in processes of its own, on this machine."""

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import lexfed
from lexfed.run.deployed.coordinator.run_place import RunPlace
from lexfed.signing.keys import load_key
from support.deployed.federations import Federation, federation
from support.deployed.worlds import MARKER, SITES, config_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

EIGHT = tuple(f"clinic{number}" for number in range(1, 9))
FILES = ("model.safetensors", "state.safetensors", "claim.json", "plan.json")
LOCAL = {"trust": "local"}
DISTRIBUTED = {
    "trust": "distributed",
    "privacy": 'accountant = "rdp"',
    "federation": "dropouts = 1",
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """A deployment of three sites after a run in local trust."""
    with federation(tmp_path_factory.mktemp("three"), SITES) as made:
        made.run(made.agree(config_text(**LOCAL)))
        yield made


def model_of_one_process(folder: Path, text: str) -> Path:
    alone = folder / "alone.toml"
    alone.write_text(text)
    return lexfed.train(alone).folder


def assert_same_release(made: Federation, text: str) -> None:
    alone = model_of_one_process(made.folder, text)
    for name in FILES:
        assert (made.out / name).read_bytes() == (alone / name).read_bytes(), name


def test_three_sites_release_what_one_process_does(three: Federation) -> None:
    assert_same_release(three, config_text(**LOCAL, engine="inprocess"))


def test_every_ledger_holds_what_the_run_charged(three: Federation) -> None:
    for name in three.sites:
        assert three.ledger(name) == three.charges()


def secrets_of(made: Federation) -> dict[str, bytes]:
    """Return the secrets that may be in no file but their own."""
    found = {"a row": MARKER.encode()}
    for name, kit in made.kits.items():
        key = load_key(kit.identity_key)
        found[f"the identity of {name}"] = key.private_bytes_raw()
        for path in kit.folder.glob("*/startup/*.key"):
            # The first line of a key's encoding is the same in all keys.
            lines = path.read_bytes().splitlines()
            found[f"{name}: {path.name}"] = lines[len(lines) // 2]
    return found


def places_of(made: Federation, secret: bytes) -> set[str]:
    everywhere = made.folder / "trial"
    forms = (secret, secret.hex().encode(), base64.b64encode(secret).rstrip(b"="))
    return {
        path.name
        for path in everywhere.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    }


def test_no_file_of_any_kit_holds_a_secret(three: Federation) -> None:
    for what, secret in secrets_of(three).items():
        allowed = {"client.key", "server.key"}
        assert places_of(three, secret) <= allowed, what


def test_secrets_would_be_found_in_a_log(three: Federation) -> None:
    log = three.kits["north"].flare_folder / "log.txt"
    before = log.read_bytes()
    try:
        for what, secret in secrets_of(three).items():
            log.write_bytes(before + secret)
            assert "log.txt" in places_of(three, secret), what
    finally:
        log.write_bytes(before)


def test_a_coordinator_that_forgets_what_was_spent_is_refused(
    three: Federation,
) -> None:
    before = {name: three.ledger(name) for name in three.sites}
    place = RunPlace(three.coordinator, "small")
    kept = three.folder / "kept"
    shutil.copytree(place.folder, kept)
    shutil.rmtree(place.out)
    try:
        with three.running(three.folder / "lexfed.toml") as submitted:
            said = submitted.finish(code=3)
        assert "north" in said
        assert {name: three.ledger(name) for name in three.sites} == before
    finally:
        shutil.rmtree(place.folder)
        shutil.copytree(kept, place.folder)


def test_a_configuration_that_nobody_consented_to_is_refused(
    three: Federation,
) -> None:
    text = config_text(**LOCAL).replace("epsilon = 3.0", "epsilon = 30.0")
    path = three.folder / "greedy.toml"
    path.write_text(text.replace('"small"', '"greedy"'))
    with three.running(path) as submitted:
        said = submitted.finish(code=3)
    for name in three.sites:
        assert f"site `{name}` refuses: its people did not consent" in said
    assert not (three.coordinator.runs / "greedy" / "run").exists()


def test_eight_sites_release_what_one_process_does(tmp_path: Path) -> None:
    def text(engine: str) -> str:
        files = ", ".join(f'"{name}.csv"' for name in EIGHT)
        usual = ", ".join(f'"{name}.csv"' for name in SITES)
        return config_text(**DISTRIBUTED, engine=engine).replace(usual, files)

    with federation(tmp_path, EIGHT) as made:
        made.run(made.agree(text("flare")))
        assert_same_release(made, text("inprocess"))
        for name in EIGHT:
            assert made.ledger(name) == made.charges()
