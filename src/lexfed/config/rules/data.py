# SPDX-License-Identifier: Apache-2.0
"""Rules that tie the keys of `[data]` and `[law]` together.

Each rule is a function from a configuration whose keys are fine one by one to what
is wrong with them together. A rule names every key it rests on, so that nobody is
told about the consequence of a mistake that is already reported.
"""

from collections.abc import Iterator

from lexfed.config.declarations import declared_column
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import NOT_AVAILABLE, Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest, did_you_mean, dotted, listed, shown
from lexfed.errors import ConfigError

BUILT_IN = (
    "synthetic:hospital",
    "synthetic:bank",
    "sklearn:breast_cancer",
    "sklearn:diabetes",
)
FILE_ENDINGS = (".csv", ".csv.gz", ".parquet", ".pq")

SOURCE: KeyPath = ("data", "source")
SITES: KeyPath = ("data", "sites")
COLUMNS: KeyPath = ("data", "columns")
LAW: KeyPath = ("law", "columns")


def source_is_known(config: Config) -> Iterator[Finding]:
    """The rows come from one place, of a sort that can be read."""
    data = config.data
    files = data.sites.files if data.sites else None
    if data.source is None and files is None:
        yield Finding(
            SOURCE,
            "`data.source` is missing",
            "name a file or a built-in source, for example "
            '`source = "patients.csv"`, or one file per site with '
            '`sites = { files = ["a.csv", "b.csv"] }`',
            also=(SITES,),
        )
    if (
        data.source is not None
        and files is not None
        and site_divisions(config) == ["files"]
    ):
        yield Finding(
            SOURCE,
            "`data.source` and `data.sites.files` both say where the rows are",
            "keep one of them",
            also=(SITES,),
        )
    if data.source is not None:
        yield from _readable(SOURCE, data.source)
    for number, file in enumerate(files or ()):
        yield from _readable((*SITES, "files", number), file, built_in=False)
        if file in (files or ())[:number]:
            what = f"`data.sites.files` names `{file}` twice"
            yield Finding((*SITES, "files", number), what, "name each file once")


def site_divisions(config: Config) -> list[str]:
    """Return the ways in which the configuration says how rows belong to sites."""
    sites = config.data.sites
    return [k for k in ("column", "count", "files") if getattr(sites, k, None)]


def _readable(path: KeyPath, source: str, built_in: bool = True) -> Iterator[Finding]:
    prefix, colon, name = source.partition(":")
    if built_in and colon and prefix in ("synthetic", "sklearn"):
        if source not in BUILT_IN:
            names = [s for s in BUILT_IN if s.startswith(prefix)]
            what = f"`{dotted(path)}`: there is no built-in source `{source}`"
            yield Finding(path, what, did_you_mean(source, names, "there are"))
    elif built_in and prefix == "openml" and name:
        what = f"`{dotted(path)}`: reading from OpenML {NOT_AVAILABLE}"
        yield Finding(path, what, "download the table as a CSV file and name that")
    elif not source.endswith(FILE_ENDINGS):
        what = f"`{dotted(path)}`: cannot tell how to read {shown(source)}"
        hint = f"use a file that ends in {listed(FILE_ENDINGS)}"
        near = closest(source, BUILT_IN) if built_in else None
        if built_in:
            hint += f", or a built-in source: {listed(BUILT_IN)}"
        yield Finding(path, what, f"did you mean `{near}`?" if near else hint)


