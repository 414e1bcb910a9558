# SPDX-License-Identifier: Apache-2.0
"""Talk to people: on stderr, readable without colour, never a data value."""

import os
import sys
import textwrap
import traceback
from typing import Literal

from lexfed.cli.terminal import Action, act
from lexfed.errors import ConfigError, DataError, LexfedError

verbose = False
quiet = False
Label = Literal["error", "warning", "hint"]
_COLOURS: dict[Label, Action] = {"error": "red", "warning": "yellow", "hint": "cyan"}


def say(text: str) -> None:
    """Say something on stderr, unless only errors and warnings are wanted."""
    if not quiet:
        _write(text)


def _write(text: str) -> None:
    print(text, file=sys.stderr)


def labelled(label: Label, text: str, before: str = "") -> None:
    """Say something under a label, which is coloured where that is wanted.

    Further lines are indented, so that no line of a message looks like a new one.
    """
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(before, end="", file=sys.stderr)
    if coloured:
        act(_COLOURS[label])
    print(f"{label}:", end="", file=sys.stderr)
    if coloured:
        act("plain")
    _write(" " + text.replace("\n", "\n      "))


def warn(text: str, hint: str = "") -> None:
    """Say something that asks for an action."""
    labelled("warning", text)
    if hint:
        labelled("hint", hint, "  ")


def fail(error: LexfedError) -> None:
    """Say what went wrong and what to do about it."""
    if isinstance(error, ConfigError | DataError):
        _list(error)
    else:
        labelled("error", error.message)
        if error.hint:
            labelled("hint", error.hint, "\n")
    if verbose:
        _trace(error)


def _trace(error: Exception) -> None:
    """Say where an error came from, indented like every further line."""
    _write(textwrap.indent("".join(traceback.format_exception(error)), "  ").rstrip())


def _list(error: ConfigError | DataError) -> None:
    """Say every problem; a hint that was given already is not repeated."""
    given = {""}
    for problem in error.problems:
        labelled("error", str(problem))
        if problem.hint not in given:
            labelled("hint", problem.hint, "  ")
        given.add(problem.hint)
    if len(error.problems) > 1:
        _write(f"\n{len(error.problems)} problems; nothing was written or spent")


def defect(error: Exception) -> None:
    """Say that lexfed itself is at fault."""
    labelled("error", f"internal error: {type(error).__name__}")
    if verbose:
        _trace(error)
    else:
        _write("\nhint: this is a defect of lexfed; `lexfed --verbose ...` shows where")
