# SPDX-License-Identifier: Apache-2.0
"""`import lexfed`: its names show, and cost nothing before they are used."""

import inspect
import subprocess
import sys
from time import perf_counter

import pytest

import lexfed

FUNCTIONS = sorted(set(lexfed.__all__) - {"__version__"})


def test_every_name_shows_and_is_a_documented_function() -> None:
    assert list(lexfed.__all__) == sorted(lexfed.__all__)
    assert dir(lexfed) == sorted(lexfed.__all__)
    for name in FUNCTIONS:
        function = getattr(lexfed, name)
        assert inspect.getdoc(function), name
        assert inspect.signature(function).return_annotation is not inspect._empty
        assert name in vars(lexfed)  # found once, kept


def test_no_name_is_that_of_a_package() -> None:
    path = lexfed.__path__[0]
    from pkgutil import iter_modules

    assert {each.name for each in iter_modules([path])}.isdisjoint(FUNCTIONS)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        lexfed.nothing  # noqa: B018 - reading it is the test


def test_the_import_is_quick_and_light() -> None:
    program = (
        "import sys; before = set(sys.modules); import lexfed; dir(lexfed);"
        "print(*sorted(set(sys.modules) - before))"
    )
    times = []
    for _ in range(3):
        begin = perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        times.append(perf_counter() - begin)
    # The time of Python itself is counted in; machines that test are busy.
    assert min(times) < 0.5
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import lexfed"],
        capture_output=True,
        text=True,
        check=True,
    )
    microseconds = told.stderr.splitlines()[-1].split("|")[1]
    assert int(microseconds) < 200_000
    heavy = {"numpy", "pandas", "torch", "pydantic", "narwhals", "sklearn", "pyarrow"}
    assert heavy.isdisjoint(done.stdout.split())


def test_verifying_needs_no_torch() -> None:
    program = "import sys, lexfed; lexfed.verify; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
