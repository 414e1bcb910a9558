# SPDX-License-Identifier: Apache-2.0
"""Ways to get long vectors and records wrong, each noticed by a check."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from lexfed.errors import SecAggError
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.masks import vector_pieces
from lexfed.secagg.masks.vector_pieces import IncomingVector
from support.mutant import Mutant, Patch, both_tests
from support.secagg.secure_sums import MODEL, Epoch, names, refused, setting


def a_site_that_is_lost_between_pieces_is_not_in_the_sum() -> None:
    with patch.object(vector_pieces, "PIECE_VALUES", 2):
        epoch = Epoch(setting(3))
        server = epoch.set_up()
        server.begin(1, MODEL)
        for name, sent in zip(names(3), (3, 3, 2), strict=True):
            for piece in epoch.announced(server, name)[:sent]:
                server.piece(piece)
        found = epoch.opened(server, names(2))
        assert server.survivors == names(2)
        np.testing.assert_array_equal(found, epoch.true_sum(names(2)))


def a_damaged_piece_is_refused() -> None:
    with patch.object(vector_pieces, "PIECE_VALUES", 2):
        epoch = Epoch(setting(3))
        server = epoch.set_up()
        server.begin(1, MODEL)
        piece = bytearray(epoch.announced(server, "site000")[0])
        piece[-1] ^= 1
        refused(lambda: server.piece(bytes(piece)))


def only_masked_values_leave_in_pieces() -> None:
    """Five uniform words are all below 1000 in size with probability 3e-32."""
    with patch.object(vector_pieces, "PIECE_VALUES", 2):
        epoch = Epoch(setting(3))
        server = epoch.set_up()
        server.begin(1, MODEL)
        sent = b"".join(piece[6:] for piece in epoch.announced(server, "site000"))
        assert epoch.vector("site000", 1).astype("<u4").tobytes() != sent
        whole = np.frombuffer(sent, "<u4")
        assert int(np.abs(whole.view("<i4").astype(np.int64)).max()) > 1000


def a_record_is_of_its_terms() -> None:
    epoch = Epoch(setting(5, colluders=1, least=3))
    server = epoch.set_up()
    epoch.round(server, names(5))
    weaker = setting(5, least=3)
    record = replace(server.record(), terms=weaker.terms)
    refused(lambda: record.check(weaker))


def _complete_at_once(patch: Patch) -> None:
    patch.setattr(IncomingVector, "missing", ())
    patch.setattr(IncomingVector, "_is_announced", lambda *_: True)


def _counted_with_the_header(patch: Patch) -> None:
    masked = ServerSession.masked

    def broken(server: ServerSession, message: bytes) -> None:
        masked(server, message)
        server._answered |= {server._names[seat] for seat in server._arriving}

    patch.setattr(ServerSession, "masked", broken)


def _nothing(*_: Any) -> None:
    """Do nothing, whatever is asked."""


def _plain(patch: Patch) -> None:
    patch.setattr("lexfed.secagg.mask_sessions.site.add_own", _nothing)
    patch.setattr("lexfed.secagg.mask_sessions.site.add_pairs", _nothing)


def _signed_without_terms(patch: Patch) -> None:
    patch.setattr("lexfed.secagg.masks.terms.terms_digest", lambda *_: bytes(32))
    patch.setattr(
        "lexfed.secagg.mask_sessions.round_record.terms_digest", lambda *_: bytes(32)
    )


MUTANTS = (
    Mutant(
        "a vector counts as complete with its first piece",
        _complete_at_once,
        a_site_that_is_lost_between_pieces_is_not_in_the_sum,
        (AssertionError, SecAggError),
    ),
    Mutant(
        "a site is in the sum with its header",
        _counted_with_the_header,
        a_site_that_is_lost_between_pieces_is_not_in_the_sum,
        (AssertionError, SecAggError),
    ),
    Mutant(
        "hashes of pieces are not looked at",
        lambda patch: patch.setattr(IncomingVector, "_is_announced", lambda *_: True),
        a_damaged_piece_is_refused,
    ),
    Mutant("pieces are not masked", _plain, only_masked_values_leave_in_pieces),
    Mutant(
        "signatures do not cover the terms",
        _signed_without_terms,
        a_record_is_of_its_terms,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
