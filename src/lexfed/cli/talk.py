# SPDX-License-Identifier: Apache-2.0
"""What is said to people: on stderr, readable without colour, never a data value."""

import os
import sys
import traceback

from lexfed.errors import ConfigError, DataError, LexfedError

verbose = False
_COLOURS = {"red": "31", "yellow": "33", "green": "32", "cyan": "36", "dim": "2"}


def colour(text: str, name: str) -> str:
    """Return the text coloured where stderr is a terminal that wants colours."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m"


def say(text: str) -> None:
    """Say something on stderr."""
    print(text, file=sys.stderr)


def warn(text: str) -> None:
    """Say something that asks for an action."""
    say(f"{colour('warning:', 'yellow')} {text}")


def fail(error: LexfedError) -> None:
    """Say what went wrong and what to do about it."""
    label = colour("error:", "red")
    if isinstance(error, ConfigError | DataError):
        for problem in error.problems:
            say(f"{label} {problem}")
            if problem.hint:
                say(f"  {colour('hint:', 'cyan')} {problem.hint}")
        if len(error.problems) > 1:
            say(f"\n{len(error.problems)} problems; nothing was written or spent")
    else:
        say(f"{label} {error.message}")
        if error.hint:
            say(f"\n{colour('hint:', 'cyan')} {error.hint}")
    if verbose:
        traceback.print_exception(error)


def defect(error: Exception) -> None:
    """Say that lexfed itself is at fault."""
    say(f"{colour('error:', 'red')} internal error: {type(error).__name__}")
    if verbose:
        traceback.print_exception(error)
    else:
        say("\nhint: this is a defect of lexfed; `lexfed --verbose ...` shows where")
