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

Two people classified every column. The folder of a data set has a `schema.json` whose
author put each column in a class of the GDPR; the declaration that comes with lexfed
puts it in a tier. They were written apart, so a difference is a mistake of one of them,
or a decision that has to be stated: a tier that is not the one of the column's class
names the class it departs from, and the reason:
`{ values = [...], class = "identifier", reason = "..." }`.

Sites of the public tables stand in for hospitals and banks. Where one is made from a
column (a speciality, a purpose), being at the site tells that column, as being in a
hospital does; docs/theory/threat-model.md counts presence at a site as known to it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from lexfed.errors import DataError, Problem

_FOLDER = files("lexfed.evaluate.datasets") / "declared"


# In every health set the outcome is itself data under Art. 9; a bank holds an outcome
# of credit or fraud against somebody. All are protected most.
TIER_OF_CLASS: Mapping[str, str] = {
    "identifier": "identifier",
    "quasi_identifier": "personal",
    "gdpr_art9_special_category": "special",
    "gdpr_art10_criminal": "special",
    "target": "special",
    "non_sensitive_personal": "personal",
}
WHY: Mapping[str, str] = {
    "identifier": "says who somebody is",
    "special": "data under GDPR Art. 9 or 10",
    "personal": "about a person, GDPR Art. 4(1)",
    "non_personal": "about no person",
}


@dataclass(frozen=True)
class Departure:
    """A tier that was chosen against the class of a column, with the reason."""

    from_class: str
    reason: str


@dataclass(frozen=True)
class TableDeclaration:
    """The public facts of one data set, those of its file and a few more.

    Attributes:
        departures: columns whose tier is not that of their class.
        extra: columns that the file has beside, which no model may read.
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
    test_size: float = 0.3

    @property
    def written(self) -> list[str]:
        """The columns of the file: declared ones, keys, groups, others."""
        keys = (self.person, self.sites.get("column"))
        wanted = [*self.columns, *(key for key in keys if key)]
        return list(dict.fromkeys([*wanted, *self.groups.values(), *self.extra]))

    def tables(self, rows: int) -> dict[str, Any]:
        """Return the `data` and `law` tables of a configuration on so many rows."""
        data: dict[str, Any] = {
            "source": "table.csv",
            "target": self.target,
            "test_size": self.test_size,
            "units": max(1, round((self.persons or self.rows) * rows / self.rows)),
            "sites": dict(self.sites),
            "columns": {name: dict(column) for name, column in self.columns.items()},
        }
        if self.person is not None:
            data["person"] = self.person
            data["records_per_person"] = self.records_per_person
            data["excess_records"] = "drop"
            data["sites_per_person"] = self.sites_per_person
        tags = {
            name: {"tier": tier, "reason": self._why(name, tier)}
            for name, tier in self.tiers.items()
        }
        return {"data": data, "law": {"columns": tags}}

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
    """Return the declaration of a data set, or refuse a name that has none."""
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


def differences(kept: TableDeclaration, schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield every column whose tier does not follow from its class in a `schema.json`.

    Guarantees:
        Each problem names the tier and the class. A column that one of the two knows
        and the other does not is a problem as well, unless the schema says that it is
        no input of a model.
    """
    classes = {
        column: name
        for name, columns in schema["columns"].items()
        for column in columns
    }
    for column, tier in kept.tiers.items():
        given = classes.get(column)
        departure = kept.departures.get(column)
        stated = given if departure is None else departure.from_class
        fits = departure is not None or TIER_OF_CLASS.get(given or "") == tier
        if given is None or stated != given or not fits:
            yield _differ(kept.name, column, tier, given)
    for column, given in classes.items():
        if column not in kept.tiers and column not in schema["exclude_from_features"]:
            yield _differ(kept.name, column, None, given)


def _differ(name: str, column: str, tier: str | None, given: str | None) -> Problem:
    ours = "not declared by lexfed" if tier is None else f"tier `{tier}` in lexfed"
    theirs = "without a class" if given is None else f"class `{given}`"
    return Problem(
        f"{name}/schema.json, column `{column}`",
        f"{ours}, but {theirs} in the folder",
        "correct one of the two, or state the departure in the declaration: "
        '`class = "...", reason = "..."`',
    )
