# SPDX-License-Identifier: Apache-2.0
"""From a configuration to the declarations that the other packages work with.

A file has no declarations of its own; a built-in source has, and what the
configuration says about one of its columns takes the place of what the source says.
"""

from itertools import chain
from pathlib import Path, PurePath

from lexfed.config.tables.root import ColumnTable, Config
from lexfed.config.text.wording import did_you_mean
from lexfed.data.builtin.declarations import BuiltinSource
from lexfed.data.made_columns import USUAL_PARTS, bucket_column, date_columns
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import load_catalogues
from lexfed.law.decisions import StatedTag, declared_tags, suggest_by_names, tag_schema
from lexfed.law.tagger.column_files import table_name
from lexfed.law.tagger.suggestions import Suggestion
from lexfed.law.tags import TaggedSchema
from lexfed.terms import FRAME

_HERE = Path()


def declared_columns(name: str, table: ColumnTable) -> tuple[Column, ...]:
    """Return a column's declaration as the data package knows it: parts, for a date.

    Keys that do not go with its kind raise `ConfigError`.
    """
    if table.kind == "date":
        for key in ("range", "values", "scale", "sources", "public_stats", "buckets"):
            if table.changes(key):
                raise _wrong(name, f"a date has no `{key}`", "a date has a `period`")
        if table.period is None:
            hint = (
                "state the first and last day that are public knowledge, for example "
                '`period = ["2015-01-01", "2025-12-31"]`; days taken from the data '
                "would leak"
            )
            raise _wrong(name, "a date needs a `period`", hint)
        parts = table.parts or USUAL_PARTS
        return date_columns(name, table.period, parts, table.missing)
    for key in ("period", "parts"):
        if table.changes(key):
            raise _wrong(name, f"a {table.kind} has no `{key}`")
    if table.buckets is not None:
        if table.kind != "category" or table.values is not None:
            what = "`buckets` are for a category without `values`"
            raise _wrong(name, what, "remove one of the two")
        return (bucket_column(name, table.buckets, table.sources, table.missing),)
    own = ("kind", "range", "values", "scale", "sources", "missing", "public_stats")
    return (Column(name, **{key: getattr(table, key) for key in own}),)


def model_columns(config: Config) -> tuple[str, ...]:
    """Return the names of declared columns as a model knows them: parts, for a date."""
    return tuple(
        made
        for name, table in config.data.columns.items()
        for made in (
            [f"{name}.{part}" for part in table.parts or USUAL_PARTS]
            if table.kind == "date"
            else [name]
        )
    )


def _wrong(column: str, what: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(f"column `{column}`", what, hint)])


def schema_of(config: Config, source: BuiltinSource | None = None) -> Schema:
    """Return the declared columns and the parts they play.

    `source` is the built-in source that the configuration names; `None` for files.
    Declarations that contradict it or each other raise `ConfigError`.
    """
    data = config.data
    stated = {
        name: declared_columns(name, table) for name, table in data.columns.items()
    }
    site = data.sites.column if data.sites else None
    if source is None:
        columns = tuple(chain.from_iterable(stated.values()))
        return Schema(columns, data.target or "", data.person, site, data.written)
    own = source.schema
    problems = []
    for name in stated:
        if name not in own.names:
            what = f"`{data.source or ''}` has no column `{name}`"
            hint = did_you_mean(name, own.names, "its columns are")
            problems.append(Problem("`[data.columns]`", what, hint))
    if problems:
        raise ConfigError(problems)
    columns = tuple(
        made for column in own.columns for made in stated.get(column.name, (column,))
    )
    target, person = data.target or own.target, data.person or own.person
    return Schema(columns, target, person, site or own.site)


def records_per_person_of(config: Config, source: BuiltinSource | None = None) -> int:
    """Return the cap on one person's rows: the stated one, the source's own, or 1."""
    stated = config.data.records_per_person
    if stated is not None:
        return stated
    return 1 if source is None else source.records_per_person


def tagged_schema_of(
    config: Config, source: BuiltinSource | None = None, base: Path = _HERE
) -> TaggedSchema:
    """Return the schema with the tag of every column; people overrule the source.

    `source` is as in `schema_of`; paths of catalogues are relative to `base`. An
    untagged column, and a tag of no column, raise `ConfigError`.
    """
    law, schema = config.law, schema_of(config, source)
    stated = {
        name: StatedTag(tag.as_tier, tag.reason, tag.category, tag.by)
        for name, tag in law.columns.items()
    }
    suggestions = _suggestions(config, schema) if source is None else {}
    for column in schema.columns:
        # A part is decided with its date.
        if (date := column.read_from) != column.name and date in stated:
            stated[column.name] = stated[date]
            if date in suggestions:
                suggestions[column.name] = suggestions[date]
    return tag_schema(
        schema,
        declared_tags(source.tags) if source is not None else {},
        stated,
        law.jurisdictions,
        load_catalogues(law.jurisdictions, [base / file for file in law.catalogues]),
        suggestions,
    )


def _suggestions(config: Config, schema: Schema) -> dict[str, Suggestion]:
    """Return what the tagger makes of a file's columns, by their names alone."""
    sources = [source for column in schema.columns for source in column.sources]
    own = [column.name for column in schema.columns if column.read_from == column.name]
    names = dict.fromkeys((*own, *sources, *config.law.columns))
    files = config.data.sites.files if config.data.sites else None
    first = (files or (config.data.source or "",))[0].removeprefix(FRAME)
    table = table_name(PurePath(first))
    return suggest_by_names(names, table, config.law.tagger.settings, schema.person)
