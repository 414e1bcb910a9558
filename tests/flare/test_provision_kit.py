# SPDX-License-Identifier: Apache-2.0
"""Kits, enrolments and rosters: what people exchange before anything runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.errors import ConfigError, RunFolderError
from lexfed.federation.flare.kit.enrolment import (
    DeploymentRoster,
    Enrolment,
    enrol,
    install_roster,
    read_roster,
    write_roster,
)
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit, kit_text

PIN = "ab" * 32
SITES = ("north", "south")


def make(folder: Path, name: str, project: str = "trial", pin: str = PIN) -> Kit:
    """Write a kit without FLARE's part."""
    role = "coordinator" if name == COORDINATOR else "site"
    kit = Kit(folder / name, project, role, name, "c.example.org", 8002, pin, SITES)  # type: ignore[arg-type]
    kit.folder.mkdir(mode=0o700)
    (kit.folder / "kit.toml").write_text(kit_text(kit))
    return Kit.read(kit.folder)


@pytest.fixture
def kits(tmp_path: Path) -> dict[str, Kit]:
    """Everybody's kit, each with its key."""
    made = {name: make(tmp_path, name) for name in (COORDINATOR, *SITES)}
    for kit in made.values():
        enrol(kit)
    return made


def enrolments(kits: dict[str, Kit]) -> list[Path]:
    return [kits[name].enrolment for name in SITES]


# A kit


def test_a_kit_is_what_was_written(tmp_path: Path) -> None:
    kit = make(tmp_path, "north")
    assert (kit.project, kit.role, kit.name) == ("trial", "site", "north")
    assert (kit.address, kit.pin, kit.sites) == ("c.example.org:8002", PIN, SITES)
    assert kit.folder == tmp_path / "north"
    assert kit.data is None
    assert kit.identity_key == kit.folder / "identity.pem"
    assert kit.roster == kit.folder / "roster.json"
    assert kit.flare_folder == kit.folder / "flare"
    assert kit.state == kit.folder / "state"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('role = "site"', 'role = "coordinator"', "of different parties"),
        ('name = "north"', 'name = "east"', "is not among `sites`"),
        ('name = "north"', 'name = "../north"', "`name`"),
        ("port = 8002", "port = 0", "`port`"),
        ("port = 8002", 'port = "8002"', "`port`"),
        ("port = 8002", "port =", "invalid value"),
        (PIN, "none", "`pin`"),
        ("version = 1", "version = 2", "`version`"),
        ("version = 1", "version = 1\ntls = 1.2", "`tls`"),
        ("c.example.org", "c.example.org/x", "`host`"),
    ],
)
def test_a_damaged_kit_is_named(tmp_path: Path, old: str, new: str, word: str) -> None:
    path = make(tmp_path, "north").folder / "kit.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(RunFolderError, match=r"kit\.toml") as raised:
        Kit.read(path.parent)
    assert word in raised.value.message
    assert "restore it" in raised.value.hint


def test_a_folder_without_a_kit(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a kit") as raised:
        Kit.read(tmp_path)
    assert "`lexfed deploy init` makes kits" in raised.value.hint


def test_a_process_finds_the_kit_it_was_started_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LEXFED_KIT", "LEXFED_DATA"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RunFolderError, match="not started for a kit"):
        Kit.of_process()
    kit = make(tmp_path, "north")
    for name, value in kit.environment().items():
        monkeypatch.setenv(name, value)
    assert Kit.of_process() == kit
    with_data = replace(kit, data=tmp_path / "north.csv")
    for name, value in with_data.environment().items():
        monkeypatch.setenv(name, value)
    assert Kit.of_process() == with_data


# Enrolling


def test_a_key_is_made_once(tmp_path: Path) -> None:
    kit = make(tmp_path, "north")
    first = enrol(kit)
    assert kit.identity_key.stat().st_mode & 0o777 == 0o600
    assert enrol(kit) == first
    assert Enrolment.read(kit.enrolment) == first


def test_a_key_goes_with_its_site_into_a_new_deployment(
    tmp_path: Path, kits: dict[str, Kit]
) -> None:
    (tmp_path / "next").mkdir()
    new = make(tmp_path / "next", "north", project="again", pin="cd" * 32)
    for name in ("identity.pem", "identity.pub.pem"):
        shutil.copy(kits["north"].folder / name, new.folder / name)
    before, after = Enrolment.read(kits["north"].enrolment), enrol(new)
    assert after.key == before.key
    assert (after.project, after.pin) == ("again", "cd" * 32)


@pytest.mark.parametrize("field", ["project", "name", "pin", "public", "proof"])
def test_an_enrolment_is_signed_whole(kits: dict[str, Kit], field: str) -> None:
    said = json.loads(kits["north"].enrolment.read_bytes())
    other = json.loads(kits["south"].enrolment.read_bytes())
    changed = other[field] if other[field] != said[field] else "cd" * 32
    kits["north"].enrolment.write_text(json.dumps({**said, field: changed}))
    with pytest.raises(ConfigError, match="is not signed by the key it names"):
        Enrolment.read(kits["north"].enrolment)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"version":1}'])
