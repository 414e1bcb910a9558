# SPDX-License-Identifier: Apache-2.0
"""What the commands do; `app.py` only declares them."""

import csv
import json
import sys
from pathlib import Path

from lexfed.cli import show, talk
from lexfed.cli.progress import progress_lines
from lexfed.config import Config, examine_file, scaffold
from lexfed.errors import ConfigError, LexfedError, Problem, RunFolderError
from lexfed.run import (
    Priced,
    load_population,
    plan_json,
    price,
    start,
    train,
)
from lexfed.run import (
    predict as predict_rows,
)
from lexfed.run import (
    resume as resume_run,
)
from lexfed.tiers import MODEL_TIERS, Tier


def init(table: Path, out: Path) -> None:
    """Write a configuration to complete from a table's header."""
    from lexfed.data.scaffold import scaffold as guess_columns

    if out.exists():
        raise RunFolderError(
            f"`{out}` exists already", "remove it, or write elsewhere with `--out`"
        )
    guesses = guess_columns(table)
    text = scaffold(str(table), [(guess.name, guess.kind) for guess in guesses])
    try:
        out.write_text(text)
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{out}`: {(error.strerror or '').lower()}"
        ) from error
    talk.say(
        f"wrote {out}: {len(guesses)} columns, only their names and kinds were read\n"
        f'replace every "?" in it, then run `lexfed check {out}`'
    )


def load_config(path: Path) -> Config:
    """Read a configuration and say what is worth a word."""
    found = examine_file(path)
    config = found.require()
    for note in found.notes:
        talk.warn(str(note))
    return config


def load_priced(path: Path, rounds: int | None = None) -> Priced:
    """Read configuration and data, and price the run; nothing is spent."""
    config = load_config(path)
    if rounds is not None:
        federation = config.federation.model_copy(update={"rounds": rounds})
        config = config.model_copy(update={"federation": federation})
    return price(config, load_population(config, path.parent))


def check(path: Path, as_json: bool) -> None:
    """List every problem of a configuration and of its data."""
    found = examine_file(path)
    problems: list[Problem] = list(found.problems)
    if found.config is not None:
        try:
            priced = price(found.config, load_population(found.config, path.parent))
            priced.ledger()
        except LexfedError as error:
            listed = getattr(error, "problems", None)
            problems += listed or [Problem("", error.message, error.hint)]
    if as_json:
        rows = [{"where": p.where, "what": p.what, "hint": p.hint} for p in problems]
        print(json.dumps({"problems": rows}, indent=2))
    for note in found.notes:
        talk.warn(str(note))
    if problems:
        raise ConfigError(problems)
    talk.say(f"{path}: no problems; `lexfed plan {path}` prices the run")


def plan(path: Path, rounds: int | None, as_json: bool) -> None:
    """Print what a run would release and what it would cost."""
    priced = load_priced(path, rounds)
    priced.ledger()
    if as_json:
        print(json.dumps(plan_json(priced), indent=2, allow_nan=False))
    else:
        print(show.plan_table(priced))


def run(path: Path, resume: bool, as_json: bool) -> None:
    """Train, or continue an interrupted training."""
    priced = load_priced(path)
    out = path.parent / priced.config.run.folder
    folder = resume_run(priced, out) if resume else start(priced, out, path.read_text())
    for line in show.opening(priced):
        talk.say(line)
    with progress_lines(priced) as on_round:
        result = train(priced, folder, on_round)
    if as_json:
        print(json.dumps(result.to_json(), indent=2, allow_nan=False))
    for line in show.closing(priced, result):
        talk.say(line)


def predict(folder: Path, table: Path, tiers: str) -> None:
    """Print a score for every row."""
    try:
        upto = Tier.parse(tiers)
    except ValueError as error:
        raise RunFolderError(f"`--tiers`: {error}") from error
    if upto not in MODEL_TIERS:
        raise RunFolderError("`--tiers`: identifiers are never used by a model")
    found = predict_rows(folder, table, upto)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([[f"{value:.6g}" for value in row] for row in found.values])
