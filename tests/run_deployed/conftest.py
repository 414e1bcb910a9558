# SPDX-License-Identifier: Apache-2.0
"""A deployment of three sites; its doors are closed when a test ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.deployed.worlds import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user state"))
    made = World.make(tmp_path)
    yield made
    made.close()
