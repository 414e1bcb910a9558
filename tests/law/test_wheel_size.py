# SPDX-License-Identifier: Apache-2.0
"""The data that come with the tagger stay below 12 MB, all of them together."""

from pathlib import Path

import pytest

import lexfed.law

FOLDER = Path(lexfed.law.__file__).parent
MOST = 12_000_000


def data_bytes(folder: Path) -> int:
    """Return the size of all files of a package that are no code."""
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    )


def test_lexicons_packs_catalogues_and_model_fit_into_12_mb() -> None:
    assert 0 < data_bytes(FOLDER) <= MOST


@pytest.mark.parametrize("part", ["lexicon", "packs", "model"])
def test_every_part_is_counted(part: str) -> None:
    assert data_bytes(FOLDER / "tagger" / part) > 100_000


def test_a_file_too_many_is_seen(tmp_path: Path) -> None:
    (tmp_path / "more.npy").write_bytes(bytes(MOST + 1))
    (tmp_path / "code.py").write_bytes(bytes(MOST))
    assert data_bytes(tmp_path) == MOST + 1
