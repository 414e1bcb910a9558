# SPDX-License-Identifier: Apache-2.0
"""The log as the report shows it: its identity, every entry, and a way to the root.

For one entry the way to the root is drawn, so that a person can redo it by hand. At
each level the hash so far is joined with its sibling, `SHA256(0x01 || left || right)`.
A sibling on the left covers earlier entries, one on the right later ones
[RFC 6962, 2.1.1]. Levels at which a subtree stands alone at the right edge have none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from markupsafe import Markup

from lexfed.audit.entries import Genesis
from lexfed.audit.entries.envelopes import RecordedEntry, body_of
from lexfed.audit.tree.merkle import Tree, leaf_hash, node_hash, verify_inclusion
from lexfed.report.dossier import Dossier
from lexfed.report.markup.svg import figure, line, rectangle, text
from lexfed.signing.strict_text import encode_base64
from lexfed.terms import DIGEST

VERIFIER = f"lexfed {metadata.version('lexfed')}"

SPLIT_VIEW = (
    "No witness vouches for this log: that its operator showed another history to "
    "somebody else (a split view) cannot be excluded."
)

_DIGEST = re.compile(f"^{DIGEST}$")
_MOST = 6  # items of a list that are spelled out

_ELSEWHERE = {
    "round": ("stage", "delta", "accountant", "budgets", "tags"),
    "event": ("groups", "sampling_rate", "reads", "samples"),
}
"""Fields that other tables of the report show, and every round would repeat."""

_BOX, _HIGH, _STEP = 150.0, 26.0, 56.0


@dataclass(frozen=True)
class IdentityLine:
    """One line of the identity; `code` where it is to be compared letter by letter."""

    name: str
    value: str
    code: bool = False
    entry: int | None = None


def identity(dossier: Dossier) -> tuple[IdentityLine, ...]:
    """Return origin, size, root, keys, witnesses, pin and verifier."""
    checkpoint = dossier.evidence.view.signed.checkpoint
    key = dossier.evidence.custody.log_key
    return (
        IdentityLine("Log", checkpoint.origin, code=True),
        IdentityLine("Entries", str(checkpoint.size)),
        IdentityLine("Root, hexadecimal", checkpoint.root.hex(), code=True),
        IdentityLine(
            "Root, in the checkpoint", encode_base64(checkpoint.root), code=True
        ),
        IdentityLine(
            "Key of the log", key.vkey, code=True, entry=dossier.index(Genesis)
        ),
        IdentityLine("Witnesses", _witnesses(dossier)),
        IdentityLine("Pinned checkpoint", dossier.check("pin").detail),
        IdentityLine("Verified with", VERIFIER),
    )


def _witnesses(dossier: Dossier) -> str:
    """Return the line about witnesses, who vouch for the log before this page."""
    detail = dossier.check("witnesses").detail
    if dossier.evidence.genesis.witnesses is None:
        return detail
    size = dossier.evidence.view.size
    return f"of the first {size} entries, before the one on this page: {detail}"


@dataclass(frozen=True)
class ListedEntry:
    """One entry, with digests cut short, and without fields of other tables."""

    index: int
    time: str
    title: str
    fields: tuple[tuple[str, str], ...]
    leaf: str


def listing(records: Iterable[RecordedEntry]) -> tuple[ListedEntry, ...]:
    """Return every entry, oldest first."""
    entries = []
    for record in records:
        body = _shortened(body_of(record.entry), record.kind)
        title = record.kind.replace("-", " ")
        if "round" in body:
            title += f" {body.pop('round')}"
        time, leaf = readable_time(record.time), record.leaf.hex()
        fields = tuple(_fields(body))
        entries.append(ListedEntry(record.index, time, title, fields, leaf))
    return tuple(entries)


def _shortened(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    if body.get("protocol") == "none":
        return {}  # no sum was masked: there is nothing to list
    left_out = _ELSEWHERE.get(name, ())
    return {
        key: _shortened(value, key) if isinstance(value, dict) else value
        for key, value in body.items()
        if key not in left_out
    }


def readable_time(time: str) -> str:
    """Return a time without its letters.

    >>> readable_time("2026-11-15T12:00:00Z")
    '2026-11-15 12:00:00'
    """
    return time.replace("T", " ").removesuffix("Z")


def _fields(body: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in body.items():
        words = prefix + name.replace("non_personal", "non-personal").replace("_", " ")
        if value in (None, "", [], {}):
            continue
        match value:
            case dict():
                yield from _fields(value, f"{words} ")
            case list() if len(value) > _MOST or isinstance(value[0], dict):
                yield words, f"{len(value)} listed"
            case list():
                yield words, ", ".join(map(_short, value))
            case _:
                yield words, _short(value)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if _DIGEST.match(text):
        return f"{text[:10]}…"
    return text if len(text) <= 80 else f"{text[:79]}…"


@dataclass(frozen=True)
class MerkleStep:
    """One join with a sibling, and the first and last entry that this covers."""

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
    steps: list[MerkleStep] = []
    node = leaf
    for sibling, left, covers in zip(proof, *_sides(index, size), strict=True):
        node = node_hash(sibling, node) if left else node_hash(node, sibling)
        steps.append(MerkleStep(sibling, left, node, covers))
    return MerklePath(index, size, leaf, tuple(steps), tree.root())


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
