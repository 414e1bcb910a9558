# SPDX-License-Identifier: Apache-2.0
"""Deployments from the command line: from nothing to processes that run."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lexfed.cli.commands import deploy
from lexfed.cli.progress import INTERRUPTED
from lexfed.federation.flare import startup_check
from lexfed.federation.flare.jobs import admin_session
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.process import take
from lexfed.federation.flare.startup_check import SOON
from lexfed.run.deployed.coordinator import job_submission
from support.deployed.deployments import (
    LEXFED,
    deployment,
    free_port,
    logged,
    running,
    until,
)
from support.deployed.worlds import SITES, config_text, write_data

Lexfed = Callable[..., Any]


@pytest.fixture
def project(lexfed: Lexfed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kits of a coordinator and two sites in `trial`."""
    monkeypatch.chdir(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    sites = ("--site", "north", "--site", "south")
    said = lexfed("deploy", "init", "trial", "--coordinator", address, *sites)
    assert said.code == 0, said.err
    return tmp_path


@pytest.fixture
def enrolled(lexfed: Lexfed, project: Path) -> Path:
    """The same, with the roster in every kit."""
    for name in ("north", "south"):
        assert lexfed("site", "enrol", f"trial/{name}").code == 0
    paths = [f"trial/{name}/enrolment.json" for name in ("north", "south")]
    assert lexfed("deploy", "roster", "trial/coordinator", *paths).code == 0
    for name in ("north", "south"):
        roster = "trial/coordinator/roster.json"
        assert lexfed("site", "roster", f"trial/{name}", roster).code == 0
    return project


def test_init_says_who_does_what(lexfed: Lexfed, project: Path) -> None:
    kit = Kit.read(project / "trial/coordinator")
    sites = ("--site", "a", "--site", "b")
    said = lexfed("deploy", "init", "other", "--coordinator", "x.org:80", *sites)
    assert re.fullmatch(r"[0-9a-f]{64}\n", said.out)
    assert said.out.strip() != kit.pin
    assert "made 3 kits in other" in said.err
    assert "other/a: for `a`" in said.err
    assert "`lexfed site enrol KIT`" in said.err
    assert "the certificates are valid until 20" in said.err


def test_init_with_wrong_words(lexfed: Lexfed, project: Path) -> None:
    words = ("deploy", "init", "trial", "--coordinator", "x.org:80", "--site", "a")
    assert "missing argument 'PROJECT'" in lexfed("deploy", "init").err
    assert "missing option '--coordinator'" in lexfed("deploy", "init", "t").err
    assert "missing option '--site'" in lexfed(*words[:5]).err
    said = lexfed(*words)
    assert said.code == 2
    assert "--site: 1 given, at least 2 needed" in said.err
    said = lexfed(*words, "--site", "b")
    assert said.code == 2
    assert "`trial` exists already" in said.err
    said = lexfed("deploy", "init", "n", "--coordinator", "x", "--site", "a b")
    assert "3 problems; nothing was written or spent" in said.err


def test_from_enrolments_to_one_number(lexfed: Lexfed, project: Path) -> None:
    keys = {n: lexfed("site", "enrol", f"trial/{n}").out for n in ("north", "south")}
    assert lexfed("site", "enrol", "trial/north").out == keys["north"]
    paths = [f"trial/{name}/enrolment.json" for name in keys]
    said = lexfed("deploy", "roster", "trial/coordinator", *paths)
    assert said.code == 0
    for name, key in keys.items():
        assert f"{name}        {key}" in said.out
    last = said.out.splitlines()[-1]
    assert re.fullmatch(r"roster      ( [0-9a-f]{4}){16}", last)
    assert "by telephone" in said.err
    for name in keys:
        roster = "trial/coordinator/roster.json"
        taken = lexfed("site", "roster", f"trial/{name}", roster)
        assert taken.out == said.out
        assert "call another site, not the coordinator" in taken.err


def test_kits_that_are_mixed_up(lexfed: Lexfed, enrolled: Path) -> None:
    said = lexfed("site", "enrol", "trial/coordinator")
    assert said.code == 2
    assert "is the kit of the coordinator" in said.err
    said = lexfed("coordinator", "start", "trial/north")
    assert said.code == 2
    assert "is the kit of site `north`" in said.err
    assert "hint: `lexfed site start trial/north --data FILE`" in said.err
    said = lexfed("deploy", "roster", "trial/north", "trial/south/enrolment.json")
    assert "is the kit of a site" in said.err
    for words in (("deploy", "check", "."), ("coordinator", "start", "nowhere")):
        said = lexfed(*words)
        assert said.code == 2
        assert "is not a kit" in said.err
        assert "`lexfed deploy init` makes kits" in said.err


def test_check_says_what_to_do(lexfed: Lexfed, project: Path) -> None:
    said = lexfed("deploy", "check", "trial/north")
    assert said.code == 2
    assert "this kit has no key of its own yet" in said.err
    assert "hint: `lexfed site enrol " in said.err
    resources = project / "trial/north/flare/local/resources.json"
    resources.chmod(0o644)
    resources.write_text(resources.read_text().replace("false", "true"))
    said = lexfed("deploy", "check", "trial/north")
    assert "`chmod 600 " in said.err
    assert "`allow_log_streaming` is true, expected: false" in said.err
    assert "3 problems" in said.err


def test_check_of_a_sound_kit(lexfed: Lexfed, enrolled: Path) -> None:
    said = lexfed("deploy", "check", "trial/north")
    assert (said.code, said.out) == (0, "")
    assert "no problems; `lexfed site start " in said.err
    said = lexfed("deploy", "check", "trial/coordinator")
    assert "no problems; `lexfed coordinator start " in said.err


def test_status_of_kits_that_do_not_run(lexfed: Lexfed, project: Path) -> None:
    said = lexfed("deploy", "status", "trial/north")
    assert said.code == 0
    assert "kit           north, not running" in said.out
    assert "problem       " in said.out
    assert "`lexfed deploy check trial/north` says what to do" in said.err
    said = json.loads(lexfed("deploy", "status", "trial/coordinator", "--json").out)
    assert (said["name"], said["running"], said["sites"]) == (
        "coordinator",
        False,
        None,
    )
    (project / "trial/north/coordinator.crt").write_text("nothing")
    assert "valid until unknown" in lexfed("deploy", "status", "trial/north").out


def test_status_of_a_coordinator_that_does_not_answer_yet(
    lexfed: Lexfed, enrolled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_session, "_LOGIN_S", 0.1)
    held = take(Kit.read(enrolled / "trial/coordinator"))
    try:
        said = lexfed("deploy", "status", "trial/coordinator")
    finally:
        held.close()
    assert said.code == 0, said.err
    assert "kit           coordinator, running" in said.out
    assert "sites         unknown: the coordinator does not answer yet" in said.out


def test_an_interrupted_run_says_how_to_go_on(
    lexfed: Lexfed, enrolled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job_submission, "deploy_run", pressed)
    (enrolled / "lexfed.toml").write_text(config_text(trust="local"))
    run = ("deploy", "run", "lexfed.toml", "--kit", "trial/coordinator")
    said = lexfed(*run)
    assert said.code == INTERRUPTED
    assert f"continue with `lexfed {' '.join(run)} --resume`" in said.err


def test_a_site_needs_its_data(lexfed: Lexfed, enrolled: Path) -> None:
    assert "missing option '--data'" in lexfed("site", "start", "trial/north").err
    said = lexfed("site", "start", "trial/north", "--data", "nowhere.csv")
    assert said.code == 2
    assert "--data: `nowhere.csv` is not a file" in said.err
    said = lexfed("site", "start", "trial/north", "--data", "nowhere-*.csv")
    assert "--data: `nowhere-*.csv` is not a file" in said.err


@pytest.mark.parametrize(
    ("source", "url", "message"),
    [
        ("sql:visits", "", "`LEXFED_DATABASE` is not set"),
        ("sql:visits", "sqlite:///a.db", "the path of the SQLite file is relative"),
        ("sql:a b", "sqlite:////a.db", "expected a table or a view"),
        ("postgresql://u:swordfish@h/d", "", "a URL where a file or a table belongs"),
    ],
)
def test_a_site_names_its_own_database(
    lexfed: Lexfed, enrolled: Path, source: str, url: str, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("LEXFED_DATABASE", url)
    said = lexfed("site", "start", "trial/north", "--data", source)
    assert said.code == 2
    assert message in said.err
    assert "swordfish" not in said.err


def test_a_weak_kit_does_not_start(lexfed: Lexfed, enrolled: Path) -> None:
    (enrolled / "north.csv").write_text("a\n1\n")
    for name in ("north", "coordinator"):
        (enrolled / "trial" / name / "flare/startup").chmod(0o755)
    said = lexfed("site", "start", "trial/north", "--data", "north.csv")
    assert said.code == 2
    assert "other users may use it (mode 755, expected: 700)" in said.err
    assert lexfed("coordinator", "start", "trial/coordinator").code == 2


def test_certificates_that_end_soon(
    lexfed: Lexfed, enrolled: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    kit = Kit.read(enrolled / "trial/north")
    deploy.warn_of_expiry(kit)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(startup_check, "SOON", SOON * 20)
    deploy.warn_of_expiry(kit)
    assert "the certificates of this deployment end on 20" in capsys.readouterr().err


@pytest.mark.slow
def test_a_coordinator_and_a_site_that_run(lexfed: Lexfed, enrolled: Path) -> None:
    (enrolled / "north.csv").write_text("a\n1\n")
    site = ("site", "start", "trial/north", "--data", "north.csv")
    with running("coordinator", "start", "trial/coordinator") as first:
        assert first.stderr is not None
        said = [first.stderr.readline() for _ in range(3)]
        assert "for 2 sites: north, south" in said[0]
        assert said[2] == "ready: waiting for sites\n"
        with running(*site) as second:
            assert second.stderr is not None
            said = [second.stderr.readline() for _ in range(3)]
            assert said[2] == "connected to the coordinator\n"
            assert first.stderr.readline() == "site `north` is here\n"
            # A second process with the same keys would disturb the first.
            again = lexfed(*site)
            assert again.code == 2
            assert "is in use: a process takes part with it already" in again.err
            # In a process of its own, since FLARE leaves threads behind.
            words = [*LEXFED, "deploy", "status", "trial/coordinator"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
            out = done.stdout
            assert "kit           coordinator, running" in out
            assert "site          north: here" in out
            assert "site          south: not here" in out
            second.send_signal(signal.SIGINT)
            until(lambda: second.poll() is not None)
            assert second.returncode == 128 + signal.SIGINT
        first.terminate()
        until(lambda: first.poll() is not None)
    assert "not running" in lexfed("deploy", "status", "trial/coordinator").out
    # What FLARE says stays in the kit, closed to others.
    for name in ("coordinator", "north"):
        for path in (enrolled / "trial" / name / "flare").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path


# A whole run


def consenting(lexfed: Lexfed, folder: Path) -> str:
    """Write data and a configuration, and let all sites agree to it."""
    for seed, name in enumerate(SITES):
        write_data(folder / f"{name}.csv", seed)
    (folder / "lexfed.toml").write_text(config_text(trust="local"))
    said = lexfed("site", "consent", "trial/north", "lexfed.toml")
    assert said.code == 0
    assert "nothing was agreed to" in said.err
    for name in SITES:
        said = lexfed("site", "consent", f"trial/{name}", "lexfed.toml", "--yes")
        assert (said.code, said.err[:3]) == (0, "`" + name[:2])
    return str(said.out)


def test_a_site_agrees_to_what_it_has_read(
    lexfed: Lexfed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    deployment(tmp_path / "trial", SITES)
    assert "the consent is for one run" in consenting(lexfed, tmp_path)
    text = (tmp_path / "lexfed.toml").read_text()
    (tmp_path / "lexfed.toml").write_text(text.replace('"north.csv", ', ""))
    said = lexfed("site", "consent", "trial/north", "lexfed.toml", "--yes")
    assert said.code == 2
    assert "site `north` is not among the sites of this run" in said.err
    said = lexfed("site", "consent", "trial/coordinator", "lexfed.toml")
    assert "is the kit of the coordinator" in said.err


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_a_whole_run_from_the_command_line(
    lexfed: Lexfed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kits = deployment(tmp_path / "trial", SITES)
    consenting(lexfed, tmp_path)
    run = ("deploy", "run", "lexfed.toml", "--kit", "trial/coordinator")
    with ExitStack() as stack:
        stack.enter_context(running("coordinator", "start", "trial/coordinator"))
        until(lambda: logged(kits["coordinator"], "Server started"))
        for name in SITES:
            words = ("site", "start", f"trial/{name}", "--data", f"{name}.csv")
            stack.enter_context(running(*words))
        done = subprocess.run(
            [*LEXFED, *run], capture_output=True, text=True, timeout=300
        )
    assert done.returncode == 0, done.stderr
    assert "Run folder: " in done.stderr
    folder = re.search(r"Run folder: (.+)", done.stderr)
    assert folder is not None
    assert lexfed("verify", folder[1]).code == 0
    # Finished is finished; nothing has to run for that.
    said = lexfed(*run, "--resume")
    assert said.code == 0
    assert "is finished already; nothing was spent" in said.err
    said = lexfed(*run)
    assert said.code == 2
    assert "already contains a run" in said.err


def test_a_run_without_a_coordinator_that_runs(lexfed: Lexfed, enrolled: Path) -> None:
    run = ("deploy", "run", "lexfed.toml")
    assert "missing option '--kit'" in lexfed(*run).err
    said = lexfed(*run, "--kit", "trial/coordinator")
    assert said.code == 2
    assert "lexfed.toml" in said.err
    text = config_text(trust="local", engine="inprocess")
    (enrolled / "lexfed.toml").write_text(text)
    said = lexfed(*run, "--kit", "trial/coordinator")
    assert said.code == 2
    assert 'a deployment needs "flare"' in said.err
    assert re.search(r"lexfed\.toml:\d+: ", said.err)
    (enrolled / "lexfed.toml").write_text(config_text(trust="local"))
    said = lexfed(*run, "--kit", "trial/north")
    assert said.code == 2
    assert "is the kit of a site" in said.err
