# SPDX-License-Identifier: Apache-2.0
"""Tests of the tests: every one of them can fail by its own assertion.

A test asserts if it has `assert`, `raise`, `pytest.raises`, `warns` or `fail`, calls an
`assert_...` of a library, or a function of the tests that does, however far down.
Functions are told apart by their names only, so this notices a test that checks
nothing, and not every one that checks too little.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parents[1]
ASSERTING = {"raises", "warns", "fail"}


def named(call: ast.Call) -> str:
    """Return the name of what is called, without what it belongs to."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def functions(files: Mapping[str, str]) -> Iterator[tuple[str, ast.FunctionDef]]:
    for name, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                yield name, node


def without_assertion(files: Mapping[str, str]) -> list[str]:
    """Return the tests that assert nothing, as `file::name`."""
    asserting, calls = set(ASSERTING), {}
    for name, node in functions(files):
        inside = [each for part in node.body for each in ast.walk(part)]
        calls[name, node.name] = {named(c) for c in inside if isinstance(c, ast.Call)}
        arrays = any(used.startswith("assert_") for used in calls[name, node.name])
        if arrays or any(isinstance(each, ast.Assert | ast.Raise) for each in inside):
            asserting.add(node.name)
            calls[name, node.name].add("fail")
    found = -1
    while found < len(asserting):
        found = len(asserting)
        asserting |= {name for (_, name), used in calls.items() if used & asserting}
    return [
        f"{file}::{name}"
        for (file, name), used in calls.items()
        if name.startswith("test_") and not used & asserting
    ]


@pytest.mark.no_cover
def test_every_test_asserts_something() -> None:
    files = {
        str(path.relative_to(TESTS)): path.read_text()
        for path in sorted(TESTS.rglob("*.py"))
    }
    assert len(files) > 100
    assert without_assertion(files) == []


def test_a_test_that_asserts_nothing_is_found() -> None:
    silent = "def test_silent():\n    run()\n\ndef run():\n    print(1)\n"
    assert without_assertion({"a.py": silent}) == ["a.py::test_silent"]
    deeper = "\ndef deeper():\n    assert run\n"
    helped = silent.replace("print(1)", "deeper()") + deeper
    assert without_assertion({"a.py": helped}) == []
    arrays = silent.replace("print(1)", "np.testing.assert_array_equal(1, 1)")
    assert without_assertion({"a.py": arrays}) == []
    refused = "def test_refused():\n    with pytest.raises(ValueError):\n        f()\n"
    assert without_assertion({"a.py": refused}) == []
    # A decorator's arguments are no part of the test.
    decorated = f"@raises(check)\n{silent}"
    assert without_assertion({"a.py": decorated}) == ["a.py::test_silent"]
    called = "def test_by_table():\n    table[0]()\n"
    assert without_assertion({"a.py": called}) == ["a.py::test_by_table"]


def test_fresh_examples_can_be_repeated() -> None:
    """Control: without being asked for, examples are the same in every run."""
    fresh, steady = (settings.get_profile(name) for name in ("fresh", "steady"))
    assert fresh.print_blob
    assert not fresh.derandomize
    assert steady.derandomize
    for path in sorted(TESTS.rglob("*.py")):
        # A test that fixed its own examples would never try others.
        own = path.name == "conftest.py" or path == Path(__file__)
        assert own or "derandomize" not in path.read_text(), path
