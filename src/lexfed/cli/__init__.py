# SPDX-License-Identifier: Apache-2.0
"""The command line: data on stdout, messages on stderr, and one exit code per outcome.

    app         all commands, and the exit codes
    commands/   one room per purpose, one file per command
    display     plans and results as lines and tables
    inputs      reading a configuration, and pricing its run
    talk        messages to people; `terminal` spells out hidden characters

Start with `app`. What `lexfed --help` imports is typer and a few small modules of
lexfed, neither numpy nor pydantic: heavy imports happen inside the commands. Only
`terminal` may contain escape sequences. Tests check both.
"""

from lexfed.cli.app import main

__all__ = ["main"]
