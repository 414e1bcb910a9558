# SPDX-License-Identifier: Apache-2.0
"""A witness over HTTP on this machine: well-behaved, hostile and killed."""

import http.client
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.tree.checkpoint import verify_cosignature
from lexfed.audit.witness import server as witness_server
from lexfed.audit.witness.bounded_http import HttpReply, exchange
from lexfed.audit.witness.cosigner import MAX_REQUEST, Witness, digest_of
from lexfed.audit.witness.server import TlsCertificate, WitnessServer, serve
from lexfed.errors import RunFolderError
from lexfed.signing.notes import NoteSignature, VerifierKey, parse_note
from support.audit.witnessed import ORIGIN, Book, know, make_witness, numbered, signer
from support.loopback import certificate

Patch = pytest.MonkeyPatch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_witness(tmp_path / "w")


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[WitnessServer]:
    witness = Witness(folder)
    server = WitnessServer(witness, "127.0.0.1", 0, **options)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.close()
        witness.close()


@pytest.fixture
def server(folder: Path) -> Iterator[WitnessServer]:
    with running(folder) as server:
        yield server


def post(url: str, body: bytes) -> HttpReply:
    got = exchange(
        f"{url}/add-checkpoint", body, "text/plain", timeout_s=10, most=MAX_REQUEST
    )
    assert isinstance(got, HttpReply), got
    return got


def check_cosigned(got: HttpReply, note: bytes, key: VerifierKey) -> None:
    assert got.status == 200, got
    signature = NoteSignature.parse(got.body.decode())
    verify_cosignature(parse_note(note).body, signature, key)


