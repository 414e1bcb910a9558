# SPDX-License-Identifier: Apache-2.0
"""From a configuration to the declarations that the other packages work with.

A file has no declarations of its own; a built-in source has, and what the
configuration says about one of its columns takes the place of what the source says.
"""

from dataclasses import replace

from lexfed.config.data_rules import declared_column
from lexfed.config.model import Config
from lexfed.config.wording import did_you_mean
from lexfed.data.declared import Builtin
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError, Problem
from lexfed.law.tagging import declared_tags, tag_schema
from lexfed.law.tags import TaggedSchema


def schema_of(config: Config, source: Builtin | None = None) -> Schema:
    """Return the declared columns and the parts they play.

    Args:
        config: the configuration.
        source: the built-in source it names; `None` for files.

    Raises:
        ConfigError: if a declaration speaks of a column the source does not have, or
            the declarations contradict each other.
    """
    data = config.data
    stated = {
        name: declared_column(name, table) for name, table in data.columns.items()
    }
    site = data.sites.column if data.sites else None
    if source is None:
        return Schema(tuple(stated.values()), data.target or "", data.person, site)
    own = source.schema
    _check_names(stated, own, config.data.source or "")
    columns = tuple(stated.get(column.name, column) for column in own.columns)
    return Schema(
        columns,
        data.target or own.target,
        data.person or own.person,
        site or own.site,
    )


def _check_names(stated: dict[str, Column], own: Schema, source: str) -> None:
    strangers = [name for name in stated if name not in own.names]
    if strangers:
        raise ConfigError(
            [
                Problem(
                    "`[data.columns]`",
                    f"`{source}` has no column `{name}`",
                    did_you_mean(name, own.names, "its columns are"),
                )
                for name in strangers
            ]
        )


def records_per_person_of(config: Config, source: Builtin | None = None) -> int:
    """Return the cap on one person's rows: the stated one, the source's own, or 1."""
    stated = config.data.records_per_person
    if stated is not None:
        return stated
    return 1 if source is None else source.records_per_person


def tagged_schema_of(config: Config, source: Builtin | None = None) -> TaggedSchema:
    """Return the schema with the tag of every column; people overrule the source.

    Raises:
        ConfigError: naming every column that nobody tagged, and every tag of no column.
    """
    law = config.law
    tagged = tag_schema(
        schema_of(config, source),
        declared_tags(source.tags) if source is not None else {},
        {name: (tag.as_tier, tag.reason) for name, tag in law.columns.items()},
        law.jurisdictions,
    )
    named = {
        name: replace(tagged.tags[name], category=tag.category)
        for name, tag in law.columns.items()
        if tag.category is not None
    }
    return TaggedSchema(tagged.schema, {**tagged.tags, **named})
