# SPDX-License-Identifier: Apache-2.0
"""Tags from the source and from people, joined into one tagged schema.

A built-in source knows its columns; for a file, people say what each column is.
Where both speak, the person wins, and the reason given is kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from lexfed.data.declared import DeclaredTag
from lexfed.data.schema import Schema
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.tiers import Tier


def declared_tags(declared: Mapping[str, DeclaredTag]) -> dict[str, Tag]:
    """Return the tags that a built-in source declares for its own columns."""
    return {
        name: Tag(
            tier=tag.tier,
            category=tag.category,
            obligations=tuple(Obligation(*article) for article in tag.articles),
            reason=tag.reason,
            by="generator",
        )
        for name, tag in declared.items()
    }


def tag_schema(
    schema: Schema,
    declared: Mapping[str, Tag],
    stated: Mapping[str, tuple[Tier, str]],
    jurisdictions: Collection[str] | None = None,
) -> TaggedSchema:
    """Return the schema with every column tagged.

    A person who overrules a tag changes its tier and reason; which articles apply
    to the column stays as the source declared it.

    Args:
        schema: the declared columns.
        declared: tags that came with the source; those of other columns are left
            out, so that a run may use fewer columns.
        stated: tier and reason that a person gave, by column.
        jurisdictions: keep only their articles; None keeps all.

    Raises:
        ConfigError: naming every column that nobody tagged.
    """
    sources = {source for column in schema.columns for source in column.sources}
    known = {*schema.names, *schema.keys, *sources}
    tags = {name: tag for name, tag in declared.items() if name in known}
    for name, (tier, reason) in stated.items():
        before = tags.get(name, Tag(tier, "stated", (), reason, "person"))
        tags[name] = replace(before, tier=tier, reason=reason, by="person")
    if jurisdictions is not None:
        tags = {name: _within(tag, jurisdictions) for name, tag in tags.items()}
    return TaggedSchema(schema, tags)


def _within(tag: Tag, jurisdictions: Collection[str]) -> Tag:
    kept = tuple(o for o in tag.obligations if o.jurisdiction in jurisdictions)
    return replace(tag, obligations=kept)