def test_what_is_no_enrolment(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "enrolment.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not an enrolment"):
        Enrolment.read(path)
    with pytest.raises(ConfigError, match="no such file"):
        Enrolment.read(tmp_path / "none.json")


# The roster


def test_everybody_gets_the_same_roster(kits: dict[str, Kit]) -> None:
    roster = write_roster(kits[COORDINATOR], enrolments(kits))
    for name in SITES:
        taken = install_roster(kits[name], kits[COORDINATOR].roster)
        assert taken.fingerprint == roster.fingerprint
        assert kits[name].roster.read_bytes() == kits[COORDINATOR].roster.read_bytes()
        assert read_roster(kits[name]) == roster
    assert set(roster.keys) == {COORDINATOR, *SITES}


def test_different_keys_have_different_fingerprints(kits: dict[str, Kit]) -> None:
    before = write_roster(kits[COORDINATOR], enrolments(kits))
    kits["north"].identity_key.unlink()
    (kits["north"].folder / "identity.pub.pem").unlink()
    enrol(kits["north"])
    kits[COORDINATOR].roster.unlink()
    after = write_roster(kits[COORDINATOR], enrolments(kits))
    assert before.fingerprint != after.fingerprint


def test_a_roster_is_not_replaced(kits: dict[str, Kit]) -> None:
    write_roster(kits[COORDINATOR], enrolments(kits))
    write_roster(kits[COORDINATOR], enrolments(kits))  # the same again is nothing new
    kits[COORDINATOR].roster.write_bytes(b"{}")
    with pytest.raises(RunFolderError, match="has other keys"):
        write_roster(kits[COORDINATOR], enrolments(kits))


def test_a_swapped_key_is_noticed_by_its_owner(kits: dict[str, Kit]) -> None:
    """The coordinator enrols a key of its own in the name of a site."""
    write_roster(kits[COORDINATOR], enrolments(kits))
    kits["north"].identity_key.unlink()
    (kits["north"].folder / "identity.pub.pem").unlink()
    enrol(kits["north"])
    with pytest.raises(ConfigError, match="another key for `north` than this kit"):
        install_roster(kits["north"], kits[COORDINATOR].roster)
    assert not kits["north"].roster.exists()
    # Others cannot tell by themselves: that is what the telephone is for.
    install_roster(kits["south"], kits[COORDINATOR].roster)


def swap(tmp_path: Path, kits: dict[str, Kit], **other: str) -> list[Path]:
    (tmp_path / "elsewhere").mkdir()
    strange = make(tmp_path / "elsewhere", "north", **other)
    enrol(strange)
    return [strange.enrolment, kits["south"].enrolment]


def test_what_does_not_fit_is_listed(tmp_path: Path, kits: dict[str, Kit]) -> None:
    here = kits[COORDINATOR]
    with pytest.raises(ConfigError, match="`south` is missing"):
        write_roster(here, [kits["north"].enrolment])
    with pytest.raises(ConfigError, match="`north` is there twice"):
        write_roster(here, [*enrolments(kits), kits["north"].enrolment])
    with pytest.raises(ConfigError, match="pins another certificate"):
        write_roster(here, swap(tmp_path, kits, pin="cd" * 32))
    with pytest.raises(ConfigError, match="not an enrolment"):
        write_roster(here, [*enrolments(kits), here.folder / "kit.toml"])
    with pytest.raises(RunFolderError, match="is the kit of a site"):
        write_roster(kits["north"], enrolments(kits))
    assert not here.roster.exists()


def test_an_enrolment_of_another_project(tmp_path: Path, kits: dict[str, Kit]) -> None:
    with pytest.raises(ConfigError, match="is for project `other`"):
        write_roster(kits[COORDINATOR], swap(tmp_path, kits, project="other"))


def test_strangers_and_shared_keys(kits: dict[str, Kit]) -> None:
    parties = [Enrolment.of(kit) for kit in kits.values()]
    stranger = parties[1].model_copy(update={"name": "east"})
    with pytest.raises(ConfigError, match="of a site that the project does not name"):
        DeploymentRoster.of(kits["north"], [*parties, stranger])
    twin = parties[1].model_copy(update={"name": "south"})
    with pytest.raises(ConfigError, match="two parties have the same key"):
        DeploymentRoster.of(kits["north"], [parties[0], parties[1], twin])


def test_a_roster_with_a_false_proof(kits: dict[str, Kit]) -> None:
    write_roster(kits[COORDINATOR], enrolments(kits))
    said = json.loads(kits[COORDINATOR].roster.read_bytes())
    said["parties"][1]["proof"] = said["parties"][0]["proof"]
    kits[COORDINATOR].roster.write_text(json.dumps(said))
    with pytest.raises(ConfigError, match="is not signed by the key it names"):
        install_roster(kits["south"], kits[COORDINATOR].roster)
    kits[COORDINATOR].roster.write_text("{}")
    with pytest.raises(ConfigError, match="not a roster"):
        install_roster(kits["south"], kits[COORDINATOR].roster)
