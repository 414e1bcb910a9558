# SPDX-License-Identifier: Apache-2.0
"""Schema packs: widespread standards whose names cannot be guessed.

`packs/<name>.tsv` starts with comment lines `# title:`, `# source:`, `# lang:` and
`# domain:`, then has one column a line, fields divided by tabs:

    table   column   tier   category   dtype   short description

A table is recognised as one of a pack by the rare names that both share: a name that
half of all packs have (`id`, `date`) says little, one that a single pack has says
much. Columns of a recognised table are looked up. The names of all packs together
are also a body of precedent: a name probably means here what it means in every
standard that has it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from sys import intern
from typing import NamedTuple

from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.suggestions import TIER_OF
from lexfed.law.tagger.words.line_store import (
    LinePlaces,
    LineStore,
    add_place,
    line_at,
    lines_of,
)
from lexfed.law.tagger.words.normalisation import words


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

    Attributes:
        packs: the packs by name.
        by_column: the rows of every name, in all packs.
        by_word: for every word of names that several packs use, the number of packs
            that use it for each category.
    """

    packs: Mapping[str, Pack]
    by_column: Mapping[str, tuple[PackColumn, ...]]
    by_word: Mapping[str, Mapping[str, float]]


def parse_pack(name: str, text: bytes) -> Pack:
    """Return the pack of a file.

    Raises:
        ConfigError: naming every line whose fields are missing, or whose tier is not
            that of its category.
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
    get = head.get
    return Pack(
        name, get("title", name), get("source", ""), get("lang", "en"),
        get("domain", ""), text,
    )  # fmt: skip


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
        _vote(votes, used)
    texts = tuple(pack.text for pack in packs)

    def decode(place: int) -> PackColumn:
        return _row(packs[place >> 24].name, line_at(place, texts))

    return PackIndex(
        {pack.name: pack for pack in packs},
        LineStore(by_column, decode),
        {word: found for word, found in votes.items() if sum(found.values()) > 1.5},
    )


def _row(pack: str, fields: Sequence[str]) -> PackColumn:
    table, column, _, category, dtype, description = [*fields, "", ""][:6]
    return PackColumn(
        pack, intern(table), column, intern(category), intern(dtype), description
    )


def _vote(votes: dict[str, dict[str, float]], used: Mapping[str, Counter[str]]) -> None:
    """Add a pack's votes for the meanings of the words in its names, one a word."""
    for word, counts in used.items():
        total = counts.total()
        found = votes.setdefault(word, {})
        for category, count in counts.items():
            found[category] = found.get(category, 0.0) + count / total


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
