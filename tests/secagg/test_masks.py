# SPDX-License-Identifier: Apache-2.0
"""Masked vectors look like noise, and no round tells about another.

Chi-square tests over 256 byte values; each fails by chance once in 10^9 times.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from lexfed.secagg.masks.epoch_secrets import OWN, PAIR, row
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.primitives.shamir import secret_bytes
from support.secagg.secure_sums import MODEL, Epoch, names, setting

LENGTH = 20_000
CHANCE = 1e-9


def statistic(data: bytes | NDArray[np.unsignedinteger]) -> float:
    counts = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256
    return float(((counts - expected) ** 2 / expected).sum())


def uniform(data: bytes | NDArray[np.unsignedinteger]) -> bool:
    return statistic(data) < float(chi2.isf(CHANCE, 255))


def masked(epoch: Epoch, name: str, round_number: int) -> bytes:
    zeros = np.zeros(LENGTH, dtype=np.int64)
    message = epoch.sites[name].mask(round_number, MODEL, zeros)
    size = LENGTH * epoch.agreed.terms.ring.bits // 8
    return message[-64 - size : -64]


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_a_masked_vector_is_uniform(bits: int) -> None:
    epoch = Epoch(setting(3, bits=bits, length=LENGTH))
    epoch.set_up()
    assert uniform(masked(epoch, "site000", 1))


def test_the_test_of_uniformity_notices_a_missing_mask() -> None:
    small = np.arange(LENGTH) % 100 - 50
    assert not uniform(Ring(32).pack(Ring(32).encode(small)))


def test_masks_of_two_rounds_and_of_two_sites_are_unrelated() -> None:
    epoch = Epoch(setting(3, length=LENGTH))
    epoch.set_up()
    vectors = [
        np.frombuffer(masked(epoch, name, at), "<u4")
        for name, at in (("site000", 1), ("site000", 2), ("site001", 1))
    ]
    assert uniform((vectors[0] - vectors[1]).tobytes())
    assert uniform((vectors[0] - vectors[2]).tobytes())
    # All but own masks cancel in a sum: those keep even the sum of two uniform.
    assert uniform((vectors[0] + vectors[2]).tobytes())


def test_one_share_of_each_site_and_only_of_the_round_at_hand() -> None:
    epoch = Epoch(setting(5, rounds=3))
    server = epoch.set_up()
    site = epoch.sites["site000"]
    held = {seat: shares.copy() for seat, shares in site._held.items()}
    alive = {1: names(5)[:3], 2: names(5)}
    for number, here in alive.items():
        epoch.round(server, here, number)
        given = epoch.sent["unmask", "site000"]
        for seat, shares in held.items():
            kind = OWN if names(5)[seat] in here else PAIR
            for at in range(1, 4):
                for which in (OWN, PAIR):
                    inside = secret_bytes(shares[row(at, which)]) in given
                    assert inside == (at == number and which == kind)


def test_a_site_forgets_rounds_that_are_over() -> None:
    epoch = Epoch(setting(3, rounds=3))
    server = epoch.set_up()
    site = epoch.sites["site000"]
    epoch.masked(server, epoch.sites, 2)
    assert not site._secrets._drawn[:4].any()
    assert site._secrets._drawn[4:].any()
    assert not any(shares[:2].any() for shares in site._held.values())
    assert all(shares[2:4].any() for shares in site._held.values())
    epoch.consented(server, epoch.sites)
    epoch.unmasked(server, epoch.sites)
    assert not any(shares[:4].any() for shares in site._held.values())
    assert all(shares[4:].any() for shares in site._held.values())
