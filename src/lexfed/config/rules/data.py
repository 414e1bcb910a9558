# SPDX-License-Identifier: Apache-2.0
"""Rules of `[data]` and `[law]`: sources, sites, declared columns and their tiers.

A built-in source brings declarations and tags. A file brings none, so each of its
columns, the target included, needs a declaration and a person's decision about its
tier.
"""

import itertools
from collections.abc import Iterator

from lexfed.config.declarations import declared_columns
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import NOT_AVAILABLE, Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import (
    closest,
    closest_or,
    did_you_mean,
    dotted,
    listed,
    shown,
)
from lexfed.data.file_format import PLAIN, SUFFIXES
from lexfed.data.reading.typed_cells.database_address import (
    WrongAddress,
    is_database_source,
    looks_like_url,
    require_stated,
    require_table_name,
)
from lexfed.errors import ConfigError
from lexfed.law.tagger.suggestions import TIER_OF
from lexfed.terms import FRAME

BUILT_IN = (
    "synthetic:hospital", "synthetic:bank", "sklearn:breast_cancer", "sklearn:diabetes",
)  # fmt: skip

SOURCE: KeyPath = ("data", "source")
SITES: KeyPath = ("data", "sites")
COLUMNS: KeyPath = ("data", "columns")
TARGET: KeyPath = ("data", "target")
PERSON: KeyPath = ("data", "person")
UNITS: KeyPath = ("data", "units")
LAW: KeyPath = ("law", "columns")


def source_is_known(config: Config) -> Iterator[Finding]:
    """The rows come from one place, of a sort that can be read."""
    data = config.data
    files = data.sites.files if data.sites else None
    if data.source is None and files is None:
        what = " is missing"
        hint = (
            "name a file or a built-in source, for example "
            '`source = "patients.csv"`, or one file per site with '
            '`sites = { files = ["a.csv", "b.csv"] }`'
        )
        yield about(SOURCE, what, hint, SITES)
    if data.source is not None:
        if files is not None and site_divisions(config) == ["files"]:
            what = " and `data.sites.files` both say where the rows are"
            yield about(SOURCE, what, "keep one of them", SITES)
        yield from readable(SOURCE, data.source)
    for number, file in enumerate(files or ()):
        path: KeyPath = (*SITES, "files", number)
        yield from readable(path, file, built_in=False)
        if file in (files or ())[:number]:
            what = f"`data.sites.files` names `{file}` twice"
            yield Finding(path, what, "name each file once")


def site_divisions(config: Config) -> list[str]:
    """Return the ways in which the configuration says how rows belong to sites."""
    sites = config.data.sites
    return [k for k in ("column", "count", "files") if getattr(sites, k, None)]


def number_of_sites(config: Config) -> tuple[int, KeyPath] | None:
    """Return the number of sites and the key that states it, if one does."""
    sites, generator = config.data.sites, config.data.generator.sites
    if sites is not None and sites.count is not None:
        return sites.count, (*SITES, "count")
    if sites is not None and sites.files is not None:
        return len(sites.files), (*SITES, "files")
    return None if generator is None else (generator, ("data", "generator", "sites"))


def readable(path: KeyPath, source: str, built_in: bool = True) -> Iterator[Finding]:
    """Say why a source, or a file, cannot be read, judging by its name."""
    prefix, colon, name = source.partition(":")
    if built_in and colon and prefix in ("synthetic", "sklearn"):
        if source not in BUILT_IN:
            names = [s for s in BUILT_IN if s.startswith(prefix)]
            hint = did_you_mean(source, names, "there are")
            yield about(path, f": there is no built-in source `{source}`", hint)
    elif built_in and prefix == "openml" and name:
        hint = "download the table as a CSV file and name that"
        yield about(path, f": reading from OpenML {NOT_AVAILABLE}", hint)
    elif source.startswith(FRAME):
        if not name or not {"/", "\\"}.isdisjoint(name):
            what = f": expected a name after `{FRAME}`, without slashes"
            yield about(path, what, f"for example `{FRAME}patients`")
    elif is_database_source(source) or looks_like_url(source):
        try:
            require_table_name(source)
        except WrongAddress as error:  # it does not repeat a password
            yield about(path, f": {error}", error.hint)
    elif not source.lower().endswith(SUFFIXES):
        hint = f"use a file that ends in {listed(SUFFIXES)}"
        if built_in:
            hint += f", or a built-in source: {listed(BUILT_IN)}"
            hint = closest_or(source, BUILT_IN, hint)
        yield about(path, f": cannot tell how to read {shown(source)}", hint)


