# SPDX-License-Identifier: Apache-2.0
"""The tree and its proofs against published vectors and against every known lie."""

from dataclasses import astuple
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.tree.merkle import (
    EMPTY_ROOT,
    Tree,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from lexfed.errors import AuditError
from support.log import lies
from support.log.lies import numbered

# The eight entries that implementations of Certificate Transparency test with, and
# what is published of their tree.
ENTRIES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAF_0 = ROOTS[0]
LEAF_1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
NODE_2_3 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
NODE_4_7 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
LEAF_4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
NODE_6_7 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
NODE_4_5 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"

SMALL = settings(deadline=None, max_examples=60)


@cache
def reference() -> Tree:
    tree = Tree()
    for entry in ENTRIES:
        tree.append(entry)
    return tree


@cache
def tree_of(size: int) -> Tree:
    return numbered(size)


def hexes(hashes: tuple[bytes, ...]) -> list[str]:
    return [each.hex() for each in hashes]


def recursive_root(entries: list[bytes]) -> bytes:
    """The definition, word by word [RFC 6962, 2.1]."""
    if not entries:
        return EMPTY_ROOT
    if len(entries) == 1:
        return leaf_hash(entries[0])
    split = 1
    while split * 2 < len(entries):
        split *= 2
    return node_hash(recursive_root(entries[:split]), recursive_root(entries[split:]))


def test_the_empty_root_is_the_hash_of_nothing() -> None:
    assert EMPTY_ROOT.hex() == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert Tree().root() == EMPTY_ROOT


def test_roots_are_those_published() -> None:
    assert [reference().root(size).hex() for size in range(1, 9)] == ROOTS


@pytest.mark.parametrize(
    ("index", "size", "expected"),
    [
        (0, 1, []),
        (0, 8, [LEAF_1, NODE_2_3, NODE_4_7]),
        (5, 8, [LEAF_4, NODE_6_7, ROOTS[3]]),
        (2, 3, [ROOTS[1]]),
        (1, 5, [LEAF_0, NODE_2_3, LEAF_4]),
    ],
)
def test_inclusion_proofs_are_those_published(
    index: int, size: int, expected: list[str]
) -> None:
    assert hexes(reference().inclusion_proof(index, size)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1, []),
        (1, 8, [LEAF_1, NODE_2_3, NODE_4_7]),
        (6, 8, [NODE_4_5, NODE_6_7, ROOTS[3]]),
        (2, 5, [NODE_2_3, LEAF_4]),
    ],
)
def test_consistency_proofs_are_those_published(
    old: int, new: int, expected: list[str]
) -> None:
    assert hexes(reference().consistency_proof(old, new)) == expected


def test_a_node_cannot_pass_as_an_entry() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert leaf_hash(left + right) != node_hash(left, right)


def test_every_root_is_that_of_the_definition() -> None:
    entries = [str(number).encode() for number in range(70)]
    tree = tree_of(70)
    for size in range(71):
        assert tree.root(size) == recursive_root(entries[:size])


def test_every_proof_in_small_trees_verifies() -> None:
    tree = tree_of(70)
    for size in range(1, 71):
        for index in range(size):
            verify_inclusion(*astuple(lies.inclusion(tree, index, size)))
            verify_consistency(*astuple(lies.consistency(tree, index + 1, size)))


def test_proofs_verify_around_powers_of_two() -> None:
    tree = tree_of(2050)
    for size in (255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2050):
        for index in {0, 1, size // 2, size - 2, size - 1}:
            verify_inclusion(*astuple(lies.inclusion(tree, index, size)))
            verify_consistency(*astuple(lies.consistency(tree, index + 1, size)))


def test_appending_never_changes_the_root_of_a_smaller_size() -> None:
    tree = Tree()
    seen = [tree.root()]
    for number in range(40):
        assert tree.append(str(number).encode()) == number
        seen.append(tree.root())
    assert [tree.root(size) for size in range(41)] == seen


@pytest.mark.parametrize("size", [-1, 8, 2**63, 2**64])
def test_a_size_outside_the_tree_is_refused(size: int) -> None:
    tree = tree_of(7)
    with pytest.raises(AuditError, match="tree"):
        tree.root(size)
    with pytest.raises(AuditError, match="tree"):
        tree.inclusion_proof(0, size)
    with pytest.raises(AuditError, match="tree"):
        tree.consistency_proof(1, size)


@pytest.mark.parametrize("index", [-1, 7, 2**63])
def test_an_index_outside_the_tree_is_refused(index: int) -> None:
    with pytest.raises(AuditError, match="entry index"):
        tree_of(7).inclusion_proof(index, 7)


def test_no_proof_starts_from_the_empty_tree() -> None:
    with pytest.raises(AuditError, match="empty tree"):
        tree_of(7).consistency_proof(0, 7)


def test_no_proof_goes_backwards() -> None:
    with pytest.raises(AuditError, match="larger than the new"):
        tree_of(7).consistency_proof(6, 5)


def test_nodes_are_roots_of_complete_subtrees() -> None:
    tree = tree_of(70)
    entries = [str(number).encode() for number in range(70)]
    assert tree.nodes(3, 2, 4) == [
        recursive_root(entries[16:24]),
        recursive_root(entries[24:32]),
    ]
    assert tree.nodes(0, 70, 70) == []


@pytest.mark.parametrize(
    ("level", "start", "stop"),
    [(3, 0, 9), (3, -1, 2), (3, 3, 2), (7, 0, 1), (-1, 0, 1), (99, 0, 0)],
)
def test_a_subtree_with_a_hole_is_not_given(level: int, start: int, stop: int) -> None:
    tree = tree_of(70)
    if (start, stop) == (0, 0):
        assert tree.nodes(level, start, stop) == []
    else:
        with pytest.raises(AuditError, match="complete subtrees"):
            tree.nodes(level, start, stop)


@SMALL
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=40), st.data())
def test_any_entries_prove_their_place_and_growth(
    entries: list[bytes], data: st.DataObject
) -> None:
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    size = data.draw(st.integers(1, len(entries)))
    index = data.draw(st.integers(0, size - 1))
    leaf = leaf_hash(entries[index])
    proof = tree.inclusion_proof(index, size)
    root = recursive_root(entries[:size])
    verify_inclusion(leaf, index, size, proof, root)
    with pytest.raises(AuditError):  # control
        verify_inclusion(leaf_hash(leaf), index, size, proof, root)
    growth = tree.consistency_proof(index + 1, size)
    verify_consistency(
        index + 1,
        recursive_root(entries[: index + 1]),
        size,
        recursive_root(entries[:size]),
        growth,
    )