def talk(server: WitnessServer, content: bytes) -> bytes:
    """Send raw bytes and return everything until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.settimeout(10)
        connection.sendall(content)
        received = b""
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                received += piece
        return received


def test_a_cosignature_over_http(server: WitnessServer) -> None:
    log = numbered(3)
    got = post(server.url, log.ask(0))
    check_cosigned(got, log.note(), server.witness.key)
    log.add("more")
    assert post(server.url, log.ask(2)) == HttpReply(409, "text/x.tlog.size", b"3\n")
    check_cosigned(post(server.url, log.ask(3)), log.note(), server.witness.key)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"nonsense", 400),
        (numbered(2, by=signer("unknown.example")).ask(0), 404),
        (numbered(2, by=signer(seed=9)).ask(0), 403),
        (Book("a", "b").ask(1), 409),
    ],
)
def test_refusals_over_http(server: WitnessServer, body: bytes, status: int) -> None:
    assert post(server.url, body).status == status


def test_the_latest_checkpoint_over_http(server: WitnessServer) -> None:
    log = numbered(3)
    line = post(server.url, log.ask(0)).body
    for path, status in ((digest_of(ORIGIN), 200), (digest_of("other"), 404)):
        url = f"{server.url}/{path}/checkpoint"
        got = exchange(url, None, "", timeout_s=10, most=9_999)
        assert isinstance(got, HttpReply)
        assert got.status == status
        assert got.body == log.note() + line or status == 404


def test_a_connection_is_kept_for_several_requests(server: WitnessServer) -> None:
    log = numbered(9)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.connect()
    first = connection.sock
    for old, new in ((0, 2), (2, 5), (5, 9)):
        connection.request("POST", "/add-checkpoint", log.ask(old, new))
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        assert connection.sock is first
    connection.close()


HEAD = b"POST /add-checkpoint HTTP/1.1\r\nHost: w\r\n"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (HEAD + b"\r\n", b"411"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", b"411"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
        (HEAD + b"Content-Length: -1\r\n\r\n", b"400"),
        (HEAD + b"Content-Length: +1\r\n\r\nx", b"400"),
        (HEAD + b"Content-Length: 9999999999\r\n\r\n", b"400"),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (MAX_REQUEST + 1), b"413"),
        (b"POST /other HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"404"),
        (b"GET /add-checkpoint HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /../logs HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /" + b"0" * 63 + b"/checkpoint HTTP/1.1\r\n\r\n", b"404"),
        (b"DELETE /add-checkpoint HTTP/1.1\r\nConnection: close\r\n\r\n", b"501"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"\x16\x03\x01 not http\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
    ],
    ids=lambda value: value.decode() if len(value) == 3 else "",
)
def test_odd_requests_are_answered_and_ended(
    server: WitnessServer, content: bytes, status: bytes
) -> None:
    assert status in talk(server, content).split(b"\r\n")[0]
    log = numbered(1)
    check_cosigned(post(server.url, log.ask(0)), log.note(), server.witness.key)


def test_a_request_that_is_cut_off_is_400(server: WitnessServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(HEAD + b"Content-Length: 10\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_WR)
        assert b" 400 " in connection.recv(65536)


def test_a_client_that_leaves_early_does_no_harm(server: WitnessServer) -> None:
    log = numbered(50)
    body = log.ask(0)
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            linger = b"\x01\0\0\0\0\0\0\0"  # close with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(request)
    assert post(server.url, log.ask(0)).status in (200, 409)
    reply = post(server.url, log.ask(50))
    check_cosigned(reply, log.note(), server.witness.key)


def test_slow_connections_are_cut(folder: Path) -> None:
    with running(folder, life_s=0.2) as server:
        assert talk(server, b"POST /add-checkpoint HTT") == b""
        assert talk(server, HEAD + b"Content-Length: 9\r\n\r\nslow").count(b"200") == 0
        server.life_s = 30
        log = numbered(1)
        check_cosigned(post(server.url, log.ask(0)), log.note(), server.witness.key)


def test_too_many_connections_are_closed(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(witness_server, "MAX_CONNECTIONS", 3)
    with running(folder) as server:
        address = ("127.0.0.1", server.server_port)
        held = [socket.create_connection(address) for _ in range(3)]
        deadline = time.monotonic() + 10
        while len(server._until) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert talk(server, b"") == b""
        held.pop().close()
        while len(server._until) > 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        log = numbered(1)
        check_cosigned(post(server.url, log.ask(0)), log.note(), server.witness.key)
        for connection in held:
            connection.close()


def test_stopping_answers_what_was_read_and_ends_the_rest(
    folder: Path, monkeypatch: Patch
) -> None:
    entered, leave = threading.Event(), threading.Event()
    real = Witness.add_checkpoint

    def slow(self: Witness, body: bytes) -> Any:
        entered.set()
        leave.wait(10)
        return real(self, body)

    monkeypatch.setattr(Witness, "add_checkpoint", slow)
    log = numbered(3)
    answers: list[HttpReply] = []
    with running(folder) as server:
        idle = socket.create_connection(("127.0.0.1", server.server_port))
        asking = threading.Thread(
            target=lambda: answers.append(post(server.url, log.ask(0)))
        )
        asking.start()
        assert entered.wait(10)
        threading.Timer(0.2, leave.set).start()
    asking.join()
    check_cosigned(answers[0], log.note(), server.witness.key)
    assert idle.recv(1) == b""
    idle.close()


def test_encrypted_when_given_a_certificate(
    folder: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    pair = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
    files = TlsCertificate(pair.certificate, pair.key)
    with running(folder, certificate=files) as server:
        assert server.url.startswith("https://")
        # One that never shakes hands, and one that does not speak TLS at all.
        silent = socket.create_connection(("127.0.0.1", server.server_port))
        talk(server, b"GET / HTTP/1.1\r\n\r\n")
        log = numbered(3)
        check_cosigned(post(server.url, log.ask(0)), log.note(), server.witness.key)
        silent.close()


def test_a_wrong_certificate_is_named(folder: Path, tmp_path: Path) -> None:
    missing = TlsCertificate(tmp_path / "no.crt", tmp_path / "no.key")
    with pytest.raises(RunFolderError, match=r"no\.crt"):
        serve(folder, "127.0.0.1", 0, certificate=missing)
    (tmp_path / "no.crt").write_text("nonsense")
    (tmp_path / "no.key").write_text("nonsense")
    with pytest.raises(RunFolderError, match=r"no\.crt"):
        serve(folder, "127.0.0.1", 0, certificate=missing)
    Witness(folder).close()  # the folder was given back


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_that_does_not_exist_is_named(folder: Path, port: int) -> None:
    with pytest.raises(RunFolderError, match=f"port {port}"):
        serve(folder, "127.0.0.1", port)


def test_a_port_in_use_is_named(folder: Path, server: WitnessServer) -> None:
    with pytest.raises(RunFolderError, match="in use"):
        WitnessServer(server.witness, "127.0.0.1", server.server_port)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_addresses_of_six_are_served(folder: Path) -> None:
    witness = Witness(folder)
    try:
        server = WitnessServer(witness, "::1", 0)
    except RunFolderError:
        witness.close()
        pytest.skip("no IPv6 loopback here")
    assert server.url == f"http://[::1]:{server.server_port}"
    server.server_close()
    witness.close()


# The whole command, in this process and in one that is killed


def test_serve_until_told_to_stop(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log, other = numbered(3), numbered(2, by=signer("audit.example.org/new", 7))
    seen: dict[str, Any] = {}

    def use(server: WitnessServer) -> None:
        try:
            seen["first"] = post(server.url, log.ask(0))
            seen["unknown"] = post(server.url, other.ask(0))
            know(folder, signer(), other.signer)
            os.kill(os.getpid(), signal.SIGHUP)
            deadline = time.monotonic() + 10
            while post(server.url, other.ask(0)).status == 404:
                assert time.monotonic() < deadline
            (folder / "logs").write_text("nonsense")
            os.kill(os.getpid(), signal.SIGHUP)
            while "stays as it was" not in caplog.text:
                assert time.monotonic() < deadline
            seen["still"] = post(server.url, other.ask(2))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def started(server: WitnessServer) -> None:
        seen["key"] = server.witness.key
        seen["thread"] = threading.Thread(target=use, args=(server,))
        seen["thread"].start()

    before = signal.getsignal(signal.SIGTERM)
    serve(folder, "127.0.0.1", 0, started=started)
    seen["thread"].join()
    assert signal.getsignal(signal.SIGTERM) is before
    check_cosigned(seen["first"], log.note(), seen["key"])
    assert seen["unknown"].status == 404
    check_cosigned(seen["still"], other.note(), seen["key"])
    assert "127.0.0.1" not in caplog.text
    know(folder, signer())
    Witness(folder).close()  # the folder was given back


PROGRAM = """
import sys
from pathlib import Path
from lexfed.audit.witness.server import serve
def started(server):
    print(server.server_port, flush=True)
