# SPDX-License-Identifier: Apache-2.0
"""A coordinator that lies cannot have a site's FLARE read files or load settings."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from nvflare.private.fed.client.admin_commands import AdminCommands
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

from lexfed.errors import ConfigError
from lexfed.federation.flare.hardening import limits
from lexfed.federation.flare.kit.folder import COORDINATOR
from support.deployed.deployments import deployment
from support.deployed.federations import PATIENCE_S, Federation
from support.deployed.worlds import write_data

LYING_COORDINATOR = """
import json, os, sys, threading, time

def ask():
    name = "nvflare.private.fed.server.admin"
    while not hasattr(sys.modules.get(name), "FedAdminServer"):
        time.sleep(0.01)
    kind, made = sys.modules[name].FedAdminServer, []
    begin = kind.__init__
    def noted(self, *words, **more):
        begin(self, *words, **more)
        made.append(self)
    kind.__init__ = noted
    while not made or len(made[0].clients) < 2:
        time.sleep(0.2)
    from nvflare.private.admin_defs import Message
    # Without the header that asks the site for its permission.
    said = Message(topic="sys.shell", body="head -n 3 " + os.environ["TABLE"])
    asked = {token: said for token in made[0].clients}
    got = made[0].send_requests_and_get_reply_dict(asked, timeout_secs=20.0)
    names = {token: client.name for token, client in made[0].clients.items()}
    answers = {names[token]: str(reply.body) for token, reply in got.items()}
    with open(os.environ["ANSWERS"] + ".part", "w") as file:
        json.dump(answers, file)
    os.replace(os.environ["ANSWERS"] + ".part", os.environ["ANSWERS"])

if "coordinator" in sys.orig_argv:
    threading.Thread(target=ask, daemon=True).start()
"""

CARELESS_SITE = """
import lexfed.federation.flare.hardening.limits
lexfed.federation.flare.hardening.limits.limit_commands = lambda: None
"""


def kinds(found: list[object]) -> set[str]:
    return {type(one).__name__ for one in found}


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """FLARE's own commands, for one test."""
    own = ClientRequestProcessors.request_processors
    monkeypatch.setattr(ClientRequestProcessors, "request_processors", list(own))
    monkeypatch.setattr(AdminCommands, "commands", list(AdminCommands.commands))


@pytest.mark.usefixtures("whole")
def test_only_commands_of_jobs_are_left() -> None:
    before = kinds(ClientRequestProcessors.request_processors)
    assert {"ShellCommandProcessor", "ConfigureSiteLogProcessor"} <= before
    assert "ConfigureJobLogCommand" in kinds(AdminCommands.commands)
    limits.limit_commands()
    assert kinds(ClientRequestProcessors.request_processors) == limits.PARENT
    assert kinds(AdminCommands.commands) == limits.WORKER


@pytest.mark.usefixtures("whole")
def test_a_flare_with_other_commands_is_refused() -> None:
    del AdminCommands.commands[1]
    with pytest.raises(ConfigError, match="commands that lexfed knows"):
        limits.limit_commands()


@pytest.mark.slow
def test_a_lying_coordinator_reads_no_file(tmp_path: Path) -> None:
    """The careless site, whose commands were left, is the negative control."""
    kits = deployment(tmp_path / "trial", ["careful", "careless"])
    table, answers = tmp_path / "table.csv", tmp_path / "answers.json"
    write_data(table, seed=5)
    kits = {
        name: kit if name == COORDINATOR else replace(kit, data=table)
        for name, kit in kits.items()
    }
    made = Federation(tmp_path, kits)
    try:
        for name, code in (
            ("careful", ""),
            ("careless", CARELESS_SITE),
            (COORDINATOR, LYING_COORDINATOR),
        ):
            folder = tmp_path / f"started with {name}"
            folder.mkdir()
            (folder / "sitecustomize.py").write_text(code)
            made.environment = {
                "XDG_STATE_HOME": str(tmp_path / "state"),
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(folder),
                "TABLE": str(table),
                "ANSWERS": str(answers),
            }
            made.start(name)
        end = time.monotonic() + PATIENCE_S
        while not answers.exists():
            assert time.monotonic() < end, "nobody answered"
            time.sleep(0.1)
    finally:
        made.stop()
    said = json.loads(answers.read_text())
    header = table.read_text().splitlines()[0]
    assert header in said["careless"]
    assert said["careful"] == "invalid_request"
