# SPDX-License-Identifier: Apache-2.0
"""Ways to lie with a Merkle proof, by name.

The names and ideas are those of the public vectors for RFC 6962 proofs: one name for
each way to lie. Here every lie is made by rule from an honest proof, so any tree gives
the whole table.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

from lexfed.audit.tree.merkle import (
    EMPTY_ROOT,
    Tree,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)
from lexfed.errors import AuditError

GARBAGE = bytes(range(32))


@dataclass(frozen=True)
class Inclusion:
    """The arguments of `verify_inclusion`."""

    leaf: bytes
    index: int
    size: int
    proof: tuple[bytes, ...]
    root: bytes


@dataclass(frozen=True)
class Consistency:
    """The arguments of `verify_consistency`."""

    old_size: int
    old_root: bytes
    new_size: int
    new_root: bytes
    proof: tuple[bytes, ...]


def numbered(size: int) -> Tree:
    """Return a tree whose entries are the decimal numbers from 0."""
    tree = Tree()
    for number in range(size):
        tree.append(str(number).encode())
    return tree


def inclusion(tree: Tree, index: int, size: int) -> Inclusion:
    """Return an honest proof."""
    leaf = tree.leaves[index]
    return Inclusion(
        leaf, index, size, tree.inclusion_proof(index, size), tree.root(size)
    )


def consistency(tree: Tree, old: int, new: int) -> Consistency:
    """Return an honest proof."""
    proof = tree.consistency_proof(old, new)
    return Consistency(old, tree.root(old), new, tree.root(new), proof)


def holds(case: Inclusion | Consistency) -> bool:
    """Whether our own functions accept it."""
    try:
        if isinstance(case, Inclusion):
            verify_inclusion(*astuple(case))
        else:
            verify_consistency(*astuple(case))
    except AuditError:
        return False
    return True


def _proof_lies(
    proof: tuple[bytes, ...], root: bytes
) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    yield "trailing-garbage", (*proof, GARBAGE)
    yield "leading-garbage", (GARBAGE, *proof)
    yield "trailing-root", (*proof, root)
    yield "leading-root", (root, *proof)
    yield "trailing-empty-hash", (*proof, b"")
    yield "zero-length-hashes", tuple(b"" for _ in range(len(proof) or 1))
    yield "long-hash", (*proof[:-1], (proof[-1] if proof else b"") + bytes(33))
    yield "63-hashes", (GARBAGE,) * 63
    yield "64-hashes", (GARBAGE,) * 64
    if proof:
        yield "empty-proof", ()
        yield "truncated-end", proof[:-1]
        yield "truncated-start", proof[1:]
        yield "short-hash", (*proof[:-1], proof[-1][:-1])
        yield "all-zero-hashes", tuple(bytes(32) for _ in proof)
        yield "first-hash-twice", (proof[0], *proof)
        for place in range(len(proof)):
            changed = list(proof)
            changed[place] = GARBAGE
            yield f"garbage-at-{place}", tuple(changed)
    if len(set(proof)) > 1:
        yield "reversed", proof[::-1]


def inclusion_lies(tree: Tree, honest: Inclusion) -> Iterator[tuple[str, Inclusion]]:
    """Yield every lie about one inclusion, with its name."""
    index, size = honest.index, honest.size
    for name, proof in _proof_lies(honest.proof, honest.root):
        yield name, replace(honest, proof=proof)
    yield "wrong-leaf", replace(honest, leaf=leaf_hash(b"another entry"))
    yield "empty-leaf", replace(honest, leaf=b"")
    yield "zero-leaf", replace(honest, leaf=bytes(32))
    yield "wrong-root", replace(honest, root=GARBAGE)
    yield "empty-root", replace(honest, root=b"")
    yield "root-of-the-empty-tree", replace(honest, root=EMPTY_ROOT)
    for before in range(1, size):
        yield f"preceding-root-{before}", replace(honest, root=tree.root(before))
    for other in range(size):
        if other != index:
            yield f"leafIdx-{other}", replace(honest, index=other)
    for change in (1, 2, 4, 2**62):
        if (index ^ change) >= size:
            yield f"leafIdx-XOR-{change}", replace(honest, index=index ^ change)
    yield "leafIdx-size", replace(honest, index=size)
    yield "leafIdx-minus-1", replace(honest, index=-1)
    yield "leafIdx-2^63", replace(honest, index=2**63)
    yield "leafIdx-plus-2^64", replace(honest, index=index + 2**64)
    yield "treeSize-0", replace(honest, size=0)
    yield "treeSize-minus-1", replace(honest, size=-1)
    yield "treeSize-equals-leafIdx", replace(honest, size=index)
    yield "treeSize-2^63", replace(honest, size=2**63)
    yield "treeSize-2^63-1", replace(honest, size=2**63 - 1)
    yield "treeSize-plus-2^64", replace(honest, size=size + 2**64)
    for name, other in [("mul-2", size * 2), ("div-2", size // 2)]:
        if other > index and expected_length(index, other) == len(honest.proof):
            continue  # same path in both sizes: the proof does not bind the size
        yield f"treeSize-{name}", replace(honest, size=other)


def expected_length(index: int, size: int) -> int:
    """Return how long an inclusion proof is, by the recursion of RFC 6962, 2.1.1."""
    if size == 1:
        return 0
    split = 1 << (size - 1).bit_length() - 1
    inner = (index, split) if index < split else (index - split, size - split)
    return 1 + expected_length(*inner)


def consistency_lies(
    tree: Tree, honest: Consistency
) -> Iterator[tuple[str, Consistency]]:
    """Yield every lie about one growth, with its name."""
    old, new = honest.old_size, honest.new_size
    for name, proof in _proof_lies(honest.proof, honest.new_root):
        yield name, replace(honest, proof=proof)
    for field in ("old_root", "new_root"):
        for name, value in (
            ("wrong", GARBAGE),
            ("empty", b""),
            ("all-zero", bytes(32)),
            ("of-the-empty-tree", EMPTY_ROOT),
            ("too-long", tree.root(old) + b"\0"),
        ):
            lie = (
                replace(honest, old_root=value)
                if field == "old_root"
                else replace(honest, new_root=value)
            )
            yield f"{field}-{name}", lie
    if old != new:
        swapped = replace(honest, old_root=honest.new_root, new_root=honest.old_root)
        yield "swapped-roots", swapped
        yield "swapped-sizes", replace(honest, old_size=new, new_size=old)
        yield "same-size", replace(honest, old_size=new)
        yield "old-root-twice", replace(honest, new_root=honest.old_root)
        yield "new-root-twice", replace(honest, old_root=honest.new_root)
        for before in range(1, old):
            yield (
                f"preceding-root-{before}",
                replace(honest, old_root=tree.root(before)),
            )
    yield "from-empty", replace(honest, old_size=0)
    yield "from-empty-with-its-root", replace(honest, old_size=0, old_root=EMPTY_ROOT)
    yield (
        "from-empty-without-proof",
        replace(honest, old_size=0, old_root=EMPTY_ROOT, proof=()),
    )
    yield "both-empty", Consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, ())
    yield "old-size-minus-1", replace(honest, old_size=-1)
    yield "old-size-2^63", replace(honest, old_size=2**63)
    yield "new-size-2^63", replace(honest, new_size=2**63)
    yield "new-size-2^63-1", replace(honest, new_size=2**63 - 1)
    yield "new-size-below-old", replace(honest, new_size=old - 1)
    yield "new-size-plus-2^64", replace(honest, new_size=new + 2**64)
