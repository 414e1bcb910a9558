# SPDX-License-Identifier: Apache-2.0
"""The path that is drawn is the one that leads to the root."""

import pytest

from lexfed.audit.tree.merkle import Tree, leaf_hash, node_hash
from lexfed.errors import AuditError
from lexfed.report.sections.log_entries import draw_merkle_path, merkle_path


def _tree(size: int) -> tuple[Tree, list[bytes]]:
    tree, entries = Tree(), [f"entry {n}".encode() for n in range(size)]
    for entry in entries:
        tree.append(entry)
    return tree, entries


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 31, 34])
def test_every_path_leads_to_the_root(size: int) -> None:
    tree, entries = _tree(size)
    for index, entry in enumerate(entries):
        path = merkle_path(tree, index, entry)
        node = leaf_hash(entry)
        for step in path.steps:
            pair = (step.sibling, node) if step.left else (node, step.sibling)
            node = node_hash(*pair)
            assert node == step.result
        assert node == path.root == tree.root()


def test_siblings_cover_all_other_entries_once() -> None:
    tree, entries = _tree(11)
    for index, entry in enumerate(entries):
        covered = [index]
        for step in merkle_path(tree, index, entry).steps:
            covered += range(step.covers[0], step.covers[1] + 1)
        assert sorted(covered) == list(range(11))


def test_another_entry_has_no_path() -> None:
    tree, _ = _tree(5)
    with pytest.raises(AuditError):
        merkle_path(tree, 2, b"another")


def test_the_drawing_names_leaf_root_and_what_siblings_cover() -> None:
    tree, entries = _tree(6)
    drawn = str(draw_merkle_path(merkle_path(tree, 4, entries[4])))
    for words in ("entry 4", "root", "entry 5", "entries 0–3"):
        assert f">{words}</text>" in drawn
    assert tree.root().hex()[:8] in drawn


def test_one_entry_is_leaf_and_root() -> None:
    tree, entries = _tree(1)
    assert ">entry 0 = root</text>" in str(
        draw_merkle_path(merkle_path(tree, 0, entries[0]))
    )
