# SPDX-License-Identifier: Apache-2.0
"""A small register that the data tests share: two sites, five persons, seven rows."""

from pathlib import Path

import pytest

from lexfed.data.schema import Column, Schema
from lexfed.tiers import Tier

ROWS = [
    "pid,site,age,sex,ill,dose,relapsed,mrn",
    "p1,north,30,f,yes,1.5,no,M1",
    "p2,north,41,m,no,,yes,M2",
    "p1,north,31,f,yes,2,no,M1",
    "p3,south,77,,no,100,no,M3",
    "p4,south,18,m,,0,yes,M4",
    "p5,south,55,f,no,7,no,M5",
    "p5,south,56,f,no,8,yes,M5",
]


@pytest.fixture
def schema() -> Schema:
    return Schema(
        (
            Column("age", "number", range=(18, 98), missing=False),
            Column("sex", "category", values=("f", "m")),
            Column("ill", "flag"),
            Column("dose", "number", range=(0, 100), scale="log"),
            Column("relapsed", "flag", missing=False),
            Column("mrn", "text"),
        ),
        target="relapsed",
        person="pid",
        site="site",
    )


@pytest.fixture
def tiers() -> dict[str, Tier]:
    return {
        "age": Tier.NON_PERSONAL,
        "sex": Tier.PERSONAL,
        "ill": Tier.SPECIAL,
        "dose": Tier.SPECIAL,
        "relapsed": Tier.SPECIAL,
        "mrn": Tier.IDENTIFIER,
    }


@pytest.fixture
def rows() -> list[str]:
    return list(ROWS)


@pytest.fixture
def register(tmp_path: Path) -> Path:
    path = tmp_path / "register.csv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return path
