# SPDX-License-Identifier: Apache-2.0
"""The declaration of a public data set: public facts, and nothing from its rows.

    title = "..."                     one line
    licence = "..."
    reason = "codebook"               the source of ranges and lists, in one word
    file = "heart_uci4.csv"           the table, in LEXFED_DATA/NAME
    rows = 920                        as published
    target = "target"
    person = "patient"                only if a person may have several rows
    persons = 1820                    as published; without it every row is a person
    records_per_person = 4            later rows of a person are left out
    sites = { column = "site" }       as in `data.sites` of a configuration
    site_from = "dzgroup"             only if sites stand in for a column of the table
    gaps = ["chol"]                   columns that may miss values; all, if left out
    [sha256]                          of every file that is read
    [groups]                          attribute of fairness -> column
    [columns.special]                 and so for the other tiers
    chol = { range = [50, 700] }      or { values = [...] }, "flag", "text"

Ranges and lists were written by hand from documentation, medicine and survey manuals.
A range that followed the rows would change with one person and so tell of that person.
No program reads one from them. Seen before they were written were the extremes and
lists of heart_uci4, german_credit, adult and taiwan_default, the first two rows of the
other five, and the names of specialties in diabetes130.
A tier that is not the one of the column's class (`legal_classes.py`) names the class it
departs from, and the reason:
`{ values = [...], class = "identifier", reason = "..." }`.

Sites of the public tables stand in for hospitals and banks. Where one is made from a
column (a speciality, a purpose), being at the site tells that column, as being in a
hospital does; docs/theory/threat-model.md counts presence at a site as known to it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.public.legal_classes import WHY

_FOLDER = files("lexfed.evaluate.datasets") / "declared"


@dataclass(frozen=True)
class Departure:
    """A tier that somebody chose against the class of a column, with the reason."""

    from_class: str
    reason: str


@dataclass(frozen=True)
class TableDeclaration:
    """The public facts of one data set.

    Attributes:
        name: the name of its folder.
        title: a description in one line.
        licence: the terms under which others hand it out.
        reason: the source of its ranges and lists, in one word.
        file: the table among its files.
        rows: number of rows, as published.
        target: the column to predict.
        sites: as in `data.sites` of a configuration.
        sha256: checksum of every file that is read, by its name.
        columns: `data.columns` of a configuration.
        tiers: tier of each column.
        departures: columns whose tier is not that of their class.
        groups: attribute of fairness -> column.
        person: the column with the person key; None if rows are persons.
        persons: number of persons, as published.
        records_per_person: most rows of one person that are used.
        sites_per_person: most sites at which one person may have rows.
        extra: columns that the file has beside, which no model may read.
        site_from: the column that decides a row's site, where sites are made from one.
    """

    name: str
    title: str
    licence: str
    reason: str
    file: str
    rows: int
    target: str
    sites: Mapping[str, Any]
    sha256: Mapping[str, str]
    columns: Mapping[str, Mapping[str, Any]]
    tiers: Mapping[str, str]
    departures: Mapping[str, Departure]
    groups: Mapping[str, str] = field(default_factory=dict)
    person: str | None = None
    persons: int | None = None
    records_per_person: int = 1
    sites_per_person: int = 1
    extra: tuple[str, ...] = ()
    site_from: str | None = None

    @property
    def written(self) -> list[str]:
        """The columns of the file: declared ones, keys, groups, others."""
        keys = (self.person, self.sites.get("column"))
        wanted = [*self.columns, *(key for key in keys if key)]
        return list(dict.fromkeys([*wanted, *self.groups.values(), *self.extra]))

    def tables(self, rows: int) -> dict[str, Any]:
        """Return the `data` and `law` tables of a configuration on so many rows.

        The number of persons shrinks with the rows.
        """
        data: dict[str, Any] = {
            "source": "table.csv",
            "target": self.target,
            "test_size": 0.3,
            "units": max(1, round((self.persons or self.rows) * rows / self.rows)),
            "sites": dict(self.sites),
            "columns": {name: dict(column) for name, column in self.columns.items()},
        }
        if self.person is not None:
            data["person"] = self.person
            data["records_per_person"] = self.records_per_person
            data["excess_records"] = "drop"
            data["sites_per_person"] = self.sites_per_person
        return {"data": data, "law": {"columns": self._tags()}}

    def _tags(self) -> dict[str, dict[str, str]]:
        return {
            name: {"tier": tier, "reason": self._why(name, tier)}
            for name, tier in self.tiers.items()
        }

    def _why(self, name: str, tier: str) -> str:
        if name == self.target:
            return "the outcome"
        departure = self.departures.get(name)
        return WHY[tier] if departure is None else departure.reason


def public_names() -> tuple[str, ...]:
    """Return the names of the data sets that have a declaration, sorted."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(n.removesuffix(".toml") for n in found if n.endswith(".toml")))


@cache
def load_declaration(name: str) -> TableDeclaration:
    """Return the declaration of a data set.

    Raises:
        DataError: if there is no such data set.
    """
    if name not in public_names():
        raise unknown_dataset(name, public_names())
    return parse_declaration(
        name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    )


def unknown_dataset(name: str, known: tuple[str, ...]) -> DataError:
    """Return the error of a name that no data set has."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(known)
    return DataError([Problem("data set", f"there is no `{name}`", hint)])


def parse_declaration(name: str, text: str) -> TableDeclaration:
    """Return the declaration that a TOML text states."""
    plain = tomllib.loads(text)
    by_tier, gaps = plain.pop("columns"), plain.pop("gaps", None)
    columns: dict[str, Mapping[str, Any]] = {}
    tiers: dict[str, str] = {}
    departures: dict[str, Departure] = {}
    for tier, stated in by_tier.items():
        for column, how in stated.items():
            declared = {"kind": how} if isinstance(how, str) else dict(how)
            if "class" in declared:
                given = declared.pop("class"), declared.pop("reason")
                departures[column] = Departure(*given)
            declared.setdefault("kind", "number" if "range" in declared else "category")
            if column == plain["target"] or (gaps is not None and column not in gaps):
                declared["missing"] = False
            columns[column], tiers[column] = declared, tier
    return TableDeclaration(
        name=name, columns=columns, tiers=tiers, departures=departures, **plain
    )
