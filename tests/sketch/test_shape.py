# SPDX-License-Identifier: Apache-2.0
"""Shapes: what differs is refused in words, and headers are strict."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.sketch.tables.shape import HEADER_BYTES, SketchKind, SketchShape

BINS = "0123456789abcdef" * 4
SHAPE = SketchShape(SketchKind.COUNT_MIN, 5, 64, 3, BINS)
EXACT = SketchShape(SketchKind.EXACT, 1, 10, 0, BINS)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            replace(SHAPE, kind=SketchKind.COUNT_SKETCH),
            "`count-sketch`, not `count-min`",
        ),
        (replace(SHAPE, depth=4), "the depth differs: 4, not 5"),
        (replace(SHAPE, width=32), "the width differs: 32, not 64"),
        (replace(SHAPE, seed=4), "the seed of the hashes differs: 4, not 3"),
        (replace(SHAPE, bins="f" * 64), "domain differs: `ffffffffffff…`, not `0123"),
    ],
)
def test_every_difference_is_refused_in_words(other: SketchShape, words: str) -> None:
    with pytest.raises(DataError, match=words) as refused:
        SHAPE.check_same(other, "site b")
    assert refused.value.problems[0].where == "site b"
    assert refused.value.hint


def test_all_differences_are_named_at_once() -> None:
    with pytest.raises(DataError) as refused:
        SHAPE.check_same(replace(SHAPE, depth=1, seed=9))
    assert len(refused.value.problems) == 2


def test_equal_shapes_pass() -> None:
    SHAPE.check_same(replace(SHAPE))
    with pytest.raises(DataError):
        SHAPE.check_same(replace(SHAPE, depth=SHAPE.depth + 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "`version` 1, got: 2"),
        ({"depth": 0}, "`depth`"),
        ({"width": 48}, "power of two"),
        ({"seed": -1}, "`seed`"),
        ({"bins": "x"}, "64 hexadecimal digits"),
        ({"kind": SketchKind.BLOOM}, "`depth` 1 for `bloom`"),
        ({"kind": SketchKind.EXACT}, "`depth` 1 for `exact`"),
        ({"kind": SketchKind.EXACT, "depth": 1}, "`seed`"),
        ({"kind": SketchKind.EXACT, "depth": 1, "seed": 0, "width": 0}, "`width`"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SHAPE, **changes)  # type: ignore[arg-type]


def test_exact_counts_have_no_hashes_and_no_half() -> None:
    with pytest.raises(ValueError, match="not hashed"):
        _ = EXACT.rows
    with pytest.raises(ValueError, match="bins would be mixed"):
        EXACT.folded()
    with pytest.raises(ValueError, match="one column"):
        replace(SHAPE, width=1).folded()


_SHAPES = st.builds(
    SketchShape,
    st.sampled_from([SketchKind.COUNT_MIN, SketchKind.COUNT_SKETCH]),
    st.integers(1, 64),
    st.integers(0, 30).map(lambda bits: 1 << bits),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
)


@given(_SHAPES | st.just(EXACT))
def test_a_header_read_is_the_shape_written(shape: SketchShape) -> None:
    header = shape.to_bytes()
    assert len(header) == HEADER_BYTES
    assert SketchShape.from_bytes(header) == shape


@given(st.binary(min_size=HEADER_BYTES - 8, max_size=HEADER_BYTES - 8))
def test_what_is_read_is_the_same_bytes_again(rest: bytes) -> None:
    header = b"lexfedsk" + rest
    try:
        shape = SketchShape.from_bytes(header)
    except DataError:
        return
    assert shape.to_bytes() == header


@pytest.mark.parametrize(
    ("at", "byte", "words"),
    [
        (0, 0, "not a sketch"),
        (8, 9, "version 9 is not known, only 1"),
        (10, 4, "its kind is not known"),
        (11, 0, "`depth`"),
        (12, 65, "power of two"),
    ],
)
def test_other_headers_are_refused(at: int, byte: int, words: str) -> None:
    header = bytearray(SHAPE.to_bytes())
    header[at] = byte
    with pytest.raises(DataError, match=words):
        SketchShape.from_bytes(bytes(header))


def test_short_and_long_headers_are_refused() -> None:
    for header in (SHAPE.to_bytes()[:-1], SHAPE.to_bytes() + b"0", b""):
        with pytest.raises(DataError, match="not a sketch"):
            SketchShape.from_bytes(header)
