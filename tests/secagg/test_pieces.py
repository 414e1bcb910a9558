# SPDX-License-Identifier: Apache-2.0
"""Long vectors come in pieces: whole in the sum, or not at all."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.masks import vector_pieces
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of two values, so that vectors of five have three."""
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 2)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("bits", [16, 24, 32])
def test_sums_of_pieces_in_any_order_are_exact(bits: int) -> None:
    epoch = Epoch(setting(3, bits=bits, rounds=4))
    epoch.lengths = {1: 5, 2: 4, 3: 3, 4: 2}
    server = epoch.set_up()
    for number, count in ((1, 3), (2, 2), (3, 2)):
        server.begin(number, MODEL, epoch.lengths[number])
        assert server.pieces == count
        parts = [epoch.announced(server, name, number) for name in names(3)]
        for at in reversed(range(count)):
            for name, each in zip(names(3), parts, strict=True):
                assert at in server.missing(name)
                server.piece(each[at])
                assert at not in server.missing(name)
        found = epoch.opened(server, names(3))
        np.testing.assert_array_equal(found, epoch.true_sum(names(3), number))
    found = epoch.round(server, names(3), 4)
    assert server.pieces == 0
    np.testing.assert_array_equal(found, epoch.true_sum(names(3), 4))


def run_patterns(count: int, fates: tuple[int, ...]) -> int:
    """Let each site send a header, and so many of its three pieces; -1 is no header.

    Returns:
        How many of all patterns were refused.
    """
    patterns = list(product(fates, repeat=count))
    epoch = Epoch(setting(count, rounds=len(patterns)))
    server = epoch.set_up()
    lost = 0
    for number, pattern in enumerate(patterns, start=1):
        server.begin(number, MODEL)
        sent = dict(zip(names(count), pattern, strict=True))
        for name in (name for name in sent if sent[name] >= 0):
            for piece in epoch.announced(server, name, number)[: sent[name]]:
                server.piece(piece)
        here = [name for name in sent if sent[name] == 3]
        if 2 * len(here) > count:
            found = epoch.opened(server, here)
            np.testing.assert_array_equal(found, epoch.true_sum(here, number))
        else:
            assert "too small" in refused(server.close_masked).message
            lost += 1
    return lost


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_way_to_be_lost_between_pieces(count: int) -> None:
    assert 0 < run_patterns(count, (-1, 0, 2, 3)) < 4**count


@pytest.mark.slow
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("count", [5, 6, 7, 8])
def test_every_subset_lost_between_pieces(count: int) -> None:
    assert 0 < run_patterns(count, (2, 3)) < 2**count


@pytest.mark.usefixtures("short")
def test_a_piece_that_is_not_the_announced_one_is_refused_and_can_be_sent_again() -> (
    None
):
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    server.begin(1, MODEL)
    mine, other, last = (epoch.announced(server, name) for name in names(3))
    for bad, why in (
        (mine[0][:-1], "not the one"),
        (mine[0] + b"\0", "not the one"),
        (mine[0][:6] + bytes(8), "not the one"),
        (mine[0][:6] + other[0][6:], "not the one"),
        (other[0][:2] + mine[0][2:], "not the one"),
        (mine[0][:2] + mine[1][2:6] + mine[0][6:], "not the one"),
        (mine[0][:2] + (3).to_bytes(4, "big") + mine[0][6:], "there is none"),
        (b"\0\x03" + mine[0][2:], "on its way"),
        (mine[0][:5], "ends too early"),
        (b"", "ends too early"),
    ):
        assert why in refused(partial(server.piece, bad)).message
    assert server.missing("site000") == (0, 1, 2)
    for piece in (*mine, *other, *last):
        server.piece(piece)
        assert refused(partial(server.piece, piece)).message
    assert server.missing("site000") == ()
    found = epoch.opened(server, names(3))
    np.testing.assert_array_equal(found, epoch.true_sum(names(3)))


@pytest.mark.usefixtures("short")
def test_a_late_piece_is_refused() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    server.begin(1, MODEL)
    parts = [epoch.announced(server, name) for name in names(3)]
    for piece in (*parts[0], *parts[1], *parts[2][:2]):
        server.piece(piece)
    found = epoch.opened(server, names(2))
    late = refused(lambda: server.piece(parts[2][2])).message
    assert "too late" in late
    np.testing.assert_array_equal(found, epoch.true_sum(names(2)))
    server.begin(2, MODEL)
    assert "on its way" in refused(lambda: server.piece(parts[2][2])).message