serve(Path(sys.argv[1]), "127.0.0.1", 0, started=started)
"""


@contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    try:
        yield started, f"http://127.0.0.1:{int(started.stdout.readline())}"
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def test_a_killed_witness_remembers_what_it_answered(folder: Path) -> None:
    key = VerifierKey.parse((folder / "vkey").read_text().strip())
    log = numbered(2)
    known = 0
    for _ in range(3):
        with process(folder) as (witness, url):
            check_cosigned(post(url, log.ask(known)), log.note(), key)
            known = log.tree.size
            os.kill(witness.pid, signal.SIGKILL)
            witness.wait()
        fork = Book(*(f"forged {n}" for n in range(known + 1)))
        log.add("more")
        with process(folder) as (_, url):
            assert post(url, log.ask(0)) == HttpReply(
                409, "text/x.tlog.size", b"%d\n" % known
            )
            assert post(url, fork.ask(known)).status == 422


def test_killed_at_a_random_moment_it_never_forgets(folder: Path) -> None:
    """Requests stream in while the process is killed; every 200 is remembered.

    The moments differ from run to run; the claim holds for each of them.
    """
    log = numbered(3_000)
    acknowledged = 0
    for delay in (0.02, 0.05, 0.1):
        with process(folder) as (witness, url):
            got = post(url, log.ask(0, 1))
            old = 1 if got.status == 200 else int(got.body)
            assert old >= acknowledged
            timer = threading.Timer(delay, witness.kill)
            for new in range(old + 1, 3_001):
                address, body = f"{url}/add-checkpoint", log.ask(old, new)
                answer = exchange(address, body, "", timeout_s=9, most=999)
                if not isinstance(answer, HttpReply):
                    break
                assert answer.status == 200
                if timer.ident is None:
                    timer.start()
                old = acknowledged = new
            timer.join()
    with process(folder) as (_, url):
        got = post(url, log.ask(0, 1))
        assert got.status == 409
        # One more may be on disk: killed between writing and answering.
        assert int(got.body) in (acknowledged, acknowledged + 1)