def sites_are_clear(config: Config) -> Iterator[Finding]:
    """Rows are spread over sites in exactly one way."""
    data, sites = config.data, config.data.sites
    if sites is None:
        if data.source is not None and not data.source.startswith("synthetic:"):
            what = " is missing"
            hint = (
                'say how rows belong to sites: `sites = { column = "hospital", names = '
                '["north", "south"] }`, '
                '`{ count = 8, partition = "iid" }` or '
                '`{ files = ["a.csv", "b.csv"] }`'
            )
            yield about(SITES, what, hint, SOURCE)
        return
    given = site_divisions(config)
    if len(given) != 1:
        yield about(
            SITES,
            ": expected exactly one of `column`, `count`, `files`, "
            f"got: {listed(given) if given else 'none of them'}",
            'for example `sites = { column = "hospital", names = ["north", "south"] }`',
        )
    elif sites.count is None:
        unused = {"partition": sites.partition != "iid", "alpha": sites.alpha}
        for key in filter(unused.get, unused):
            hint = f"remove `{key}`, or `{given[0]}`"
            yield about((*SITES, key), " does nothing without `count`", hint)
    elif sites.partition == "dirichlet" and sites.alpha is None:
        what = ' is missing for `partition = "dirichlet"`'
        hint = "add for example `alpha = 0.5`; smaller makes the sites differ more"
        yield about((*SITES, "alpha"), what, hint)
    elif sites.partition == "iid" and sites.alpha is not None:
        what = ' does nothing with `partition = "iid"`'
        hint = 'remove it, or set `partition = "dirichlet"`'
        yield about((*SITES, "alpha"), what, hint, (*SITES, "partition"))


def sites_are_declared(config: Config) -> Iterator[Finding]:
    """The list of sites is public; read from the data it would tell who is there."""
    sites = config.data.sites
    path: KeyPath = (*SITES, "names")
    if sites is None:
        return
    if sites.column is None:
        if sites.names is not None:
            hint = "remove it, or name the column of the sites"
            yield about(path, " does nothing without `column`", hint)
    elif sites.names is None:
        if not config.data.built_in:
            yield about(
                path,
                " is missing: which sites there are is not read from the data, since "
                "one row could tell that there is one more",
                'list the sites, for example `names = ["north", "south"]`; rows of '
                "others are left out",
                SOURCE,
            )
    else:
        for number, name in enumerate(sites.names):
            if name in sites.names[:number]:
                what = f"`data.sites.names` lists `{name}` twice"
                yield Finding((*path, number), what, "name each site once")


def file_is_declared(config: Config) -> Iterator[Finding]:
    """A file brings no declarations, so the configuration must."""
    data = config.data
    if data.built_in or (data.source is None and data.sites is None):
        return
    if data.target is None:
        hint = 'name the column to predict, for example `target = "readmitted"`'
        yield about(TARGET, " is missing", hint, SOURCE, SITES)
    if not data.columns:
        hint = (
            "declare every column the model may read; `lexfed init FILE` writes a start"
        )
        yield Finding(COLUMNS, "`[data.columns]` is missing", hint, (SOURCE, SITES))
    elif data.target is not None and data.target not in data.columns:
        add = f'add `{dotted((data.target,))} = {{ kind = "flag" }}`'
        what = f": column `{data.target}` is not in `[data.columns]`"
        hint = closest_or(data.target, data.columns, add)
        yield about(TARGET, what, hint, SOURCE, SITES, (*COLUMNS, data.target))


def format_makes_sense(config: Config) -> Iterator[Finding]:
    """The keys that say how files are written go together, and there are files."""
    data = config.data
    try:
        plain = data.written == PLAIN
    except ConfigError as error:
        for problem in error.problems:
            yield Finding(("data",), f"`[data]`: {problem.what}", problem.hint)
        return
    for key in () if plain or not data.built_in else sorted(data.later):
        if data.changes(key):
            what = f" does nothing with the built-in source `{data.source}`"
            yield about(("data", key), what, "remove it", SOURCE)


