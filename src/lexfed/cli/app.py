# SPDX-License-Identifier: Apache-2.0
"""Commands of `lexfed`.

Data go to stdout, talk goes to stderr. Exit codes: 0 fine, 1 a check failed, 2 bad
usage, configuration or data, 3 refused (a budget would be exceeded), 4 internal error.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lexfed.cli import talk
from lexfed.cli.commands.deploy.group import coordinator, deploy, site
from lexfed.cli.commands.evaluate.group import evaluate
from lexfed.cli.commands.evidence import (
    audit_privacy_arguments,
    ledger_arguments,
    log_arguments,
)
from lexfed.cli.commands.joining.group import joining
from lexfed.cli.commands.setup import init_arguments, policy_arguments, tag_arguments
from lexfed.cli.commands.training import (
    importance_arguments,
    profile_arguments,
    tune_arguments,
)
from lexfed.cli.interrupt import INTERRUPTED
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile
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
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show tracebacks of errors.")
    ] = False,
) -> None:
    """Federated training under privacy budgets that the law sets."""
    del version
    talk.verbose = verbose


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Run folder; a demo there is replaced.")] = (
        Path("runs/demo")
    ),
    seeds: Annotated[
        int, typer.Option(min=2, help="Trainings behind each interval.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Train a federated model on synthetic patients, and compare it."""
    from lexfed.cli.commands.training.demo import demo as command

    command(out, seeds, as_json)


app.command()(init_arguments.init)
app.command()(tag_arguments.tag)


@app.command()
def check(config: ConfigFile = DEFAULT, as_json: AsJson = False) -> None:
    """List every problem of a configuration and of its data. Spends nothing."""
    from lexfed.cli.inputs import check as command

    command(config, as_json)


@app.command()
def plan(
    config: ConfigFile = DEFAULT,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Price another number of rounds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Price a run: noise, clip and epsilon of every release. Spends nothing."""
    from lexfed.cli.inputs import plan as command

    command(config, rounds, as_json)


@app.command()
def run(
    config: ConfigFile = DEFAULT,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model under the budgets of a configuration."""
    from lexfed.cli.commands.training.run import run as command

    command(config, resume, as_json)


app.command()(tune_arguments.tune)
app.command()(importance_arguments.importance)
app.command()(profile_arguments.profile)
app.command()(audit_privacy_arguments.audit_privacy)


@app.command()
def predict(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a finished run.", readable=False)
    ],
    table: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file.", readable=False)
    ],
    tiers: Annotated[
        str,
        typer.Option(help="Most sensitive tier to read: later towers are left out."),
    ] = "special",
) -> None:
    """Score the rows of a table, one line each, as CSV on stdout."""
    from lexfed.cli.inputs import predict as command

    command(folder, table, tiers)


@app.command()
def verify(
    run: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run, or of an unpacked evidence bundle.", readable=False
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Trust file: whose log, which witnesses (tlog-policy)."
        ),
    ] = None,
    pin: Annotated[
        Path | None,
        typer.Option(metavar="CHECKPOINT", help="A checkpoint of it that you kept."),
    ] = None,
    authorities: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Certificates (PEM) of time-stamp authorities."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that the log of a run claims. Exit code 1 if anything fails."""
    from lexfed.cli.commands.evidence.verify import verify as command

    command(run, policy, pin, authorities, as_json)


@app.command()
def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run, or of an unpacked evidence bundle.", readable=False
        ),
    ],
    formats: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Of html,dpia,csv,card,statement,evidence; else as configured.",
        ),
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Print the page too, with a Chromium.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; else the run folder."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keys of the run; else where it left them."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Trust file: whose log, which witnesses (tlog-policy)."
        ),
    ] = None,
    pin: Annotated[
        Path | None,
        typer.Option(metavar="CHECKPOINT", help="A checkpoint of it that you kept."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report, drafts for compliance and the evidence bundle of a run."""
    from lexfed.cli.commands.evidence.report import report as command

    command(run, formats, pdf, out, keys, policy, pin, as_json)


app.add_typer(evaluate, name="evaluate")
app.add_typer(log_arguments.log, name="log")
app.add_typer(log_arguments.witness, name="witness")
app.add_typer(policy_arguments.policy, name="policy")
app.add_typer(ledger_arguments.ledger, name="ledger")
app.add_typer(joining, name="joining")
app.add_typer(deploy, name="deploy")
app.add_typer(coordinator, name="coordinator")
app.add_typer(site, name="site")


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
    """Say what is wrong with the command line itself."""
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
