# SPDX-License-Identifier: Apache-2.0
"""What is said to people: on stderr, readable without colour, never a data value."""

import os
import sys
import traceback

from lexfed.errors import ConfigError, DataError, LexfedError

verbose = False
_COLOURS = {"red": "31", "yellow": "33", "cyan": "36"}


def colour(text: str, name: str) -> str:
    """Return the text coloured where stderr is a terminal that wants colours."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m"


def say(text: str) -> None:
    """Say something on stderr."""
    print(text, file=sys.stderr)


def warn(text: str, hint: str = "") -> None:
    """Say something that asks for an action."""
    say(f"{colour('warning:', 'yellow')} {text}")
    if hint:
        say(f"  {colour('hint:', 'cyan')} {hint}")


def fail(error: LexfedError) -> None:
    """Say what went wrong and what to do about it."""
    label = colour("error:", "red")
    if isinstance(error, ConfigError | DataError):
        _list(error, label)
    else:
        say(f"{label} {error.message}")
        if error.hint:
            say(f"\n{colour('hint:', 'cyan')} {error.hint}")
    if verbose:
        traceback.print_exception(error)


def _list(error: ConfigError | DataError, label: str) -> None:
    """Say every problem; a hint that was given already is not repeated."""
    given = {""}
    for problem in error.problems:
        say(f"{label} {problem}")
        if problem.hint not in given:
            say(f"  {colour('hint:', 'cyan')} {problem.hint}")
        given.add(problem.hint)
    if len(error.problems) > 1:
        say(f"\n{len(error.problems)} problems; nothing was written or spent")


def defect(error: Exception) -> None:
    """Say that lexfed itself is at fault."""
    say(f"{colour('error:', 'red')} internal error: {type(error).__name__}")
    if verbose:
        traceback.print_exception(error)
    else:
        say("\nhint: this is a defect of lexfed; `lexfed --verbose ...` shows where")
