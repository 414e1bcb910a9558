# SPDX-License-Identifier: Apache-2.0
"""Schema packs: widespread standards whose names cannot be guessed, as evidence.

`packs/<name>.tsv` starts with comment lines `# title:`, `# source:`, `# lang:` and
`# domain:`, then has one column a line, fields divided by tabs:

    table   column   tier   category   dtype   short description

A table is recognised as one of a pack by the rare names that both share: a name that
half of all packs have (`id`, `date`) says little. Columns of a recognised table are
looked up. The names of all packs together are also a body of precedent: a name probably
means here what it means in every standard that has it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from math import log
from sys import intern
from typing import NamedTuple

from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.metadata.name_evidence import is_code
from lexfed.law.tagger.suggestions import (
    TIER_OF,
    DescribedColumn,
    TagEvidence,
    evidence_for,
)
from lexfed.law.tagger.words.lexicon import LANGUAGES, load_concepts
from lexfed.law.tagger.words.line_store import (
    LinePlaces,
    LineStore,
    add_place,
    lines_of,
)
from lexfed.law.tagger.words.normalisation import squeeze, words
from lexfed.law.tagger.words.readings import read_phrase


class PackColumn(NamedTuple):
    """One column of a standard."""

    pack: str
    table: str
    column: str
    category: str
    dtype: str
    description: str


@dataclass(frozen=True)
class Pack:
    """A standard: its title, where it is documented, and its columns."""

    name: str
    title: str
    source: str
    language: str
    domain: str
    text: bytes = field(repr=False)

    @property
    def rows(self) -> tuple[PackColumn, ...]:
        """Its columns, in the order of the file."""
        return tuple(_row(self.name, fields) for _, _, fields in lines_of(0, self.text))


@dataclass(frozen=True)
class PackIndex:
    """All packs, found by the letters of a column's name.

    `by_word` has, for every word of names that several packs use, the number of packs
    that use it for each category.
    """

    packs: Mapping[str, Pack]
    by_column: Mapping[str, tuple[PackColumn, ...]]
    by_word: Mapping[str, Mapping[str, float]]


def parse_pack(name: str, text: bytes) -> Pack:
    """Return the pack of a file.

    `ConfigError` names every line whose fields are missing, or whose tier is not that
    of its category.
    """
    head: dict[str, str] = {}
    for line in text.split(b"\n", 12):
        key, colon, value = line.decode("utf-8", "replace").partition(":")
        if key.startswith("#") and colon:
            head.setdefault(key[1:].strip(), value.strip())
    problems = [
        Problem(f"{name}.tsv:{number}", "expected table, column, tier, its category")
        for _, number, fields in lines_of(0, text)
        if len(fields) < 4 or TIER_OF.get(fields[3]) != fields[2]
    ]
    if problems:
        raise ConfigError(problems)
    title, source = head.get("title", name), head.get("source", "")
    language, domain = head.get("lang", "en"), head.get("domain", "")
    return Pack(name, title, source, language, domain, text)


def index_packs(packs: Sequence[Pack]) -> PackIndex:
    """Return the index of packs."""
    by_column: dict[str, LinePlaces] = {}
    votes: dict[str, dict[str, float]] = {}
    for number, pack in enumerate(packs):
        used: dict[str, Counter[str]] = {}
        for place, _, fields in lines_of(number, pack.text):
            parts = words(fields[1])
            add_place(by_column, "".join(parts), place)
            for word in set(parts):
                if len(word) > 1 and not word.isdigit():
                    used.setdefault(word, Counter())[intern(fields[3])] += 1
        for word, counts in used.items():  # one vote a word
            found = votes.setdefault(word, {})
            for category, count in counts.items():
                found[category] = found.get(category, 0.0) + count / counts.total()
    texts = tuple(pack.text for pack in packs)
    names = [pack.name for pack in packs]
    return PackIndex(
        {pack.name: pack for pack in packs},
        LineStore(by_column, texts, lambda file, fields: _row(names[file], fields)),
        {word: found for word, found in votes.items() if sum(found.values()) > 1.5},
    )


def _row(pack: str, fields: Sequence[str]) -> PackColumn:
    table, column, _, category, dtype, description = [*fields, "", ""][:6]
    return PackColumn(
        pack, intern(table), column, intern(category), intern(dtype), description
    )


@lru_cache(maxsize=1)
def all_packs() -> tuple[Pack, ...]:
    """Return every pack that comes with the package; they are read once."""
    folder = files("lexfed.law.tagger") / "packs"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".tsv"))
    return tuple(parse_pack(name[:-4], (folder / name).read_bytes()) for name in names)


@lru_cache(maxsize=2)
def load_packs(without: frozenset[str] = frozenset()) -> PackIndex:
    """Return the packs that come with the package, less some of them."""
    return index_packs([pack for pack in all_packs() if pack.name not in without])


RECOGNISED = ((4.0, 7.0), (2.5, 5.0), (1.2, 3.0))
"""Rare names shared with a pack, and what its labels then weigh."""
LOOKED_UP = 5.0
"""The weight from which on a pack's label counts as a fact."""
SAME_TABLE = 1.0
"""Rare names that a table of the same name counts for."""
PRECEDENT = 1.6
"""Weight of one unrecognised standard that has the name; further ones count less."""
WORD = 1.3
LEAST = 2.0
CODE_TELLS = 0.15
"""Telling power of each sign of a number in a codebook, after the first three."""
WORD_TELLS = 0.25
"""Telling power of each word of a name that consists of words everybody uses."""
_TELLING = 4
"""Letters a name needs to tell one standard from another."""