def database_is_stated(config: Config) -> Iterator[Finding]:
    """A database has an address without a password, and a table of it is read."""
    data = config.data
    if not data.changes("database"):
        return
    if not data.in_database:
        what = " does nothing: no source is a table of a database"
        hint = 'name one, `source = "sql:TABLE"`, or remove it'
        yield about(("data", "database"), what, hint, SOURCE, SITES)
    try:
        require_stated(data.database)
    except WrongAddress as error:
        yield about(("data", "database"), f": {error}", error.hint)


def columns_make_sense(config: Config) -> Iterator[Finding]:
    """Each declaration agrees with itself."""
    for name, table in config.data.columns.items():
        try:
            declared_columns(name, table)
        except ConfigError as error:
            for problem in error.problems:
                yield about((*COLUMNS, name), f": {problem.what}", problem.hint)


def parts_are_distinct(config: Config) -> Iterator[Finding]:
    """No column is both what is learned and what is learned from."""
    data, site = config.data, _site_column(config)
    for key in dict.fromkeys((data.target, data.person, site)):
        table = data.columns.get(key or "")
        if table is not None and table.kind == "date":
            what = f": the {'target' if key == data.target else 'key'} cannot be a date"
            hint = "declare it as another kind, or choose another column"
            yield about((*COLUMNS, str(key), "kind"), what, hint, TARGET, PERSON, SITES)
    parts: list[tuple[str | None, str, KeyPath]] = [
        (data.target, "`data.target`", TARGET), (data.person, "`data.person`", PERSON),
        (site, "the column of the sites", (*SITES, "column")),
    ]  # fmt: skip
    for (name, one, first), (same, other, second) in itertools.combinations(parts, 2):
        if name is not None and name == same:
            what = f"`{name}` is both {one} and {other}"
            yield Finding(second, what, "name two different columns", (first,))
    for name, table in data.columns.items():
        path: KeyPath = (*COLUMNS, name)
        sources: KeyPath = (*path, "sources")
        if data.target is not None and data.target in table.sources:
            what = f": made from the target `{data.target}`"
            hint = "a feature must not contain what is to be predicted; remove it"
            yield about(path, what, hint, TARGET, sources)
        for source in table.sources:
            tag = config.law.columns.get(source)
            if source == data.person or (tag and tag.tier == "identifier"):
                what = f": made from the identifier `{source}`"
                hint = "identifiers never enter a model; remove one of the two"
                yield about(path, what, hint, PERSON, (*LAW, source), sources)


def _site_column(config: Config) -> str | None:
    return config.data.sites.column if config.data.sites else None


def persons_are_countable(config: Config) -> Iterator[Finding]:
    """Caps per person need to know who a row is about."""
    data = config.data
    if data.person is not None or data.built_in:
        return
    for key in ("records_per_person", "sites_per_person", "excess_records"):
        if getattr(data, key) not in (None, 1, "error"):
            hint = "name the column that identifies a person, or remove it"
            what = " does nothing without `data.person`"
            yield about(("data", key), what, hint, PERSON, SOURCE)


def units_are_public(config: Config) -> Iterator[Finding]:
    """Under add-remove the number of persons is private, so one is declared."""
    data, budget = config.data, config.budget
    if data.built_in:
        if data.units is not None and data.source in BUILT_IN:
            yield about(UNITS, f" comes with `{data.source}`", "remove it", SOURCE)
        return
    needed = budget.unit == "record" and budget.neighbours == "add-remove"
    if needed and data.units is None and config.privacy.mechanism != "none":
        yield about(
            UNITS,
            ' is missing for `neighbours = "add-remove"`',
            "declare a public number of people, for example `units = 6000`; under "
            "this relation the true number is private (under "
            '`neighbours = "replace-one"` it is not)',
            ("budget", "unit"), ("budget", "neighbours"), ("privacy", "mechanism"),
            SOURCE, SITES,
        )  # fmt: skip


