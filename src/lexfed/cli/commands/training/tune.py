# SPDX-License-Identifier: Apache-2.0
"""`lexfed tune`: search for settings, and say what that cost."""

import secrets
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption
from lexfed.cli.output import print_json
from lexfed.cli.progress import ProgressLine
from lexfed.counted_words import counted
from lexfed.errors import ConfigError, Problem, Refused, RunFolderError
from lexfed.report.wording.rounding import round_up

if TYPE_CHECKING:
    from lexfed.config.search_grid import SearchSetting
    from lexfed.run.tuning import ChargedSearch, ScoredSetting


def tune(
    config: ConfigFile = DEFAULT,
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=V1,V2,...",
            help="Values to try of a key, such as federation.rounds=5,10; repeatable.",
        ),
    ] = None,
    public: Annotated[
        Path | None,
        Option(metavar="FILE", help="Search on public data of the same schema."),
    ] = None,
    charged: Annotated[
        bool,
        Option("--charged", help="Search on the private data, at the cost of budget."),
    ] = False,
    runs: Annotated[
        float, Option(metavar="MEAN", help="With --charged: runs on average.")
    ] = 10.0,
    law: Annotated[
        Literal["geometric", "logarithmic", "poisson"],
        Option(help="With --charged: how the secret number of runs is drawn."),
    ] = "geometric",
    out: OutFolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings, on public data or charged."""
    from lexfed.cli.inputs import allow_own_models, load_config, located_errors
    from lexfed.config.edits import with_setting
    from lexfed.config.examination import config_text
    from lexfed.config.search_grid import parse_grid, searched_configs, set_key
    from lexfed.data.builtin.registry import is_builtin
    from lexfed.durable import write_atomically
    from lexfed.privacy.selection import Repetitions
    from lexfed.randomness import SecureSource
    from lexfed.run import folder_of, load_population, tuning
    from lexfed.run.tuning import plan_search, run_search, search_public

    _require_one_kind(public, charged, runs)
    found = load_config(config)
    axes = parse_grid(grid or [])
    text = config_text(config)
    run = folder_of(config, found)
    folder = run.with_name(f"{run.name}-tune") if out is None else out
    tuned = config.with_name(f"{config.stem}-tuned.toml")
    if tuned.exists():
        raise RunFolderError(
            f"`{tuned}` exists already",
            "it is where the chosen setting is written; remove it or rename it",
        )
    tables = tomllib.loads(text)
    allow_own_models(Path(), config.parent)
    record: dict[str, Any]
    setting: SearchSetting | None
    if public is not None:
        source = str(public) if is_builtin(str(public)) else str(public.resolve())
        progress = ProgressLine("settings")
        with located_errors(config):
            tried = search_public(tables, axes, source, config.parent, progress.show)
        progress.end()
        tuning.make_folder(folder)
        record = tuning.public_record(axes, tried)
        setting, lines = tried[0].setting, _public_lines(tried)
    else:
        set_key(tables, ("evaluation", "metrics"), "paid")
        settings = axes.settings()
        with located_errors(config):
            configs = searched_configs(tables, settings)
            population = load_population(configs[0], config.parent)
            planned = plan_search(
                settings, configs, population, Repetitions(law, runs), config.parent
            )
        tuning.make_folder(folder)
        record = tuning.charged_record(
            axes, planned, _paid(planned, folder, config.parent)
        )
        # The cost stands from here on, whatever happens.
        tuning.write_record(folder, record)
        for line in _cost_lines(planned):
            talk.say(line)
        chosen = run_search(planned, SecureSource())
        record = tuning.finished_record(record, chosen)
        setting, lines = (chosen.setting if chosen else None), _charged_lines(chosen)
    tuning.write_record(folder, record)
    if setting is not None:
        write_atomically(tuned, with_setting(text, setting).encode())
    if as_json:
        print_json(record)
    else:
        print("\n".join(lines))
    talk.say(f"\nSearch folder: {folder}")
    if setting is not None:
        talk.say(f"`lexfed run {tuned}` trains with it, under a budget of its own")


def _paid(planned: "ChargedSearch", folder: Path, base: Path) -> str | None:
    """Charge the sites' ledgers; return the name under which they paid, if any did."""
    from lexfed.run.tuning import charge_search

    name = f"tune/{planned.runs[0].config.run.name}/{secrets.token_hex(8)}"
    try:
        return name if charge_search(planned, name, base) else None
    except Refused:
        folder.rmdir()  # nothing is spent, so the folder is free again
        raise


def _require_one_kind(public: Path | None, charged: bool, runs: float) -> None:
    from lexfed.privacy.selection import MOST_RUNS

    if charged == (public is not None):
        what = "expected one of `--public FILE` and `--charged`"
        hint = (
            "`--public` searches on data that everyone may know, for free; `--charged` "
            "searches on the private data and costs budget"
        )
        raise ConfigError([Problem("", what, hint)])
    if not 1.0 < runs <= MOST_RUNS:
        what = f"expected a mean above 1 and at most {MOST_RUNS:g}, got: {runs:g}"
        raise ConfigError([Problem("--runs", what)])


def _public_lines(tried: Sequence["ScoredSetting"]) -> list[str]:
    from lexfed.run.tuning import FREE

    lines = [f"  cost     {FREE}; the run's noise is simulated", ""]
    lines += [f"  {one.metric} {one.score:.4f}   {one.setting}" for one in tried]
    return [*lines, "", f"  chosen   {tried[0].setting}"]


def _cost_lines(planned: "ChargedSearch") -> list[str]:
    cost, law = planned.cost, planned.repetitions
    tiers = ", ".join(
        f"{tier.label} {round_up(value)}"
        for tier, value in sorted(cost.tiers.items(), reverse=True)
    )
    return [
        f"  cost     charged: whole record (ε, δ) = ({round_up(cost.epsilon)}, "
        f"{cost.delta:g}), {cost.neighbours}, RDP; per attribute {tiers}; "
        f"label {round_up(cost.label)} when replaced, which no cap binds",
        f"  search   {counted(len(planned.settings), 'setting')}; a secret number of "
        "runs, "
        f"{law.mean:g} on average ({law.distribution}), each with {planned.part:.1%} "
        "of the budget",
        "  training … how many runs there are stays secret, so there is no progress",
    ]


def _charged_lines(found: "ScoredSetting | None") -> list[str]:
    if found is None:
        return [
            "  chosen   nothing: the secret number of runs was 0; paid all the same"
        ]
    score = f"{found.metric} {found.score:.4f}, noised" if found.metric else "no score"
    return [f"  chosen   {found.setting} ({score})"]
