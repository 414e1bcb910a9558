# SPDX-License-Identifier: Apache-2.0
"""Examples in documents and docstrings are what the code does."""

import ast
import doctest
import importlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lexfed
from lexfed import train
from lexfed.cli import display
from lexfed.cli.app import app
from lexfed.config import demo_config, loads
from lexfed.run import load_population, price
from support.shown_examples import block

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WITH_EXAMPLES = sorted(
    path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SOURCE))
)
def test_docstrings_are_right(path: Path) -> None:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def _commands(text: str) -> list[list[str]]:
    """Return the words of every `$` line of the console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [
        line[2:].partition("#")[0].split() for line in lines if line.startswith("$ ")
    ]


GROUPS = {
    *("coordinator", "deploy", "ledger", "overlap"),
    *("log", "policy", "site", "witness"),
}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/guide/own-table.md",
        "docs/guide/ledger.md",
        "docs/reference/log.md",
        "docs/guide/compliance.md",
        "docs/guide/deployment.md",
        "docs/guide/policies.md",
        "docs/guide/tagging.md",
        "docs/guide/overlap.md",
        "docs/guide/evaluation.md",
    ],
)
def test_commands_and_their_options_exist(name: str) -> None:
    seen = 0
    for words in _commands((ROOT / name).read_text(encoding="utf-8")):
        if words[0].startswith("scripts/"):
            assert (ROOT / words[0]).is_file()
        elif words[0] == "lexfed" and not words[1].startswith("-"):
            nested = words[1] in GROUPS or words[1:3] == ["evaluate", "fetch"]
            path = words[1:3] if nested else words[1:2]
            result = CliRunner().invoke(app, [*path, "--help"])
            assert result.exit_code == 0
            options = [word for word in words if word.startswith("--")]
            assert [option for option in options if option not in result.output] == []
            seen += 1
    assert seen >= 2


@pytest.fixture(scope="module")
def guide() -> str:
    """From a table of one's own to a verified model: every command."""
    return (ROOT / "docs" / "guide" / "own-table.md").read_text(encoding="utf-8")


def test_no_command_is_left_out(guide: str) -> None:
    functions = [c.callback for c in app.registered_commands if c.callback]
    existing = {function.__name__.replace("_", "-") for function in functions}
    shown = {words[1] for words in _commands(guide) if words[0] == "lexfed"}
    assert existing - shown == {"demo"}  # shown as `scripts/demo`


def test_the_demo_shown_is_the_demo_run(readme: str) -> None:
    shown = block(readme, "demo:output").splitlines()
    config = loads(demo_config(), "demo")
    priced = price(config, load_population(config, ROOT))
    # What is said before training holds no noise: it must be there to the letter.
    opening = [line for text in display.opening(priced) for line in text.splitlines()]
    missing = [line for line in opening if line.rstrip() not in shown]
    assert missing == []
    rounds = priced.programme.rounds
    assert any(re.search(rf"training .*{rounds}/{rounds} ", line) for line in shown)
    assert shown[0].startswith(f"lexfed {lexfed.__version__} · demo: ")
    for label in ("result", "tiers", "compare"):
        assert any(line.startswith(f"  {label} ") for line in shown)
    assert sum(bool(re.search(r"AUC 0\.\d{3} ± 0\.\d{3}", line)) for line in shown) == 3


def test_the_python_examples_use_what_exists() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    tree = ast.parse(block(guide, "python:api") + block(guide, "python:frame"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "lexfed"
    }
    assert used == {"tag", "plan", "train", "predict", "verify"}
    listed = set(re.findall(r"^\| `lexfed\.(\w+)\(", guide, re.MULTILINE))
    assert listed == set(lexfed.__all__) - {"__version__"}
    assert all(callable(getattr(lexfed, name)) for name in used)


def test_the_run_folder_shown_is_the_one_written(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "reference" / "run-folder.md").read_text(encoding="utf-8")
    config = tmp_path / "lexfed.toml"
    config.write_text(block(text, "example:config"), encoding="utf-8")
    folder = train(config).folder
    events = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    written = [json.loads(line) for line in events]
    for line in block(text, "example:events").splitlines():
        row = json.loads(line)
        if row["type"] == "start":
            # Hashes change with every release of lexfed.
            assert set(row) == set(written[0])
        else:
            assert row in written
    table = text.partition("## `events.jsonl`")[0]
    listed = set(re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE))
    found = {path.name for path in folder.iterdir() if path.is_file()}
    here = listed - {"sites/N.jsonl", "log/", "sealed/", "adaptation.csv", "coins"}
    assert here == found
    assert {path.name for path in (folder / "sites").iterdir()} == {
        "1.jsonl",
        "2.jsonl",
    }
