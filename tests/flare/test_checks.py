# SPDX-License-Identifier: Apache-2.0
"""A kit that is weaker in anything does not start, and says in what."""

import datetime
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lexfed.errors import ConfigError
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.kit.settings import kit_settings
from lexfed.federation.flare.startup_check import (
    check_kit,
    kit_problems,
    last_day,
)
from support.deployed.deployments import deployment

Make = Callable[[str], Kit]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployment") / "trial"
    deployment(folder, ["north", "south"])
    return folder


@pytest.fixture
def kit_of(originals: Path, tmp_path: Path) -> Make:
    """A copy of somebody's kit, to spoil."""

    def copy(name: str) -> Kit:
        shutil.copytree(originals / name, tmp_path / name)
        return Kit.read(tmp_path / name)

    return copy


def lines(kit: Kit) -> list[str]:
    """Return the problems, without the path of the kit."""
    return [str(p).replace(f"{kit.folder}/", "") for p in kit_problems(kit)]


def edit(path: Path, *keys: str | int, to: Any) -> None:
    """Change one value of a settings file; `...` removes it."""
    content = json.loads(path.read_text())
    at = content
    for key in keys[:-1]:
        at = at[key]
    if to is ...:
        del at[keys[-1]]
    else:
        at[keys[-1]] = to
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", [COORDINATOR, "north"])
def test_a_kit_as_it_was_made_passes(kit_of: Make, name: str) -> None:
    kit = kit_of(name)
    check_kit(kit)
    moved = kit.folder.rename(kit.folder.with_name("elsewhere"))
    check_kit(Kit.read(moved))
    end = last_day(kit_of(name))
    assert end is not None
    assert end > datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=300)


LOCAL = "flare/local"
AUTHORIZATION = f"{LOCAL}/authorization.json"
RESOURCES = f"{LOCAL}/resources.json"
ADMIN = ("permissions", "project_admin")

