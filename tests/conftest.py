# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests: examples are the same in every run, however slow the machine.

`scripts/test --fresh` (`pytest --hypothesis-profile=fresh`) draws new examples every
time, for a nightly job; a failure prints the line that repeats it. The profile `deep`
draws many more of them.

Thirteen thousand tests and the libraries below them are collected once and stay; what
collects garbage need not look through them again and again.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("steady", deadline=None, derandomize=True)
# Hypothesis fixes its examples by itself on a machine of CI; not here.
settings.register_profile("fresh", deadline=None, print_blob=True, derandomize=False)
settings.register_profile(
    "deep", parent=settings.get_profile("fresh"), max_examples=2000
)
settings.load_profile("steady")
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and only what tests leave behind."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _pins_of_the_tests() -> Iterator[None]:
    """Keep the pins of ledgers that runs make out of the user's home."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = folder
        yield
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A running Chromium; only tests of pages pay for importing its driver."""
    from support.browser import running_browser

    with running_browser() as running:
        yield running
