# SPDX-License-Identifier: Apache-2.0
"""The program `lexfed`: its commands in order, its options, its exit codes.

0 fine, 1 a check failed, 2 bad usage, configuration or data, 3 refused (a budget would
be exceeded), 4 internal error.
"""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer import Option

from lexfed.cli import talk
from lexfed.cli.commands.deploy import deploy
from lexfed.cli.commands.evaluate.group import evaluate
from lexfed.cli.commands.evidence.audit_privacy import audit_privacy
from lexfed.cli.commands.evidence.ledger import ledger
from lexfed.cli.commands.evidence.log import log
from lexfed.cli.commands.evidence.report import report
from lexfed.cli.commands.evidence.verify import verify
from lexfed.cli.commands.evidence.witness import witness
from lexfed.cli.commands.joining import joining
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
from lexfed.cli.progress import INTERRUPTED
from lexfed.cli.terminal import shielded
from lexfed.errors import LexfedError, system_reason
from lexfed.version import __version__

# Idle threads that spin make a busy machine six times slower; torch reads this when it
# is first imported, which commands do later.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Federated training under privacy budgets that the law sets.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lexfed {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Show tracebacks of errors.")
    ] = False,
) -> None:
    """Federated training under privacy budgets that the law sets."""
    del version
    talk.verbose = verbose


_COMMANDS: tuple[Callable[..., None], ...] = (
    demo, init, tag, check, plan, run, tune, importance, profile, audit_privacy,
    predict, verify, report,
)  # fmt: skip
_GROUPS = {
    "evaluate": evaluate, "log": log, "witness": witness, "policy": policy,
    "ledger": ledger, "joining": joining, "deploy": deploy,
    "coordinator": coordinator, "site": site,
}  # fmt: skip
for command in _COMMANDS:
    app.command()(command)
for name, group in _GROUPS.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Run the command line and end with its exit code."""
    with shielded():
        sys.exit(_exit_code())


# What typer raises for wrong usage; not every version has a public name for it.
_WRONG_USAGE: type[Exception] = typer.BadParameter.__mro__[2]


def _exit_code() -> int:
    try:
        code = app(prog_name="lexfed", standalone_mode=False)
        sys.stdout.flush()
    except LexfedError as error:
        talk.fail(error)
        return error.exit_code
    except _WRONG_USAGE as error:
        return _wrong_usage(error)
    except BrokenPipeError:  # whoever read our output has seen enough
        _drop_stdout()
        return 0
    except OSError as error:
        place = f"`{error.filename}`" if error.filename else "output"
        talk.fail(LexfedError(f"{place}: {system_reason(error)}"))
        _drop_stdout()
        return 2
    except Exception as error:  # a defect, whatever it is
        talk.defect(error)
        return 4
    if code == INTERRUPTED:
        talk.say("interrupted")
    return int(code or 0)


def _wrong_usage(error: Any) -> int:
    message = error.format_message()
    if "\n" in message:  # no command at all: the message is the help page
        talk.say(message)
        return 2
    command = error.ctx.command_path if error.ctx is not None else "lexfed"
    message = message[:1].lower() + message[1:].rstrip(".")
    talk.fail(LexfedError(message, f"`{command} --help` lists what it takes"))
    return 2


def _drop_stdout() -> None:
    """Write nothing more to stdout, not even what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
