# SPDX-License-Identifier: Apache-2.0
"""Time stamps by a real authority, judged by `openssl ts -verify` as well."""

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.reader import read_log
from lexfed.audit.witness.time_stamps import (
    MissingTimeStamp,
    TimeStamp,
    TrustedRoots,
    check_stamps,
    load_roots,
    stamp,
    verify_token,
)
from lexfed.errors import AuditError, RunFolderError
from support.audit.authority import Authority, make_authority
from support.audit.witnessed import ORIGIN, signer
from support.loopback import Respond, answering, http, silent

Patch = pytest.MonkeyPatch
REPLY = "application/timestamp-reply"

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the program openssl"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority") / "tsa")


@pytest.fixture(scope="module")
def roots(authority: Authority) -> TrustedRoots:
    return load_roots(authority.roots)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    with Store.create(folder, signer(), ORIGIN) as store:
        store.append([b"one"])
        store.append([b"two", b"three"])
    return folder


def stamped(
    log: Path, authority: Authority, roots: TrustedRoots, size: int = 3
) -> Path:
    with answering(authority.over_http()) as url:
        got = stamp(log, size, url, roots)
    assert isinstance(got, TimeStamp), got
    return log / "timestamps" / f"{size}.tsr"


def openssl_accepts(data: Path, token: Path, roots: Path) -> bool:
    words = ["openssl", "ts", "-verify", "-data", str(data), "-in", str(token)]
    words += ["-CAfile", str(roots)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_a_checkpoint_is_stamped_and_openssl_agrees(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    before = int(time.time())
    with answering(authority.over_http()) as url:
        got = stamp(log, 3, url, roots)
    assert isinstance(got, TimeStamp)
    assert before <= got.time <= time.time()
    token = log / "timestamps" / "3.tsr"
    assert openssl_accepts(log / "signed" / "3", token, authority.roots)
    assert not openssl_accepts(log / "signed" / "1", token, authority.roots)
    assert check_stamps(log, roots) == {3: got.time}


def test_a_log_with_time_stamps_still_verifies(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    stamped(log, authority, roots)
    assert read_log(log, [signer().verifier]).size == 3
    with Store.open(log, signer()) as store:
        store.append([b"four"])
    assert list(check_stamps(log, roots)) == [3]


def test_the_first_token_stays(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    token = stamped(log, authority, roots)
    first = token.read_bytes()
    with answering(silent) as url:
        got = stamp(log, 3, url, roots, timeout_s=1)
    assert isinstance(got, TimeStamp)
    assert token.read_bytes() == first


def test_a_size_that_was_never_signed_is_named(log: Path, roots: TrustedRoots) -> None:
    with pytest.raises(AuditError, match="no checkpoint of size 2 was signed"):
        stamp(log, 2, "http://127.0.0.1:9/", roots)


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (silent, "within 1 s"),
        (http(500), "status 500"),
        (http(200, b"x", "text/html"), "status 200"),
        (http(200, b"", REPLY), "does not verify"),
        (http(200, b"\x30\x80" + b"\xff" * 500, REPLY), "does not verify"),
        (http(200, b"x" * 70_000, REPLY), "more than 65536"),
    ],
    ids=["silent", "failing", "page", "empty", "garbage", "oversized"],
)
def test_a_bad_authority_is_a_reason(
    log: Path, roots: TrustedRoots, respond: Respond, reason: str
) -> None:
    with answering(respond) as url:
        got = stamp(log, 3, url, roots, timeout_s=1)
    assert isinstance(got, MissingTimeStamp)
    assert reason in got.reason
    assert not (log / "timestamps").exists()


def test_a_token_of_an_earlier_request_is_refused(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    token = stamped(log, authority, roots)
    old = token.read_bytes()
    token.unlink()
    with answering(http(200, old, REPLY)) as url:
        got = stamp(log, 3, url, roots)
    assert isinstance(got, MissingTimeStamp)
    assert "nonce mismatch" in got.reason.lower()


def test_a_token_for_another_checkpoint_is_refused(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    token = stamped(log, authority, roots, size=1)
    token.rename(token.with_name("3.tsr"))
    with pytest.raises(AuditError, match=r"3\.tsr.*mismatch between messages"):
        check_stamps(log, roots)
    with pytest.raises(AuditError, match="mismatch"):
        stamp(log, 3, "http://127.0.0.1:9/", roots)


def test_an_authority_nobody_trusts_is_refused(
    log: Path, authority: Authority, roots: TrustedRoots, tmp_path: Path
) -> None:
    other = make_authority(tmp_path / "other")
    with answering(other.over_http()) as url:
        got = stamp(log, 3, url, roots)
    assert isinstance(got, MissingTimeStamp)
    token = stamped(log, authority, roots)
    assert not openssl_accepts(log / "signed" / "3", token, other.roots)
    with pytest.raises(AuditError, match="does not verify"):
        check_stamps(log, load_roots(other.roots))
    with pytest.raises(AuditError, match="no root certificate"):
        check_stamps(log, [])


def test_a_refusal_of_the_authority_is_said(
    log: Path, authority: Authority, roots: TrustedRoots, tmp_path: Path
) -> None:
    # An authority that takes SHA-512 only.
    strict = Authority(Path(shutil.copytree(authority.folder, tmp_path / "strict")))
    config = strict.folder / "tsa.cnf"
    text = config.read_text().replace(str(authority.folder), str(strict.folder))
    config.write_text(text.replace("digests = sha256", "digests = sha512"))
    with answering(strict.over_http()) as url:
        got = stamp(log, 3, url, roots)
    assert isinstance(got, MissingTimeStamp)
    assert "not granted" in got.reason
    assert "digest algorithm is not supported" in got.reason


def test_no_changed_bit_moves_the_time(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    """One random bit of every byte is flipped; the seed is fixed.

    A token has bytes outside its signature, so some changes are accepted; none of
    them may change what the token says.
    """
    token = stamped(log, authority, roots).read_bytes()
    signed = (log / "signed" / "3").read_bytes()
    truth = verify_token(token, signed, roots)
    draw = random.Random(1)
    refused = 0
    for position in range(len(token)):
        spoiled = bytearray(token)
        spoiled[position] ^= 1 << draw.randrange(8)
        try:
            assert verify_token(bytes(spoiled), signed, roots) == truth
        except AuditError:
            refused += 1
    assert refused > 0.95 * len(token)


def test_strange_files_are_named(
    log: Path, authority: Authority, roots: TrustedRoots
) -> None:
    folder = stamped(log, authority, roots).parent
    (folder / "1.tsr.part").write_bytes(b"half")
    assert list(check_stamps(log, roots)) == [3]
    for name in ("notes", "7", "07.tsr", "x.tsr"):
        (folder / name).write_bytes(b"?")
        with pytest.raises(AuditError, match=name):
            check_stamps(log, roots)
        (folder / name).unlink()
    (folder / "2.tsr").symlink_to(folder / "3.tsr")
    with pytest.raises(AuditError, match="link"):
        check_stamps(log, roots)


def test_a_link_in_place_of_the_folder_is_refused(
    log: Path, authority: Authority, roots: TrustedRoots, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (log / "timestamps").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError, match="link"), answering(silent) as url:
        stamp(log, 3, url, roots, timeout_s=1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_roots_that_are_not_certificates_are_named(tmp_path: Path) -> None:
    path = tmp_path / "roots.pem"
    with pytest.raises(RunFolderError, match=r"roots\.pem.*no such file"):
        load_roots(path)
    path.write_text("nothing")
    with pytest.raises(RunFolderError, match="no certificates"):
        load_roots(path)


def test_without_the_extra_the_command_to_install_it_is_said(
    log: Path, roots: TrustedRoots, monkeypatch: Patch
) -> None:
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    with pytest.raises(RunFolderError, match="rfc3161-client") as caught:
        stamp(log, 3, "http://127.0.0.1:9/", roots)
    assert caught.value.hint == "`pip install 'lexfed[timestamp]'`"
