# SPDX-License-Identifier: Apache-2.0
"""Output of commands: JSON on stdout, and files, which are written whole or not."""

import itertools
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lexfed.cli import talk
from lexfed.errors import LexfedError, RunFolderError, system_reason


def print_json(value: Any) -> None:
    """Print one JSON value to stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_failure(error: LexfedError, exit_code: int) -> None:
    """Print a failure as one JSON object, where `--json` was asked for."""
    options = itertools.takewhile(lambda word: word != "--", sys.argv[1:])
    if "--json" not in options:
        return
    problems = [vars(problem) for problem in getattr(error, "problems", ())]
    print_json(
        {
            "error": error.message,
            "hint": error.hint,
            "problems": problems,
            "exit_code": exit_code,
        }
    )
    sys.stdout.flush()


def write_parts(path: Path, parts: Iterable[str], keep_mode: bool = False) -> None:
    """Write a text file part by part, and say so.

    A file that is there is replaced, a link to it stays a link; with `keep_mode` it
    keeps its permissions.

    Guarantees:
        On failure the file, if it was there, is unchanged, and nothing else is left.
    """
    target = path.resolve()
    try:
        number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(number, "w", encoding="utf-8", newline="") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _mode(target, keep_mode))
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        reason = system_reason(error)
        raise RunFolderError(
            f"cannot write `{path}`: {reason}", "write to another file or folder"
        ) from error
    talk.say(f"wrote {path}")


def exists_already(path: Path) -> RunFolderError:
    """Return the error of a file that would be overwritten."""
    hint = "remove it, or write elsewhere with `--out`"
    return RunFolderError(f"`{path}` exists already", hint)


def write_new(path: Path, text: str) -> None:
    """Write a text file that is not there yet."""
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError as error:
        raise exists_already(path) from error
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{path}`: {system_reason(error)}",
            "write elsewhere with `--out`",
        ) from error


def _mode(target: Path, keep: bool) -> int:
    if keep:
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
