# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed evaluate`; declared, not done, here."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.groups import CommandGroup, HelpPage, Quiet, Verbose
from lexfed.cli.options import AsJson


class _ConfigurationOrCommand(HelpPage):
    """A group whose first word may be a file instead of a command, amid its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = next(iter(args), "") in self.commands
        if not named:
            ctx.allow_interspersed_args = True
            return super().parse_args(ctx, args)
        # Otherwise the argument for a configuration would take the command's name.
        declared = self.params
        self.params = [p for p in declared if p.param_type_name != "argument"]
        try:
            return super().parse_args(ctx, args)
        finally:
            self.params = declared
            ctx.params.setdefault("config", None)


evaluate = CommandGroup(
    help="Compare methods, attack them, and write tables and figures.",
    invoke_without_command=True,
    rich_markup_mode=None,
    cls=_ConfigurationOrCommand,
)


@evaluate.callback()
def tables(
    context: typer.Context,
    config: Annotated[
        Path | None,
        Argument(
            help="Your configuration: one page about its data and policy. Else tables "
            "of public data.",
            metavar="[CONFIG]",
            readable=False,
        ),
    ] = None,
    small: Annotated[
        bool, Option("--quick", help="One data set, every method, two splits.")
    ] = False,
    table: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="A table to run; repeatable. Else all."),
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Splits of your own data; 10 by default.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Where results go; else runs/evaluation, or runs/NAME-evaluation.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the page there too, with figures."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Go on with the results that are there.")
    ] = False,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Runs at once, one core each; else one per core."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare methods, attack them, and write tables and figures."""
    del quiet, verbose
    if context.invoked_subcommand is not None:
        return
    if config is not None:
        _only_tables(small=small, table=table, page=page)
    elif seeds is not None:
        raise typer.BadParameter("--seeds is for a configuration; tables fix theirs")
    from lexfed.cli.commands.evaluate import own_data, public_tables

    chosen = public_tables.EvaluationOptions(out, resume, jobs, as_json)
    if config is not None:
        from lexfed.evaluate.own.evaluation import SEEDS

        own_data.evaluate_own(config, seeds or SEEDS, chosen)
    else:
        public_tables.evaluate(small, table or [], page, chosen)


def _only_tables(small: bool, table: list[str] | None, page: Path | None) -> None:
    given = {"--quick": small, "--table": bool(table), "--page": page is not None}
    for option, used in given.items():
        if used:
            raise typer.BadParameter(
                f"{option} is for tables of public data, not for a configuration"
            )


@evaluate.command("fetch")
def fetch(
    name: Annotated[str, Argument(help="A public data set.")],
    into: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folder of data sets; else LEXFED_DATA."),
    ] = None,
    source: Annotated[str, Option(metavar="ARCHIVE", help="uci or openml.")] = "uci",
    archive: Annotated[
        str | None, Option(metavar="URL", help="A mirror of the archive.")
    ] = None,
) -> None:
    """Download a public data set, where there is internet."""
    from lexfed.evaluate.datasets.archives.retrieval import fetch as download
    from lexfed.evaluate.datasets.source_folder import VARIABLE, data_folder

    home = data_folder() if into is None else into
    found = download(name, home, source, archive)
    print(found.folder)
    talk.say(found.words)
    talk.say(f"Set {VARIABLE}={home} to evaluate on it.")
