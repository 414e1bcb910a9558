# SPDX-License-Identifier: Apache-2.0
"""Paths, tiles and bundles at every size where something changes shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.tree.merkle import MAX_SIZE, Tree, leaf_hash, node_hash
from lexfed.audit.tree.tiles import (
    MAX_ENTRY,
    TileName,
    bundle_files,
    bundle_names,
    decode_bundle,
    encode_bundle,
    parse_path,
    tile_files,
    tile_names,
)
from lexfed.errors import AuditError
from support.log.plain import entries_of, tree_of

BOUNDARIES = [0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512]
LARGE = [65535, 65536, 65537, 70000]
SMALL = settings(deadline=None, max_examples=100)


@pytest.fixture(scope="module")
def seventy_thousand() -> Tree:
    return tree_of([str(number).encode() for number in range(70_000)])


@pytest.mark.parametrize(
    ("index", "width", "path"),
    [
        (0, 256, "000"),
        (0, 1, "000.p/1"),
        (999, 255, "999.p/255"),
        (1000, 256, "x001/000"),
        (1_234_067, 256, "x001/x234/067"),
        (1_234_067, 7, "x001/x234/067.p/7"),
        (MAX_SIZE, 256, "x009/x223/x372/x036/x854/x775/807"),
    ],
)
def test_paths_are_those_of_the_specification(
    index: int, width: int, path: str
) -> None:
    assert TileName(3, index, width).path == f"tile/3/{path}"
    assert TileName(None, index, width).path == f"tile/entries/{path}"
    assert parse_path(f"tile/63/{path}") == TileName(63, index, width)
    assert parse_path(f"tile/entries/{path}") == TileName(None, index, width)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tile",
        "tile/0",
        "tile/0/",
        "tile/0/0",
        "tile/0/0000",
        "tile/0/1000",
        "tile/0/x000/001",
        "tile/0/001/002",
        "tile/0/x001/x002",
        "tile/0/001.p",
        "tile/0/001.p/",
        "tile/0/001.p/0",
        "tile/0/001.p/01",
        "tile/0/001.p/256",
        "tile/0/001.p/999",
        "tile/0/001.p/1000",
        "tile/0/001.p/1/",
        "tile/0/001.P/1",
        "tile/00/001",
        "tile/64/001",
        "tile/99/001",
        "tile/100/001",
        "tile/-1/001",
        "tile/8/0/001",
        "tile/data/001",
        "tile/Entries/001",
        "tile/0/001\n",
        "/tile/0/001",
        "./tile/0/001",
        "tile/0/../0/001",
        "tile//0/001",
        "tile/0/\u0660\u0660\u0661",
        "tile/\u0663/001",
        "tile/0/x009/x223/x372/x036/x854/x775/808",
        "tile/0/x001/x009/x223/x372/x036/x854/x775/807",
        "tile/0/" + "x001/" * 400 + "001",
        "checkpoint",
        "\ud800",
    ],
    ids=lambda path: ascii(path)[:40],
)
def test_any_other_spelling_of_a_path_is_refused(path: str) -> None:
    with pytest.raises(AuditError, match="tile"):
        parse_path(path)


@SMALL
@given(st.none() | st.integers(0, 63), st.integers(0, MAX_SIZE), st.integers(1, 256))
def test_every_path_leads_back(level: int | None, index: int, width: int) -> None:
    name = TileName(level, index, width)
    assert parse_path(name.path) == name


@pytest.mark.parametrize(
    "name",
    [
        TileName(-1, 0),
        TileName(64, 0),
        TileName(0, -1),
        TileName(0, 2**63),
        TileName(0, 0, 0),
        TileName(None, 0, 257),
        TileName(None, -1),
    ],
    ids=[f"path-{number}" for number in range(7)],
)
def test_tiles_that_cannot_be_have_no_path(name: TileName) -> None:
    with pytest.raises(AuditError, match="expected a tile"):
        _ = name.path


def test_a_bundle_is_lengths_and_entries() -> None:
    data = encode_bundle([b"", b"abc", b"x" * 256])
    assert data == b"\0\0" + b"\0\3abc" + b"\1\0" + b"x" * 256
    assert decode_bundle(data, 3) == [b"", b"abc", b"x" * 256]


def test_the_longest_entry_fits_and_one_byte_more_does_not() -> None:
    longest = bytes(MAX_ENTRY)
    assert decode_bundle(encode_bundle([longest]), 1) == [longest]
    with pytest.raises(AuditError, match="entry 1 of the bundle has 65536 bytes"):
        encode_bundle([b"", longest + b"\0"])


@pytest.mark.parametrize("count", [0, 257])
def test_a_bundle_has_1_to_256_entries(count: int) -> None:
    with pytest.raises(AuditError, match="1 to 256 entries"):
        encode_bundle([b"x"] * count)


@pytest.mark.parametrize(
    ("data", "count", "match"),
    [
        (b"", 1, "ends within entry 0"),
        (b"\0", 1, "ends within entry 0"),
        (b"\0\2a", 1, "ends within entry 0"),
        (b"\0\1a\0", 2, "ends within entry 1"),
        (b"\0\1a", 2, "ends within entry 1"),
        (b"\0\1a", 2**60, "ends within entry 1"),
        (b"\0\1a\0\1b", 1, "3 bytes after"),
        (b"\0", 0, "1 bytes after"),
    ],
)
def test_a_bundle_holds_exactly_its_entries(
    data: bytes, count: int, match: str
) -> None:
    with pytest.raises(AuditError, match=match):
        decode_bundle(data, count)


@SMALL
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=256))
def test_every_bundle_comes_back(entries: list[bytes]) -> None:
    assert decode_bundle(encode_bundle(entries), len(entries)) == entries


def test_seventy_thousand_entries_are_the_tiles_of_the_specification() -> None:
    paths = [name.path for name in tile_names(0, 70_000)]
    level_0 = [f"tile/0/{number:03}" for number in range(273)]
    assert paths == [
        *level_0,
        "tile/0/273.p/112",
        "tile/1/000",
        "tile/1/001.p/17",
        "tile/2/000.p/1",
    ]
    assert [name.path for name in tile_names(0, 256)] == [
        "tile/0/000",
        "tile/1/000.p/1",
    ]


@pytest.mark.parametrize("size", BOUNDARIES + LARGE)
def test_every_hash_is_in_one_tile_and_every_tile_is_right(
    size: int, seventy_thousand: Tree
) -> None:
    leaves = seventy_thousand.leaves[:size]
    files = tile_files(seventy_thousand, 0, size)
    level, hashes = 0, list(leaves)
    while hashes:
        tiles = [
            content for path, content in files if path.startswith(f"tile/{level}/")
        ]
        assert b"".join(tiles) == b"".join(hashes)
        assert all(len(content) == 8192 for content in tiles[:-1])
        # Only full tiles are hashed into the level above.
        full = len(hashes) // 256 * 256
        hashes = [root(hashes[at : at + 256]) for at in range(0, full, 256)]
        level += 1
    assert not [path for path, _ in files if path.startswith(f"tile/{level}/")]


def root(hashes: list[bytes]) -> bytes:
    while len(hashes) > 1:
        hashes = [
            node_hash(*pair) for pair in zip(hashes[::2], hashes[1::2], strict=True)
        ]
    return hashes[0]


@pytest.mark.parametrize("old", [0, 1, 255, 256, 257, 512, 65535, 65536])
def test_growth_writes_what_changed_and_nothing_else(
    old: int, seventy_thousand: Tree
) -> None:
    for new in (old, old + 1, old + 255, old + 256, old + 300):
        before = dict(tile_files(seventy_thousand, 0, old))
        after = dict(tile_files(seventy_thousand, 0, new))
        grown = tile_files(seventy_thousand, old, new)
        assert dict(grown).items() == after.items() - before.items()
        levels = [int(path.split("/")[1]) for path, _ in grown]
        assert levels == sorted(levels)


def test_bundles_grow_with_the_tree() -> None:
    entries = entries_of(600)
    assert [path for path, _ in bundle_files(entries, 0, 0)] == []
    grown = dict(bundle_files(entries, 255, 513))
    assert list(grown) == [
        "tile/entries/000",
        "tile/entries/001",
        "tile/entries/002.p/1",
    ]
    assert decode_bundle(grown["tile/entries/001"], 256) == entries[256:512]
    with pytest.raises(AuditError, match="expected 601 entries, got: 600"):
        bundle_files(entries, 0, 601)


@pytest.mark.parametrize(("old", "new"), [(-1, 0), (2, 1), (0, 2**63)])
def test_a_tree_grows_only(old: int, new: int) -> None:
    with pytest.raises(AuditError, match="cannot grow"):
        list(tile_names(old, new))
    with pytest.raises(AuditError, match="cannot grow"):
        list(bundle_names(old, new))


def test_the_tiles_of_a_claimed_huge_tree_come_one_by_one() -> None:
    assert next(tile_names(0, MAX_SIZE)) == TileName(0, 0)
    assert next(bundle_names(0, MAX_SIZE)) == TileName(None, 0)


def test_tiles_beyond_the_tree_are_refused() -> None:
    with pytest.raises(AuditError, match="complete subtrees"):
        tile_files(tree_of(entries_of(3)), 0, 4)


def test_the_leaf_of_a_bundle_is_the_hash_in_the_tile() -> None:
    entries = entries_of(3)
    bundle = dict(bundle_files(entries, 0, 3))["tile/entries/000.p/3"]
    tile = dict(tile_files(tree_of(entries), 0, 3))["tile/0/000.p/3"]
    assert b"".join(map(leaf_hash, decode_bundle(bundle, 3))) == tile