def sites_are_clear(config: Config) -> Iterator[Finding]:
    """Rows are spread over sites in exactly one way."""
    data, sites = config.data, config.data.sites
    if sites is None:
        if data.source is not None and not data.source.startswith("synthetic:"):
            yield Finding(
                SITES,
                "`data.sites` is missing",
                'say how rows belong to sites: `sites = { column = "hospital", names = '
                '["north", "south"] }`, '
                '`{ count = 8, partition = "iid" }` or '
                '`{ files = ["a.csv", "b.csv"] }`',
                also=(SOURCE,),
            )
        return
    given = site_divisions(config)
    if len(given) != 1:
        found = listed(given) if given else "none of them"
        yield Finding(
            SITES,
            "`data.sites`: expected exactly one of `column`, `count`, `files`, "
            f"got: {found}",
            'for example `sites = { column = "hospital", names = ["north", "south"] }`',
        )
    elif sites.count is None:
        unused = {"partition": sites.partition != "iid", "alpha": sites.alpha}
        for key in filter(unused.get, unused):
            what = f"`data.sites.{key}` does nothing without `count`"
            yield Finding((*SITES, key), what, f"remove `{key}`, or `{given[0]}`")
    elif sites.partition == "dirichlet" and sites.alpha is None:
        yield Finding(
            (*SITES, "alpha"),
            '`data.sites.alpha` is missing for `partition = "dirichlet"`',
            "add for example `alpha = 0.5`; smaller makes the sites differ more",
        )
    elif sites.partition == "iid" and sites.alpha is not None:
        what = '`data.sites.alpha` does nothing with `partition = "iid"`'
        hint = 'remove it, or set `partition = "dirichlet"`'
        yield Finding((*SITES, "alpha"), what, hint, also=((*SITES, "partition"),))


def sites_are_declared(config: Config) -> Iterator[Finding]:
    """The list of sites is public; read from the data it would tell who is there."""
    data = config.data
    sites = data.sites
    path: KeyPath = (*SITES, "names")
    if sites is None:
        return
    if sites.column is None:
        if sites.names is not None:
            what = "`data.sites.names` does nothing without `column`"
            yield Finding(path, what, "remove it, or name the column of the sites")
        return
    if sites.names is None:
        if not data.built_in:
            yield Finding(
                path,
                "`data.sites.names` is missing: which sites there are is not read from "
                "the data, since one row could tell that there is one more",
                'list the sites, for example `names = ["north", "south"]`; rows of '
                "others are left out",
                (SOURCE,),
            )
        return
    for number, name in enumerate(sites.names):
        if name in sites.names[:number]:
            what = f"`data.sites.names` lists `{name}` twice"
            yield Finding((*path, number), what, "name each site once")


def file_is_declared(config: Config) -> Iterator[Finding]:
    """A file brings no declarations, so the configuration must."""
    data = config.data
    if data.built_in or (data.source is None and data.sites is None):
        return
    also = (SOURCE, SITES)
    target: KeyPath = ("data", "target")
    if data.target is None:
        hint = 'name the column to predict, for example `target = "readmitted"`'
        yield Finding(target, "`data.target` is missing", hint, also)
    if not data.columns:
        hint = (
            "declare every column the model may read; `lexfed init FILE` writes a start"
        )
        yield Finding(COLUMNS, "`[data.columns]` is missing", hint, also)
    elif data.target is not None and data.target not in data.columns:
        near = closest(data.target, data.columns)
        hint = (
            f"did you mean `{near}`?"
            if near
            else f'add `{dotted((data.target,))} = {{ kind = "flag" }}`'
        )
        what = f"`data.target`: column `{data.target}` is not in `[data.columns]`"
        yield Finding(target, what, hint, (*also, (*COLUMNS, data.target)))


def columns_make_sense(config: Config) -> Iterator[Finding]:
    """Each declaration agrees with itself."""
    for name, table in config.data.columns.items():
        path = (*COLUMNS, name)
        try:
            declared_column(name, table)
        except ConfigError as error:
            for problem in error.problems:
                what = f"`{dotted(path)}`: {problem.what}"
                yield Finding(path, what, problem.hint)


