# SPDX-License-Identifier: Apache-2.0
"""Tables made from prepared ones, so that a published comparison can be repeated.

`heart-flamby` is the heart table as FLamby uses it: without slope, ca and thal,
which most hospitals did not record, and without the rows that miss anything else.
"""

from pathlib import Path

import pandas as pd

from lexfed.evaluate.datasets import Dataset, prepare

FLAMBY = "heart-flamby"
_LEFT_OUT = ("slope", "ca", "thal")


def prepared(name: str, into: Path, rows: int | None = None) -> Dataset:
    """Prepare a data set, or make a derived one.

    Raises:
        DataError: as `datasets.prepare` does.
    """
    if name != FLAMBY:
        return prepare(name, into, rows=rows)
    return _flamby(prepare("heart_uci4", into, rows=rows))


def _flamby(heart: Dataset) -> Dataset:
    path = heart.folder / "table.csv"
    frame = pd.read_csv(path, dtype=str).drop(columns=list(_LEFT_OUT))
    inputs = [name for name in heart.tables["data"]["columns"] if name in frame]
    frame = frame.dropna(subset=inputs)
    frame.to_csv(path, index=False, lineterminator="\n")
    data = dict(heart.tables["data"])
    data["columns"] = {
        name: {**column, "missing": False} if column["kind"] != "text" else column
        for name, column in data["columns"].items()
        if name not in _LEFT_OUT
    }
    data["units"] = len(frame)
    law = dict(heart.tables["law"])
    law["columns"] = {
        name: tag for name, tag in law["columns"].items() if name not in _LEFT_OUT
    }
    return Dataset(
        name=FLAMBY,
        folder=heart.folder,
        tables={**heart.tables, "data": data, "law": law},
        target=heart.target,
        groups=heart.groups,
        digest=heart.digest,
    )
