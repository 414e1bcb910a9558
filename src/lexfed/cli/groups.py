# SPDX-License-Identifier: Apache-2.0
"""Groups of commands: their help pages, and the options that every command has.

Help pages list commands under headings, each with its whole description: a line that
does not fit is wrapped and never cut.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from lexfed.cli import talk

CONTEXT = {"help_option_names": ["-h", "--help"]}
_LONGEST = 1000
"""Characters of a description, which are more than any has."""


def _be_quiet(wanted: bool) -> bool:
    talk.quiet = talk.quiet or wanted
    return wanted


def _be_verbose(wanted: bool) -> bool:
    talk.verbose = talk.verbose or wanted
    return wanted


Quiet = Annotated[
    bool,
    Option(
        "--quiet",
        "-q",
        callback=_be_quiet,
        help="Print errors and warnings only.",
    ),
]
Verbose = Annotated[
    bool,
    Option(
        "--verbose",
        callback=_be_verbose,
        help="Show tracebacks of errors.",
    ),
]
_COMMON = tuple(
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=t)
    for name, t in (("quiet", Quiet), ("verbose", Verbose))
)


class HelpPage(TyperGroup):
    """A group whose help page lists its commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, one section for each heading in order."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            text = command.get_short_help_str(_LONGEST)
            sections.setdefault(heading, []).append((name, text))
        widest = max(len(name) for rows in sections.values() for name, _ in rows)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{widest}}", text) for name, text in rows])


class CommandGroup(typer.Typer):
    """Commands that each have `--quiet` and `--verbose` besides their own options."""

    def command(  # type: ignore[override]
        self, name: str | None = None, **settings: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function as a command, and return it as it was."""
        register = super().command(name, **settings)

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_with_common_options(function))
            return function

        return registered


def command_group(purpose: str) -> CommandGroup:
    """Return a group of commands, whose help page is printed if none is named."""
    return CommandGroup(
        cls=HelpPage,
        add_completion=False,
        context_settings=CONTEXT,
        help=purpose,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def _with_common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def command(*, quiet: bool, verbose: bool, **options: Any) -> Any:
        del quiet, verbose  # their callbacks took them
        return function(**options)

    own = inspect.signature(function, eval_str=True)
    parameters = [*own.parameters.values(), *_COMMON]
    command.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=parameters
    )
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command
