# SPDX-License-Identifier: Apache-2.0
"""A mutant: the real code, broken in one way that a check must notice."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """One way to get it wrong.

    Attributes:
        name: what is wrong.
        apply: breaks the real code.
        check: notices.
        raises: how it notices; the real code sometimes refuses by itself.
    """

    name: str
    apply: Callable[[Patch], None]
    check: Callable[[], None]
    raises: type[BaseException] | tuple[type[BaseException], ...] = AssertionError
