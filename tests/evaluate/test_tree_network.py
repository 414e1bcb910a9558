# SPDX-License-Identifier: Apache-2.0
"""Blocks over pipes: whole or not at all, and never into memory they do not fit."""

import os
from ctypes import CFUNCTYPE, c_int, c_int32, c_void_p, memmove, pointer, string_at
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lexfed.evaluate.trees.network import PipedNetwork, read_blocks, write_blocks


def packed(*blocks: bytes) -> bytes:
    sink = BytesIO()
    write_blocks(sink, blocks)
    return sink.getvalue()


@pytest.mark.parametrize("blocks", [[], [b""], [b"a", b"", b"bcd" * 1000]])
def test_blocks_arrive_as_they_were_sent(blocks: list[bytes]) -> None:
    source = BytesIO(packed(*blocks) + packed(b"next"))
    assert read_blocks(source) == blocks
    assert read_blocks(source) == [b"next"]


def test_a_list_that_is_cut_off_anywhere_is_none() -> None:
    whole = packed(b"ab", b"c")
    for end in range(len(whole)):
        with pytest.raises(EOFError):
            read_blocks(BytesIO(whole[:end]))


def joined(
    rank: int, answers: bytes, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, BytesIO, list[int]]:
    """The functions that LightGBM is given, what they send and how they end."""
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    sink, given = BytesIO(), []
    network = PipedNetwork(rank, BytesIO(answers), sink)
    library = SimpleNamespace(LGBM_NetworkInitWithFunctions=lambda *a: given.append(a))
    network.join(library, 2)
    ((sites, own, reduce_scatter, allgather),) = given
    assert (sites, own) == (2, rank)
    functions = SimpleNamespace(
        reduce_scatter=reduce_scatter, allgather=allgather, network=network
    )
    return functions, sink, ended


def added(source: int, target: int, size: int, length: int) -> None:
    """LightGBM's sum of histograms."""
    assert size == 8
    sums = np.frombuffer(string_at(target, length)) + np.frombuffer(
        string_at(source, length)
    )
    memmove(target, sums.tobytes(), length)


REDUCER = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int32)(added)


def test_reduce_scatter_adds_the_blocks_of_all_sites(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = np.array([1.0, 2.0, 3.0])
    # As site 1 of 2 it is in charge of the last two numbers.
    answers = packed(np.array([20.0, 30.0]).tobytes(), own[1:].tobytes())
    functions, sink, ended = joined(1, answers, monkeypatch)
    output = np.full(3, -1.0)
    starts, lengths = (c_int32 * 2)(0, 8), (c_int32 * 2)(8, 16)
    functions.reduce_scatter(
        *(own.ctypes.data, 24, 8, starts, lengths, 2),
        *(output.ctypes.data, 24, pointer(REDUCER)),
    )
    assert output.tolist() == [22.0, 33.0, -1.0]
    sink.seek(0)
    assert read_blocks(sink) == [own[:1].tobytes(), own[1:].tobytes()]
    assert ended == []


def test_allgather_puts_each_block_at_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    functions, sink, ended = joined(0, packed(b"ab", b"cde"), monkeypatch)
    given, output = np.frombuffer(b"ab", "u1").copy(), np.zeros(6, "u1")
    starts, lengths = (c_int32 * 2)(0, 2), (c_int32 * 2)(2, 3)
    address = output.ctypes.data
    functions.allgather(given.ctypes.data, 2, starts, lengths, 2, address, 6)
    assert output.tobytes() == b"abcde\0"
    sink.seek(0)
    assert read_blocks(sink) == [b"ab", b"ab"]
    assert ended == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (b"", "nobody waits for this site any more"),
        (packed(b"ab", b"cdefghijkl"), "not at the same step"),
        (packed(b"ab"), "not at the same step"),
    ],
)
def test_a_failed_exchange_ends_the_process_and_copies_nothing(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: bytes,
    said: str,
) -> None:
    functions, _, ended = joined(0, answers, monkeypatch)
    given, output = np.zeros(2, "u1"), np.full(5, 7, "u1")
    starts, lengths = (c_int32 * 2)(0, 2), (c_int32 * 2)(2, 3)
    address = output.ctypes.data
    functions.allgather(given.ctypes.data, 2, starts, lengths, 2, address, 5)
    assert ended == [1]
    assert said in capsys.readouterr().err
    assert output.tolist() == [7] * 5