def parts_are_distinct(config: Config) -> Iterator[Finding]:
    """No column is both what is learned and what is learned from."""
    data = config.data
    site = data.sites.column if data.sites else None
    target: KeyPath = ("data", "target")
    person: KeyPath = ("data", "person")
    if data.target is not None and data.target == data.person:
        what = f"`{data.target}` is both `data.target` and `data.person`"
        yield Finding(person, what, "name two different columns", (target,))
    if data.target is not None and data.target == site:
        what = f"`{data.target}` is both `data.target` and the column of the sites"
        yield Finding((*SITES, "column"), what, "name two different columns", (target,))
    if data.person is not None and data.person == site:
        what = f"`{data.person}` is both `data.person` and the column of the sites"
        yield Finding((*SITES, "column"), what, "name two different columns", (person,))
    for name, table in data.columns.items():
        path = (*COLUMNS, name)
        if data.target is not None and data.target in table.sources:
            what = f"`{dotted(path)}`: made from the target `{data.target}`"
            hint = "a feature must not contain what is to be predicted; remove it"
            yield Finding(path, what, hint, (target, (*path, "sources")))
        for source in table.sources:
            tag = config.law.columns.get(source)
            if source == data.person or (tag and tag.tier == "identifier"):
                what = f"`{dotted(path)}`: made from the identifier `{source}`"
                hint = "identifiers never enter a model; remove one of the two"
                also = (person, (*LAW, source), (*path, "sources"))
                yield Finding(path, what, hint, also)


def persons_are_countable(config: Config) -> Iterator[Finding]:
    """Caps per person need to know who a row is about."""
    data = config.data
    if data.person is not None or data.built_in:
        return
    for key in ("records_per_person", "sites_per_person", "excess_records"):
        if getattr(data, key) not in (None, 1, "error"):
            path: KeyPath = ("data", key)
            what = f"`data.{key}` does nothing without `data.person`"
            hint = "name the column that identifies a person, or remove it"
            yield Finding(path, what, hint, (("data", "person"), SOURCE))


def units_are_public(config: Config) -> Iterator[Finding]:
    """Under add-remove the number of persons is private, so one is declared."""
    data, budget = config.data, config.budget
    path: KeyPath = ("data", "units")
    if data.built_in:
        if data.units is not None and data.source in BUILT_IN:
            what = f"`data.units` comes with `{data.source}`"
            yield Finding(path, what, "remove it", (SOURCE,))
        return
    needed = budget.unit == "record" and budget.neighbours == "add-remove"
    if needed and data.units is None and config.privacy.mechanism != "none":
        yield Finding(
            path,
            '`data.units` is missing for `neighbours = "add-remove"`',
            "declare a public number of persons, for example `units = 6000`; under "
            "this relation the true number is private (under "
            '`neighbours = "replace-one"` it is not)',
            (
                ("budget", "unit"),
                ("budget", "neighbours"),
                ("privacy", "mechanism"),
                SOURCE,
                SITES,
            ),
        )


def generator_fits(config: Config) -> Iterator[Finding]:
    """Each synthetic source has its own sizes."""
    source = config.data.source or ""
    sizes = {"synthetic:hospital": "patients", "synthetic:bank": "clients"}
    people = sizes.get(source)
    for key, value in config.data.generator:
        path: KeyPath = ("data", "generator", key)
        if value is None:
            continue
        if source.startswith("sklearn:") or not config.data.built_in:
            what = f"`{dotted(path)}` does nothing with a source that is not synthetic"
            yield Finding(path, what, "remove `[data.generator]`", (SOURCE, SITES))
        elif key in sizes.values() and key != people:
            what = f"`{dotted(path)}` does nothing with `{source}`"
            yield Finding(path, what, f"use `{people}`", (SOURCE,))
    number = getattr(config.data.generator, people or "", None)
    sites = config.data.generator.sites
    if number is not None and sites is not None and sites > number:
        what = f"`data.generator.sites`: expected at most `{people}`, got: `{sites}`"
        hint = f"each site needs at least one of the {number} {people}"
        also = (SOURCE, ("data", "generator", str(people)))
        yield Finding(("data", "generator", "sites"), what, hint, also)


RULES = (
    source_is_known,
    sites_are_clear,
    sites_are_declared,
    file_is_declared,
    columns_make_sense,
    parts_are_distinct,
    persons_are_countable,
    units_are_public,
    generator_fits,
)
