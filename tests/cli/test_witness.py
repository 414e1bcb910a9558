# SPDX-License-Identifier: Apache-2.0
"""A witness as another organisation runs it, and a run that asks it: real processes."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexfed.signing.keys import Signer, create_key
from support.audit.authority import make_authority
from support.configurations import configuration
from support.loopback import answering, certificate

Lexfed = Callable[..., Any]

COMMAND = [sys.executable, "-c", "from lexfed.cli import main; main()"]
NAME = "witness.example.org/1"
CONFIG = configuration(
    {
        "run.name": "visits",
        "privacy.mechanism": "uniform",
        "audit.origin": "audit.example.org/visits",
        "audit.policy": "trust.policy",
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def witness(lexfed: Lexfed, folder: Path) -> str:
    """A witness in `w` that knows no log yet; its key."""
    return str(lexfed("witness", "init", "w", "--name", NAME).out.strip())


def vkey(folder: Path, name: str = "audit.example.org/other/1") -> str:
    """The key of some log."""
    return Signer(
        name, create_key(folder / "k" / f"{os.urandom(4).hex()}.pem")
    ).verifier.vkey


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`lexfed witness serve` as a process; it and its address, once it listens."""
    process = subprocess.Popen(
        [*COMMAND, "witness", "serve", "w", "--port", "0", *more],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        assert said.startswith("witness of "), said + process.stderr.read()
        yield process, said.split(" at ")[1].split(";")[0]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


# Making one, and telling it about logs


def test_init_prints_the_key_and_says_what_to_do(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("witness", "init", "w", "--name", NAME)
    assert said.code == 0
    assert said.out.startswith(f"{NAME}+")
    assert said.out == (folder / "w/vkey").read_text()
    assert "next: `lexfed witness add w VKEY` for every log" in said.err
    assert (folder / "w/witness.pem").stat().st_mode & 0o777 == 0o600
    again = lexfed("witness", "init", "w", "--name", NAME)
    assert again.code == 2
    assert "a key is never overwritten" in again.err


def test_init_with_no_name(lexfed: Lexfed, folder: Path) -> None:
    assert "missing option '--name'" in lexfed("witness", "init", "w").err
    said = lexfed("witness", "init", "w", "--name", "two words")
    assert said.code == 1
    assert "not a key name" in said.err
    assert not (folder / "w").exists()


def test_add_logs(lexfed: Lexfed, folder: Path, witness: str) -> None:
    first, second, third = (vkey(folder, f"a.example/x/{n}") for n in (1, 2, 3))
    said = lexfed("witness", "add", "w", first)
    assert said.code == 0
    assert (
        said.err == "`a.example/x/1` is witnessed from the next start, or SIGHUP, on\n"
    )
    # A line of `lexfed log key` is as good, and so is a file somebody has edited.
    path = folder / "w/logs"
    path.write_text(path.read_text().rstrip("\n"))
    assert lexfed("witness", "add", "w", f"log {second}").code == 0
    path.write_text("")
    assert lexfed("witness", "add", "w", third).code == 0
    assert path.read_text() == f"log {third}\n"


def test_add_what_is_no_log(lexfed: Lexfed, folder: Path, witness: str) -> None:
    before = (folder / "w/logs").read_text()
    said = lexfed("witness", "add", "w", "audit.example.org")
    assert said.code == 1
    assert "hint: paste what `lexfed log key RUN` prints" in said.err
    said = lexfed("witness", "add", "w", witness)
    assert said.code == 1
    assert f"`{NAME}` is a cosigner's key, not a log's" in said.err
    known = vkey(folder)
    assert lexfed("witness", "add", "w", known).code == 0
    said = lexfed("witness", "add", "w", known)
    assert said.code == 1
    assert "is there twice" in said.err
    for nowhere in ("elsewhere", "k"):
        said = lexfed("witness", "add", nowhere, known)
        assert said.code == 2
        assert f"`{nowhere}` is not the folder of a witness" in said.err
        assert f"hint: make one with `lexfed witness init {nowhere}" in said.err
    assert (folder / "w/logs").read_text() == f"{before}log {known}\n"
    (folder / "w/logs").write_bytes(b"\xff")
    said = lexfed("witness", "add", "w", known)
    assert said.code == 2
    assert "`w/logs` cannot be read" in said.err


def test_a_witness_is_not_its_own_log(
    lexfed: Lexfed, folder: Path, witness: str
) -> None:
    from lexfed.signing.keys import load_key

    own = Signer("audit.example.org/own/1", load_key(folder / "w/witness.pem"))
    said = lexfed("witness", "add", "w", own.verifier.vkey)
    assert said.code == 1
    assert "a witness cannot witness a log with its own key" in said.err


# Serving


def test_serve_with_what_cannot_be(lexfed: Lexfed, folder: Path, witness: str) -> None:
    said = lexfed("witness", "serve", "elsewhere")
    assert said.code == 2
    assert "`elsewhere` is not the folder of a witness" in said.err
    said = lexfed("witness", "serve", "w", "--certificate", "chain.pem")
    assert said.code == 2
    assert "TLS needs both a certificate and its key" in said.err
    said = lexfed(
        "witness", "serve", "w", "--certificate", "c.pem", "--certificate-key", "k.pem"
    )
    assert said.code == 2
    assert "cannot use certificate `c.pem` with key `k.pem`" in said.err
    assert lexfed("witness", "serve", "w", "--port", "70000").code == 2
    with serving(folder) as (_, url):
        port = url.rpartition(":")[2]
        said = lexfed("witness", "serve", "w", "--port", port)
        assert said.code == 2
        lexfed("witness", "init", "w2", "--name", "witness.example.org/2")
        said = lexfed("witness", "serve", "w2", "--port", port)
        assert said.code == 2
        assert f"cannot listen on `127.0.0.1` port {port}" in said.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_until_stopped(
    lexfed: Lexfed, folder: Path, witness: str, number: signal.Signals
) -> None:
    lexfed("witness", "add", "w", vkey(folder))
    with serving(folder) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")
    with serving(folder):
        pass  # the folder was given back


def test_serve_over_tls(folder: Path, witness: str) -> None:
    pair = certificate(folder)
    more = ("--certificate", "server.crt", "--certificate-key", "server.key")
    with serving(folder, *more) as (process, url):
        assert url.startswith("https://127.0.0.1:")
        assert pair.key.exists()
        process.terminate()
        assert process.wait(timeout=30) == 0


# A run and its witness


def verified(lexfed: Lexfed, folder: Path) -> str:
    """Verify as an auditor who trusts the log's key and the witness."""
    key = lexfed("log", "key", "runs/visits").out
    policy = key + (folder / "trust.policy").read_text()
    (folder / "auditor.policy").write_text(policy)
    return str(lexfed("verify", "runs/visits", "--policy", "auditor.policy").out)


@pytest.mark.slow
def test_from_a_run_to_a_cosigned_log(
    lexfed: Lexfed, folder: Path, witness: str
) -> None:
    (folder / "lexfed.toml").write_text(CONFIG)
    with serving(folder) as (process, url):
        lines = f"witness other {witness} {url}\nquorum other\n"
        (folder / "trust.policy").write_text(lines)
        # The witness does not know the log yet: the run does not wait for that.
        assert lexfed("run").code == 0
        said = lexfed("log", "cosign", "runs/visits")
        assert said.code == 1
        assert said.err.startswith("`other`: it refused with status 404")
        assert "FAIL witnesses" in verified(lexfed, folder)
        # They tell it, once for all runs of the project.
        project = lexfed("log", "key", "runs/visits", "--project").out.strip()
        assert lexfed("witness", "add", "w", project).code == 0
        process.send_signal(signal.SIGHUP)
        said = lexfed("log", "cosign", "runs/visits")
        for _ in range(100):  # until the signal has got there
            if said.code == 0:
                break
            said = lexfed("log", "cosign", "runs/visits")
        assert (said.code, said.err) == (0, "`other`: cosigned\n")
        assert "OK   witnesses" in verified(lexfed, folder)
        process.terminate()
        assert process.wait(timeout=30) == 0
    said = lexfed("log", "cosign", "runs/visits")
    assert said.code == 1
    assert "`other`: " in said.err
    assert "refused" in said.err
    # What was cosigned stays so.
    assert "OK   witnesses" in verified(lexfed, folder)


def test_cosign_without_anybody_to_ask(lexfed: Lexfed, folder: Path) -> None:
    text = CONFIG.replace('policy = "trust.policy"\n', "")
    (folder / "lexfed.toml").write_text(text)
    assert lexfed("run").code == 0
    said = lexfed("log", "cosign", "runs/visits")
    assert said.code == 2
    assert "was configured without witnesses and time stamps" in said.err
    assert "hint: name them under `[audit]`" in said.err
    said = lexfed("log", "cosign", "runs/none")
    assert said.code == 2
    assert "error: `runs/none` is not the folder of a run" in said.err
    (folder / "runs/visits/events.jsonl").unlink()
    said = lexfed("log", "cosign", "runs/visits")
    assert said.code == 2
    assert "is a copy: it does not say where the run was started" in said.err


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_cosign_asks_for_a_time_stamp(lexfed: Lexfed, folder: Path) -> None:
    authority = make_authority(folder / "tsa")
    table = '[audit.timestamp]\nurl = "{}"\nroots = "tsa/ca.crt"\n'
    with answering(authority.over_http()) as url:
        text = CONFIG.replace('policy = "trust.policy"\n', table.format(url))
        (folder / "lexfed.toml").write_text(text)
        assert lexfed("run").code == 0
        said = lexfed("log", "cosign", "runs/visits")
        assert (said.code, said.err) == (0, "time stamp: kept\n")
        out = lexfed("verify", "runs/visits", "--authorities", "tsa/ca.crt").out
        assert "OK   times" in out
    lexfed("log", "add", "runs/visits", "deletion", "artefact=backup")
    said = lexfed("log", "cosign", "runs/visits")
    assert said.code == 1
    assert said.err.startswith("time stamp: ")
    assert "refused" in said.err
