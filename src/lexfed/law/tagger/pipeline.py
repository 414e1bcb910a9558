# SPDX-License-Identifier: Apache-2.0
"""Columns in, suggestions out: whole tables at once, because siblings matter.

The semantic network is asked once for all tables. It is loaded, with NumPy, when the
first column is tagged; where it has no share it is not loaded at all.

Guarantees:
    There is one suggestion for each column, in the order of the columns.
    The order of the columns of a table does not change what is suggested.
    No suggestion holds a value in its evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log

from lexfed.errors import DataError, Problem
from lexfed.law.tagger.fusion import (
    dominant_tier,
    fused_probabilities,
    fused_tag,
    raised_to_table_tier,
)
from lexfed.law.tagger.metadata.name_evidence import evidence_of_name, is_code, nouns_of
from lexfed.law.tagger.metadata.packs import (
    PackIndex,
    evidence_of_packs,
    load_packs,
    matching_packs,
)
from lexfed.law.tagger.metadata.table_roles import (
    evidence_of_table,
    evidence_sums,
    strong_sums,
    sums_of_both,
    sums_with_evidence,
    table_view,
)
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    DescribedColumn,
    Suggestion,
    TagEvidence,
    TaggerSettings,
    evidence_for,
)
from lexfed.law.tagger.words.readings import TableReading, read_tables

_DEFAULTS = TaggerSettings()
_MOST_PROBLEMS = 20


def tag_columns(
    columns: Sequence[DescribedColumn], settings: TaggerSettings = _DEFAULTS
) -> tuple[Suggestion, ...]:
    """Return a suggestion for every column, in their order; each needs a name."""
    problems = [
        Problem(f"column {number}", "has no name", "every column needs a name")
        for number, column in enumerate(columns, 1)
        if not column.name.strip()
    ]
    if problems:
        raise DataError(problems[:_MOST_PROBLEMS])
    packs = load_packs(settings.without)
    tables = read_tables(columns)
    by_values = _from_values(columns)
    by_network = network_probabilities(tables, settings)
    result: dict[int, Suggestion] = {}
    for table in tables:
        values = [by_values[at] for at in table.places]
        network = [by_network.get(at) for at in table.places]
        suggestions = _tag(table, values, network, packs, settings)
        result.update(zip(table.places, suggestions, strict=True))
    return _with_proxies(columns, [result[at] for at in range(len(columns))])


def _tag(
    table: TableReading,
    values: Sequence[Sequence[TagEvidence]],
    network: Sequence[Mapping[str, float] | None],
    packs: PackIndex,
    settings: TaggerSettings,
) -> Iterator[Suggestion]:
    matches = matching_packs(table.columns, packs)
    nouns = nouns_of(table.title)
    texts = list(zip(table.columns, table.names, table.descriptions, strict=True))
    own: list[list[TagEvidence]] = []
    for column, name, description in texts:
        coded = is_code(column.name)
        items = evidence_of_name(name, description, nouns, coded, table.title)
        own.append([*items, *evidence_of_packs(column, matches, packs)])
    sure = [
        strong_sums([*items, *seen]) for items, seen in zip(own, values, strict=True)
    ]
    view = table_view(table.title, sure)
    weighed = []
    for at, (column, name, description) in enumerate(texts):
        own_sums, value_sums = evidence_sums(own[at]), evidence_sums(values[at])
        inherited = list(
            evidence_of_table(name, description, column.dtype, own_sums, view)
        )
        odds = sums_of_both(sums_with_evidence(own_sums, inherited), value_sums)
        outright = [item for item in (*own[at], *inherited) if item.outright]
        facts = evidence_sums([*values[at], *outright])
        chances = fused_probabilities(odds, facts, network[at], settings)
        # The table alone says nothing about an unreadable name.
        readable = bool(name.hits or description.hits)
        by_itself = odds if readable else sums_of_both(own_sums, value_sums)
        fused = fused_tag(chances, max(by_itself.values(), default=0.0), settings)
        evidence = [*own[at], *values[at], *inherited]
        if (probabilities := network[at]) is not None:
            evidence.append(evidence_of_network(probabilities, readable))
        weighed.append((fused, chances, evidence))
    dominant = dominant_tier(fused for fused, _, _ in weighed)
    for column, (fused, chances, evidence) in zip(table.columns, weighed, strict=True):
        raised = raised_to_table_tier(fused, chances, dominant, settings)
        evidence.sort(key=lambda item: (-abs(item.weight), item.text))
        yield Suggestion(
            column, raised.tier, raised.category, round(raised.score, 4),
            raised.review, tuple(evidence), table.languages[0],
        )  # fmt: skip


def _from_values(columns: Sequence[DescribedColumn]) -> Sequence[Sequence[TagEvidence]]:
    """Return the evidence of values; recognisers are loaded only if there are any."""
    if not any(column.values for column in columns):
        return [()] * len(columns)
    from lexfed.law.tagger.value_evidence import evidence_of_values

    return evidence_of_values(columns)


def _with_proxies(
    columns: Sequence[DescribedColumn], suggestions: Sequence[Suggestion]
) -> tuple[Suggestion, ...]:
    if not any(column.values for column in columns):
        return tuple(suggestions)
    from lexfed.law.tagger.proxies import proxies_of

    pairs = zip(suggestions, proxies_of(columns, suggestions), strict=True)
    return tuple(replace(one, proxies=proxies) for one, proxies in pairs)


_MOST = 6.0
"""The log-odds at which the network's evidence is cut off."""


def network_probabilities(
    tables: Sequence[TableReading], settings: TaggerSettings
) -> dict[int, Mapping[str, float]]:
    """Return the probabilities of the categories, by the place of each column.

    They are empty if the network has no share.
    """
    if settings.alpha == 1.0 or not tables:
        return {}
    from lexfed.law.tagger.semantics.network import category_probabilities

    places = [place for table in tables for place in table.places]
    rows = category_probabilities(tables).tolist()
    return {
        place: dict(zip(CATEGORIES, row, strict=True))
        for place, row in zip(places, rows, strict=True)
    }


def evidence_of_network(chances: Mapping[str, float], readable: bool) -> TagEvidence:
    """Return the network's likeliest category as evidence.

    Where no word of name or description is `readable`, the network knows little but
    the neighbours, and the sentence says so.
    """
    best = max(CATEGORIES, key=lambda category: chances[category])
    chance = min(max(chances[best], 1e-6), 1.0 - 1e-6)
    weight = min(_MOST, log(chance / (1.0 - chance)))
    alike = (
        "names and descriptions that mean about the same"
        if readable
        else "nothing is known of the name, but columns beside such neighbours"
    )
    return evidence_for("semantics", best, weight, f"{alike} are mostly {best}")
