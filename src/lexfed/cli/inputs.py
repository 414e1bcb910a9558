# SPDX-License-Identifier: Apache-2.0
"""What the commands do; `app.py` only declares them."""

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

from lexfed.cli import talk
from lexfed.cli.display import runs
from lexfed.cli.output import write_new
from lexfed.cli.problem_lines import located_errors
from lexfed.cli.tier_hints import with_suggestions
from lexfed.config import Config, examine_file, scaffold
from lexfed.data.reading.column_guesses import guess_columns
from lexfed.errors import ConfigError, LexfedError, Problem
from lexfed.run import PricedRun, api, plan_json, priced_file
from lexfed.run.audit_log.opening import check_statements


def print_json(value: Any) -> None:
    """Print one JSON value to stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def init(table: Path, out: Path) -> None:
    """Write a configuration to complete from a table's header."""
    guesses = guess_columns(table)
    # Paths in a configuration are relative to its folder.
    source = table if table.is_absolute() else os.path.relpath(table, out.parent)
    text = scaffold(str(source), [(guess.name, guess.kind) for guess in guesses])
    write_new(out, text)
    shown = "" if str(out) == "lexfed.toml" else f"{out} "
    talk.say(
        f"wrote {out}: {len(guesses)} columns, only their names and kinds\n"
        f"`lexfed tag {shown}--accept` suggests tiers and writes what you accept\n"
        f'replace every "?" that is left, then run `lexfed check {out}`'
    )


def allow_own_models(*folders: Path) -> None:
    """Let `model = "module:factory"` name a file next to the configuration.

    An installed command does not look into the working folder by itself. The folders
    come last, so that a file there never takes the place of an installed package.
    """
    sys.path += [str(folder.resolve()) for folder in folders]


def load_config(path: Path) -> Config:
    """Read a configuration and say what is worth a word."""
    found = examine_file(path)
    if found.config is None:
        raise ConfigError(with_suggestions(path, found.problems))
    for note in found.notes:
        talk.warn(str(note))
    return found.config


def load_priced(
    path: Path, config: Config, rounds: int | None = None, *, resume: bool = False
) -> PricedRun:
    """Read the data and price the run; nothing is spent."""
    allow_own_models(Path(), path.parent)
    with located_errors(path):
        priced = priced_file(path, config, rounds, resume=resume)
        priced.ledger()
        check_statements(priced, path.parent)
    for line in runs.remarks(priced):
        talk.say(line)
    return priced


def check(path: Path, as_json: bool) -> None:
    """List every problem of a configuration and of its data."""
    found = examine_file(path)
    problems: list[Problem] = list(with_suggestions(path, found.problems))
    for note in found.notes:
        talk.warn(str(note), note.hint)
    if found.config is not None:
        try:
            load_priced(path, found.config)
        except LexfedError as error:
            listed = getattr(error, "problems", None)
            plain = (Problem(str(path), error.message, error.hint),)
            problems += listed or plain
    if as_json:
        rows = [{"where": p.where, "what": p.what, "hint": p.hint} for p in problems]
        print_json({"problems": rows})
    if problems:
        raise ConfigError(problems)
    talk.say(f"{path}: no problems; `lexfed plan {path}` prices the run")


def plan(path: Path, rounds: int | None, as_json: bool) -> None:
    """Print what a run would release and what it would cost."""
    priced = load_priced(path, load_config(path), rounds)
    if as_json:
        print_json(plan_json(priced))
    else:
        print(runs.plan_table(priced))


def predict(folder: Path, table: Path, tiers: str) -> None:
    """Print a score for every row."""
    allow_own_models(Path())
    found = api.predict(folder, table, tiers)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([[f"{value:.6g}" for value in row] for row in found.values])
