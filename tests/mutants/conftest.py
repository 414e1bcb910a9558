# SPDX-License-Identifier: Apache-2.0
"""Mutants of every package. Lines that only broken code reaches do not count."""

import pytest


@pytest.fixture(autouse=True)
def _uncounted_lines(no_cover: None) -> None:
    """Run mutants without the tracer of coverage, which would double their time."""
