# SPDX-License-Identifier: Apache-2.0
"""`check`, `plan`, `train`, `predict`, `load` and `demo`.

    import lexfed

    lexfed.plan("lexfed.toml")["claims"]           # what it would cost; spends nothing
    result = lexfed.train("lexfed.toml")           # resume=True continues
    result.metrics, result.claim
    lexfed.predict(result, new_rows, tiers="personal").values

The table may be a data frame, see `requests`; the configuration is then a file or the
keywords of `Settings`. Paths in a file are relative to its folder, as on the command
line, and those of a call without a file to the working folder.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from lexfed.config import demo_config, loads
from lexfed.counted_words import counted
from lexfed.data.problems import DataProblem, data_problem
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.data.reading.table_sources import table_source
from lexfed.errors import ConfigError, LexfedError, Problem
from lexfed.notebook_html import html_table
from lexfed.privacy.scopes import up
from lexfed.python.drafts import RunDraft
from lexfed.python.requests import (
    ConfigurationGiven,
    RunRequest,
    TableGiven,
    requested,
)
from lexfed.python.settings import Settings
from lexfed.run.api import require_here, run_to_continue, start_in_free_folder
from lexfed.run.audit_log.opening import check_statements
from lexfed.run.driver.open_run import finished_result
from lexfed.run.driver.open_run import resume as reopen
from lexfed.run.driver.site_accounts import require_room
from lexfed.run.driver.training_loop import OnRound
from lexfed.run.driver.training_loop import train as run_rounds
from lexfed.run.results import prediction
from lexfed.run.results.outlook import plan_with_outlook
from lexfed.run.results.prediction import Predictions
from lexfed.run.results.run_result import RunResult, read_result
from lexfed.tiers import MODEL_TIERS, Tier


@dataclass(frozen=True, repr=False)
class RunCheck:
    """What `check` found.

    Attributes:
        problems: that keep a run from starting; empty if nothing does.
        remarks: about values bent to fit the declarations. They are exact and private:
            for the data's holders only.
    """

    problems: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the run can start."""
        return not self.problems

    def __repr__(self) -> str:
        problems = counted(len(self.problems), "problem")
        return f"<RunCheck: {problems}, {counted(len(self.remarks), 'remark')}>"

    def _repr_html_(self) -> str:
        """Return the problems as a notebook shows and saves them.

        Neither exact counts nor rows: which rows of a table are wrong is about people.
        """
        shown = [_without_row(problem) for problem in self.problems]
        rows = dict.fromkeys((problem, problem.hint) for problem in shown if problem)
        caption = "Problems" if rows else "No problems"
        notes = ["Some are of single rows: print it to see which."] * (
            shown != list(self.problems)
        )
        notes += ["Values were bent to fit: print it to see which."] * bool(
            self.remarks
        )
        return html_table(caption, ["problem", "hint"], rows, notes)

    def __str__(self) -> str:
        """Every problem with its hint, one a line."""
        lines = [f"{p}\n  hint: {p.hint}" if p.hint else str(p) for p in self.problems]
        return "\n".join([*(lines or ["no problems"]), *self.remarks])


def _without_row(problem: Problem) -> Problem | None:
    """Return a problem of rows as one of their column; None if it only counts them."""
    if not isinstance(problem, DataProblem):
        return problem
    if not (problem.file or problem.column):
        return None
    return data_problem(
        problem.kind,
        problem.what,
        file=problem.file,
        column=problem.column,
        hint=problem.hint,
    )


class RunPlan(dict[str, Any]):
    """What a run would release and cost, as `lexfed plan --json` prints it.

    Notebooks show it as a table.
    """

    def __repr__(self) -> str:
        groups = counted(len(self["groups"]), "group")
        return f"<RunPlan: {self._price}; {groups} of noise>"

    @property
    def _price(self) -> str:
        if self["claims"] is None:
            return "NOT PRIVATE, no noise is added"
        record = self["claims"]["record"]
        return (
            f"epsilon {up(record['epsilon'], digits=4):g} at delta "
            f"{record['delta']:g}, {record['neighbours']}"
        )

    def _repr_html_(self) -> str:
        """Return the price and every release as a notebook shows them."""
        rows = [
            (
                group["release"], group["name"], f"{group['clip']:.4g}",
                f"{group['sigma']:.5g}", f"{group['sampling_rate']:g}", group["rounds"],
            )
            for group in self["groups"]
        ]  # fmt: skip
        header = ["release", "group", "clip", "sigma", "rate", "rounds"]
        tiers = (self["claims"] or {}).get("tiers", {})
        notes = [
            f"One value of {tier} columns: epsilon {up(of['epsilon'], digits=4):g}."
            for tier, of in tiers.items()
        ]
        caption = f"Plan: {self._price}. Nothing was spent."
        return html_table(caption, header, rows, notes)


