# SPDX-License-Identifier: Apache-2.0
"""Fingerprints are linear, exact, bound to their round, and miss no other sum."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.secagg.encrypted.ciphertexts import (
    Coefficients,
    add,
    fingerprint,
    pack_tags,
    read_tags,
    summed_tags,
    zeros,
)
from lexfed.secagg.encrypted.terms import CIPHER, DEGREE, Moduli
from lexfed.secagg.envelopes.key_agreement import derived_key
from lexfed.secagg.primitives.keystreams import keystream
from support.secagg.encrypted_sums import agreed
from support.secagg.secure_sums import MODEL

SEED = bytes(range(32))
CONTEXT = agreed().context(1, MODEL)


def drawn(seed: int, modulus: int, blocks: int = 1) -> Coefficients:
    rng = np.random.default_rng(seed)
    return rng.integers(0, modulus, (blocks, 2 * DEGREE), dtype=np.uint64)


def plainly(rows: Coefficients, modulus: int) -> tuple[int, ...]:
    """The definition, in whole numbers of any size."""
    tags = [0, 0]
    for at, row in enumerate(rows.tolist()):
        key = derived_key(SEED, CONTEXT.digest, f"fingerprint of block {at}", 16)
        words = np.frombuffer(keystream(key, 16 * len(row)), "<u8").tolist()
        for which in (0, 1):
            tags[which] += sum(map(int.__mul__, words[which::2], row))
    return tuple(tag % modulus for tag in tags)


@pytest.mark.parametrize("modulus", CIPHER)
def test_limbs_compute_the_definition_exactly(modulus: int) -> None:
    largest = np.full((2, 2 * DEGREE), modulus - 1, dtype=np.uint64)
    for rows in (zeros(1), largest, drawn(1, modulus, 3)):
        assert fingerprint(rows, SEED, CONTEXT, modulus) == plainly(rows, modulus)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(CIPHER), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_fingerprint_of_a_sum_is_the_sum_of_fingerprints(
    modulus: int, sites: int, seed: int
) -> None:
    vectors = [drawn(seed + at, modulus, 2) for at in range(sites)]
    total = zeros(2)
    for rows in vectors:
        add(total, rows, Moduli(65_537, modulus))
    tag = partial(fingerprint, seed=SEED, context=CONTEXT, modulus=modulus)
    assert tag(total) == summed_tags([tag(rows) for rows in vectors], modulus)
    # The negative control: any other sum has another fingerprint.
    total[1, 5] ^= np.uint64(1)
    assert tag(total) != summed_tags([tag(rows) for rows in vectors], modulus)


def test_every_place_and_every_block_counts() -> None:
    modulus = CIPHER[0]
    tag = partial(fingerprint, seed=SEED, context=CONTEXT, modulus=modulus)
    seen = set()
    for block in (0, 1):
        for place in (0, 1, DEGREE - 1, DEGREE, 2 * DEGREE - 1):
            rows = zeros(2)
            rows[block, place] = 1
            seen.add(tag(rows))
    assert len(seen) == 10


def test_other_rounds_models_and_seeds_have_other_keys() -> None:
    rows, modulus = drawn(1, CIPHER[0]), CIPHER[0]
    contexts = (
        CONTEXT,
        agreed().context(2, MODEL),
        agreed().context(1, SEED),
        agreed(epoch=2).context(1, MODEL),
    )
    tags = {fingerprint(rows, SEED, context, modulus) for context in contexts}
    tags.add(fingerprint(rows, bytes(32), CONTEXT, modulus))
    assert len(tags) == 5
    # Both numbers depend on keys of their own.
    assert all(first != second for first, second in tags)


def test_tags_are_eight_bytes_each() -> None:
    tags = (CIPHER[3] - 1, 7)
    assert read_tags(pack_tags(tags)) == tags
    assert len(pack_tags(tags)) == 16
