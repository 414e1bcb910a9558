# SPDX-License-Identifier: Apache-2.0
"""Every known way to lie with a proof is refused."""

from dataclasses import astuple, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.tree.merkle import (
    Tree,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from lexfed.errors import AuditError
from support.log import lies
from support.log.lies import numbered

SMALL = settings(deadline=None, max_examples=60)


@cache
def tree_of(size: int) -> Tree:
    return numbered(size)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_every_lie_about_inclusion_is_refused(size: int) -> None:
    tree = tree_of(17)
    for index in range(size):
        honest = lies.inclusion(tree, index, size)
        assert lies.holds(honest)
        table = lies.inclusion_lies(tree, honest)
        assert [name for name, lie in table if lies.holds(lie)] == []


@pytest.mark.parametrize("new", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_every_lie_about_consistency_is_refused(new: int) -> None:
    tree = tree_of(17)
    for old in range(1, new + 1):
        honest = lies.consistency(tree, old, new)
        assert lies.holds(honest)
        table = lies.consistency_lies(tree, honest)
        assert [name for name, lie in table if lies.holds(lie)] == []


def test_a_refusal_says_expected_and_got() -> None:
    honest = lies.inclusion(tree_of(17), 3, 17)
    with pytest.raises(AuditError, match="expected 5 hashes, got: 4"):
        verify_inclusion(*astuple(replace(honest, proof=honest.proof[1:])))
    with pytest.raises(AuditError, match=f"expected root {'00' * 32}, computed: "):
        verify_inclusion(*astuple(replace(honest, root=bytes(32))))


def test_hashes_are_measured_before_anything_is_hashed() -> None:
    honest = lies.inclusion(tree_of(17), 3, 17)
    proof = (*honest.proof[:2], b"", *honest.proof[3:])
    with pytest.raises(AuditError, match="hash 2 is not 32 bytes long"):
        verify_inclusion(*astuple(replace(honest, proof=proof)))


def test_huge_numbers_cost_nothing() -> None:
    top = 2**63 - 1
    with pytest.raises(AuditError, match="expected 63 hashes"):
        verify_inclusion(bytes(32), 0, top, (), bytes(32))
    with pytest.raises(AuditError, match="computed"):
        verify_inclusion(bytes(32), 5, top, (bytes(32),) * 63, bytes(32))
    with pytest.raises(AuditError, match="computed"):
        verify_consistency(2**62, bytes(32), top, bytes(32), (bytes(32),))


def test_trees_beyond_63_bits_are_refused_though_the_hashes_fit() -> None:
    """Another program would count them with a sign, or not at all."""
    node = leaf_hash(b"first")
    proof = tuple(bytes([level]) * 32 for level in range(64))
    for level, sibling in enumerate(proof, start=1):
        node = node_hash(node, sibling)
        leaf, size = leaf_hash(b"first"), 2**level
        if level < 63:
            verify_inclusion(leaf, 0, size, proof[:level], node)
            verify_consistency(1, leaf, size, node, proof[:level])
        else:
            with pytest.raises(AuditError, match=r"from 0 to 2\^63-1"):
                verify_inclusion(leaf, 0, size, proof[:level], node)
            with pytest.raises(AuditError, match=r"from 0 to 2\^63-1"):
                verify_consistency(1, leaf, size, node, proof[:level])


@SMALL
@given(st.data())
def test_every_changed_bit_of_an_inclusion_is_refused(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 300))
    index = data.draw(st.integers(0, size - 1))
    honest = lies.inclusion(tree_of(300), index, size)
    parts = [honest.leaf, honest.root, *honest.proof]
    place = data.draw(st.integers(0, len(parts) * 256 - 1))
    leaf, root, *proof = flipped(parts, place)
    verify_inclusion(*astuple(honest))
    with pytest.raises(AuditError):
        verify_inclusion(leaf, index, size, proof, root)
    change = 1 << data.draw(st.integers(0, 64))
    with pytest.raises(AuditError):
        verify_inclusion(honest.leaf, index ^ change, size, honest.proof, honest.root)


@SMALL
@given(st.data())
def test_every_changed_bit_of_a_consistency_is_refused(data: st.DataObject) -> None:
    new = data.draw(st.integers(2, 300))
    old = data.draw(st.integers(1, new))
    honest = lies.consistency(tree_of(300), old, new)
    parts = [honest.old_root, honest.new_root, *honest.proof]
    place = data.draw(st.integers(0, len(parts) * 256 - 1))
    old_root, new_root, *proof = flipped(parts, place)
    verify_consistency(*astuple(honest))
    with pytest.raises(AuditError):
        verify_consistency(old, old_root, new, new_root, proof)


def flipped(parts: list[bytes], place: int) -> list[bytes]:
    which, bit = divmod(place, 256)
    changed = bytearray(parts[which])
    changed[bit // 8] ^= 1 << bit % 8
    return [*parts[:which], bytes(changed), *parts[which + 1 :]]
