# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes a file holds, reading it gives a sound table or a `DataError`."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexfed.data.reading.checked_tables import read_files
from lexfed.data.schema import Column, Schema
from lexfed.errors import DataError

SCHEMA = Schema(
    (
        Column("x", "number", range=(0, 10)),
        Column("c", "category", values=("a", "b")),
        Column("y", "flag"),
    ),
    target="y",
    person="p",
)
GOOD = b"p,x,c,y\n1,2.5,a,yes\n2,,b,no\n3,1e3,z,1\n1,-4,,0\n"
PARQUET = io.BytesIO()
pd.read_csv(io.BytesIO(GOOD.replace(b"yes", b"1").replace(b"no", b"0"))).to_parquet(
    PARQUET
)
QUIET = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def sound_or_refused(path: Path) -> None:
    try:
        table = read_files([path], SCHEMA)
    except DataError:
        return
    numbers = table.numbers("x")
    assert (np.isnan(numbers) | ((numbers >= 0) & (numbers <= 10))).all()
    assert set(table.codes("c")) <= {-1, 0, 1}
    assert set(table.numbers("y")) == {0.0, 1.0}
    assert len(table.persons) == len(table) == len(table.rows)


CELLS = st.sampled_from(
    ["1", "0", "yes", "no", "", " ", "a", "b", "nan", "-inf", "1e999", "1_0", "2.5"]
) | st.text(max_size=4)


@QUIET
@given(st.lists(st.lists(CELLS, min_size=3, max_size=5), max_size=6))
def test_odd_cells(tmp_path: Path, cells: list[list[str]]) -> None:
    path = tmp_path / "f.csv"
    lines = ["p,x,c,y", "1,1,a,yes", "2,1,a,no", *(",".join(row) for row in cells)]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    sound_or_refused(path)


@QUIET
@given(st.data(), st.sampled_from(["f.csv", "f.csv.gz", "f.parquet"]))
def test_damaged_files(tmp_path: Path, data: st.DataObject, name: str) -> None:
    good = {
        "f.csv": GOOD,
        "f.csv.gz": gzip.compress(GOOD, mtime=0),
        "f.parquet": PARQUET.getvalue(),
    }[name]
    place = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.binary(max_size=2))
    path = tmp_path / name
    path.write_bytes(good[:place] + byte + good[place + 1 :])
    sound_or_refused(path)


def test_the_undamaged_files_are_read(tmp_path: Path) -> None:
    """Control: the fuzzed files are good ones before they are damaged."""
    for name, content in (("f.csv", GOOD), ("f.csv.gz", gzip.compress(GOOD))):
        (tmp_path / name).write_bytes(content)
        table = read_files([tmp_path / name], SCHEMA)
        assert (table.clamped, table.undeclared) == ({"x": 2}, {"c": 1})
    (tmp_path / "f.parquet").write_bytes(PARQUET.getvalue())
    assert len(read_files([tmp_path / "f.parquet"], SCHEMA)) == 4
    with pytest.raises(DataError):
        read_files([tmp_path / "g.parquet"], SCHEMA)
