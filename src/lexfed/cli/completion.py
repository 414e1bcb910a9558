# SPDX-License-Identifier: Apache-2.0
"""Completion of commands and options in bash, zsh and fish.

A shell asks `lexfed` itself for what may follow, through the environment variable
`_LEXFED_COMPLETE`; that imports no more than `lexfed --help` does.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from lexfed.cli import talk

PROGRAM = "lexfed"
VARIABLE = "_LEXFED_COMPLETE"
Shell = Literal["bash", "zsh", "fish"]
_OPTIONS = ("--install-completion", "--show-completion")


def prepare() -> None:
    """Let the answers to a shell's questions be in its own format."""
    if VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()


def with_shell(arguments: Sequence[str]) -> list[str]:
    """Return the arguments; an option of completion alone is for the shell in use."""
    found = list(arguments)
    if len(found) == 1 and found[0] in _OPTIONS and (shell := _shell_in_use()):
        found.append(shell)
    return found


def _shell_in_use() -> str:
    import shellingham

    with suppress(shellingham.ShellDetectionFailure, OSError):
        return str(shellingham.detect_shell()[0])
    return Path(os.environ.get("SHELL", "")).name


def _install(shell: Shell | None) -> None:
    if shell is not None:
        from typer._completion_shared import install

        _, path = install(shell, PROGRAM, VARIABLE)
        talk.say(f"wrote {path}; completion works in every new {shell}")
        raise typer.Exit


def _show(shell: Shell | None) -> None:
    if shell is not None:
        from typer._completion_shared import get_completion_script

        script = get_completion_script(
            prog_name=PROGRAM, complete_var=VARIABLE, shell=shell
        )
        typer.echo(script)
        raise typer.Exit


InstallCompletion = Annotated[
    Shell | None,
    Option(
        _OPTIONS[0],
        callback=_install,
        metavar="SHELL",
        is_eager=True,
        expose_value=False,
        help="Complete commands in new shells (bash, zsh or fish).",
    ),
]
ShowCompletion = Annotated[
    Shell | None,
    Option(
        _OPTIONS[1],
        callback=_show,
        metavar="SHELL",
        is_eager=True,
        expose_value=False,
        help="Print the script that does so.",
    ),
]
