# SPDX-License-Identifier: Apache-2.0
"""From a configuration to the declarations that the other packages work with.

A file has no declarations of its own; a built-in source has, and what the
configuration says about one of its columns takes the place of what the source says.
"""

from pathlib import Path, PurePath

from lexfed.config.tables.root import ColumnTable, Config
from lexfed.config.text.wording import did_you_mean
from lexfed.data.builtin.declarations import BuiltinSource
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import load_catalogues
from lexfed.law.decisions import StatedTag, declared_tags, suggest_by_names, tag_schema
from lexfed.law.tagger.column_files import table_name
from lexfed.law.tagger.suggestions import Suggestion
from lexfed.law.tags import TaggedSchema
from lexfed.terms import FRAME

_HERE = Path()


def declared_column(name: str, table: ColumnTable) -> Column:
    """Return a column's declaration as the data package knows it."""
    return Column(name, **table.model_dump())


def schema_of(config: Config, source: BuiltinSource | None = None) -> Schema:
    """Return the declared columns and the parts they play.

    `source` is the built-in source that the configuration names; `None` for files.
    Declarations that contradict it or each other raise `ConfigError`.
    """
    data = config.data
    stated = {
        name: declared_column(name, table) for name, table in data.columns.items()
    }
    site = data.sites.column if data.sites else None
    if source is None:
        return Schema(tuple(stated.values()), data.target or "", data.person, site)
    own = source.schema
    problems = []
    for name in stated:
        if name not in own.names:
            what = f"`{data.source or ''}` has no column `{name}`"
            hint = did_you_mean(name, own.names, "its columns are")
            problems.append(Problem("`[data.columns]`", what, hint))
    if problems:
        raise ConfigError(problems)
    columns = tuple(stated.get(column.name, column) for column in own.columns)
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
    return tag_schema(
        schema,
        declared_tags(source.tags) if source is not None else {},
        {
            name: StatedTag(tag.as_tier, tag.reason, tag.category, tag.by)
            for name, tag in law.columns.items()
        },
        law.jurisdictions,
        load_catalogues(law.jurisdictions, [base / file for file in law.catalogues]),
        _suggestions(config, schema) if source is None else {},
    )


def _suggestions(config: Config, schema: Schema) -> dict[str, Suggestion]:
    """Return what the tagger makes of a file's columns, by their names alone."""
    sources = [source for column in schema.columns for source in column.sources]
    names = dict.fromkeys((*schema.names, *sources, *config.law.columns))
    files = config.data.sites.files if config.data.sites else None
    first = (files or (config.data.source or "",))[0].removeprefix(FRAME)
    table = table_name(PurePath(first))
    return suggest_by_names(names, table, config.law.tagger.settings, schema.person)