@dataclass(frozen=True)
class PackMatch:
    """A pack that a table seems to follow, and the pack's table that fits best.

    `shared` is the sum of the rarities of the shared names, `weight` that of the
    pack's labels, in log-odds.
    """

    pack: str
    table: str
    shared: float
    weight: float


def matching_packs(
    columns: Sequence[DescribedColumn], packs: PackIndex
) -> list[PackMatch]:
    """Return the packs that a table seems to follow, the likeliest first."""
    names = {squeeze(column.name) for column in columns}
    shared: Counter[str] = Counter()
    tables: Counter[tuple[str, str]] = Counter()
    for name in names:
        rows = packs.by_column.get(name, ())
        having = {row.pack for row in rows}
        if not having:
            continue
        rarity = 1.0 - log(len(having)) / log(len(packs.packs) + 1)
        worth = rarity * _telling(name)
        for pack in having:
            shared[pack] += worth  # type: ignore[assignment]
        for place in {(row.pack, squeeze(row.table)) for row in rows}:
            tables[place] += worth  # type: ignore[assignment]
    own = squeeze(columns[0].table)
    found = []
    for pack, worth in shared.items():
        best = max(
            (place for place in tables if place[0] == pack),
            key=lambda place: (tables[place] + SAME_TABLE * (place[1] == own), place),
        )
        total = worth + SAME_TABLE * (best[1] == own)
        weight = next((w for least, w in RECOGNISED if total >= least), 0.0)
        if weight:
            found.append(PackMatch(pack, best[1], total, weight))
    return sorted(found, key=lambda match: (-match.shared, match.pack))


@lru_cache(maxsize=20_000)
def _telling(name: str) -> float:
    """Return a name's power to tell one standard from others, from 0 to 1."""
    if is_code(name):
        return CODE_TELLS * max(0, len(name) - 3)
    reading = read_phrase(name, LANGUAGES)
    if reading.unknown:
        return min(1.0, len(name) / _TELLING)
    return WORD_TELLS * min(3, len(reading.words))


def evidence_of_packs(
    column: DescribedColumn, matches: Sequence[PackMatch], packs: PackIndex
) -> Iterator[TagEvidence]:
    """Yield the evidence of the recognised pack, or else of all packs for the name."""
    rows = packs.by_column.get(squeeze(column.name), ())
    for match in matches:
        own = [row for row in rows if row.pack == match.pack]
        same = [row for row in own if squeeze(row.table) == match.table]
        if not own:
            continue
        title = packs.packs[match.pack].title
        shares = _shares(same or own)
        for category, share in shares.items():
            yield evidence_for(
                "pack", category, match.weight * share,
                f"the table looks like {title}, where this name is {category}",
                match.weight * share >= LOOKED_UP,
            )  # fmt: skip
        return
    if not is_code(column.name):
        telling = min(1.0, len(squeeze(column.name)) / _TELLING)
        yield from _precedent(rows, telling)
        yield from _words_precedent(column.name, packs)


def _precedent(rows: Sequence[PackColumn], telling: float) -> Iterator[TagEvidence]:
    standards = {row.pack for row in rows}
    if not standards:
        return
    by_pack = [_shares([row for row in rows if row.pack == pack]) for pack in standards]
    shares: Counter[str] = Counter()
    for one in by_pack:
        for category, share in one.items():
            shares[category] += share / len(by_pack)  # type: ignore[assignment]
    # Two letters stand for anything: `cp` is a postcode here, chest pain there.
    weight = PRECEDENT * (1.0 + log(len(by_pack))) * telling
    for category, share in sorted(shares.items()):
        if share >= 0.2:
            number = max(1, round(share * len(by_pack)))
            yield evidence_for(
                "pack", category, weight * share,
                f"the name stands for {category} in {number} of {len(by_pack)} known "
                "standards",
            )  # fmt: skip


def _words_precedent(name: str, packs: PackIndex) -> Iterator[TagEvidence]:
    """Yield evidence from the meaning of a name's words in other standards."""
    parts = set(words(name))
    for word in sorted(parts) if len(parts) > 1 else ():
        votes = {} if load_concepts().get(word) else packs.by_word.get(word, {})
        total = sum(votes.values())
        if total < LEAST:
            continue
        for category, votes_for in votes.items():
            share = votes_for / (total + 1.0)
            if share >= 0.3:
                weight = WORD * share * log(1.0 + total)
                yield evidence_for(
                    "pack", category, weight,
                    f"names with `{word}` stand for {category} in known standards",
                )  # fmt: skip


def _shares(rows: Sequence[PackColumn]) -> Mapping[str, float]:
    counts = Counter(row.category for row in rows)
    return {category: n / len(rows) for category, n in sorted(counts.items())}
