# SPDX-License-Identifier: Apache-2.0
"""Help pages, and what every command has: `-h`, `--quiet`, JSON on failure."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lexfed.cli import talk
from lexfed.cli.app import app

Lexfed = Callable[..., Any]
HEADINGS = ("Start", "Train", "Check and show", "Between organisations", "Research")


def commands(group: Any, *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group of commands, with the words that name it."""
    yield above, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *above, name)


ALL = dict(commands(typer.main.get_command(app)))
WITH_JSON = [
    words for words, each in ALL.items() if "as_json" in {p.name for p in each.params}
]


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_page_says_whole_sentences_in_80_columns(words: tuple[str, ...]) -> None:
    short = CliRunner().invoke(app, [*words, "-h"])
    assert short.exit_code == 0
    assert short.output == CliRunner().invoke(app, [*words, "--help"]).output
    usage, *lines = short.output.splitlines()
    assert [line for line in lines if line.endswith("...")] == []
    assert max(map(len, [usage, *lines])) <= 80
    for option in ("--quiet", "--verbose"):
        is_group = hasattr(ALL[words], "commands") and words not in ((), ("evaluate",))
        assert (option in short.output) != is_group


def test_commands_are_listed_once_each_on_a_line_under_a_heading() -> None:
    page = CliRunner().invoke(app, ["--help"]).output
    headings = [line[:-1] for line in page.splitlines() if line.endswith(":")]
    assert headings == ["Options", *HEADINGS]
    listed = page[page.index("Start:") :].splitlines()
    rows = [line for line in listed if line.startswith("  ")]
    assert sorted(row.split()[0] for row in rows) == sorted(ALL[()].commands)
    assert all(row.endswith(".") for row in rows)


def test_a_narrow_terminal_gets_wrapped_lines() -> None:
    page = CliRunner().invoke(app, ["-h"], terminal_width=50).output
    assert max(map(len, page.splitlines())) <= 50
    words = " ".join(page.split())
    assert "Attack every claim of a run with synthetic canaries." in words


@pytest.mark.parametrize("place_of_it", [0, 1])
def test_quiet_leaves_errors_and_warnings(
    lexfed: Lexfed, place: Path, place_of_it: int
) -> None:
    words = ["check"]
    words.insert(place_of_it, "-q")
    said = lexfed(*words)
    assert said.code == 0
    assert "no problems" in lexfed("check").err
    assert "no problems" not in said.err
    assert "warning: lexfed.toml:6: `run.test` is on" in said.err
    failed = lexfed("plan", "--quiet", "nothing.toml")
    assert "error: nothing.toml: there is no such file" in failed.err
    assert "hint: " in failed.err


def test_a_quiet_run_prints_data_only(lexfed: Lexfed, place: Path) -> None:
    said = lexfed("run", "--quiet", "--json")
    assert said.code == 0
    assert {line.split(":")[0] for line in said.err.splitlines()} == {"warning"}
    assert json.loads(said.out)["folder"] == "runs/visits"
    assert not talk.verbose


def test_verbose_after_the_command(lexfed: Lexfed, place: Path) -> None:
    assert "Traceback" in lexfed("plan", "nothing.toml", "--verbose").err


def _wrong(command: Any) -> list[str]:
    """Arguments that are all given, of things that do not exist."""
    words = []
    for each in command.params:
        if each.required:
            is_argument = each.param_type_name == "argument"
            words += ["nothing"] if is_argument else [each.opts[0], "1"]
    return words


@pytest.mark.parametrize("words", WITH_JSON, ids=" ".join)
def test_failures_are_json_too(
    lexfed: Lexfed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEXFED_DATA", raising=False)
    # A demo reads nothing, and that there is no ledger is a verdict, in its own form.
    if words not in (("demo",), ("ledger", "verify")):
        said = lexfed(*words, *_wrong(ALL[words]), "--json")
        _expect_failure(said, 2)
    _expect_failure(lexfed(*words, "--json", "--no-such-option"), 2)


def _expect_failure(said: Any, code: int) -> None:
    assert said.code == code, said.err
    found = json.loads(said.out)  # one object and nothing else
    assert list(found) == ["error", "hint", "problems", "exit_code"]
    assert found["exit_code"] == code
    assert found["error"].splitlines()[0] in said.err
    assert said.err.startswith("error: ")


def test_the_problems_of_a_configuration_have_places(
    lexfed: Lexfed, place: Path, edit: Callable[..., None]
) -> None:
    edit(("seed = 3", "sead = 3"), ("epsilon = 8.0", "epsilon = 0"))
    for command in ("check", "plan", "run"):
        found = json.loads(lexfed(command, "--json").out)
        assert [(p["file"], p["line"], p["key"]) for p in found["problems"]] == [
            ("lexfed.toml", 5, "run.sead"),
            ("lexfed.toml", 36, "budget.epsilon"),
        ]
    assert json.loads(lexfed("check", "--json", "nothing.toml").out)["problems"]


def test_refusals_and_defects_as_json(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret value: 42")

    lexfed("check", "nothing.toml")  # imports what the command needs
    monkeypatch.setattr("lexfed.config.overrides.examine_overridden", broken)
    said = lexfed("check", "--json")
    assert json.loads(said.out)["error"] == "internal error: ZeroDivisionError"
    assert json.loads(said.out)["exit_code"] == said.code == 4
    assert lexfed("check", "--", "--json").out == ""  # a file of that name
