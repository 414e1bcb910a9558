# SPDX-License-Identifier: Apache-2.0
"""`lexfed.tag`: columns of a table, a schema or a run, classified by legal sensitivity.

    import lexfed

    for column in lexfed.tag("patients.csv", jurisdictions=["gdpr", "hipaa"]):
        print(column.suggestion.tier, column.articles)
    lexfed.tag(schema="schema.csv")     # table,column,description,dtype
    lexfed.tag("lexfed.toml")           # its data, laws and settings
    lexfed.tag(frame)                   # a data frame of pandas, polars or PyArrow

Samples of values are read on this machine and stay in its memory. Where a
configuration names one file per site, each is tagged on its own and the strictest tag
of a column counts (`lexfed.law.site_tags`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, overload

from lexfed.data.reading.typed_cells.database_address import (
    is_database_source,
    looks_like_url,
)
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn, load_catalogues, with_articles
from lexfed.law.catalogue import BUILT_IN, LawCatalogue
from lexfed.law.explanations import PUBLIC_KINDS, decision_of, reason_of
from lexfed.law.site_tags import MergedTag, SiteTag, merge_site_tags
from lexfed.law.tagger.column_files import (
    SAMPLE,
    checked_columns,
    read_columns,
    read_schema,
    table_name,
)
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import (
    TIERS,
    DescribedColumn,
    Suggestion,
    TaggerSettings,
)
from lexfed.notebook_html import html_table
from lexfed.tiers import Tier
from lexfed.visible_text import visible

if TYPE_CHECKING:
    from lexfed.config.open_decisions import TagSource
    from lexfed.data.reading.typed_cells.database_tables import DatabaseTable

CONFIGURATION = ".toml"
"""Ending of a configuration, which names the files of its data."""


@dataclass(frozen=True, repr=False)
class TaggedColumns(Sequence[TaggedColumn]):
    """Tagged columns, the laws that were asked, and what files of sites disagree on.

    `open_names` are the columns that a configuration leaves open; None without one.
    `settings` are those of the tagger.

    A sequence of its columns, in the order of the input.
    """

    columns: tuple[TaggedColumn, ...]
    catalogues: tuple[LawCatalogue, ...]
    disagreements: tuple[MergedTag, ...] = ()
    open_names: tuple[str, ...] | None = None
    settings: TaggerSettings = field(default_factory=TaggerSettings, repr=False)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[TaggedColumn]:
        return iter(self.columns)

    @overload
    def __getitem__(self, index: int) -> TaggedColumn: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TaggedColumn, ...]: ...
    def __getitem__(
        self, index: int | slice
    ) -> TaggedColumn | tuple[TaggedColumn, ...]:
        return self.columns[index]

    def __repr__(self) -> str:
        tiers = Counter(tagged.suggestion.tier for tagged in self.columns)
        listed = ", ".join(f"{tiers[tier]} {tier}" for tier in TIERS if tiers[tier])
        left = f"; {len(self.review)} for review" if self.review else ""
        return f"<TaggedColumns: {listed or 'none'}{left}>"

    def _repr_html_(self) -> str:
        """Return the tags as a notebook shows them, without evidence of values."""
        rows = [
            [
                tagged.suggestion.column.name,
                tagged.suggestion.tier,
                tagged.suggestion.category,
                ", ".join(article.reference for article in tagged.articles),
                "review" if tagged.suggestion.review else "",
                reason_of(tagged.suggestion, PUBLIC_KINDS),
            ]
            for tagged in self.columns
        ]
        header = ["column", "tier", "category", "articles", "", "why"]
        note = "Suggestions, not legal advice."
        return html_table(f"{len(rows)} tagged", header, rows, [note])

    @property
    def review(self) -> tuple[str, ...]:
        """The columns that a person must decide, since `decisions` leaves them out."""
        decided = self.decisions()
        names = (tagged.suggestion.column.name for tagged in self.columns)
        return tuple(name for name in names if name not in decided)

    def decisions(self) -> dict[str, dict[str, str]]:
        """Return the suggestions as decisions by a rule, and by no person.

        Those for review are left out, and those of columns whose values ask for more
        protection than their names do.

        Guarantees:
            A decision is a function of names and descriptions: whatever a run makes
                public, it tells nothing of values.
        """
        return {
            named.suggestion.column.name: {
                "tier": named.suggestion.tier,
                "category": named.suggestion.category,
                "reason": visible(decision_of(named))[:1000],
                "by": "rule",
            }
            for seen, named in zip(self.columns, self._by_names, strict=True)
            if not (seen.suggestion.review or named.suggestion.review)
            and Tier.parse(seen.suggestion.tier) <= Tier.parse(named.suggestion.tier)
        }

    @cached_property
    def _by_names(self) -> tuple[TaggedColumn, ...]:
        """The tags of the same columns without values, and types that follow them."""
        columns = [tagged.suggestion.column for tagged in self.columns]
        if all(column.values is None for column in columns):
            return self.columns
        bare = [
            column if column.values is None else replace(column, dtype="", values=None)
            for column in columns
        ]
        return with_articles(tag_columns(bare, self.settings), self.catalogues)


def tag(
    source: Any = None,
    *,
    schema: str | Path | None = None,
    jurisdictions: Iterable[str] | None = None,
    catalogues: Iterable[str | Path] = (),
    settings: TaggerSettings | None = None,
) -> TaggedColumns:
    """Return the tag of every column, in the order of the input.

    Args:
        source: a CSV, Parquet or SQL file, a `lexfed.toml`, a data frame, or columns.
        schema: a file that lists columns, instead of `source`.
        jurisdictions: built-in laws to ask; None for those of the configuration, or
            else for all of them.
        catalogues: files of further laws.
        settings: of the tagger; None for those of the configuration, or its defaults.

    Raises:
        ConfigError: if a law, a catalogue, a configuration or a setting is wrong.
        DataError: if there are no columns that could be tagged.
    """
    return tagged_columns(
        source, schema=schema, jurisdictions=jurisdictions, catalogues=catalogues,
        settings=settings,
    )  # fmt: skip


def tagged_columns(
    source: Any = None,
    *,
    schema: str | Path | None = None,
    jurisdictions: Iterable[str] | None = None,
    catalogues: Iterable[str | Path] = (),
    settings: TaggerSettings | None = None,
) -> TaggedColumns:
    """Return the tag of every column and the laws that were asked; see `tag`."""
    if (source is None) == (schema is None):
        hint = "`source` for a data file, `schema` for a list of columns"
        raise ConfigError([Problem("tag", "expected one of two inputs", hint)])
    added = [Path(file) for file in catalogues]
    if isinstance(source, str | Path) and Path(source).suffix == CONFIGURATION:
        from lexfed.config.open_decisions import tag_source

        return configuration_tags(
            tag_source(Path(source)), jurisdictions, added, settings
        )
    if schema is not None:
        columns: Sequence[DescribedColumn] = read_schema(Path(schema))
    elif isinstance(source, str | Path):
        columns = read_columns(_source(source))
    elif isinstance(source, Sequence):
        columns = source
    else:
        columns = frame_columns(source)
    laws = load_catalogues(BUILT_IN if jurisdictions is None else jurisdictions, added)
    asked = settings or TaggerSettings()
    suggestions = tag_columns(columns, asked)
    return TaggedColumns(with_articles(suggestions, laws), laws, settings=asked)


def _source(stated: str | Path) -> "Path | DatabaseTable":
    if not (is_database_source(str(stated)) or looks_like_url(str(stated))):
        return Path(stated)
    # Imported here, with NumPy: tagging a schema needs neither.
    from lexfed.data.reading.table_sources import table_source

    return table_source(stated)


def frame_columns(frame: object) -> tuple[DescribedColumn, ...]:
    """Return the columns of a data frame, with a sample of their values."""
    # Imported here, with NumPy: tagging a schema needs neither.
    from lexfed.data.reading.memory_tables import MemoryTable

    table = MemoryTable.of(frame)
    values = table.head(SAMPLE)
    return checked_columns(
        [
            DescribedColumn("", name, "", table.dtype(name), values[name])
            for name in table.columns
        ],
        "the data frame",
    )


def configuration_tags(
    source: "TagSource",
    jurisdictions: Iterable[str] | None = None,
    added: Sequence[Path] = (),
    settings: TaggerSettings | None = None,
) -> TaggedColumns:
    """Return the tags of a configuration's columns, by name where no file has them."""
    laws = load_catalogues(
        source.jurisdictions if jurisdictions is None else jurisdictions,
        (*source.catalogues, *added),
    )
    asked = settings or source.settings
    sites = {str(file): _of_file(file, source, asked) for file in source.files}
    if len(sites) == 1:
        (suggestions,) = sites.values()
        tagged = with_articles(suggestions, laws)
        return TaggedColumns(tagged, laws, (), source.undecided, asked)
    merged = merge_site_tags(
        {
            site: [replace(SiteTag.of(one), table="") for one in suggestions]
            for site, suggestions in sites.items()
        }
    )
    chosen = [_strictest(column, sites) for column in merged]
    apart = tuple(column for column in merged if column.disagree)
    tagged = with_articles(chosen, laws)
    return TaggedColumns(tagged, laws, apart, source.undecided, asked)


def _of_file(
    file: "Path | DatabaseTable", source: "TagSource", settings: TaggerSettings
) -> tuple[Suggestion, ...]:
    # Imported here, with what reads a configuration: tagging a schema needs neither.
    from lexfed.law.decisions import PERSON_KEY

    columns = list(read_columns(file, written=source.written))
    there = {column.name for column in columns}
    table = table_name(PurePath(str(file)))
    columns += [
        DescribedColumn(table, name) for name in source.needed if name not in there
    ]
    described = [
        replace(column, description=column.description or PERSON_KEY)
        if column.name == source.person
        else column
        for column in columns
    ]
    return tag_columns(described, settings)


def _strictest(
    merged: MergedTag, sites: dict[str, tuple[Suggestion, ...]]
) -> Suggestion:
    """Return the suggestion of a site that agrees with the merged tag."""
    chosen = next(
        one
        for site in merged.by_site
        for one in sites[site]
        if (one.column.name, one.tier, one.category)
        == (merged.column, merged.tier, merged.category)
    )
    return replace(chosen, review=merged.review)
