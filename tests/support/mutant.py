# SPDX-License-Identifier: Apache-2.0
"""A mutant: the real code, broken in one way that a check must notice.

A file of mutants ends with the two tests that make them worth something:

    test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

Patch = pytest.MonkeyPatch
Check = Callable[[], None]

# `pytest.raises` inside a check fails by an exception that is no AssertionError.
NOTICED = (AssertionError, pytest.fail.Exception)


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
    check: Check
    raises: type[BaseException] | tuple[type[BaseException], ...] = NOTICED


def both_tests(
    mutants: Iterable[Mutant], others: Iterable[Check] = ()
) -> tuple[Callable[[Check], None], Callable[[Mutant, Patch], None]]:
    """Return two tests: every check passes on the real code, and notices its mutants.

    Args:
        mutants: the ways to get it wrong.
        others: checks without a mutant, which the real code must pass too.
    """
    every = tuple(mutants)
    checks = dict.fromkeys([*(mutant.check for mutant in every), *others])

    @pytest.mark.parametrize("check", checks)
    def test_the_real_code_passes(check: Check) -> None:
        check()

    # What broken code reaches is no reason to call a line tested.
    @pytest.mark.no_cover
    @pytest.mark.parametrize("mutant", every, ids=lambda mutant: mutant.name)
    def test_a_mutant_is_caught(mutant: Mutant, monkeypatch: Patch) -> None:
        mutant.apply(monkeypatch)
        with pytest.raises(mutant.raises):
            mutant.check()

    return test_the_real_code_passes, test_a_mutant_is_caught
