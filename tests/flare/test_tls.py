# SPDX-License-Identifier: Apache-2.0
"""Admission at a running coordinator, and trust of a site: real processes."""

import json
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from nvflare.fuel.f3.drivers.net_utils import get_ssl_context
from nvflare.lighter.impl.cert import CertBuilder

from lexfed.errors import RunFolderError
from lexfed.federation.flare.hardening import tls13
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.kit.settings import kit_settings
from support.deployed.deployments import deployment, logged, running, until
from support.deployed.tls_probe import Root, ask, let_in
from support.loopback import Pair

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the program openssl"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Kit], Root]:
    """Kits, and the root's key, which is gone outside of this test."""
    kept: list[Root] = []
    finalize = CertBuilder.finalize

    def keep(self: CertBuilder, *arguments: object) -> None:
        kept.append(Root(self.root_cert.subject, self.pri_key))
        finalize(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CertBuilder, "finalize", keep)
        folder = tmp_path_factory.mktemp("deployment") / "trial"
        return deployment(folder, ["north", "south"]), kept[0]


@pytest.fixture(scope="module")
def kits(world: tuple[dict[str, Kit], Root]) -> dict[str, Kit]:
    return world[0]


@pytest.fixture(scope="module")
def root(world: tuple[dict[str, Kit], Root]) -> Root:
    return world[1]


def pair_of(kit: Kit) -> Pair:
    start = kit.flare_folder / "startup"
    name = "server" if kit.role == "coordinator" else "client"
    return Pair(start / f"{name}.crt", start / f"{name}.key")


# The coordinator


@pytest.fixture(scope="module")
def address(kits: dict[str, Kit]) -> Iterator[str]:
    """A coordinator that runs."""
    kit = kits[COORDINATOR]
    with running("coordinator", "start", str(kit.folder)) as process:
        until(lambda: logged(kit, "Server started") or process.poll() is not None)
        yield kit.address


@pytest.mark.slow
def test_a_provisioned_certificate_gets_in(
    kits: dict[str, Kit], root: Root, address: str, tmp_path: Path
) -> None:
    said = ask(address, pair_of(kits["north"]), "-tls1_3")
    assert let_in(said)
    assert "New, TLSv1.3" in said
    # So does one made like those that are refused below, but for what is wrong there.
    assert let_in(ask(address, root.certify(tmp_path / "x", "north"), "-tls1_3"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["-tls1", "-tls1_1", "-tls1_2"])
def test_older_versions_are_refused(
    kits: dict[str, Kit], address: str, version: str
) -> None:
    said = ask(address, pair_of(kits["north"]), version)
    assert not let_in(said)
    assert "Cipher is (NONE)" in said


@pytest.mark.slow
def test_no_certificate_is_refused(address: str) -> None:
    assert not let_in(ask(address, None, "-tls1_3"))


@pytest.mark.slow
def test_a_foreign_root_is_refused(address: str, tmp_path: Path) -> None:
    pair = Root.foreign("trial").certify(tmp_path / "x", "north")
    assert not let_in(ask(address, pair, "-tls1_3"))


@pytest.mark.slow
def test_an_expired_certificate_is_refused(
    root: Root, address: str, tmp_path: Path
) -> None:
    pair = root.certify(tmp_path / "x", "north", begins=-9, ends=-1)
    assert not let_in(ask(address, pair, "-tls1_3"))


@pytest.mark.slow
def test_a_certificate_of_the_future_is_refused(
    root: Root, address: str, tmp_path: Path
) -> None:
    pair = root.certify(tmp_path / "x", "north", begins=1, ends=9)
    assert not let_in(ask(address, pair, "-tls1_3"))


@pytest.mark.slow
def test_a_session_cannot_be_taken_up_again(kits: dict[str, Kit], address: str) -> None:
    """A ticket would let somebody in whose certificate has expired meanwhile."""
    said = ask(address, pair_of(kits["north"]), "-tls1_3")
    assert "Post-Handshake New Session Ticket" not in said


# A site


@contextmanager
def answering(pair: Pair, port: int = 0) -> Iterator[tuple[int, list[str]]]:
    """A server that does the handshake and notes how it went."""
    seen: list[str] = []
    context = pair.context()
    with socket.create_server(("127.0.0.1", port)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    try:
                        with context.wrap_socket(connection, server_side=True) as tls:
                            tls.recv(1)
                            seen.append("spoken")
                    except ssl.SSLError as error:
                        seen.append(str(error.reason))
                    except OSError:
                        seen.append("ended")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield int(listener.getsockname()[1]), seen
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=10)


def speaks(context: ssl.SSLContext, port: int) -> bool:
    """Return True if a client with this context believes the server."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain) as tls,
        ):
            tls.sendall(b"x")
            return True
    except ssl.SSLCertVerificationError:
        return False


def flares_own(kit: Kit) -> ssl.SSLContext:
    """Return the TLS context that FLARE itself would connect with."""
    pair = pair_of(kit)
    root = kit.flare_folder / "startup/rootCA.pem"
    params = {
        "scheme": "https",
        "ca_cert": str(root),
        "client_cert": str(pair.certificate),
        "client_key": str(pair.key),
    }
    context = get_ssl_context(params, ssl_server=False)
    assert isinstance(context, ssl.SSLContext)
    return context


def test_a_site_believes_the_pinned_certificate_only(
    kits: dict[str, Kit], root: Root, tmp_path: Path
) -> None:
    """Whoever has the root's key makes a certificate of `coordinator`: refused."""
    north = kits["north"]
    context = tls13.client_context(north, *vars(pair_of(north)).values())
    with answering(pair_of(kits[COORDINATOR])) as (port, _):
        assert speaks(context, port)
    impostor = root.certify(tmp_path / "x", COORDINATOR)
    with answering(impostor) as (port, _):
        assert not speaks(context, port)
        assert speaks(flares_own(north), port)  # what the pin is there for
    with answering(pair_of(kits["south"])) as (port, _):
        assert not speaks(context, port)
    with answering(pair_of(north)) as (port, _):  # a thief of this very kit
        assert not speaks(context, port)


def test_a_context_is_not_made_for_another_pin(kits: dict[str, Kit]) -> None:
    north = replace(kits["north"], pin="ab" * 32)
    with pytest.raises(RunFolderError, match="is not the certificate this kit is"):
        tls13.client_context(north, *vars(pair_of(north)).values())


@pytest.mark.slow
def test_a_running_site_refuses_an_impostor(
    kits: dict[str, Kit], root: Root, tmp_path: Path
) -> None:
    """At the coordinator's address somebody answers who has the root's key."""
    south = kits["south"]
    data = tmp_path / "south.csv"
    data.write_text("a\n1\n")
    impostor = root.certify(tmp_path / "x", COORDINATOR)
    folder = tmp_path / "kit"
    shutil.copytree(south.folder, folder)
    with answering(impostor) as (port, seen):
        move(folder, port)
        words = ("site", "start", str(folder), "--data", str(data))
        with running(*words) as process:
            assert process.stderr is not None
            said = [process.stderr.readline() for _ in range(3)]
            assert "is not the coordinator of this kit" in said[2], said
    assert seen != []
    assert "spoken" not in seen


def move(folder: Path, port: int) -> None:
    """Let a kit look for its coordinator at another port."""
    path = folder / "kit.toml"
    old = Kit.read(folder).port
    path.write_text(path.read_text().replace(f"port = {old}", f"port = {port}"))
    for name, value in kit_settings(Kit.read(folder)).items():
        (folder / name).write_text(json.dumps(value))
