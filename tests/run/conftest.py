# SPDX-License-Identifier: Apache-2.0
"""A small seeded run on synthetic patients, quick enough to be crashed a lot."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.config import loads
from lexfed.run import PricedRun, load_population, price
from support.configurations import configuration

CONFIG = configuration()


@pytest.fixture
def config_text() -> str:
    """Text of a configuration whose run has seven rounds."""
    return CONFIG


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    """The same as a file, in a folder of its own."""
    path = tmp_path / "lexfed.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="session")
def priced_of() -> Callable[[str], PricedRun]:
    """Price a configuration text; the same text is priced once."""
    known: dict[str, PricedRun] = {}

    def priced(text: str = CONFIG) -> PricedRun:
        if text not in known:
            config = loads(text)
            known[text] = price(config, load_population(config, Path()))
        return known[text]

    return priced