# Named by what gets weaker: whose kit, the file, the key, its value, what is said.
SETTINGS: dict[str, tuple[str, str, tuple[str | int, ...], Any, str]] = {
    "log streaming on": (
        *("north", RESOURCES, ("allow_log_streaming",), True),
        "`allow_log_streaming` is true, expected: false; logs could leave",
    ),
    "log streaming not said": (
        *("north", RESOURCES, ("allow_log_streaming",), ...),
        "`allow_log_streaming` is absent, expected: false",
    ),
    "log streaming as a number": (
        *("north", RESOURCES, ("allow_log_streaming",), 0),
        "`allow_log_streaming` is 0, expected: false",
    ),
    "log streamer added": (
        *("north", RESOURCES, ("components", 0, "path"), "nvflare.x.SiteLogStreamer"),
        "`components.resource_manager.path` is",
    ),
    "other classes at a site": (
        *("north", RESOURCES, ("class_allow_list",), ["lexfed."]),
        '`class_allow_list` is ["lexfed."], expected: ["lexfed.run.deployed.',
    ),
    "other classes at the coordinator": (
        *(COORDINATOR, RESOURCES, ("class_allow_list",), ["*"]),
        "`class_allow_list` is",
    ),
    "classes only warned about": (
        *("north", RESOURCES, ("class_list_enforcement_mode",), "warn"),
        '"warn", expected: "enforce"; jobs could run any class',
    ),
    "FLARE's own launcher": (
        *("north", RESOURCES, ("components", 2, "path"), "nvflare.x.Launcher"),
        "`components.process_launcher.path` is",
    ),
    "FLARE's own launcher at the coordinator": (
        *(COORDINATOR, RESOURCES, ("components", 3, "path"), "nvflare.x.Launcher"),
        "`components.process_launcher.path` is",
    ),
    "a part left out": (
        *("north", RESOURCES, ("components",), []),
        "`components` is []",
    ),
    "jobs kept in a shared folder": (
        *(COORDINATOR, RESOURCES, ("components", 2, "path"), "nvflare.x.Storage"),
        "jobs would be kept outside the kit",
    ),
    "snapshots kept in a shared folder": (
        COORDINATOR,
        RESOURCES,
        ("snapshot_persistor", "args", "storage", "args", "name"),
        "/shared",
        "jobs would be kept outside the kit",
    ),
    "many jobs at once": (
        *(COORDINATOR, RESOURCES, ("components", 0, "args", "max_jobs"), 4),
        "`components.job_scheduler.args.max_jobs` is 4, expected: 1",
    ),
    "a slow heart beat": (
        *(COORDINATOR, RESOURCES, ("servers", 0, "heart_beat_timeout"), 600),
        "`servers.0.heart_beat_timeout` is 600, expected: 60; a site that is gone",
    ),
    "shell commands at a site": (
        *("north", AUTHORIZATION, (*ADMIN, "shell_commands"), "any"),
        '"any", expected: "none"; an administrator could read files here',
    ),
    "shell commands at the coordinator": (
        *(COORDINATOR, AUTHORIZATION, (*ADMIN, "shell_commands"), "any"),
        "`permissions.project_admin.shell_commands` is",
    ),
    "own code at a site": (
        *("north", AUTHORIZATION, (*ADMIN, "byoc"), "any"),
        "`permissions.project_admin.byoc` is",
    ),
    "own code at the coordinator": (
        *(COORDINATOR, AUTHORIZATION, (*ADMIN, "byoc"), "any"),
        "`permissions.project_admin.byoc` is",
    ),
    "shut down from elsewhere": (
        *("north", AUTHORIZATION, (*ADMIN, "operate"), "any"),
        "`permissions.project_admin.operate` is",
    ),
    "everything for the administrator": (
        *("north", AUTHORIZATION, ADMIN, "any"),
        "`permissions.project_admin` is",
    ),
    "another role with rights": (
        *("north", AUTHORIZATION, ("permissions", "lead", "byoc"), "any"),
        "`permissions.lead.byoc` is",
    ),
    "a new role": (
        *("north", AUTHORIZATION, ("permissions", "friend"), "any"),
        '`permissions.friend` is "any", expected: absent',
    ),
    "no certificate asked for by the coordinator": (
        COORDINATOR,
        "flare/startup/fed_server.json",
        ("servers", 0, "connection_security"),
        "tls",
        "`servers.trial.connection_security` is",
    ),
    "no certificate shown by a site": (
        "north",
        "flare/startup/fed_client.json",
        ("client", "connection_security"),
        "tls",
        "connections without certificates at both ends",
    ),
    "no certificate shown by the administrator": (
        COORDINATOR,
        "admin/startup/fed_admin.json",
        ("admin", "connection_security"),
        "clear",
        "`admin.connection_security` is",
    ),
    "a port between processes": (
        *("north", f"{LOCAL}/comm_config.json", ("internal", "scheme"), "tcp"),
        '`internal.scheme` is "tcp", expected: "unix"; other users of this machine',
    ),
    "ports of its own": (
        *("north", f"{LOCAL}/comm_config.json", ("allow_adhoc_conns",), True),
        "`allow_adhoc_conns` is true, expected: false",
    ),
    "another transport": (
        "north",
        "flare/startup/fed_client.json",
        ("servers", 0, "service", "scheme"),
        "grpc",
        "`servers.trial.service.scheme` is",
    ),
    "another coordinator": (
        "north",
        "flare/startup/fed_client.json",
        ("servers", 0, "service", "target"),
        "evil.example.org:80",
        "`servers.trial.service.target` is",
    ),
    "another root certificate": (
        "north",
        "flare/startup/fed_client.json",
        ("client", "ssl_root_cert"),
        "other.pem",
        "`client.ssl_root_cert` is",
    ),
    "unsigned jobs at a site": (
        *("north", "flare/startup/fed_client.json", ("require_signed_jobs",), False),
        "jobs that nobody signed would run",
    ),
    "unsigned jobs at the coordinator": (
        COORDINATOR,
        "flare/startup/fed_server.json",
        ("require_signed_jobs",),
        False,
        "jobs that nobody signed would run",
    ),
    "logs elsewhere": (
        "north",
        f"{LOCAL}/log_config.json",
        ("handlers", "log", "filename"),
        "/shared/log.txt",
        "`handlers.log.filename` is",
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_a_weaker_setting_is_refused(kit_of: Make, case: str) -> None:
    name, file, keys, value, said = SETTINGS[case]
    kit = kit_of(name)
    edit(kit.folder / file, *keys, to=value)
    [line] = [line for line in lines(kit) if line.startswith(f"{file}: ")]
    assert said in line
    assert all(line.startswith(file) for line in lines(kit))
    with pytest.raises(ConfigError) as raised:
        check_kit(kit)
    assert raised.value.problems[0].hint.startswith("put back what is expected")


def test_every_value_of_every_setting_is_compared(kit_of: Make) -> None:
    """Whatever leaf of whatever file changes, it is noticed."""

    def leaves(value: Any, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
        inner = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        found = [leaf for key, v in inner for leaf in leaves(v, (*path, key))]
        return found or [path]

    for name in (COORDINATOR, "north"):
        kit = kit_of(name)
        for file, expected in kit_settings(kit).items():
            for path in leaves(expected, ()):
                before = (kit.folder / file).read_text()
                edit(kit.folder / file, *path, to="spoilt")
                assert next(kit_problems(kit), None) is not None, (file, path)
                (kit.folder / file).write_text(before)
        assert lines(kit) == []


@pytest.mark.parametrize("content", [None, b"", b"[]", b"\xff"])
def test_a_settings_file_that_is_none(kit_of: Make, content: bytes | None) -> None:
    path = kit_of("north").folder / RESOURCES
    path.unlink()
    if content is not None:
        path.touch(0o600)
        path.write_bytes(content)
    assert len(lines(Kit.read(path.parents[2]))) == 1


# Files that were not made


@pytest.mark.parametrize(
    "path",
    [
        "flare/local/x__resources.json",
        "flare/startup/x__p_resources.json",
        "flare/local/privacy.json",
        "flare/local/job_resources.json",
        "flare/startup/signature.json",
        "flare/local/custom",
    ],
)
def test_a_file_that_flare_would_read(kit_of: Make, path: str) -> None:
    kit = kit_of("north")
    (kit.folder / path).touch(0o600)
    [line] = lines(kit)
    assert line.startswith(f"{path}: not part of the kit")


# Who may read it


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (".", 0o750),
        ("kit.toml", 0o644),
        ("coordinator.crt", 0o660),
        ("identity.pem", 0o640),
        ("roster.json", 0o666),
        ("flare", 0o755),
        ("flare/startup", 0o755),
        ("flare/startup/client.key", 0o644),
        ("flare/local/resources.json", 0o602),
        ("state", 0o770),
    ],
)
def test_open_to_other_users(kit_of: Make, path: str, mode: int) -> None:
    kit = kit_of("north")
    (kit.folder / path).chmod(mode)
    problems = list(kit_problems(kit))
    assert f"{mode:o}" in problems[0].what
    assert "`chmod " in problems[0].hint


def test_a_link_is_no_file(kit_of: Make, tmp_path: Path) -> None:
    kit = kit_of("north")
    key = kit.flare_folder / "startup/client.key"
    key.rename(tmp_path / "client.key")
    key.symlink_to(tmp_path / "client.key")
    assert lines(kit) == ["flare/startup/client.key: a link"]


def test_files_of_somebody_else(kit_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = kit_of("north")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "it belongs to another user" in lines(kit)[0]


def test_a_path_that_flare_cannot_use(originals: Path, tmp_path: Path) -> None:
    shutil.copytree(originals / "north", tmp_path / "my kit")
    [problem] = kit_problems(Kit.read(tmp_path / "my kit"))
    assert "a path with blanks" in problem.what
    assert "move the kit" in problem.hint


# Certificates


def certify(
    path: Path, name: str, begins: int, ends: int, issuer: Path | None = None
) -> None:
    """Put a new certificate and key in place, valid from and to days from now."""
    key = rsa.generate_private_key(65537, 2048)
    signer = key
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    by = subject
    if issuer is not None:
        by = x509.load_pem_x509_certificate(issuer.read_bytes()).subject
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now + datetime.timedelta(days=begins))
        .not_valid_after(now + datetime.timedelta(days=ends))
        .sign(signer, hashes.SHA256())
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    path.with_suffix(".key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


CLIENT = "flare/startup/client.crt"


def test_an_expired_certificate(kit_of: Make) -> None:
    kit = kit_of("north")
    certify(kit.folder / CLIENT, "north", -9, -2)
    assert any("the certificate expired on " in line for line in lines(kit))


def test_a_certificate_of_the_future(kit_of: Make) -> None:
    kit = kit_of("north")
    certify(kit.folder / CLIENT, "north", 2, 9)
    assert any("is valid only from" in line for line in lines(kit))


def test_a_foreign_certificate(kit_of: Make) -> None:
    kit = kit_of("north")
    certify(kit.folder / CLIENT, "north", -2, 9, kit.folder / CLIENT)
    assert lines(kit) == [
        f"{CLIENT}: it is not of this deployment: another root signed it"
    ]


def test_the_certificate_of_another_site(kit_of: Make) -> None:
    kit, other = kit_of("north"), kit_of("south")
    for suffix in (".crt", ".key"):
        path = Path(CLIENT).with_suffix(suffix)
        shutil.copy(other.folder / path, kit.folder / path)
    assert lines(kit) == [f"{CLIENT}: it is of `south`, expected: `north`"]


def test_a_key_that_does_not_fit(kit_of: Make) -> None:
    kit, other = kit_of("north"), kit_of("south")
    key = Path(CLIENT).with_suffix(".key")
    shutil.copy(other.folder / key, kit.folder / key)
    assert lines(kit) == [f"{key}: not the private key of the certificate"]
    (kit.folder / key).write_text("nothing")
    assert lines(kit) == [f"{key}: not the private key of the certificate"]


@pytest.mark.parametrize("path", [CLIENT, "coordinator.crt"])
def test_a_certificate_that_is_none(kit_of: Make, path: str) -> None:
    kit = kit_of("north")
    (kit.folder / path).write_text("nothing")
    assert lines(kit) == [f"{path}: not a certificate"]
    assert last_day(kit) is None


def test_a_changed_pin(kit_of: Make) -> None:
    kit = kit_of("north")
    path = kit.folder / "kit.toml"
    path.write_text(path.read_text().replace(kit.pin, "ab" * 32))
    said = lines(Kit.read(kit.folder))
    assert "coordinator.crt: not the certificate that `kit.toml` is pinned to" in said
    assert any("pins another certificate" in line for line in said)


def test_a_changed_certificate_of_the_coordinator(kit_of: Make) -> None:
    kit, other = kit_of("north"), kit_of("south")
    shutil.copy(other.folder / CLIENT, kit.certificate)
    assert lines(kit) == [
        "coordinator.crt: not the certificate that `kit.toml` is pinned to"
    ]
    coordinator = kit_of(COORDINATOR)
    own = "flare/startup/server.crt"
    shutil.copy(other.folder / CLIENT, coordinator.folder / own)
    assert f"{own}: not the certificate that the sites are pinned to" in lines(
        coordinator
    )


# The own key, and who takes part


def test_a_kit_that_is_not_enrolled(kit_of: Make) -> None:
    kit = kit_of("north")
    kit.roster.unlink()
    assert "nobody has told this kit who takes part" in lines(kit)[0]
    kit.identity_key.unlink()
    [problem] = kit_problems(kit)
    assert "this kit has no key of its own yet" in problem.what
    assert problem.hint == f"`lexfed site enrol {kit.folder}`"
    coordinator = kit_of(COORDINATOR)
    coordinator.identity_key.unlink()
    [problem] = kit_problems(coordinator)
    assert problem.hint.startswith("`lexfed deploy roster ")


def test_a_key_that_the_roster_does_not_have(kit_of: Make) -> None:
    kit, other = kit_of("north"), kit_of("south")
    shutil.copy(other.identity_key, kit.identity_key)
    assert lines(kit) == ["roster.json: it has another key for `north` than this kit"]
    kit.identity_key.write_text("nothing")
    assert "is not an Ed25519 private key" in lines(kit)[0]


def test_another_version_of_flare(
    kit_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = kit_of("north")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "2.10.0")
    assert lines(kit) == ["FLARE 2.10.0 is installed; deployments need 2.9.0"]
