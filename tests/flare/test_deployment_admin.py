# SPDX-License-Identifier: Apache-2.0
"""Messages to FLARE: jobs, the administrator's commands, and ends of workers."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobProcessArgs, JobReturnCode
from nvflare.apis.workspace import Workspace
from nvflare.app_common.job_launcher.process_launcher import ProcessHandle
from nvflare.app_common.storages.filesystem_storage import FilesystemStorage
from nvflare.fuel.flare_api import flare_api
from nvflare.fuel.flare_api.api_spec import (
    AuthorizationError,
    ClientInfo,
    InternalError,
    NoConnection,
)

from lexfed.errors import RunFolderError
from lexfed.federation.flare.jobs import admin_session
from lexfed.federation.flare.jobs.admin_session import AdminSession, JobPart, write_job
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.launcher import TolerantHandle, TolerantLauncher
from support.deployed.worlds import World

JOB = "6e1744c6-4df4-45a0-ab60-c3083366327c"


@dataclass
class Session:
    """FLARE's session with an administrator, as far as `AdminSession` uses it."""

    status: str = "RUNNING"
    abort: Callable[[str], str] = lambda _: "ended"
    closed: bool = False
    asked: list[str] = field(default_factory=list)

    def get_connected_client_list(self) -> list[ClientInfo]:
        sys.stdout.write("FLARE says much")
        return [ClientInfo("north", 0.0), ClientInfo("south", 0.0)]

    def submit_job(self, path: str) -> str:
        self.asked.append(path)
        return JOB

    def get_job_meta(self, job: str) -> dict[str, str]:
        self.asked.append(job)
        return {"status": self.status}

    def list_jobs(self) -> list[dict[str, str]]:
        states = {"a": "RUNNING", "b": "FINISHED:COMPLETED", "c": "DISPATCHED"}
        found = [
            {"job_id": job, "job_name": "lexfed-small", "status": status}
            for job, status in states.items()
        ]
        return [*found, {"job_id": "d", "job_name": "other", "status": "RUNNING"}]

    def abort_job(self, job: str) -> str:
        return self.abort(job)

    def close(self) -> None:
        self.closed = True
        raise ConnectionError


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return World.make(tmp_path).coordinator


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    # The rules for TLS would stay in force in the process of the tests.
    monkeypatch.setattr(admin_session, "enforce", lambda _: None)
    monkeypatch.setattr(flare_api, "new_secure_session", lambda *_, **__: made)
    return made


