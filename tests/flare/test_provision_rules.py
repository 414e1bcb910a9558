# SPDX-License-Identifier: Apache-2.0
"""The rules for TLS once they are in force in a process, and the lock of a kit."""

import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nvflare.apis.workspace import Workspace
from nvflare.fuel.f3.drivers import aio_tcp_driver, net_utils, tcp_driver
from nvflare.fuel.f3.drivers.driver_manager import DriverManager
from nvflare.fuel.utils import config_service
from nvflare.fuel.utils.config_factory import ConfigFactory

from lexfed.errors import RunFolderError
from lexfed.federation.flare.hardening import tls13
from lexfed.federation.flare.hardening.limits import confine
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.process import is_running, take
from lexfed.federation.flare.storage import KitStorage
from support.deployed.deployments import deployment


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kit]:
    folder = tmp_path_factory.mktemp("deployment") / "trial"
    return deployment(folder, ["north", "south"])


@pytest.fixture
def in_force(kits: dict[str, Kit], monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A site's rules in this process, for one test."""
    for module in (net_utils, tcp_driver, aio_tcp_driver):
        monkeypatch.setattr(module, "get_ssl_context", module.get_ssl_context)
    found = DriverManager.find_driver_class
    monkeypatch.setattr(DriverManager, "find_driver_class", found)
    tls13.enforce(kits["north"])
    return kits["north"]


def params(kit: Kit, **more: str) -> dict[str, Any]:
    start = kit.flare_folder / "startup"
    return {
        "ca_cert": str(start / "rootCA.pem"),
        "client_cert": str(start / "client.crt"),
        "client_key": str(start / "client.key"),
        **more,
    }


@pytest.mark.parametrize("module", [net_utils, tcp_driver, aio_tcp_driver])
@pytest.mark.parametrize("security", ["mtls", "tls", "clear"])
def test_every_driver_gets_our_context(
    in_force: Kit, module: Any, security: str
) -> None:
    """Also where settings ask for less: in clear, or without certificates."""
    said = params(in_force, scheme="http", connection_security=security)
    for accepting in (True, False):
        context = module.get_ssl_context(said, ssl_server=accepting)
        assert context.minimum_version == ssl.TLSVersion.TLSv1_3
        assert context.verify_mode == ssl.CERT_REQUIRED


def test_flare_itself_would_speak_in_clear(kits: dict[str, Kit]) -> None:
    assert net_utils.get_ssl_context(params(kits["north"], scheme="http"), True) is None


@pytest.mark.parametrize("missing", ["ca_cert", "client_cert", "client_key"])
def test_no_connection_without_certificates(in_force: Kit, missing: str) -> None:
    said = params(in_force)
    del said[missing]
    for accepting in (True, False):
        with pytest.raises(RunFolderError, match="a connection without certificates"):
            net_utils.get_ssl_context(said, accepting)


def drivers() -> DriverManager:
    """The manager that finds the driver of a transport, with all that FLARE has."""
    manager = DriverManager()
    manager.search_folder(
        str(Path(net_utils.__file__).parent), "nvflare.fuel.f3.drivers"
    )
    return manager


def test_only_transports_with_our_context(
    kits: dict[str, Kit], in_force: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = drivers()
    for scheme in ("http", "https", "unix", "https://x:1"):
        assert manager.find_driver_class(scheme) is not None, scheme
    for scheme in ("grpc", "grpcs", "agrpc", "tcp", "stcp", "file", "GRPC://x:1"):
        assert manager.find_driver_class(scheme) is None, scheme
    monkeypatch.undo()
    assert manager.find_driver_class("grpc") is not None  # else nothing is shown


def test_one_process_at_a_time(kits: dict[str, Kit]) -> None:
    kit = kits["north"]
    assert not is_running(kit)
    lock = take(kit)
    assert is_running(kit)
    with pytest.raises(RunFolderError, match="is in use"):
        take(kit)
    lock.close()
    assert not is_running(kit)


def test_a_lock_ends_with_its_process(kits: dict[str, Kit]) -> None:
    kit = kits["south"]
    held = (
        "import sys; from pathlib import Path\n"
        "from lexfed.federation.flare.kit.folder import Kit\n"
        "from lexfed.federation.flare.process import take\n"
        "held = take(Kit.read(Path(sys.argv[1]))); print('held', flush=True)\n"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", held, str(kit.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_running(kit)
    finally:
        process.kill()
        process.communicate(timeout=30)
    assert not is_running(kit)


def test_jobs_are_kept_in_the_kit(
    kits: dict[str, Kit], monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = kits[COORDINATOR]
    for name, value in kit.environment().items():
        monkeypatch.setenv(name, value)
    store = KitStorage("jobs")
    store.create_object("jobs/1", b"content", {})
    assert (kit.flare_folder / "storage/jobs/1/data").read_bytes() == b"content"
    assert store.list_objects("jobs") == [str(Path("jobs/1"))]


# Where settings are looked for


@pytest.fixture
def job(kits: dict[str, Kit], tmp_path: Path) -> Kit:
    """A kit in which a job has brought settings of its own."""
    shutil.copytree(kits["north"].folder, tmp_path / "north")
    kit = Kit.read(tmp_path / "north")
    config = kit.flare_folder / "0job" / "app_north" / "config"
    config.mkdir(parents=True)
    for name in ("comm_config.json", "resources.json", "other.json"):
        (config / name).write_text('{"comm_driver_path": "evil"}')
    return kit


@pytest.fixture
def confining(job: Kit, monkeypatch: pytest.MonkeyPatch) -> Kit:
    search = ConfigFactory.search_config_format
    monkeypatch.setattr(ConfigFactory, "search_config_format", staticmethod(search))
    monkeypatch.setattr(config_service, "search_file", config_service.search_file)
    check = staticmethod(Workspace._check_job_id)
    monkeypatch.setattr(Workspace, "_check_job_id", check)
    confine(job)
    return job


def found(kit: Kit, name: str, *below: str) -> tuple[str | None, str | None]:
    """Return the places of a file by FLARE's two searches, in the workspace."""
    folders = [str(kit.flare_folder.joinpath(*below))]
    one = ConfigFactory.search_config_format(name, folders)[1]
    two = config_service.search_file(name, folders)
    first, second = (
        None if path is None else str(Path(path).relative_to(kit.flare_folder))
        for path in (one, two)
    )
    return first, second


OWN = "local/comm_config.json"
BROUGHT = "0job/app_north/config/comm_config.json"


def test_settings_come_from_the_kit(confining: Kit) -> None:
    assert found(confining, "comm_config.json") == (OWN, OWN)
    assert found(confining, "comm_config.json", "0job") == (OWN, OWN)
    (confining.folder / "flare" / OWN).unlink()
    assert found(confining, "comm_config.json") == (None, None)
    assert found(confining, "comm_config.json", "0job") == (None, None)


def test_nothing_is_looked_for_everywhere(confining: Kit) -> None:
    assert found(confining, "other.json") == (None, None)
    assert found(confining, "other.json", "..") == (None, None)
    # A job's own files are found where they are asked for.
    path = "0job/app_north/config/other.json"
    assert found(confining, "other.json", "0job") == (path, path)


def test_flare_itself_would_find_what_a_job_brought(job: Kit) -> None:
    (job.folder / "flare" / OWN).unlink()
    assert found(job, "comm_config.json") == (BROUGHT, BROUGHT)


NUMBER = "0f5bd2d9-6a39-4a3c-9a3e-0b1f3f3c2a11"


@pytest.mark.parametrize(
    "name", ["local", "startup", "storage", "log.txt", "", None, 1]
)
def test_a_job_takes_no_other_folders_place(confining: Kit, name: Any) -> None:
    """FLARE deletes what is where a job will be."""
    workspace = Workspace(str(confining.flare_folder), "north")
    assert workspace.get_run_dir(NUMBER) == str(confining.flare_folder / NUMBER)
    with pytest.raises(ValueError, match="a job has a UUID for a name"):
        workspace.get_run_dir(name)


def test_flare_itself_would_delete_its_settings(job: Kit) -> None:
    workspace = Workspace(str(job.flare_folder), "north")
    assert workspace.get_run_dir("local") == str(job.flare_folder / "local")
