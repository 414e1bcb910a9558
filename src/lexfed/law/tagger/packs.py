# SPDX-License-Identifier: Apache-2.0
"""Schema packs: widespread standards whose names cannot be guessed.

`packs/<name>.tsv` starts with comment lines `# title:`, `# source:`, `# lang:` and
`# domain:`, then has one column a line, fields divided by tabs:

    table   column   tier   category   dtype   short description

A table is recognised as one of a pack by the rare names that both share: a name that
half of all packs have (`id`, `date`) says little, one that a single pack has says
much. Columns of a recognised table are looked up. The names of all packs together
are also a body of precedent: what a name stands for in every standard that has it,
it probably stands for here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from typing import NamedTuple

from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.column import TIER_OF
from lexfed.law.tagger.normalise import squeeze


class Row(NamedTuple):
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
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Packs:
    """All packs, found by the letters of a column's name.

    Attributes:
        packs: the packs by name.
        by_column: the rows of every name, in all packs.
        rarity: of every name, from 0 (in all packs) to 1 (in one).
    """

    packs: Mapping[str, Pack]
    by_column: Mapping[str, tuple[Row, ...]]
    rarity: Mapping[str, float]


def parse_pack(name: str, lines: Iterable[str], where: str) -> Pack:
    """Return the pack of a file.

    Raises:
        ConfigError: naming every line whose fields are missing, or whose tier is not
            that of its category.
    """
    head: dict[str, str] = {}
    rows, problems = [], []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            head.setdefault(key.strip(), value.strip())
            continue
        if not line.strip():
            continue
        fields = [*line.rstrip("\r\n").split("\t"), "", ""]
        if len(fields) < 6 or TIER_OF.get(fields[3]) != fields[2]:
            problems.append(
                Problem(
                    f"{where}:{number}",
                    "expected table, column, tier, category of that tier, dtype",
                )
            )
            continue
        rows.append(Row(name, fields[0], fields[1], *fields[3:6]))
    if problems:
        raise ConfigError(problems)
    get = head.get
    return Pack(
        name, get("title", name), get("source", ""), get("lang", "en"),
        get("domain", ""), tuple(rows),
    )  # fmt: skip


def build(packs: Iterable[Pack]) -> Packs:
    """Return the index of packs."""
    by_name = {pack.name: pack for pack in packs}
    by_column: dict[str, list[Row]] = {}
    for pack in by_name.values():
        for row in pack.rows:
            by_column.setdefault(squeeze(row.column), []).append(row)
    most = log(len(by_name) + 1)
    rarity = {
        key: 1.0 - log(len({row.pack for row in rows})) / most
        for key, rows in by_column.items()
    }
    return Packs(by_name, {key: tuple(rows) for key, rows in by_column.items()}, rarity)


@cache
def _all_packs() -> tuple[Pack, ...]:
    folder = files("lexfed.law.tagger") / "packs"
    if not folder.is_dir():
        return ()
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".tsv"))
    return tuple(
        parse_pack(name[:-4], (folder / name).read_text("utf-8").splitlines(), name)
        for name in names
    )


@lru_cache(maxsize=2)
def load_packs(without: frozenset[str] = frozenset()) -> Packs:
    """Return the packs that come with the package, less some of them."""
    return build(pack for pack in _all_packs() if pack.name not in without)
