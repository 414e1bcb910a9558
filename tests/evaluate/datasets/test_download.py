# SPDX-License-Identifier: Apache-2.0
"""Answers of servers that are wrong, cut off or elsewhere, each refused in words."""

import socket
import threading
from collections.abc import Iterator
from email.message import Message
from io import BytesIO
from urllib.request import Request

import pytest

from lexfed.errors import DataError
from lexfed.evaluate.datasets.archives.download import _Redirects, download

HTTPS = "https://archive.example"


class OneAnswer:
    """A server that sends the same bytes to everybody who asks."""

    def __init__(self) -> None:
        self.answer = b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            asking, _ = self._listening.accept()
            with asking:
                if not asking.recv(65536).startswith(b"GET"):
                    return
                asking.sendall(self.answer)

    def end(self) -> None:
        with socket.create_connection(self._listening.getsockname()) as last:
            last.sendall(b"end")
        self._thread.join()
        self._listening.close()


@pytest.fixture
def server() -> Iterator[OneAnswer]:
    one = OneAnswer()
    yield one
    one.end()


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"Content-Length: 5\r\n\r\nwhole",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n",
        b"\r\nwhole",
    ],
)
def test_a_whole_answer_is_returned(server: OneAnswer, answer: bytes) -> None:
    server.answer = OK + answer
    assert download(f"{server.address}/table", server.address) == b"whole"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 9\r\n\r\nhalf",
        OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    ],
)
def test_half_an_answer_is_none(server: OneAnswer, answer: bytes) -> None:
    server.answer = answer
    with pytest.raises(DataError, match="sends half an answer or none of") as error:
        download(f"{server.address}/table", server.address)
    assert error.value.hint == "fetch it again"


def test_a_server_that_hangs_up_cannot_be_reached(server: OneAnswer) -> None:
    with pytest.raises(DataError, match="cannot be reached"):
        download(f"{server.address}/table", server.address)


@pytest.mark.parametrize(
    "address",
    [
        *("http://exa mple.org", "http://[::1", "http://a.example:port/", "nothing"),
        *(
            "file:///etc/hostname",
            "ftp://a.example/table",
            f"http://{'a' * 70}.example",
        ),
    ],
)
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(DataError, match="is no address of the web"):
        download(address, address)


def test_an_archive_with_https_names_no_file_without() -> None:
    with pytest.raises(DataError, match="not protected by `https`") as error:
        download("http://files.example/table", HTTPS)
    assert "--archive http://" in error.value.hint


@pytest.mark.parametrize("place", ["ftp://a.example/t", "file:///etc/hostname"])
def test_no_redirect_leaves_the_web(server: OneAnswer, place: str) -> None:
    server.answer = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\n\r\n".encode()
    with pytest.raises(DataError):
        download(f"{server.address}/table", server.address)


@pytest.mark.parametrize(
    ("archive", "place", "followed"),
    [
        (HTTPS, "http://a.example/t", False),
        (HTTPS, "ftp://a.example/t", False),
        (HTTPS, "https://b.example/t", True),
        ("http://a.example", "http://b.example/t", True),
        ("http://a.example", "https://b.example/t", True),
    ],
)
def test_no_redirect_takes_protection_away(
    archive: str, place: str, followed: bool
) -> None:
    # Without a certificate of this machine's own: the handler is asked directly.
    handler = _Redirects(protected=archive.startswith("https"))
    request, body = Request(f"{archive}/t"), BytesIO()  # noqa: S310 (not opened)
    given = (request, body, 302, "Found", Message(), place)
    if followed:
        found = handler.redirect_request(*given)
        assert found is not None
        assert found.full_url == place
    else:
        with pytest.raises(DataError, match=r"not protected|no address of the web"):
            handler.redirect_request(*given)
    assert body.closed is not followed
