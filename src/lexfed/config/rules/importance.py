# SPDX-License-Identifier: Apache-2.0
"""Rules for importances of columns, and for what else was paid for before a run.

Importances come from where they may, and do something. Written like `data.py`. Whether
files and run folders fit is found out when they are read
(`run/intake/column_importance.py`).
"""

from collections.abc import Iterator

from lexfed.config.rules.budget import ALLOCATION, MECHANISM, RATE, UNIT
from lexfed.config.rules.data import COLUMNS, FILE_ENDINGS, SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest, dotted, listed, shown

FROM: KeyPath = ("budget", "importance_from")
GROUPS: KeyPath = ("budget", "groups")
GROUPS_FROM: KeyPath = ("budget", "groups_from")
SPARSITY: KeyPath = ("budget", "sparsity")
PROFILE: KeyPath = ("data", "profile")
PREFIXES = ("public:", "weights:", "paid:")


def sources_are_known(config: Config) -> Iterator[Finding]:
    """Raw rows are no source of importances: only what is public or was released."""
    budget = config.budget
    source = budget.importance_from
    if source is not None and not (source.startswith(PREFIXES) and _rest(source)):
        yield Finding(
            FROM,
            f"`budget.importance_from`: cannot tell what {shown(source)} is",
            "write `public:FILE`, `weights:RUNFOLDER` or `paid:RUNFOLDER`",
        )
    if source is not None and source.startswith("public:"):
        yield from _readable(FROM, source)
    groups = budget.groups_from
    if groups is not None and not groups.startswith("public:"):
        yield Finding(
            GROUPS_FROM,
            f"`budget.groups_from`: cannot tell what {shown(groups)} is",
            "write `public:FILE`; correlations of private rows would have to be paid "
            "for",
        )
    elif groups is not None:
        yield from _readable(GROUPS_FROM, groups)


def _rest(source: str) -> str:
    return source.partition(":")[2]


def _readable(path: KeyPath, source: str) -> Iterator[Finding]:
    if _rest(source) and not source.endswith(FILE_ENDINGS):
        what = f"`{dotted(path)}`: cannot tell how to read {shown(source)}"
        yield Finding(path, what, f"use a file that ends in {listed(FILE_ENDINGS)}")


def importances_are_used(config: Config) -> Iterator[Finding]:
    """Importances weigh tiers, or leave columns out; else they do nothing."""
    budget, mechanism = config.budget, config.privacy.mechanism
    # With one sum for all columns there is nothing to share out between tiers.
    shared = mechanism in ("cascade", "grouped")
    if (budget.allocation == "multiplier" and shared) or budget.sparsity:
        return
    stated = {
        FROM: budget.importance_from,
        ("budget", "importance"): budget.importance,
        GROUPS: budget.groups,
        GROUPS_FROM: budget.groups_from,
    }
    for path, value in stated.items():
        if value and not shared:
            yield Finding(
                path,
                f'`{dotted(path)}` does nothing with `mechanism = "{mechanism}"` and '
                "without `sparsity`: all columns are in one sum",
                'remove it, or set `mechanism = "cascade"` or `"grouped"`',
                (MECHANISM, SPARSITY),
            )
        elif value:
            yield Finding(
                path,
                f'`{dotted(path)}` does nothing with `allocation = "'
                f'{budget.allocation}"` and without `sparsity`',
                'remove it, or set `allocation = "multiplier"`',
                (ALLOCATION, SPARSITY),
            )


def groups_have_importances(config: Config) -> Iterator[Finding]:
    """Columns that all count the same leave nothing to share or to leave out."""
    budget = config.budget
    if budget.importance_from or budget.importance:
        return
    stated = {GROUPS: budget.groups, GROUPS_FROM: budget.groups_from,
              SPARSITY: budget.sparsity}  # fmt: skip
    for path, value in stated.items():
        if value:
            yield Finding(
                path,
                f"`{dotted(path)}` does nothing without importances of columns",
                "add `importance_from`, or state them under `[budget.importance]`",
                (FROM, ("budget", "importance")),
            )


def groups_are_of_columns(config: Config) -> Iterator[Finding]:
    """A column is in one group at most, and there is such a column."""
    seen: dict[str, str] = {}
    columns = config.data.columns
    for group, names in config.budget.groups.items():
        path: KeyPath = (*GROUPS, group)
        for name in names:
            if name in seen:
                what = f"`{dotted(path)}`: `{name}` is in `{seen[name]}` already"
                yield Finding(path, what, "name each column once")
            seen.setdefault(name, group)
            if columns and not config.data.built_in and name not in columns:
                near = closest(name, columns)
                what = f"`{dotted(path)}`: there is no column `{name}`"
                hint = f"did you mean `{near}`?" if near else "remove it"
                yield Finding(path, what, hint, (COLUMNS, SOURCE))


def paid_importances_fit(config: Config) -> Iterator[Finding]:
    """Earlier payments are taken off one budget, exactly, for every record."""
    if (config.budget.importance_from or "").startswith("paid:"):
        for what, path in prepayment_obstacles(config):
            yield Finding(
                FROM,
                f"`budget.importance_from`: `paid:` does not go with {what}",
                "use importances from a public file or from a released model",
                (path,),
            )


def profile_fits(config: Config) -> Iterator[Finding]:
    """So is what a profile has cost."""
    if config.data.profile is not None:
        for what, path in prepayment_obstacles(config):
            yield Finding(
                PROFILE,
                f"`data.profile` does not go with {what}",
                "remove it, and state ranges and values from public knowledge",
                (path,),
            )


def prepayment_obstacles(config: Config) -> Iterator[tuple[str, KeyPath]]:
    """Return where nothing can be taken off the budget for what was paid before."""
    budget = config.budget
    profiles = bool(budget.profiles or budget.clients)
    wrong: tuple[tuple[bool, str, KeyPath], ...] = (
        (config.privacy.mechanism == "none", '`mechanism = "none"`', MECHANISM),
        (budget.unit == "client", '`unit = "client"`', UNIT),
        (config.federation.sampling_rate < 1, "`sampling_rate` below 1", RATE),
        (bool(budget.classes), "`[[budget.classes]]`", ("budget", "classes")),
        (profiles, "budgets that differ between sites", ("budget", "profiles")),
    )
    for holds, what, path in wrong:
        if holds:
            yield what, path


RULES = (
    sources_are_known,
    importances_are_used,
    groups_have_importances,
    groups_are_of_columns,
    paid_importances_fit,
    profile_fits,
)
