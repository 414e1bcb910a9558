# SPDX-License-Identifier: Apache-2.0
"""Kits as `provision` makes them: closed, complete, and without the root's key."""

import json
import os
import ssl
import stat
from importlib import import_module, metadata
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from lexfed.errors import ConfigError, RunFolderError
from lexfed.federation.flare.hardening import tls13
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.kit.settings import kit_settings
from lexfed.federation.flare.new_kits import provision
from lexfed.federation.flare.process import (
    PROGRAMS,
    command_of,
    environment_of,
    through_here,
)

SITES = ["north", "south"]
ADDRESS = "fl.example.org:8002"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployment") / "trial"
    before = os.umask(0)
    try:
        provision(folder, ADDRESS, SITES)
    finally:
        os.umask(before)
    return folder


def test_everybody_gets_a_kit(project: Path) -> None:
    assert sorted(p.name for p in project.iterdir()) == [COORDINATOR, *SITES]
    for name in (COORDINATOR, *SITES):
        kit = Kit.read(project / name)
        assert (kit.name, kit.project, kit.address) == (name, "trial", ADDRESS)
        assert kit.pin == tls13.fingerprint(kit.certificate)
    coordinator = Kit.read(project / COORDINATOR)
    own = coordinator.flare_folder / "startup/server.crt"
    assert tls13.fingerprint(own) == coordinator.pin
    # Everybody makes their own key, later and elsewhere.
    assert list(project.rglob("identity*")) == []


def test_nobody_else_can_read_a_kit(project: Path) -> None:
    for path in project.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(project.stat().st_mode) == 0o700


def test_the_key_of_the_root_is_gone(project: Path) -> None:
    [root] = {p.read_bytes() for p in project.rglob("rootCA.pem")}
    wanted = x509.load_pem_x509_certificate(root).public_key()
    keys = [p.read_bytes() for p in project.rglob("*.key")]
    assert len(keys) == len(set(keys)) == len(SITES) + 2
    for data in keys:
        key = serialization.load_pem_private_key(data, None)
        assert key.public_key() != wanted
    everything = b"".join(p.read_bytes() for p in project.rglob("*") if p.is_file())
    assert everything.count(b"PRIVATE KEY-----\n") == 2 * len(keys)


def test_settings_are_what_is_written(project: Path) -> None:
    for name in (COORDINATOR, *SITES):
        kit = Kit.read(project / name)
        for path, value in kit_settings(kit).items():
            assert json.loads((kit.folder / path).read_text()) == value
        assert list(kit.folder.rglob("*.sh")) == []
        assert list(kit.folder.rglob("*.default")) == []


def test_a_site_grants_little(project: Path) -> None:
    said = kit_settings(Kit.read(project / "north"))
    rights = said["flare/local/authorization.json"]["permissions"]
    granted = {
        (role, right)
        for role, all_rights in rights.items()
        for right, who in all_rights.items()
        if who != "none"
    }
    assert granted == {
        ("project_admin", "submit_job"),
        ("project_admin", "manage_job"),
        ("project_admin", "view"),
    }


def test_a_job_may_name_one_class(project: Path) -> None:
    """And the class is there, or no job would run."""
    for name in (COORDINATOR, "north"):
        said = kit_settings(Kit.read(project / name))["flare/local/resources.json"]
        assert said["class_list_enforcement_mode"] == "enforce"
        [path] = said["class_allow_list"]
        module, _, name = path.rpartition(".")
        assert isinstance(getattr(import_module(module), name), type)


WRONG = [
    ("two words", ADDRESS, SITES, "project 'two words': not a name"),
    ("trial", "fl.example.org", SITES, "--coordinator: not HOST:PORT"),
    ("trial", "https://fl.example.org:80", SITES, "--coordinator: not HOST:PORT"),
    ("trial", "fl.example.org:port", SITES, "--coordinator: not a port"),
    ("trial", "fl.example.org:70000", SITES, "--coordinator: not a port"),
    ("trial", ADDRESS, ["north"], "--site: 1 given, at least 2 needed"),
    ("trial", ADDRESS, ["north", "a-b"], "--site 'a-b': not a name"),
    ("trial", ADDRESS, ["north", "../x"], "--site '../x': not a name"),
    ("trial", ADDRESS, ["north", "Coordinator"], "has a meaning of its own"),
    ("trial", ADDRESS, ["north", "North"], "--site north: the name is there twice"),
]


@pytest.mark.parametrize(("name", "address", "sites", "said"), WRONG)
def test_wrong_arguments(
    tmp_path: Path, name: str, address: str, sites: list[str], said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        provision(tmp_path / name, address, sites)
    assert said in raised.value.message
    assert list(tmp_path.iterdir()) == []


def test_all_wrong_arguments_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        provision(tmp_path / "a b", "x", ["?", "?"])
    assert len(raised.value.problems) == 5


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "trial").mkdir()
    with pytest.raises(RunFolderError, match="exists already"):
        provision(tmp_path / "trial", ADDRESS, SITES)
    assert list((tmp_path / "trial").iterdir()) == []


def test_nothing_is_left_of_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nvflare.lighter.impl.cert import CertBuilder

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(CertBuilder, "finalize", fail)
    with pytest.raises(RunFolderError, match="could not make the certificates"):
        provision(tmp_path / "trial", ADDRESS, SITES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("found", ["2.8.0", ""])
def test_another_version_of_flare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    def version(_name: str) -> str:
        if not found:
            raise metadata.PackageNotFoundError
        return found

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(RunFolderError, match=r"deployments need 2\.9\.0"):
        provision(tmp_path / "trial", ADDRESS, SITES)


# Processes


def test_every_process_starts_through_ours(project: Path) -> None:
    for kind, program in PROGRAMS.items():
        command = f"python -m {program} -m /kit/flare --set a=b"
        expected = f"python -m lexfed.federation.flare.process {kind} -m /kit/flare"
        assert through_here(command).startswith(expected)
    with pytest.raises(ValueError, match="does not start a program of FLARE"):
        through_here("python -m nvflare.other -m /kit/flare")
    words = command_of(Kit.read(project / "north"))
    assert "secure_train=true" in words
    assert words[1:4] == ["-m", "lexfed.federation.flare.process", "site"]


def test_the_environment_changes_no_setting(project: Path) -> None:
    kit = Kit.read(project / "north")
    said = {"NVFLARE_ALLOW_LOG_STREAMING": "true", "NVFL_JOB_STORE_ROOT": "/x"}
    made = environment_of(kit, {**said, "fl_log_level": "DEBUG", "HOME": "/h"})
    assert made == {
        "HOME": "/h",
        "LEXFED_KIT": str(kit.folder),
        "PYTHONSAFEPATH": "1",
    }


# Contexts


def test_contexts_speak_one_version_only(project: Path) -> None:
    kit = Kit.read(project / "north")
    start = kit.flare_folder / "startup"
    pair = (start / "client.crt", start / "client.key")
    for context in (
        tls13.client_context(kit, *pair),
        tls13.server_context(start / "rootCA.pem", *pair),
    ):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_3
        assert context.maximum_version == ssl.TLSVersion.TLSv1_3
        assert context.verify_mode == ssl.CERT_REQUIRED
    # Exactly two certificates are believed, and the machine's roots are not.
    assert len(tls13.client_context(kit, *pair).get_ca_certs()) <= 2


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "x.crt").write_text("nothing")
    with pytest.raises(RunFolderError, match="is not a certificate"):
        tls13.fingerprint(tmp_path / "x.crt")
