# SPDX-License-Identifier: Apache-2.0
"""Rules for importances of columns, and for what else was paid for before a run.

Importances come from where they may, and do something. Whether files and run folders
fit is checked when they are read (`run/intake/column_importance.py`).
"""

from collections.abc import Iterator

from lexfed.config.declarations import model_columns
from lexfed.config.rules.budget import ALLOCATION, MECHANISM, RATE, UNIT
from lexfed.config.rules.data import COLUMNS, SOURCE, readable
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest_or, shown

FROM: KeyPath = ("budget", "importance_from")
IMPORTANCE: KeyPath = ("budget", "importance")
GROUPS: KeyPath = ("budget", "groups")
GROUPS_FROM: KeyPath = ("budget", "groups_from")
SPARSITY: KeyPath = ("budget", "sparsity")
PROFILE: KeyPath = ("data", "profile")
PREFIXES = ("public:", "weights:", "paid:")


def sources_are_known(config: Config) -> Iterator[Finding]:
    """Raw rows are no source of importances: only what is public or was released."""
    source, groups = config.budget.importance_from, config.budget.groups_from
    if source is not None and not (source.startswith(PREFIXES) and _rest(source)):
        what = f": cannot tell what {shown(source)} is"
        hint = "write `public:FILE`, `weights:RUNFOLDER` or `paid:RUNFOLDER`"
        yield about(FROM, what, hint)
    if source is not None and source.startswith("public:") and _rest(source):
        yield from readable(FROM, source, built_in=False)
    if groups is not None and not groups.startswith("public:"):
        yield about(
            GROUPS_FROM,
            f": cannot tell what {shown(groups)} is",
            "write `public:FILE`; correlations of private rows would have to be paid "
            "for",
        )
    elif groups is not None and _rest(groups):
        yield from readable(GROUPS_FROM, groups, built_in=False)


def _rest(source: str) -> str:
    return source.partition(":")[2]


def importances_are_used(config: Config) -> Iterator[Finding]:
    """Importances weigh tiers, or leave columns out; else they do nothing."""
    budget, mechanism = config.budget, config.privacy.mechanism
    # With one sum for all columns there is nothing to share out between tiers.
    shared = mechanism in ("cascade", "grouped")
    if (budget.allocation == "multiplier" and shared) or budget.sparsity:
        return
    stated = {
        FROM: budget.importance_from, IMPORTANCE: budget.importance,
        GROUPS: budget.groups, GROUPS_FROM: budget.groups_from,
    }  # fmt: skip
    for path, value in stated.items():
        if value and not shared:
            what = (
                f' does nothing with `mechanism = "{mechanism}"` and without '
                "`sparsity`: all columns are in one sum"
            )
            hint = 'remove it, or set `mechanism = "cascade"` or `"grouped"`'
            yield about(path, what, hint, MECHANISM, SPARSITY)
        elif value:
            what = (
                f' does nothing with `allocation = "{budget.allocation}"` and without '
                "`sparsity`"
            )
            hint = 'remove it, or set `allocation = "multiplier"`'
            yield about(path, what, hint, ALLOCATION, SPARSITY)


def groups_have_importances(config: Config) -> Iterator[Finding]:
    """Columns that all count the same leave nothing to share or to leave out."""
    budget = config.budget
    if budget.importance_from or budget.importance:
        return
    stated = {GROUPS: budget.groups, GROUPS_FROM: budget.groups_from,
              SPARSITY: budget.sparsity}  # fmt: skip
    for path, value in stated.items():
        if value:
            what = " does nothing without importances of columns"
            hint = "add `importance_from`, or state them under `[budget.importance]`"
            yield about(path, what, hint, FROM, IMPORTANCE)


def groups_are_of_columns(config: Config) -> Iterator[Finding]:
    """A column is in one group at most, and there is such a column."""
    seen: dict[str, str] = {}
    columns = model_columns(config)
    for group, names in config.budget.groups.items():
        path: KeyPath = (*GROUPS, group)
        for name in names:
            if name in seen:
                what = f": `{name}` is in `{seen[name]}` already"
                yield about(path, what, "name each column once")
            seen.setdefault(name, group)
            if columns and not config.data.built_in and name not in columns:
                hint = closest_or(name, columns, "remove it")
                what = f": there is no column `{name}`"
                yield about(path, what, hint, COLUMNS, SOURCE)


def paid_importances_fit(config: Config) -> Iterator[Finding]:
    """Earlier payments are taken off one budget, exactly, for every record."""
    if (config.budget.importance_from or "").startswith("paid:"):
        for obstacle, path in prepayment_obstacles(config):
            hint = "use importances from a public file or from a released model"
            yield about(FROM, f": `paid:` does not go with {obstacle}", hint, path)


def profile_fits(config: Config) -> Iterator[Finding]:
    """The price of a profile is taken off in the same way."""
    if config.data.profile is not None:
        for obstacle, path in prepayment_obstacles(config):
            hint = "remove it, and state ranges and values from public knowledge"
            yield about(PROFILE, f" does not go with {obstacle}", hint, path)


def prepayment_obstacles(config: Config) -> Iterator[tuple[str, KeyPath]]:
    """Yield the settings under which no earlier payment can be taken off the budget."""
    budget = config.budget
    if config.privacy.mechanism == "none":
        yield '`mechanism = "none"`', MECHANISM
    if budget.unit == "client":
        yield '`unit = "client"`', UNIT
    if config.federation.sampling_rate < 1:
        yield "`sampling_rate` below 1", RATE
    if budget.classes:
        yield "`[[budget.classes]]`", ("budget", "classes")
    if budget.profiles or budget.clients:
        yield "budgets that differ between sites", ("budget", "profiles")


RULES = (
    sources_are_known, importances_are_used, groups_have_importances,
    groups_are_of_columns, paid_importances_fit, profile_fits,
)  # fmt: skip
