# SPDX-License-Identifier: Apache-2.0
"""Rules of `[law]`: `[law.columns]` and the columns it speaks of, the tagger's bounds.

Built-in sources bring tags for their own columns; a file brings none, so each of its
columns, the target included, needs a decision that somebody took.
"""

from collections.abc import Iterator

from lexfed.config.rules.data import COLUMNS, LAW, SITES, SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest, dotted

TAGGER: KeyPath = ("law", "tagger")


def columns_are_tagged(config: Config) -> Iterator[Finding]:
    """Every column of a file has a tier, and so has what it was made from."""
    data, tags = config.data, config.law.columns
    if data.built_in:
        return
    needed = {name: (*COLUMNS, name) for name in data.columns}
    for name, table in data.columns.items():
        for source in table.sources:
            needed.setdefault(source, (*COLUMNS, name, "sources"))
    if data.person not in data.columns:
        needed.pop(str(data.person), None)  # a source that is refused elsewhere
    untagged = [name for name in needed if name not in tags]
    # A misspelt tag is reported once, as the tag of no column.
    misspelt = {closest(name, untagged) for name in tags if name not in needed}
    for name, path in needed.items():
        if name in untagged and name not in misspelt:
            tier = '{ tier = "...", reason = "..." }'
            yield Finding(
                path,
                f"column `{name}` has no tier",
                f"decide it under `[law.columns]`: `{dotted((name,))} = {tier}`, where "
                "tier is `non_personal`, `personal`, `special` or `identifier`",
                (SOURCE, (*LAW, name)),
            )


def tags_speak_of_columns(config: Config) -> Iterator[Finding]:
    """A decision about a column that does not exist is a typing mistake."""
    data = config.data
    if data.built_in or not data.columns:
        return
    known = set(data.columns)
    known.update(s for table in data.columns.values() for s in table.sources)
    keys = (data.person, data.sites.column if data.sites else None)
    known.update(key for key in keys if key is not None)
    for name in config.law.columns:
        if name not in known:
            near = closest(name, known)
            hint = (
                f"did you mean `{near}`?"
                if near
                else "declare it under `[data.columns]`, or remove its tier"
            )
            yield Finding(
                (*LAW, name),
                f"`{dotted((*LAW, name))}`: there is no column `{name}`",
                hint,
                (SOURCE, SITES, ("data", "person"), (*COLUMNS, name)),
            )


def something_is_left_to_learn(config: Config) -> Iterator[Finding]:
    """The target is no identifier, and at least one feature remains."""
    data, tags = config.data, config.law.columns
    target = data.target
    if target is not None and target in tags and tags[target].tier == "identifier":
        path = (*LAW, target, "tier")
        what = f"`{dotted(path)}`: the target cannot be an identifier"
        hint = "identifiers never enter a model; choose another tier or target"
        yield Finding(path, what, hint, (("data", "target"),))
    if data.built_in or not data.columns:
        return
    site = data.sites.column if data.sites else None
    features = [
        name
        for name, table in data.columns.items()
        if name not in (target, data.person, site)
        and table.kind != "text"
        and not (name in tags and tags[name].tier == "identifier")
    ]
    if not features:
        what = "`[data.columns]`: no column is left to learn from"
        hint = "declare a column besides target, keys, text and identifiers"
        also = (SOURCE, SITES, LAW, ("data", "target"), ("data", "person"))
        yield Finding(COLUMNS, what, hint, also)


def thresholds_are_ordered(config: Config) -> Iterator[Finding]:
    """Between the two thresholds of the tagger is where personal data are."""
    low, high = config.law.tagger.low, config.law.tagger.high
    if low >= high:
        yield Finding(
            (*TAGGER, "low"),
            f"`law.tagger.low`: expected a number below `law.tagger.high` = {high:g}, "
            f"got: `{low:g}`",
            "",
            ((*TAGGER, "high"),),
        )


RULES = (
    columns_are_tagged,
    tags_speak_of_columns,
    something_is_left_to_learn,
    thresholds_are_ordered,
)
