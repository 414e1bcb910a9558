# SPDX-License-Identifier: Apache-2.0
"""The server's memory is that of the model, however many sites send pieces at once."""

from hashlib import sha256

import numpy as np
import pytest

from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.vector_pieces import PIECE_VALUES
from support.secagg.secure_sums import identity, names
from support.secagg.server_process import far_server

VALUES = 8_000_000
MODEL = sha256(b"model").digest()
MIB = 2**20
SLACK = 48 * MIB
"""What twelve sites may take more than four: shares, lists, pieces on their way, and
what the allocator does not give back; a vector and a half, where eight more came."""

pytestmark = pytest.mark.slow


def peaks(count: int, *, hoard: bool = False) -> tuple[int, int]:
    """Run a round in which the pieces of all sites come in turns.

    Returns:
        The server's peak memory, in bytes, before the round and after it.
    """
    keys = {name: identity(name).public for name in names(count)}
    with far_server(keys, VALUES, hoard=hoard) as server:
        sites = [SiteSession(identity(name), server.setting) for name in keys]
        for site in sites:
            server.ask("advertised", site.advertise())
        listed = server.ask("close_keys")
        for site in sites:
            server.ask("dealt", site.deal(listed))
        deliveries = server.ask("close_deals")
        for site in sites:
            server.ask("ready", site.accept(deliveries[site.name]))
        server.ask("established")
        before = server.ask("peak")

        server.ask("begin", 1, MODEL)
        truth = np.zeros(VALUES, dtype=np.int64)
        for at, site in enumerate(sites):
            values = np.random.default_rng(at).integers(-1000, 1001, VALUES)
            truth += values
            header = site.mask(1, MODEL, values)
            assert len(header) < 1000
            server.ask("masked", header)
        for number in range(-(-VALUES // PIECE_VALUES)):
            for site in sites:
                piece = site.piece(number)
                assert len(piece) <= 4 * MIB + 6
                server.ask("piece", piece)
        survivors = server.ask("close_masked")
        for site in sites:
            server.ask("consented", site.consent(survivors))
        consents = server.ask("close_consents")
        for site in sites:
            server.ask("unmasked", site.unmask(consents))
        assert server.ask("reconstruct") is None
        assert server.ask("total", 10**6) == sha256(truth.data).hexdigest()
        return before, server.ask("peak")


@pytest.fixture(scope="module")
def of_four() -> tuple[int, int]:
    return peaks(4)


def test_memory_does_not_grow_with_the_number_of_sites(
    of_four: tuple[int, int],
) -> None:
    """Eight more vectors would be 244 MiB."""
    assert peaks(12)[1] <= of_four[1] + SLACK


def test_memory_is_a_few_times_the_model(of_four: tuple[int, int]) -> None:
    """The sum, its decoding, and the result in 64 bits: 20 bytes for each value."""
    before, after = of_four
    assert after - before <= 20 * VALUES + SLACK


def test_a_server_that_keeps_pieces_is_noticed(of_four: tuple[int, int]) -> None:
    assert peaks(5, hoard=True)[1] > of_four[1] + SLACK
