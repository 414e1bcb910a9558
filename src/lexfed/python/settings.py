# SPDX-License-Identifier: Apache-2.0
"""Keywords of a call, as the tables of a configuration.

Nothing is taken from the data: a range, a list of categories or a tier that nobody
states is refused. What the keywords leave out has the value that a configuration
without the key has; only `delta`, `sites` and the name of the run have one here, and
the model is linear where the target is a number.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from lexfed.errors import ConfigError, Problem
from lexfed.tagging import TaggedColumns
from lexfed.terms import FRAME

DELTA = 1e-6
UNEXPLAINED = "stated in a call from Python, without a reason"
"""The reason of a tier for which the caller gave none."""

ColumnStatement = (
    type[bool] | str | tuple[float, float] | Sequence[str] | Mapping[str, Any]
)
"""The lowest and highest value of a number, the list of a category's values, `bool` or
"flag", "text" for a key; or everything that `[data.columns]` knows of a column."""
TierStatement = str | tuple[str, str] | Mapping[str, str]
"""A tier, a tier with its reason, or everything that `[law.columns]` knows."""
SiteDivision = int | tuple[str, Sequence[str]] | Mapping[str, Any]
"""So many random parts, a column with the names of all sites, or `data.sites`."""


class Settings(TypedDict, total=False):
    """Keywords of a call in place of a configuration.

    `target`, `columns`, `tiers` and `epsilon` are required. `units` is a public number
    of people; without it `neighbours` must be "replace-one". `name` is that of the run,
    `data_set` the name under which ledgers know the table. `more` has other keys of a
    configuration, such as `{"federation.rounds": 10}`.
    """

    target: str
    columns: Mapping[str, ColumnStatement]
    tiers: Mapping[str, TierStatement] | TaggedColumns
    epsilon: float
    delta: float
    caps: Mapping[str, float]
    neighbours: str
    units: int
    person: str
    sites: SiteDivision
    test_size: float
    name: str
    data_set: str
    out: str | Path
    more: Mapping[str, Any]


_NEEDED = {
    "target": 'the column to predict, `target="readmitted"`',
    "columns": "what is public about each column, "
    '`columns={"age": (0, 110), "ward": ["a", "b"], "readmitted": bool}`',
    "tiers": "how sensitive each column is, `tiers=lexfed.tag(frame)` or "
    '`tiers={"age": ("personal", "describes a person")}`',
    "epsilon": "what the run may cost one person, `epsilon=2`",
}


def configuration_tables(
    settings: Settings, sources: Sequence[str], from_sites: bool = False
) -> dict[str, Any]:
    """Return the tables of the configuration that keywords state.

    `sources` are names of data frames, one for each site with `from_sites`.

    Raises:
        ConfigError: if a keyword is missing, unknown, or of a shape that means nothing.
    """
    _check_keywords(settings, from_sites)
    name = settings.get("name", "table")
    data: dict[str, Any] = {"target": settings["target"]}
    if from_sites:
        data["sites"] = {"files": list(sources)}
    else:
        data |= {"source": sources[0], "sites": _sites(settings.get("sites", 1))}
    data |= _given(settings, "person", "units", "test_size")
    columns = settings["columns"]
    data["columns"] = {key: column_keys(key, each) for key, each in columns.items()}
    budget = {"epsilon": settings["epsilon"], "delta": settings.get("delta", DELTA)}
    budget |= _given(settings, "neighbours", "caps")
    tables: dict[str, Any] = {
        "version": 1,
        "run": {"name": name},
        "data": data,
        "law": {"columns": _tiers(settings["tiers"], columns)},
        "budget": budget,
        "federation": {"engine": "inprocess"},
    }
    if data["columns"].get(settings["target"], {}).get("kind") == "number":
        tables["federation"]["model"] = "linear"
    if "out" in settings:
        tables["run"]["out"] = str(settings["out"])
    for key, value in settings.get("more", {}).items():
        _set(tables, key, value)
    return tables


def data_set_name(settings: Settings) -> str:
    """Return the name of the one data frame of a call, as a configuration has it."""
    return f"{FRAME}{settings.get('data_set', 'table')}"


def _check_keywords(settings: Settings, from_sites: bool) -> None:
    known = Settings.__annotations__
    problems = [
        Problem(f"`{key}`", "there is no such keyword", f"known: {', '.join(known)}")
        for key in settings
        if key not in known
    ]
    problems += [
        Problem(f"`{key}`", "is missing", f"state {hint}")
        for key, hint in _NEEDED.items()
        if key not in settings
    ]
    if from_sites:
        problems += [
            Problem(f"`{key}`", "each frame is a site already", f"leave `{key}` out")
            for key in ("sites", "data_set")
            if key in settings
        ]
    problems += [
        Problem(f"`{key}`", f"expected a mapping, got a `{type(value).__name__}`")
        for key in ("columns", "caps", "more")
        if not isinstance(value := settings.get(key, {}), Mapping)
    ]
    if problems:
        raise ConfigError(problems)


def _given(settings: Settings, *keys: str) -> dict[str, Any]:
    values = {key: settings.get(key) for key in keys}
    return {key: value for key, value in values.items() if value is not None}


def column_keys(name: str, stated: Any) -> dict[str, Any]:
    """Return what a caller states of a column as keys of `[data.columns]`."""
    match stated:
        case Mapping():
            return dict(stated)
        case str():
            return {"kind": stated}
        case (int() | float() as low, int() | float() as high) if not isinstance(
            low, bool
        ):
            return {"kind": "number", "range": [low, high]}
        case [*values] if values and all(isinstance(each, str) for each in values):
            return {"kind": "category", "values": values}
    if stated is bool:
        return {"kind": "flag"}
    raise ConfigError(
        [
            Problem(
                f"`columns`, column `{name}`",
                f"cannot tell what a `{type(stated).__name__}` says about it",
                "`(low, high)` for a number, a list of texts for a category, `bool` "
                'for yes/no, "text" for a key',
            )
        ]
    )


def _tiers(stated: Any, columns: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    if isinstance(stated, TaggedColumns):
        decided = stated.decisions()
        # Columns that no model reads need no decision.
        return {name: decided[name] for name in decided if name in columns}
    if not isinstance(stated, Mapping):
        what = f"expected a mapping or `lexfed.tag(...)`, got `{type(stated).__name__}`"
        raise ConfigError([Problem("`tiers`", what, _NEEDED["tiers"])])
    return {name: tier_keys(name, each) for name, each in stated.items()}


def tier_keys(name: str, stated: Any) -> dict[str, str]:
    """Return what a caller states of a tier as keys of `[law.columns]`."""
    match stated:
        case str():
            return {"tier": stated, "reason": UNEXPLAINED}
        case (str() as tier, str() as reason):
            return {"tier": tier, "reason": reason}
        case Mapping():
            return dict(stated)
    what = f"a `{type(stated).__name__}` is no tier"
    raise ConfigError([Problem(f"`tiers`, column `{name}`", what, _NEEDED["tiers"])])


def _sites(stated: Any) -> dict[str, Any]:
    match stated:
        case bool():
            pass
        case int():
            return {"count": stated}
        case (str() as column, [*names]):
            return {"column": column, "names": names}
        case Mapping():
            return dict(stated)
    what = f"cannot tell what a `{type(stated).__name__}` says about sites"
    hint = 'a number of parts, or `("hospital", ["north", "south"])`; a dictionary of '
    raise ConfigError([Problem("`sites`", what, f"{hint}frames has its sites already")])


def _set(tables: dict[str, Any], key: str, value: Any) -> None:
    *above, last = key.split(".")
    table = tables
    for name in above:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError([Problem(f"`more`, `{key}`", f"`{name}` is no table")])
    if not above or (last in table and last not in _DEFAULTS):
        what = "is stated by a keyword" if above else "is not a key of a table"
        hint = 'keys are written with their tables, `{"federation.rounds": 10}`'
        raise ConfigError([Problem(f"`more`, `{key}`", what, hint)])
    table[last] = value


_DEFAULTS = {"engine", "delta", "model"}
"""Keys with a value here that `more` may replace."""