def check(
    source: TableGiven,
    config: ConfigurationGiven | None = None,
    **settings: Unpack[Settings],
) -> RunCheck:
    """Return every problem of a configuration and of its data; spends nothing.

    Args:
        source: a configuration, a data frame, or one data frame for each site.
        config: the configuration of a data frame: a file, or what `init` returned.
        settings: keywords instead of `config`, see `Settings`.
    """
    try:
        priced = requested(source, config, settings).priced()
        priced.ledger()
        check_statements(priced, _base(source, config))
    except LexfedError as error:
        listed = getattr(error, "problems", None)
        return RunCheck(listed or (Problem("", error.message, error.hint),))
    return RunCheck((), priced.population.remarks())


def plan(
    source: TableGiven,
    config: ConfigurationGiven | None = None,
    *,
    rounds: int | None = None,
    **settings: Unpack[Settings],
) -> RunPlan:
    """Return what a run would release and cost; spends nothing.

    `source`, `config` and `settings` are as in `check`; `rounds` replaces the
    configuration's.

    Raises:
        ConfigError, DataError: with every problem.
        Refused: if the run exceeds a budget.
    """
    priced = requested(source, config, settings).priced(rounds)
    priced.ledger()
    return RunPlan(plan_with_outlook(priced))


def train(
    source: TableGiven,
    config: ConfigurationGiven | None = None,
    *,
    resume: bool = False,
    on_round: OnRound | None = None,
    **settings: Unpack[Settings],
) -> RunResult:
    """Train under the budgets of a configuration, or continue a training.

    `source`, `config` and `settings` are as in `check`. Where the run folder exists the
    next number is appended to its name. With `resume` the interrupted run of this
    configuration goes on; a finished one is returned as it is. `on_round` is called
    after every round.

    Raises:
        ConfigError, DataError: with every problem; nothing was written or spent.
        RunFolderError: if the run folder cannot be used.
        Refused: if not a single round could be paid for.
    """
    return trained(requested(source, config, settings), resume, on_round)


def trained(
    request: RunRequest, resume: bool = False, on_round: OnRound | None = None
) -> RunResult:
    """Return the result of a request; see `train`."""
    require_here(request.config)
    base, text = request.path.parent, request.text
    if not resume:
        priced = request.priced()
        require_room(priced, base)
        opened = start_in_free_folder(priced, request.folder, text, base)
        return run_rounds(priced, opened, on_round)
    out = run_to_continue(request.folder, request.config)
    if (result := finished_result(request.config, out)) is not None:
        return result
    priced = request.priced(interrupted=out)
    return run_rounds(priced, reopen(priced, out, text, base), on_round)


def load(folder: Path | str) -> RunResult:
    """Return the result of a finished run; `RunFolderError` if there is none.

    Nothing is verified; that is `lexfed.verify`.
    """
    return read_result(Path(folder))


def predict(
    run: RunResult | Path | str,
    table: TableGiven,
    tiers: Tier | str = Tier.SPECIAL,
    explain: bool = False,
) -> Predictions:
    """Score the rows of a file or a data frame, reading no column above a tier.

    With `explain` each row has what every column adds to its logits, `explained`.

    Raises:
        ConfigError: if there is no such tier, or no model may read it.
        RunFolderError: if the folder holds no finished run, or `explain` finds a
            network.
        DataError: if the table does not match the schema.
    """
    upto = _tier(tiers)
    folder = run.folder if isinstance(run, RunResult) else Path(run)
    if isinstance(table, str | Path):
        return prediction.predict(folder, table_source(table), upto, explain)
    return prediction.predict(folder, MemoryTable.of(table), upto, explain)


def demo(out: Path | str = "runs/demo", on_round: OnRound | None = None) -> RunResult:
    """Train on synthetic patients, as `lexfed demo` does, and compare nothing.

    Where the folder exists the next number is appended to its name.
    """
    text = demo_config(str(out))
    path = Path("lexfed.toml")
    return trained(RunRequest(loads(text, "demo"), text, path), on_round=on_round)


def _base(source: TableGiven, config: ConfigurationGiven | None) -> Path:
    """Return the folder that the paths of a call are relative to."""
    given = source if isinstance(source, str | Path | RunDraft) else config
    if isinstance(given, RunDraft):
        return given.path.parent
    return Path() if given is None else Path(given).parent


def _tier(tiers: Tier | str) -> Tier:
    hint = "choose one of " + ", ".join(f"`{tier.label}`" for tier in MODEL_TIERS)
    try:
        upto = tiers if isinstance(tiers, Tier) else Tier.parse(tiers)
    except ValueError as error:
        problem = Problem("`tiers`", f"unknown tier `{tiers}`", hint)
        raise ConfigError([problem]) from error
    if upto not in MODEL_TIERS:
        what = "identifiers are never used by a model"
        raise ConfigError([Problem("`tiers`", what, hint)])
    return upto
