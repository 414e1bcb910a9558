# SPDX-License-Identifier: Apache-2.0
"""`init`: the first configuration of a table, which can be trained on as it is.

    draft = lexfed.init(patients, target="died")     # a data frame, or a file
    draft                                            # each decision, and by whom
    lexfed.plan(patients, draft)                     # what it would cost
    lexfed.init("patients.csv", target="died", out="lexfed.toml")   # written, too

It decides as `lexfed init TABLE --yes` does: names and kinds are all that it takes from
the table, `DefaultAnswers` all that it asks.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lexfed.config import Config, examine
from lexfed.config.drafting.column_proposals import ColumnProposal
from lexfed.config.drafting.first_draft import ColumnDraft, ConfigurationDraft
from lexfed.config.drafting.questions import DefaultAnswers
from lexfed.config.drafting.table_draft import DraftRequest, TableDraft, draft_table
from lexfed.config.edits import ColumnDecision
from lexfed.config.text.wording import did_you_mean
from lexfed.data.file_format import DateOrder, DecimalMark, SeparatorName
from lexfed.data.problems import Problems
from lexfed.data.reading.column_guesses import TableGuess, guess_frames, guess_table
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.errors import ConfigError, Problem, RunFolderError, system_reason
from lexfed.notebook_html import html_table
from lexfed.python.settings import (
    ColumnStatement,
    TierStatement,
    column_keys,
    tier_keys,
)
from lexfed.terms import FRAME
from lexfed.tiers import Tier
from lexfed.visible_text import visible

_FILE = "lexfed.toml"


@dataclass(frozen=True, repr=False)
class RunDraft:
    """A configuration that `plan` and `train` take in the place of its file.

    Attributes:
        text: the configuration as `lexfed.toml` has it, with a reason in every line.
        path: its file; one in the working folder stands for it while there is none.
        columns: the columns that the model reads, and the target, with their decisions.
        left_out: other columns, each with the reason.
        review: columns that a person should look at; until then they have the cautious
            tier.
        widened: columns of which nobody knows the range, list or period, so that a wide
            one was taken.
        remarks: about the way in which the table is written. They rest on values: for
            the data's holders only.
    """

    text: str
    path: Path
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    review: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def config(self) -> Config:
        """The configuration itself."""
        return examine(self.text, str(self.path)).require()

    @property
    def in_memory(self) -> bool:
        """True if its table is a data frame, which the draft does not hold."""
        return self.config.data.source is not None and (
            self.config.data.source.startswith(FRAME)
        )

    def __repr__(self) -> str:
        return (
            f"<RunDraft: {len(self.columns)} columns, {len(self.left_out)} left out, "
            f"{len(self.review)} to look at>"
        )

    def __str__(self) -> str:
        """The text of the configuration."""
        return self.text

    def _repr_html_(self) -> str:
        """Return every decision as a notebook shows it: what, by whom, and why."""
        rows: list[tuple[str, ...]] = [self._row(each) for each in self.columns]
        rows += [(name, "left out", "", "rule", why) for name, why in self.left_out]
        found = self.config
        budget, people = found.budget, found.data.person
        whom = "each row is a person" if people is None else f"a person is a `{people}`"
        notes = [
            f"Predicts {found.data.target}; epsilon {budget.epsilon:g} at delta "
            f"{budget.delta:g}, {budget.neighbours}; {whom}."
        ]
        if self.review:
            notes.append(
                f"A person should look at {', '.join(self.review)}: until then the "
                "cautious tier."
            )
        if self.widened:
            notes.append(
                f"Nobody knows the values of {', '.join(self.widened)}: state a public "
                "range or list if there is one."
            )
        if self.remarks:
            notes.append("How the table is written: print `remarks` to see it.")
        header = ["column", "may hold", "tier", "decided by", "why"]
        return html_table("Draft of a configuration", header, rows, notes)

    def _row(self, column: ColumnDraft) -> tuple[str, ...]:
        decision = column.decision
        if decision is None:  # what drafts have none of, and a type allows
            return column.name, column.domain, "", "", column.source
        by = "you" if decision.by == "person" else "rule"
        if column.name in self.review:
            by += ", not sure"
        why = "; ".join(each for each in (decision.reason, column.source) if each)
        return column.name, column.domain, decision.tier, by, why


def init(
    table: Any,
    *,
    target: str,
    person: str | None = None,
    sites: int | tuple[str, Sequence[str]] = 1,
    units: int | None = None,
    epsilon: float = 2.0,
    classes: Sequence[str] = (),
    target_range: tuple[float, float] | None = None,
    columns: Mapping[str, ColumnStatement] | None = None,
    tiers: Mapping[str, TierStatement] | None = None,
    separator: SeparatorName | None = None,
    decimal: DecimalMark | None = None,
    dates: DateOrder | None = None,
    data_set: str = "table",
    out: Path | str | None = None,
) -> RunDraft:
    """Return a configuration that runs, as `lexfed init TABLE --yes` writes it.

    Args:
        table: a file or a data frame. Its names and the kinds of its columns are used,
            and nothing else of it.
        target: the column to predict.
        person: the column that says whom a row is about; else a column that is surely
            such a key, or none.
        sites: a number of simulated sites, or a column with the names of all sites.
        units: a public number of people; else theirs is public.
        epsilon: what the whole run may cost one person.
        classes: all classes of the target, from public knowledge.
        target_range: the range of a target that is a number, from public knowledge.
        columns: what you state about single columns, as for `train`.
        tiers: your own decisions about single columns, as for `train`.
        separator: what divides the fields of a line, where two readings fit.
        decimal: what a fraction of a number begins with, where two readings fit.
        dates: what stands first in a date, where two readings fit.
        data_set: the name under which ledgers know a data frame.
        out: the file to write, which must not be there; by default none is written.

    Raises:
        ConfigError: if a statement is missing or means nothing; nothing was written.
        DataError: with every problem of the table.
        RunFolderError: if `out` exists, or cannot be written.
    """
    _check_statements(target, person, units, epsilon, classes)
    place = Path(_FILE) if out is None else Path(out)
    if out is not None and place.exists():
        raise _exists(place)
    site, names = (sites, ()) if isinstance(sites, int) else _site_column(sites)
    if isinstance(table, str | Path):
        given = Path(table)
        source = str(given)
        if not given.is_absolute():
            source = os.path.relpath(given, place.parent)
    else:
        given, source = Path(data_set), f"{FRAME}{data_set}"
    request = DraftRequest(
        given, source, target, tuple(classes), target_range, person, str(site),
        names, units, epsilon,
    )  # fmt: skip
    try:
        found = _guess(table, source, separator, decimal, dates)
        draft = _decided(draft_table(request, found, DefaultAnswers()), columns, tiers)
    except ConfigError as error:
        raise ConfigError([_in_keywords(each) for each in error.problems]) from error
    text = draft.configuration.text()
    examine(text, str(place)).require()
    if out is not None:
        _write_new(place, text)
    return RunDraft(
        text,
        place,
        draft.configuration.columns,
        draft.configuration.left_out,
        tuple(each.name for each in draft.proposals if each.review),
        tuple(each.name for each in draft.proposals if each.widened),
        found.notes,
    )


def _check_statements(
    target: object, person: object, units: object, epsilon: object, classes: object
) -> None:
    problems = []
    for name, value in (("target", target), ("person", person)):
        if not isinstance(value, str) and (name, value) != ("person", None):
            what = f"expected the name of a column, got a `{type(value).__name__}`"
            problems.append(Problem(f"`{name}`", what, f'for example `{name}="age"`'))
    whole = isinstance(units, int) and not isinstance(units, bool) and units > 0
    if units is not None and not whole:
        hint = "a public number of people, not counted in the table"
        problems.append(Problem("`units`", "expected a whole number above 0", hint))
    if (
        not isinstance(epsilon, int | float)
        or isinstance(epsilon, bool)
        or not 0 < epsilon < math.inf
    ):
        hint = "what the whole run may cost one person, `epsilon=2`"
        problems.append(Problem("`epsilon`", "expected a number above 0", hint))
    if isinstance(classes, str):
        hint = 'for example `classes=["no", "yes"]`'
        problems.append(Problem("`classes`", "expected a list of texts", hint))
    if problems:
        raise ConfigError(problems)


def _site_column(stated: object) -> tuple[str, tuple[str, ...]]:
    match stated:
        case (str() as column, [*names]) if all(isinstance(n, str) for n in names):
            return column, tuple(map(str, names))
    hint = 'a number of parts, or `("hospital", ["north", "south"])`'
    what = f"cannot tell what a `{type(stated).__name__}` says about sites"
    raise ConfigError([Problem("`sites`", what, hint)])


def _guess(
    table: Any,
    source: str,
    separator: SeparatorName | None,
    decimal: DecimalMark | None,
    dates: DateOrder | None,
) -> TableGuess:
    if isinstance(table, str | Path):
        return guess_table(Path(table), separator, decimal, dates)
    if isinstance(table, Mapping):
        what = "expected one table, got a mapping"
        hint = "draft from one of the frames; `train` takes all of them with the draft"
        raise ConfigError([Problem("`table`", what, hint)])
    problems = Problems()
    frame = MemoryTable.of(table, source).read(None, problems)
    if not len(frame):
        problems.add("no-rows", "there are no rows", file=source)
    problems.raise_if_any()
    return guess_frames([frame], decimal=decimal, dates=dates)


def _decided(
    draft: TableDraft,
    columns: Mapping[str, ColumnStatement] | None,
    tiers: Mapping[str, TierStatement] | None,
) -> TableDraft:
    """Return a draft with what its caller states in the place of what was proposed."""
    domains = {name: column_keys(name, each) for name, each in (columns or {}).items()}
    decisions = {name: _decision(name, each) for name, each in (tiers or {}).items()}
    configuration = draft.configuration
    _require_known(configuration, domains, decisions)
    hidden = {
        name
        for name, decision in decisions.items()
        if decision.tier == Tier.IDENTIFIER.label
    }
    if configuration.target in hidden:
        what = "the target cannot be an identifier"
        raise ConfigError([Problem("`tiers`", what, "predict another column")])
    kept = []
    for column in configuration.columns:
        if column.name in domains:
            column = replace(column, keys=domains[column.name], source="stated by you")
        if column.name in decisions:
            column = replace(column, decision=decisions[column.name])
        if column.name not in hidden:
            kept.append(column)
    proposals: list[ColumnProposal] = [
        replace(
            each,
            widened=each.widened and each.name not in domains,
            review=each.review and each.name not in decisions,
        )
        for each in draft.proposals
        if each.name not in hidden
    ]
    dropped = tuple((name, "an identifier, as you say") for name in sorted(hidden))
    changed = replace(
        configuration,
        columns=tuple(kept),
        left_out=(*configuration.left_out, *dropped),
    )
    return TableDraft(changed, tuple(proposals))


def _decision(name: str, stated: TierStatement) -> ColumnDecision:
    keys = tier_keys(name, stated)
    reason = keys.get("reason", "")
    try:
        tier = Tier.parse(str(keys.get("tier"))).label
    except ValueError as error:
        raise ConfigError([Problem(f"`tiers`, column `{name}`", str(error))]) from error
    return ColumnDecision(tier, keys.get("category", ""), reason)


def _require_known(
    configuration: ConfigurationDraft,
    domains: Mapping[str, object],
    decisions: Mapping[str, object],
) -> None:
    names = [column.name for column in configuration.columns]
    reasons = dict(configuration.left_out)
    problems = []
    for keyword, stated in (("columns", domains), ("tiers", decisions)):
        for name in stated:
            if name in names and (keyword, name) != ("columns", configuration.target):
                continue
            if name in names:
                what, hint = "is the target", "state `classes` or `target_range`"
            elif name in reasons:
                what = f"is left out: {reasons[name]}"
                hint = "to read it, write the draft with `out` and add the column there"
            else:
                what = "is no column of the model"
                hint = visible(did_you_mean(name, names[:200], "its columns are"))
            shown = visible(str(name))[:60]
            problems.append(Problem(f"`{keyword}`, column `{shown}`", what, hint))
    if problems:
        raise ConfigError(problems)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        what = f"cannot write `{path}`: {system_reason(error)}"
        raise RunFolderError(what, "write elsewhere with `out`") from error


def _exists(path: Path) -> RunFolderError:
    hint = f'train with it: `lexfed.train("{path}")`; or write elsewhere with `out`'
    return RunFolderError(f"`{path}` exists already", hint)


_OPTION = re.compile(r"`--([a-z-]+)(?: ([^`]+))?`")


def _in_keywords(problem: Problem) -> Problem:
    """Return a problem with keywords of `init` where it names options."""
    what, hint = (_OPTION.sub(_keyword, text) for text in (problem.what, problem.hint))
    return replace(problem, what=what, hint=hint)


def _keyword(option: re.Match[str]) -> str:
    """Return the keyword of an option as it is written in a call.

    >>> _OPTION.sub(_keyword, "answer it with `--target-range LOW..HIGH`")
    'answer it with `target_range=(LOW, HIGH)`'
    >>> _OPTION.sub(_keyword, '`--classes "A,B"`, `--dates day-first`, `--decimal`')
    '`classes=["A", "B"]`, `dates="day-first"`, `decimal`'
    """
    name, value = option[1].replace("-", "_"), option[2]
    if name == "site_names":
        return '`sites=("COLUMN", ["NORTH", "SOUTH"])`'
    if value is None:
        return f"`{name}`"
    if ".." in value:
        value = f"({value.replace('..', ', ')})"
    elif "," in value:
        listed = ", ".join(f'"{each}"' for each in value.strip('"').split(","))
        value = f"[{listed}]"
    elif not value.isdigit() and value != "N":
        value = f'"{value}"'
    return f"`{name}={value}`"