def test_an_administrator_asks_and_flare_is_silent(
    kit: Kit, session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with AdminSession(kit) as admin:
        assert admin.sites() == {"north", "south"}
        assert admin.submit(tmp_path) == JOB
        assert not admin.over(JOB)
        session.status = "FINISHED:ABNORMAL"
        assert admin.over(JOB)
        assert admin.unfinished("lexfed-small") == ("a", "c")
        admin.end(JOB)
    assert session.closed
    assert session.asked == [str(tmp_path), JOB, JOB]
    assert capsys.readouterr() == ("", "")


def test_a_coordinator_that_does_not_answer_is_named(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> Session:
        raise NoConnection("cannot connect to server")

    monkeypatch.setattr(admin_session, "enforce", lambda _: None)
    monkeypatch.setattr(flare_api, "new_secure_session", gone)
    with pytest.raises(RunFolderError, match="does not answer at localhost") as caught:
        AdminSession(kit)
    assert "lexfed coordinator start" in caught.value.hint


def test_what_flare_refuses_is_told_apart(kit: Kit, session: Session) -> None:
    session.abort = raising(AuthorizationError("not allowed"))
    with (
        AdminSession(kit) as admin,
        pytest.raises(RunFolderError, match="FLARE refused"),
    ):
        admin.end(JOB)


def raising(error: Exception) -> Callable[[str], str]:
    def abort(_: str) -> str:
        raise error

    return abort


def test_a_job_that_no_process_works_on_is_forgotten(
    kit: Kit, session: Session
) -> None:
    root = kit.flare_folder / "storage"
    root.mkdir(parents=True)
    store = FilesystemStorage(str(root), "/")
    store.create_object(f"jobs/{JOB}", b"", {"status": "RUNNING", "name": "x"})
    session.abort = raising(InternalError("is not running"))
    with AdminSession(kit) as admin:
        admin.end(JOB)
    kept = store.get_meta(f"jobs/{JOB}")
    assert kept == {"status": "FINISHED:ABANDONED", "name": "x"}


def test_a_job_is_not_forgotten_while_the_coordinator_is_away(
    kit: Kit, session: Session
) -> None:
    session.abort = raising(NoConnection("gone"))
    with (
        AdminSession(kit) as admin,
        pytest.raises(RunFolderError, match="does not answer"),
    ):
        admin.end(JOB)


def test_a_site_starts_a_worker_under_our_rules(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in kit.environment().items():
        monkeypatch.setenv(name, value)
    for folder in ("startup", "local"):
        (tmp_path / folder).mkdir()
    context = FLContext()
    workspace = Workspace(str(tmp_path), "north")
    context.set_prop(FLContextKey.WORKSPACE_OBJECT, workspace, sticky=False)
    arguments = {
        JobProcessArgs.EXE_MODULE: (
            "-m",
            "nvflare.private.fed.app.client.worker_process",
        ),
        JobProcessArgs.JOB_ID: ("-n", JOB),
    }
    context.set_prop(FLContextKey.JOB_PROCESS_ARGS, arguments, sticky=False)
    verdict = tmp_path / JOB / "_process_rc.txt"
    handle = TolerantLauncher().launch_job({"job_id": JOB}, context)
    handle.wait()  # it is not told what to do, so it ends at once
    assert handle.poll() == JobReturnCode.UNKNOWN
    assert not verdict.exists()


# FLARE's own ends


def ended(*command: str, kill: bool = False) -> ProcessHandle:
    process = subprocess.Popen([sys.executable, "-c", *command])
    if kill:
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    return ProcessHandle(process=process)


@pytest.mark.parametrize("code", [1, 3, 9, 101, 102, 103, 104])
def test_no_exit_code_of_a_worker_is_reported_as_a_failure(
    tmp_path: Path, code: int
) -> None:
    verdict = tmp_path / "rc"
    verdict.write_text(str(code))
    own = ended(f"raise SystemExit({code})")
    tolerant = TolerantHandle(own, verdict)
    tolerant.wait()
    assert own.poll() != JobReturnCode.UNKNOWN  # what FLARE would report
    assert tolerant.poll() == JobReturnCode.UNKNOWN
    assert not verdict.exists()


def test_a_worker_that_is_killed_is_not_reported_as_a_failure(tmp_path: Path) -> None:
    own = ended("input()", kill=True)
    assert own.poll() == JobReturnCode.EXECUTION_ERROR
    tolerant = TolerantHandle(own, tmp_path / "rc")
    assert tolerant.poll() == JobReturnCode.UNKNOWN
    tolerant.terminate()


def test_a_worker_that_ends_well_is_reported_so(tmp_path: Path) -> None:
    tolerant = TolerantHandle(ended("pass"), tmp_path / "rc")
    assert tolerant.poll() == JobReturnCode.SUCCESS


def test_a_job_brings_names_of_classes_and_nothing_else(tmp_path: Path) -> None:
    job = write_job(
        tmp_path,
        "lexfed-small",
        2,
        JobPart("lexfed.A", {"run": "small"}),
        JobPart("B", {}),
    )
    files = {str(p.relative_to(job)) for p in job.rglob("*") if p.is_file()}
    assert files == {
        "meta.json",
        "app/config/config_fed_server.json",
        "app/config/config_fed_client.json",
    }
    assert json.loads((job / "meta.json").read_text())["min_clients"] == 2
    config = json.loads((job / "app/config/config_fed_client.json").read_text())
    [executor] = config["executors"]
    assert executor["executor"] == {"path": "B", "args": {}}
