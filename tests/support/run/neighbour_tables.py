# SPDX-License-Identifier: Apache-2.0
"""Small random configurations, tables for them, and neighbours of these tables."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lexfed.tiers import Tier

Relation = Literal["record", "attribute", "label"]

SITES = ("a", "b", "c")
TIERS = {
    "u": Tier.NON_PERSONAL,
    "v": Tier.PERSONAL,
    "w": Tier.SPECIAL,
    "z": Tier.SPECIAL,
}
FRAIL = "z = true"
"""The rule of the class of records, where there is one."""

_COLUMNS = {
    "u": '{ kind = "number", range = [0, 8] }',
    "v": '{ kind = "category", values = ["k", "l", "m"] }',
    "w": '{ kind = "number", range = [-1, 1], missing = false }',
    "z": '{ kind = "flag" }',
}
_TARGETS = {
    "logistic": '{ kind = "flag" }',
    "softmax": '{ kind = "category", values = ["r", "s", "t"] }',
    "squared": '{ kind = "number", range = [0, 10] }',
}


@dataclass(frozen=True)
class Row:
    """One row: whom it is about, where it is, and what it says."""

    person: int
    site: str
    values: dict[str, str] = field(compare=False)

    @property
    def frail(self) -> bool:
        """Whether it is in the class: a missing value counts as a member."""
        return self.values["z"] != "0"


@dataclass(frozen=True)
class Setting:
    """A configuration by its parts.

    Attributes:
        mechanism: as in `[privacy]`; `trust` and `unit` and `neighbours` alike.
        loss: which decides the target.
        layout: how rows belong to sites.
        person: whether there is a person column.
        cap: rows per person.
        spread: sites per person.
        test_size: part held back.
        epsilon: of the record; a large one lets tables of counts be told.
        units: the declared number of persons.
        parts: further lines of the configuration.
        programme: what is run: a training, or importances or a profile that are bought.
        engine: who computes.
    """

    mechanism: str
    trust: str
    unit: str
    neighbours: str
    loss: str
    layout: str
    person: bool
    cap: int
    spread: int
    test_size: float
    epsilon: float
    units: int
    parts: dict[str, str]
    programme: str
    engine: str

    def text(self) -> str:
        """Write the configuration."""
        sites = {
            "files": "{ files = [" + ", ".join(f'"{s}.csv"' for s in SITES) + "] }",
            "column": '{ column = "site", names = ["a", "b", "c"] }',
            "iid": "{ count = 3 }",
            "dirichlet": '{ count = 3, partition = "dirichlet", alpha = 0.6 }',
        }[self.layout]
        data = [f"sites = {sites}", 'target = "y"', f"test_size = {self.test_size}"]
        if self.layout != "files":
            data.append('source = "rows.csv"')
        if self.neighbours == "add-remove":
            data.append(f"units = {self.units}")
        columns, law = dict(_COLUMNS), ""
        columns["y"] = _TARGETS[self.loss]
        tiers = {name: tier.label for name, tier in TIERS.items()} | {"y": "personal"}
        if self.person:
            data += ['person = "who"', f"records_per_person = {self.cap}"]
            data += ['excess_records = "drop"', f"sites_per_person = {self.spread}"]
            columns["who"], tiers["who"] = '{ kind = "text" }', "identifier"
        if self.layout == "column":
            columns["site"], tiers["site"] = '{ kind = "text" }', "non_personal"
        law = "\n".join(
            f'{n} = {{ tier = "{t}", reason = "r" }}' for n, t in tiers.items()
        )
        declared = "\n".join(f"{name} = {what}" for name, what in columns.items())
        rdp = '\naccountant = "rdp"' if self.trust == "distributed" else ""
        return "\n".join(
            [
                'version = 1\n[run]\nname = "n"\n[data]',
                *data,
                "[data.columns]",
                declared,
                "[law.columns]",
                law,
                f"[budget]\nepsilon = {self.epsilon}\ndelta = 1e-4",
                f'unit = "{self.unit}"\nneighbours = "{self.neighbours}"',
                self.parts.get("budget", ""),
                f'[privacy]\nmechanism = "{self.mechanism}"',
                f'trust = "{self.trust}"{rdp}',
                self.parts.get("privacy", ""),
                f'[federation]\nengine = "{self.engine}"',
                self.parts.get("federation", ""),
                self.parts.get("tables", ""),
            ]
        )


@dataclass(frozen=True)
class Table:
    """The rows of all sites, in the order of their file."""

    setting: Setting
    rows: tuple[Row, ...]

    def write(self, place: Path) -> dict[str, str]:
        """Write the files; return whose coin each person of the product draws."""
        setting, identities = self.setting, {}
        groups: dict[str, list[Row]] = {"rows": list(self.rows)}
        if setting.layout == "files":
            groups = {s: [row for row in self.rows if row.site == s] for s in SITES}
        header = [*TIERS, "y"]
        header += ["who"] if setting.person else []
        header += ["site"] if setting.layout == "column" else []
        for number, (name, rows) in enumerate(groups.items()):
            with (place / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(header)
                for line, row in enumerate(rows, start=2):
                    known = {**row.values, "who": f"p{row.person}", "site": row.site}
                    writer.writerow([known[column] for column in header])
                    key = f"p{row.person}" if setting.person else f"{number}:{line}"
                    identities[key] = f"person {row.person}"
        return identities


@dataclass(frozen=True)
class Neighbour:
    """A table that differs in one unit.

    Attributes:
        table: the other table.
        relation: under which line of the claim they are neighbours.
        tier: of an attribute.
        persons: whom they differ in; none for a site.
        sites: where they differ.
        frail: whether these persons are of the class with every row, in both tables.
    """

    table: Table
    relation: Relation
    tier: Tier | None
    persons: frozenset[int]
    sites: frozenset[str]
    frail: bool


class Draws:
    """Random settings, tables and neighbours."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def _one(self, options: Sequence[Any]) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def setting(self) -> Setting:
        """Draw a configuration; not every one is allowed."""
        unit = "client" if self._chance(0.25) else "record"
        person = unit == "record" and self._chance(0.5)
        trust = self._one(("central", "central", "local", "distributed"))
        neighbours = self._one(("add-remove", "replace-one"))
        natural, dealt = ("files", "column"), ("iid", "dirichlet")
        layout = self._one(natural if unit == "client" else natural + dealt)
        setting = Setting(
            mechanism=self._one(("cascade", "cascade", "grouped", "uniform")),
            trust=trust,
            unit=unit,
            neighbours=neighbours,
            loss=self._one(("logistic", "logistic", "softmax", "squared")),
            layout=layout,
            person=person,
            cap=self._one((1, 2, 3)) if person else 1,
            spread=self._one((1, 2)) if person and layout in ("files", "column") else 1,
            test_size=self._one((0.0, 0.3)),
            epsilon=self._one((3.0, 6.0, 25.0)),
            units=self._one((12, 30, 3000)),
            parts={},
            programme="training",
            engine=self._one(("simulation", "inprocess"))
            if trust == "central"
            else "inprocess",
        )
        programme = "training"
        if unit == "record" and self._chance(0.15):
            programme = self._one(("importances", "profile"))
        return replace(setting, parts=self._parts(setting), programme=programme)

    def _parts(self, setting: Setting) -> dict[str, str]:
        budget, federation, tables = [], [], []
        network = self._chance(0.3)
        kind = "linear" if setting.loss == "squared" else "logistic"
        federation.append(f'model = "{"mlp:3" if network else kind}"')
        descending = setting.unit == "client" or setting.mechanism == "grouped"
        if self._chance(0.4) or descending:
            federation += ["rounds = 3", f"learning_rate = {self._one((0.5, 5.0))}"]
            descending = True
        elif network or self._chance(0.5):
            federation.append("rounds = 2")
        if setting.unit == "client" and self._chance(0.5):
            federation += ["local_steps = 2", "batch_size = 2"]
        if setting.neighbours == "replace-one" and self._chance(0.3):
            federation.append('weighting = "sites"')
        if self._chance(0.2):
            names = ("a", "b") if setting.layout in ("files", "column") else ("site-1",)
            listed = ", ".join(f'"{name}"' for name in names)
            tables.append(f"[budget.profiles.own]\nsites = [{listed}]\nepsilon = 2.0")
        elif setting.unit == "record" and self._chance(0.2):
            tables.append(
                f'[[budget.classes]]\nname = "frail"\nwhere = "{FRAIL}"\nepsilon = 2.0'
            )
        if self._chance(0.25):
            budget.append(f'schedule = "{self._one(("geometric", "cosine"))}"')
        if self._chance(0.3):
            tables.append('[evaluation]\nmetrics = "paid"')
        if descending and self._chance(0.4):
            adapt = [f'noise = "{self._one(("none", "convergence", "feedback"))}"']
            adapt.append(f'clip = "{self._one(("none", "quantile", "feedback"))}"')
            adapt.append(f'guarantee = "{self._one(("envelope", "filter"))}"')
            tables.append("\n".join(["[adapt]", *adapt]))
        if setting.person and self._chance(0.3):
            weights = self._one(("none", "overlap"))
            tables.append(f'[sketches]\nshare = 0.3\nweights = "{weights}"')
        if self._chance(0.3):
            tables.append("[budget.caps]\nspecial = 2.0")
        return {
            "budget": "\n".join(budget),
            "federation": "\n".join(federation),
            "tables": "\n".join(tables),
        }

    def values(self, setting: Setting) -> dict[str, str]:
        """Draw a row, with values at the ends and beyond."""
        targets = {
            "logistic": ("0", "1"),
            "softmax": ("r", "s", "t"),
            "squared": ("0", "10", "3.5", "-40", "99"),
        }
        return {
            "u": self._one(("", "0", "8", "8000", "-5", "2.5", "4")),
            "v": self._one(("", "k", "l", "m", "nobody declared this")),
            "w": self._one(("-1", "1", "1", "7", "0.25")),
            "z": self._one(("", "0", "1", "yes")),
            "y": self._one(targets[setting.loss]),
        }

    def table(self, setting: Setting) -> Table:
        """Draw a table; a site may be empty."""
        count = int(self._random.integers(4, 16))
        # Some sites are often empty, and those of a file come in any order.
        open_sites = [s for s in SITES if self._chance(0.85)] or ["a"]
        rows: list[Row] = []
        for person in range(count):
            rows += self._rows(setting, person, self._sites(setting, open_sites))
        self._random.shuffle(rows)
        return Table(setting, tuple(rows))

    def _sites(self, setting: Setting, among: Sequence[str]) -> list[str]:
        most = min(setting.spread, len(among))
        chosen = self._random.permutation(len(among))
        return [among[int(k)] for k in chosen[: self._random.integers(1, most + 1)]]

    def _rows(self, setting: Setting, person: int, sites: Sequence[str]) -> list[Row]:
        most = setting.cap + 1 if setting.person else 1
        return [
            Row(person, site, self.values(setting))
            for site in sites
            for _ in range(int(self._random.integers(1, most + 1)))
        ]

    def neighbours(self, table: Table, count: int) -> Iterator[Neighbour]:
        """Draw neighbours of a table."""
        for _ in range(count):
            relation: Relation = self._one(("record", "record", "attribute", "label"))
            by_site = table.setting.unit == "client"
            yield (self._site if by_site else self._person)(table, relation)

    def _person(self, table: Table, relation: Relation) -> Neighbour:
        setting, rows = table.setting, table.rows
        persons = sorted({row.person for row in rows})
        if relation == "record" and setting.neighbours == "add-remove":
            if not persons or self._chance(0.3):
                newcomer = max(persons, default=-1) + 1
                added = self._rows(setting, newcomer, self._sites(setting, SITES))
                return self._differing(table, self._mixed(rows, added), {newcomer})
            gone = self._one(persons)
            return self._differing(
                table, [row for row in rows if row.person != gone], {gone}
            )
        whom = self._one(persons)
        if relation == "record":
            others = [row for row in rows if row.person != whom]
            sites = sorted({row.site for row in rows if row.person == whom})
            new = self._rows(setting, whom, sites)
            return self._differing(table, self._mixed(others, new), {whom})
        return self._changed(table, relation, lambda row: row.person == whom, {whom})

    def _site(self, table: Table, relation: Relation) -> Neighbour:
        setting, site = table.setting, self._one(SITES)
        here = [row for row in table.rows if row.site == site]
        rest = [row for row in table.rows if row.site != site]
        if relation != "record":
            return self._changed(
                table, relation, lambda row: row.site == site, set(), site
            )
        if here and setting.neighbours == "add-remove":
            return self._differing(table, rest, set(), {site})
        newest = max((row.person for row in table.rows), default=0) + 1
        many = int(self._random.integers(1, 5))
        new = [Row(newest + k, site, self.values(setting)) for k in range(many)]
        return self._differing(table, self._mixed(rest, new), set(), {site})

    def _changed(
        self,
        table: Table,
        relation: Relation,
        who: Any,
        persons: set[int],
        site: str = "",
    ) -> Neighbour:
        tier: Tier | None = None
        columns: list[str] = ["y"]
        if relation == "attribute":
            tier = self._one(sorted(set(TIERS.values())))
            columns = [name for name, own in TIERS.items() if own >= tier]
        changed = []
        for row in table.rows:
            if who(row):
                new = self.values(table.setting)
                picked = {name: new[name] for name in columns}
                row = Row(row.person, row.site, {**row.values, **picked})
            changed.append(row)
        sites = {site} if site else {row.site for row in table.rows if who(row)}
        return Neighbour(
            Table(table.setting, tuple(changed)),
            relation,
            tier,
            frozenset(persons),
            frozenset(sites),
            _frail((*table.rows, *changed), persons),
        )

    def _mixed(self, rows: Sequence[Row], new: Sequence[Row]) -> list[Row]:
        """Put rows anywhere; the others keep their order."""
        mixed = list(rows)
        for row in new:
            mixed.insert(int(self._random.integers(len(mixed) + 1)), row)
        return mixed

    def _differing(
        self,
        table: Table,
        rows: Sequence[Row],
        persons: set[int],
        sites: set[str] | None = None,
    ) -> Neighbour:
        other = Table(table.setting, tuple(rows))
        both = (*table.rows, *rows)
        found = {row.site for row in both if row.person in persons}
        return Neighbour(
            other,
            "record",
            None,
            frozenset(persons),
            frozenset(found if sites is None else sites),
            _frail(both, persons),
        )


def _frail(rows: Sequence[Row], persons: set[int]) -> bool:
    own = [row.frail for row in rows if row.person in persons]
    return bool(own) and all(own)
