# SPDX-License-Identifier: Apache-2.0
"""The way from one entry to the root, so that a person can redo it by hand.

At each level the hash so far is joined with its sibling, `SHA256(0x01 || left ||
right)`. A sibling on the left covers earlier entries, one on the right later ones
[RFC 6962, 2.1.1]. Levels at which a subtree stands alone at the right edge have no
sibling and no step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.audit.tree.merkle import Tree, leaf_hash, node_hash, verify_inclusion
from lexfed.report.markup.svg import figure, line, rectangle, text

_BOX, _HIGH, _STEP = 150.0, 26.0, 56.0


@dataclass(frozen=True)
class MerkleStep:
    """One join on the way up.

    Attributes:
        sibling: the hash that is joined.
        left: whether the sibling stands on the left.
        result: the hash after joining.
        covers: first and last entry under the sibling.
    """

    sibling: bytes
    left: bool
    result: bytes
    covers: tuple[int, int]


@dataclass(frozen=True)
class MerklePath:
    """An entry's leaf, the joins, and the root they end in."""

    index: int
    size: int
    leaf: bytes
    steps: tuple[MerkleStep, ...]
    root: bytes


def merkle_path(tree: Tree, index: int, entry: bytes) -> MerklePath:
    """Return the checked way from an entry to the root of the whole tree."""
    size, leaf = tree.size, leaf_hash(entry)
    proof = tree.inclusion_proof(index, size)
    verify_inclusion(leaf, index, size, proof, tree.root())
    found: list[MerkleStep] = []
    node = leaf
    for sibling, left, covers in zip(
        proof, *_sides(index, size), strict=True
    ):  # fmt: skip
        node = node_hash(sibling, node) if left else node_hash(node, sibling)
        found.append(MerkleStep(sibling, left, node, covers))
    return MerklePath(index, size, leaf, tuple(found), tree.root())


def _sides(index: int, size: int) -> tuple[list[bool], list[tuple[int, int]]]:
    """Return the side of each sibling and the entries it covers, leaf first."""
    sides: list[bool] = []
    covers: list[tuple[int, int]] = []
    start, stop = 0, size
    while stop - start > 1:
        split = start + (1 << (stop - start - 1).bit_length() - 1)
        on_left = index >= split
        sides.append(on_left)
        covers.append((start, split - 1) if on_left else (split, stop - 1))
        start, stop = (split, stop) if on_left else (start, split)
    return sides[::-1], covers[::-1]


def draw_merkle_path(path: MerklePath) -> Markup:
    """Draw the way up: the entry below, the root on top, siblings at the sides."""
    height = _HIGH + _STEP * len(path.steps) + 4.0
    middle, left, right = 360.0, 120.0, 600.0
    parts: list[Markup] = []
    nodes = [path.leaf, *(step.result for step in path.steps)]
    for level, node in enumerate(nodes):
        y = height - 2.0 - _HIGH - level * _STEP
        if level < len(path.steps):
            step = path.steps[level]
            side = left if step.left else right
            parts.append(line(middle, y, middle, y - _STEP + _HIGH, "ink"))
            parts.append(line(side, y, middle, y - _STEP + _HIGH, "thin"))
            parts += _box(side, y, _label(step.sibling), "box")
            first, last = step.covers
            caption = f"entry {first}" if first == last else f"entries {first}–{last}"
            parts.append(text(side, y + _HIGH + 13.0, caption, "middle", "muted"))
        parts += _box(middle, y, _label(node), "box path")
        parts.append(_name(path, level, middle, y))
    title = f"path from entry {path.index} to the root of {path.size} entries"
    return figure(720.0, height + 14.0, title, parts)


def _name(path: MerklePath, level: int, x: float, y: float) -> Markup:
    names = []
    if level == 0:
        names.append(f"entry {path.index}")
    if level == len(path.steps):
        names.append("root")
    return text(x + _BOX / 2 + 8.0, y + 17.0, " = ".join(names), style="strong")


def _box(x: float, y: float, words: str, style: str) -> Sequence[Markup]:
    return (
        rectangle(x - _BOX / 2, y, _BOX, _HIGH, style),
        text(x, y + 17.0, words, "middle", "code"),
    )


def _label(node: bytes) -> str:
    return f"{node.hex()[:8]}…{node.hex()[-4:]}"