@pytest.mark.usefixtures("short")
def test_headers_are_taken_once_and_of_the_length_of_the_round() -> None:
    epoch = Epoch(setting(3, length=6))
    server = epoch.set_up()
    server.begin(1, MODEL, 5)
    agreed = epoch.sites["site000"]._cohort.agreed
    context = epoch.agreed.context(1, MODEL)

    def said(payload: bytes, kind: EnvelopeKind = EnvelopeKind.HEADER) -> bytes:
        return seal(kind, context, identity("site000"), payload)

    hashes = bytes(96)
    size = (5).to_bytes(4, "big")
    for payload, why in (
        (agreed + (6).to_bytes(4, "big") + hashes, "of 5 values, not 6"),
        (agreed + size + hashes + bytes(32), "not expected"),
        (bytes(32) + size + hashes, "another set-up"),
    ):
        assert why in refused(partial(server.masked, said(payload))).message
    whole = said(agreed + bytes(20), EnvelopeKind.MASKED)
    assert "of kind" in refused(lambda: server.masked(whole)).message
    server.masked(said(agreed + size + hashes))
    again = said(agreed + size + hashes)
    assert "on its way already" in refused(lambda: server.masked(again)).message
    message = epoch.sites["site001"].mask(1, MODEL, epoch.vector("site001", 1)[:5])
    server.masked(message)
    for at in range(3):
        server.piece(epoch.sites["site001"].piece(at))
    assert "answered already" in refused(lambda: server.masked(message)).message


@pytest.mark.usefixtures("short")
def test_a_site_gives_pieces_of_one_vector_until_it_signs_a_list() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    site = epoch.sites["site000"]
    assert "not its turn" in refused(lambda: site.piece(0)).message
    server.begin(1, MODEL)
    for name in names(3):
        for piece in epoch.announced(server, name):
            server.piece(piece)
    assert site.piece(1) == site.piece(1)
    for number in (-1, 3):
        assert "no piece" in refused(partial(site.piece, number)).message
    site.consent(server.close_masked())
    assert "not its turn" in refused(lambda: site.piece(0)).message


@pytest.mark.usefixtures("short")
def test_a_vector_that_fits_one_message_has_no_pieces() -> None:
    epoch = Epoch(setting(3, length=2))
    server = epoch.set_up()
    epoch.masked(server, names(3))
    assert server.pieces == 0
    assert "no piece" in refused(lambda: epoch.sites["site000"].piece(0)).message


@contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    """A disk that is full after that many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("size", [0, 4])
def test_a_full_disk_refuses_a_piece_which_can_be_sent_again(size: int) -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    server.begin(1, MODEL)
    parts = [epoch.announced(server, name) for name in names(3)]
    with _files_up_to(size):
        said = refused(lambda: server.piece(parts[0][0]))
    assert "no room" in said.message
    for piece in (*parts[0], *parts[1], *parts[2]):
        server.piece(piece)
    found = epoch.opened(server, names(3))
    np.testing.assert_array_equal(found, epoch.true_sum(names(3)))


@pytest.mark.usefixtures("short")
def test_unfinished_vectors_lie_in_the_stated_folder_and_have_no_name(
    tmp_path: Path,
) -> None:
    epoch = Epoch(setting(3))
    epoch.set_up()
    server = ServerSession(SERVER, epoch.established, tmp_path / "none")
    server.begin(1, MODEL)
    message = epoch.sites["site000"].mask(1, MODEL, epoch.vector("site000", 1))
    assert "no room" in refused(lambda: server.masked(message)).message
    server = ServerSession(SERVER, epoch.established, tmp_path)
    server.begin(1, MODEL)
    server.masked(message)
    server.piece(epoch.sites["site000"].piece(0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("short")
def test_a_sum_with_half_a_vector_in_it_is_never_opened() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    server.begin(1, MODEL)
    parts = [epoch.announced(server, name) for name in names(3)]
    for piece in (*parts[0], *parts[1], *parts[2][:2]):
        server.piece(piece)
    os.truncate(server._arriving[2]._file, 10)
    assert "was changed" in refused(lambda: server.piece(parts[2][2])).message
    assert "the next round" in refused(server.close_masked).message
    found = epoch.round(server, names(3), 2)
    np.testing.assert_array_equal(found, epoch.true_sum(names(3), 2))
