# SPDX-License-Identifier: Apache-2.0
"""File and line for problems that were found after the configuration was read.

Some choices can only be judged with the data or the model at hand; whoever finds such
a problem names the key, and here the key gets its line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lexfed.config import ConfigProblem
from lexfed.config.examination import config_text
from lexfed.config.text.positions import key_lines, nearest_line
from lexfed.errors import ConfigError, Problem

_KEY = re.compile(r"`\[?([a-z_]+(?:\.[a-z_]+)*)\]?`")
_WORDS = {"model": "federation.model", "sites": "data.sites"}


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Give every problem raised inside its place in the configuration file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(located_problems(path, error.problems)) from error


def located_problems(path: Path, problems: tuple[Problem, ...]) -> list[Problem]:
    """Return the problems, each with file and line."""
    lines = key_lines(config_text(path))
    return [
        problem if isinstance(problem, ConfigProblem) else _place(path, lines, problem)
        for problem in problems
    ]


def _place(
    path: Path, lines: dict[tuple[str | int, ...], int], problem: Problem
) -> Problem:
    match = _KEY.match(problem.where)
    word = problem.where.split(":", 1)[0]
    key = match[1] if match else _WORDS.get(word, "")
    line = nearest_line(lines, tuple(key.split("."))) if key else None
    where = str(path) if line is None else f"{path}:{line}"
    return ConfigProblem(where, str(problem), problem.hint, str(path), line, key)
