# SPDX-License-Identifier: Apache-2.0
"""The tree under the log: RFC 6962 hashes, its two proofs and their verification.

    empty root = SHA256("")
    leaf       = SHA256(0x00 || entry)
    node       = SHA256(0x01 || left || right)

A tree of n > 1 leaves splits at the largest power of two below n [RFC 6962, 2.1]. The
two prefixes keep a node from passing as an entry. Two proofs follow from it:

    inclusion    the siblings on the way from one leaf to the root, leaf first
                 [RFC 6962, 2.1.1]
    consistency  the subtrees that join an old root to a new one [RFC 6962, 2.1.2]

>>> tree = Tree([b"a", b"b", b"c"])
>>> proof = tree.inclusion_proof(2, 3)
>>> verify_inclusion(leaf_hash(b"c"), 2, 3, proof, tree.root())
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from lexfed.errors import AuditError

HASH_SIZE = 32
MAX_SIZE = 2**63 - 1
"""The most that programs with signed 64-bit integers can count."""

EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Return `SHA256(0x00 || entry)` [RFC 6962, 2.1]."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return `SHA256(0x01 || left || right)` [RFC 6962, 2.1]."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """An append-only tree in memory.

    Guarantees:
        Every proof it gives verifies against the root of the same size.
        Appending never changes the root of a smaller size.
        A size or an index outside the tree raises `AuditError`.
    """

    def __init__(self, entries: Iterable[bytes] = ()) -> None:
        # _levels[k][i] is the root of entries i * 2^k to (i + 1) * 2^k - 1, once all
        # of them are there.
        self._levels: list[list[bytes]] = [[]]
        for entry in entries:
            self.append(entry)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self._levels[0])

    @property
    def leaves(self) -> tuple[bytes, ...]:
        """The hash of every entry, oldest first."""
        return tuple(self._levels[0])

    def append(self, entry: bytes) -> int:
        """Append an entry and return its index."""
        levels = self._levels
        node = leaf_hash(entry)
        index = position = len(levels[0])
        levels[0].append(node)
        level = 0
        while position & 1:
            node = node_hash(levels[level][position - 1], node)
            level += 1
            position >>= 1
            if level == len(levels):
                levels.append([])
            levels[level].append(node)
        return index

    def nodes(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return roots of complete subtrees of 2^level entries, `start` to `stop`-1."""
        kept = self._levels[level] if 0 <= level < len(self._levels) else []
        if not 0 <= start <= stop <= len(kept):
            raise AuditError(
                f"tree of {self.size} entries has {len(kept)} complete subtrees at "
                f"level {level}, got: {start} to {stop}"
            )
        return kept[start:stop]

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the first `size` entries, by default of all."""
        if size is None:
            size = self.size
        self._check_size(size)
        return self._range(0, size) if size else EMPTY_ROOT

    def inclusion_proof(self, index: int, size: int) -> tuple[bytes, ...]:
        """Return the proof that entry `index` is in the tree of `size` entries."""
        self._check_size(size)
        _check_index(index, size)
        return tuple(self._path(0, index, size))

    def consistency_proof(self, old: int, new: int) -> tuple[bytes, ...]:
        """Return the proof that the tree of `new` entries begins with that of `old`.

        Not from 0: every tree begins with the empty one, and no proof says more.
        """
        self._check_size(new)
        _check_sizes(old, new)
        if old == new:
            return ()
        # The path from the last complete subtree of the old tree, plus that subtree
        # unless it is the whole old tree, whose root is known [RFC 6962, 2.1.2].
        level = _trailing_zeros(old)
        position = (old >> level) - 1
        path = self._path(level, position, new)
        return tuple(path if position == 0 else [self._levels[level][position], *path])

    def _path(self, level: int, position: int, size: int) -> list[bytes]:
        path = []
        last = (size - 1) >> level
        while last:
            sibling = position ^ 1
            if sibling < last:
                path.append(self._levels[level][sibling])
            elif sibling == last:
                path.append(self._range(sibling << level, size))
            level += 1
            position >>= 1
            last >>= 1
        return path

    def _range(self, start: int, end: int) -> bytes:
        # One complete subtree for each bit of the length, largest first.
        parts = []
        while start < end:
            level = (end - start).bit_length() - 1
            parts.append(self._levels[level][start >> level])
            start += 1 << level
        node = parts.pop()
        while parts:
            node = node_hash(parts.pop(), node)
        return node

    def _check_size(self, size: int) -> None:
        _check_number("tree size", size)
        if size > self.size:
            raise AuditError(f"tree has {self.size} entries, got tree size: {size}")


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> None:
    """Check that `leaf` is entry `index` of the tree of `size` entries under `root`.

    Take `size` and `root` from one signed checkpoint: sizes with the same path give
    the same hashes, so the proof alone does not show the size.

    Guarantees:
        Returns for the proof the tree itself gives, and for no other bytes.
        Hashes that are not 32 bytes long are refused before anything is hashed.
        The length of the proof follows from `index` and `size` alone.
    """
    what = f"inclusion proof of entry {index} in a tree of {size}"
    _check_number("tree size", size)
    _check_index(index, size)
    _check_hash("leaf hash", leaf)
    _check_hash("root", root)
    inner, border = _path_length(index, size)
    _check_proof(what, proof, inner + border)
    node = leaf
    for height, sibling in enumerate(proof[:inner]):
        right = index >> height & 1
        node = node_hash(sibling, node) if right else node_hash(node, sibling)
    for sibling in proof[inner:]:
        node = node_hash(sibling, node)
    _check_root(what, root, node)


def verify_consistency(
    old_size: int,
    old_root: bytes,
    new_size: int,
    new_root: bytes,
    proof: Sequence[bytes],
) -> None:
    """Check that the tree under `new_root` begins with the tree under `old_root`.

    Guarantees:
        Returns for the proof the tree itself gives, and for no other bytes.
        An old size of 0 is refused: no proof can say anything about the empty tree.
        Equal sizes need equal roots and an empty proof.
    """
    what = f"consistency proof from {old_size} to {new_size} entries"
    _check_number("tree size", new_size)
    _check_sizes(old_size, new_size)
    _check_hash("old root", old_root)
    _check_hash("new root", new_root)
    if old_size == new_size:
        _check_proof(what, proof, 0)
        _check_root(what, new_root, old_root)
        return
    level = _trailing_zeros(old_size)
    position = (old_size >> level) - 1
    inner, border = _path_length(old_size - 1, new_size)
    inner -= level
    given = position > 0  # else the old root itself is where the path starts
    _check_proof(what, proof, given + inner + border)
    old = new = proof[0] if given else old_root
    path = proof[given:]
    for height, sibling in enumerate(path[:inner]):
        if position >> height & 1:
            old = node_hash(sibling, old)
            new = node_hash(sibling, new)
        else:
            new = node_hash(new, sibling)
    for sibling in path[inner:]:
        old = node_hash(sibling, old)
        new = node_hash(sibling, new)
    _check_root(f"{what}, old tree", old_root, old)
    _check_root(f"{what}, new tree", new_root, new)


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def _path_length(index: int, size: int) -> tuple[int, int]:
    # Below `inner` the paths of this and the last entry differ: a sibling per level.
    # Above, both follow the right edge: a sibling only where the path turns right.
    inner = (index ^ (size - 1)).bit_length()
    return inner, (index >> inner).bit_count()


def _check_number(what: str, number: int) -> None:
    if not 0 <= number <= MAX_SIZE:
        raise AuditError(f"{what} is not a number from 0 to 2^63-1")


def _check_index(index: int, size: int) -> None:
    _check_number("entry index", index)
    if index >= size:
        raise AuditError(f"entry index {index} is outside a tree of {size} entries")


def _check_sizes(old: int, new: int) -> None:
    _check_number("old tree size", old)
    if old > new:
        raise AuditError(f"old tree of {old} entries is larger than the new of {new}")
    if old == 0:
        raise AuditError("no proof can start from the empty tree")


def _check_hash(what: str, value: bytes) -> None:
    if len(value) != HASH_SIZE:
        raise AuditError(f"{what} is not {HASH_SIZE} bytes long")


def _check_proof(what: str, proof: Sequence[bytes], expected: int) -> None:
    if len(proof) != expected:
        raise AuditError(f"{what}: expected {expected} hashes, got: {len(proof)}")
    for number, value in enumerate(proof):
        _check_hash(f"{what}: hash {number}", value)


def _check_root(what: str, expected: bytes, computed: bytes) -> None:
    if expected != computed:
        raise AuditError(
            f"{what}: expected root {expected.hex()}, computed: {computed.hex()}"
        )
