# SPDX-License-Identifier: Apache-2.0
"""The program `lexfed`: its commands in order, its options, its exit codes.

0 fine, 1 a check failed, 2 bad usage, configuration or data, 3 refused (a budget would
be exceeded), 4 internal error.
"""

import difflib
import os
import sys
from typing import Annotated, Any

import typer
from typer import Option

from lexfed.cli import completion, talk
from lexfed.cli.commands.deploy import deploy
from lexfed.cli.commands.evaluate.group import evaluate
from lexfed.cli.commands.evidence.audit_privacy import audit_privacy
from lexfed.cli.commands.evidence.compare import compare
from lexfed.cli.commands.evidence.ledger import ledger
from lexfed.cli.commands.evidence.log import log
from lexfed.cli.commands.evidence.report import report
from lexfed.cli.commands.evidence.verify import verify
from lexfed.cli.commands.evidence.witness import witness
from lexfed.cli.commands.overlap import overlap
from lexfed.cli.commands.setup.check import check
from lexfed.cli.commands.setup.init import init
from lexfed.cli.commands.setup.policy import policy
from lexfed.cli.commands.setup.tag import tag
from lexfed.cli.commands.site import coordinator, site
from lexfed.cli.commands.training.demo import demo
from lexfed.cli.commands.training.importance import importance
from lexfed.cli.commands.training.profile import profile
from lexfed.cli.commands.training.run import plan, predict, run
from lexfed.cli.commands.training.tune import tune
from lexfed.cli.completion import InstallCompletion, ShowCompletion
from lexfed.cli.groups import Quiet, Verbose, command_group
from lexfed.cli.output import print_failure
from lexfed.cli.progress import INTERRUPTED
from lexfed.cli.terminal import shielded
from lexfed.errors import LexfedError, system_reason
from lexfed.version import __version__

# Idle threads that spin make a busy machine six times slower; torch reads this when it
# is first imported, which commands do later.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_PURPOSE = "Federated training under privacy budgets tied to legal categories."
app = command_group(_PURPOSE)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lexfed {__version__}")
        raise typer.Exit


@app.callback(help=_PURPOSE)
def options(
    version: Annotated[
        bool,
        Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    install_completion: InstallCompletion = None,
    show_completion: ShowCompletion = None,
) -> None:
    """Options of the program itself, which act before any command."""
    del version, quiet, verbose, install_completion, show_completion


_COMMANDS: dict[str, dict[str, Any]] = {
    "Start": {"demo": demo, "init": init, "tag": tag, "check": check, "policy": policy},
    "Train": {
        "plan": plan, "run": run, "predict": predict,
        "profile": profile, "importance": importance, "tune": tune,
    },
    "Check and show": {
        "verify": verify, "report": report, "compare": compare,
        "audit-privacy": audit_privacy, "log": log, "ledger": ledger,
    },
    "Between organisations": {
        "overlap": overlap, "deploy": deploy, "coordinator": coordinator,
        "site": site, "witness": witness,
    },
    "Research": {"evaluate": evaluate},
}  # fmt: skip
for heading, commands in _COMMANDS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=heading)
        else:
            app.command(name, rich_help_panel=heading)(command)


def main() -> None:
    """Run the command line and end with its exit code."""
    with shielded():
        sys.exit(_exit_code())


# What typer raises for wrong usage; not every version has a public name for it.
_WRONG_USAGE: type[Exception] = typer.BadParameter.__mro__[2]


def _exit_code() -> int:
    talk.quiet = talk.verbose = False
    completion.prepare()
    try:
        arguments = completion.with_shell(sys.argv[1:])
        code = app(args=arguments, prog_name="lexfed", standalone_mode=False)
        sys.stdout.flush()
    except LexfedError as error:
        return _failed(error, error.exit_code)
    except _WRONG_USAGE as error:
        return _wrong_usage(error)
    except BrokenPipeError:  # whoever read our output has seen enough
        _drop_stdout()
        return 0
    except OSError as error:
        place = f"`{error.filename}`" if error.filename else "output"
        code = _failed(LexfedError(f"{place}: {system_reason(error)}"), 2)
        _drop_stdout()
        return code
    except Exception as error:  # a defect, whatever it is
        talk.defect(error)
        print_failure(LexfedError(f"internal error: {type(error).__name__}"), 4)
        return 4
    if code == INTERRUPTED:
        talk.say("interrupted")
        print_failure(LexfedError("interrupted"), INTERRUPTED)
    return int(code or 0)


def _failed(error: LexfedError, exit_code: int) -> int:
    talk.fail(error)
    print_failure(error, exit_code)
    return exit_code


def _wrong_usage(error: Any) -> int:
    message = error.format_message()
    if "\n" in message:  # no command at all: the message is the help page
        return _without_command(message)
    if hasattr(error, "possibilities"):
        message = error.message  # possible options are in the hint, if one is like it
    command = error.ctx.command_path if error.ctx is not None else "lexfed"
    message = message[:1].lower() + message[1:].rstrip(".")
    return _failed(LexfedError(message, _usage_hint(error, message, command)), 2)


RENAMED = {"joining": "overlap"}
"""Commands that had another name."""


def _usage_hint(error: Any, message: str, command: str) -> str:
    for old, new in RENAMED.items():
        if f"'{old}'" in error.format_message():
            return f"it was renamed: `lexfed {new}`"
    help_page = f"`{command} --help` shows the options"
    if "extra argument" in message and "." in message:
        # The shell has put the names of files in the place of a pattern.
        return (
            f'{help_page}; for several files put the pattern in quotes, "visits-*.csv"'
        )
    option = getattr(error, "option_name", None) or ""
    known = getattr(error, "possibilities", None) or ()
    near = difflib.get_close_matches(option, known, n=1, cutoff=0.75)
    return f"did you mean `{near[0]}`? {help_page}" if near else help_page


def _without_command(help_page: str) -> int:
    print_failure(LexfedError("no command is named", "name one of its commands"), 2)
    talk.say(help_page)
    return 2


def _drop_stdout() -> None:
    """Write nothing more to stdout, not even what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
