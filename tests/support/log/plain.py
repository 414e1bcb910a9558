# SPDX-License-Identifier: Apache-2.0
"""A log folder written file by file, without the store: formats alone."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.tree.checkpoint import Checkpoint, sign
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.tiles import bundle_files, tile_files
from lexfed.signing.keys import Signer

ORIGIN = "audit.example.org/fl/run-1"


@cache
def signer(name: str = ORIGIN, seed: int = 1) -> Signer:
    """Return a key that is the same in every run of the tests."""
    return Signer(name, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


def entries_of(size: int) -> list[bytes]:
    """Return entries of different lengths, the empty one among them."""
    return [str(number).encode() * (number % 5) for number in range(size)]


def tree_of(entries: Sequence[bytes]) -> Tree:
    """Return the tree over some entries."""
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    return tree


def signed(tree: Tree, size: int | None = None, *signers: Signer) -> bytes:
    """Return the signed checkpoint of a tree."""
    size = tree.size if size is None else size
    head = Checkpoint(ORIGIN, size, tree.root(size))
    return sign(head, *(signers or (signer(),)))


def write_log(folder: Path, entries: Sequence[bytes], *stops: int) -> Tree:
    """Write a log that grew to each of some sizes in turn."""
    tree = tree_of(entries)
    old = 0
    for new in stops or (len(entries),):
        files = bundle_files(entries, old, new) + tile_files(tree, old, new)
        for name, content in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        old = new
    (folder / "checkpoint").write_bytes(signed(tree, old))
    return tree