def generator_fits(config: Config) -> Iterator[Finding]:
    """Each synthetic source has its own sizes."""
    source, generator = config.data.source or "", config.data.generator
    sizes = {"synthetic:hospital": "patients", "synthetic:bank": "clients"}
    people = sizes.get(source)
    for key, value in generator:
        path: KeyPath = ("data", "generator", key)
        if value is None:
            continue
        if source.startswith("sklearn:") or not config.data.built_in:
            what = " does nothing with a source that is not synthetic"
            yield about(path, what, "remove `[data.generator]`", SOURCE, SITES)
        elif key in sizes.values() and key != people:
            yield about(
                path, f" does nothing with `{source}`", f"use `{people}`", SOURCE
            )
    number, sites = getattr(generator, people or "", None), generator.sites
    if number is not None and sites is not None and sites > number:
        yield about(
            ("data", "generator", "sites"),
            f": expected at most `{people}`, got: `{sites}`",
            f"each site needs at least one of the {number} {people}",
            SOURCE,
            ("data", "generator", str(people)),
        )


def columns_are_tagged(config: Config) -> Iterator[Finding]:
    """Every column of a file has a tier, and so has each of its sources."""
    data, tags = config.data, config.law.columns
    if data.built_in:
        return
    needed: dict[str, KeyPath] = {name: (*COLUMNS, name) for name in data.columns}
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
            what = f"column `{name}` has no tier"
            hint = (
                f"decide it under `[law.columns]`: `{dotted((name,))} = {tier}`, where "
                "tier is `non_personal`, `personal`, `special` or `identifier`"
            )
            yield Finding(path, what, hint, (SOURCE, (*LAW, name)))


def tags_speak_of_columns(config: Config) -> Iterator[Finding]:
    """A decision about a column that does not exist is a typing mistake."""
    data = config.data
    if data.built_in or not data.columns:
        return
    known = set(data.columns)
    known.update(s for table in data.columns.values() for s in table.sources)
    keys = (data.person, _site_column(config))
    known.update(key for key in keys if key is not None)
    declare = "declare it under `[data.columns]`, or remove its tier"
    for name in config.law.columns:
        if name not in known:
            what = f": there is no column `{name}`"
            hint = closest_or(name, known, declare)
            yield about(
                (*LAW, name), what, hint, SOURCE, SITES, PERSON, (*COLUMNS, name)
            )


def rules_name_a_category(config: Config) -> Iterator[Finding]:
    """A rule decides by category; without one nobody can tell which rule it was."""
    for name, tag in config.law.columns.items():
        if tag.by == "rule" and tag.category not in TIER_OF:
            what = ' needs a category of the tagger, for `by = "rule"`'
            hint = "name one of the 27 categories, or remove `by`"
            path: KeyPath = (*LAW, name, "category")
            yield about(path, what, hint, (*LAW, name, "by"))


def something_is_left_to_learn(config: Config) -> Iterator[Finding]:
    """The target is no identifier, and at least one feature remains."""
    data, target = config.data, config.data.target
    tags = config.law.columns.items()
    identifiers = {name for name, tag in tags if tag.tier == "identifier"}
    if target in identifiers:
        hint = "identifiers never enter a model; choose another tier or target"
        what = ": the target cannot be an identifier"
        yield about((*LAW, str(target), "tier"), what, hint, TARGET)
    if data.built_in or not data.columns:
        return
    keys = {target, data.person, _site_column(config)}
    unused = {name for name, table in data.columns.items() if table.kind == "text"}
    if not data.columns.keys() - keys - unused - identifiers:
        what = "`[data.columns]`: no column is left to learn from"
        hint = "declare a column besides target, keys, text and identifiers"
        yield Finding(COLUMNS, what, hint, (SOURCE, SITES, LAW, TARGET, PERSON))


def thresholds_are_ordered(config: Config) -> Iterator[Finding]:
    """Between the two thresholds of the tagger is where personal data are."""
    low, high = config.law.tagger.low, config.law.tagger.high
    if low >= high:
        what = f": expected a number below `law.tagger.high` = {high:g}, got: `{low:g}`"
        yield about(("law", "tagger", "low"), what, "", ("law", "tagger", "high"))


RULES = (
    source_is_known, sites_are_clear, sites_are_declared, file_is_declared,
    format_makes_sense, database_is_stated, columns_make_sense, parts_are_distinct,
    persons_are_countable, units_are_public, generator_fits,
    columns_are_tagged, tags_speak_of_columns, rules_name_a_category,
    something_is_left_to_learn, thresholds_are_ordered,
)  # fmt: skip
