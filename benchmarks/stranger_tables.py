# SPDX-License-Identifier: Apache-2.0
"""Tables as a stranger has them, with what their codebooks say.

Public tables come from the folder `LEXFED_DATA`, unpacked and otherwise as they are;
their codebooks are the declarations of `lexfed.evaluate.datasets`, with the class that
the folder's author gave each column. Invented ones (`stranger_tables.toml`) have the
headers of well-known tables, and each is written with the defects of ordinary files.

A codebook becomes `[data.columns]` and `[law.columns]` of a configuration: what a
professional would write by hand for the file as it is.
"""

import gzip
import shutil
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lexfed.arrays import Floats
from lexfed.config.drafting.public_domains import parse_domain
from lexfed.evaluate.datasets.declarations import (
    TIER_OF_CLASS,
    TableDeclaration,
    load_declaration,
)
from lexfed.evaluate.datasets.source_folder import data_folder

Keys = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class StrangerTable:
    """A table's file, its target, and what its codebook says of the columns.

    Attributes:
        columns: `[data.columns]` of a careful configuration.
        tiers: of those columns.
        person: the column that names the person, if somebody has several rows.
    """

    name: str
    path: Path
    target: str
    columns: Keys
    tiers: Mapping[str, str]
    person: str | None = None


# Columns that a professional declares otherwise than `lexfed.evaluate` does, which
# groups diagnoses and specialties first. The file has their codes.
_AS_WRITTEN: Mapping[str, Keys] = {
    "diabetes130": {
        name: {"kind": "category", "buckets": 32}
        for name in ("diag_1", "diag_2", "diag_3", "medical_specialty")
    },
}


def public_table(name: str, folder: Path) -> StrangerTable:
    """Unpack a public table into a folder."""
    facts = load_declaration(name)
    packed = data_folder() / name / facts.file
    path = folder / packed.name.removesuffix(".gz")
    if packed.suffix == ".gz":
        with gzip.open(packed) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    else:
        path.write_bytes(packed.read_bytes())
    columns = {n: dict(keys) for n, keys in facts.columns.items()}
    columns |= _AS_WRITTEN.get(name, {})
    tiers = {column: _tier(facts, column) for column in columns}
    return StrangerTable(name, path, facts.target, columns, tiers, facts.person)


def _tier(facts: TableDeclaration, column: str) -> str:
    """Return the tier of the class that the folder's author gave a column."""
    departure = facts.departures.get(column)
    if departure is None:
        return facts.tiers[column]
    return TIER_OF_CLASS[departure.from_class]


@dataclass(frozen=True)
class Defects:
    """How the file of an invented table is written.

    Attributes:
        money: columns with a currency sign and thousands separators.
        percent: columns with a percent sign.
        missing: the word for a missing value, and the share of cells that have it.
        cased: whether categories are written in any case.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    index: bool = False
    trailing: bool = False
    dates: str = "%Y-%m-%d"
    money: tuple[str, ...] = ()
    percent: tuple[str, ...] = ()
    missing: tuple[str, float] = ("", 0.0)
    cased: bool = False


DEFECTS: Mapping[str, Defects] = {
    "bank_marketing": Defects(separator=";", cased=True),
    "telco_churn": Defects(missing=(" ", 0.01)),
    "stroke": Defects(missing=("N/A", 0.02), encoding="utf-8-sig"),
    "heart_failure": Defects(separator="\t", encoding="utf-16"),
    "pima": Defects(),
    "give_me_some_credit": Defects(index=True, missing=("NA", 0.03)),
    "bank_customers": Defects(money=("Balance", "EstimatedSalary")),
    "attrition": Defects(encoding="utf-8-sig"),
    "opaque": Defects(index=True, cased=True, missing=("-", 0.02)),
    "arztbesuche": Defects(
        separator=";", decimal=",", encoding="latin-1", dates="%d.%m.%Y"
    ),
    "loans": Defects(
        index=True,
        trailing=True,
        money=("loan_amnt", "annual_inc"),
        percent=("int_rate", "revol_util"),
        missing=("?", 0.02),
    ),
}
INVENTED = tuple(DEFECTS)
PUBLIC = (
    "adult", "german_credit", "heart_uci4", "support2", "taiwan_default",
    "diabetes130", "eicu_demo", "synthea", "creditcard_fraud_sample",
)  # fmt: skip


def invented_table(
    name: str, folder: Path, seed: int = 1, most_rows: int = 10_000
) -> StrangerTable:
    """Draw an invented table and write its file."""
    text = Path(__file__).with_name("stranger_tables.toml").read_text("utf-8")
    book = tomllib.loads(text)[name]
    generator = np.random.default_rng([seed, INVENTED.index(name)])
    rows, target = min(book["rows"], most_rows), book["target"]
    special = book.get("special", ())
    cells: dict[str, list[Any]] = {}
    columns: Keys = {}
    tiers: dict[str, str] = {}
    keys = {target}
    score = np.zeros(rows)
    for column, stated in book["columns"].items():
        domain, shape, weight = (*(p.strip() for p in stated.split("@")), "", "")[:3]
        cells[column], unit = _drawn(domain, shape, rows, generator)
        if domain in ("key", "words"):
            keys.add(column)
            continue
        score += float(weight or 0) * unit
        columns[column] = _declared(domain)
        tiers[column] = "special" if column in special else "personal"
    score += generator.logistic(size=rows) * 0.7
    high = score > np.quantile(score, 1 - book["rate"])
    classes = book["classes"]
    cells[target] = [classes[int(each)] for each in high]
    flag = classes in (["0", "1"], ["no", "yes"], ["No", "Yes"])
    columns[target] = (
        {"kind": "flag", "missing": False}
        if flag
        else {"kind": "category", "values": classes}
    )
    tiers[target] = "special" if special else "personal"
    path = folder / f"{name}.csv"
    _write(cells, keys, DEFECTS[name], path, generator)
    return StrangerTable(name, path, target, columns, tiers)


def _declared(domain: str) -> dict[str, Any]:
    if domain == "flag":
        return {"kind": "flag"}
    return parse_domain(domain, "codebook").keys


def _drawn(
    domain: str, shape: str, rows: int, generator: np.random.Generator
) -> tuple[list[Any], Floats]:
    """Return cells of a column, and its values with mean 0 and deviation 1."""
    if domain == "key":
        return [f"{n:04d}-K" for n in generator.permutation(rows) + 1], np.zeros(rows)
    if domain == "words":
        names = generator.integers(0, rows, rows)
        return [f"Name{n}" for n in names], np.zeros(rows)
    if domain == "flag":
        drawn = (generator.random(rows) < float(shape or 0.5)).astype(np.float64)
        return [int(each) for each in drawn], _unit(drawn)
    known = parse_domain(domain, "codebook")
    if known.codings:
        values = known.codings[0]
        shares = np.array([float(s) for s in shape.split()] or [1.0] * len(values))
        places = generator.choice(len(values), rows, p=shares / shares.sum())
        return [values[place] for place in places], _unit(places.astype(np.float64))
    if known.period is not None:
        first, last = (pd.Timestamp(day) for day in known.period)
        days = generator.integers(0, (last - first).days, rows)
        dates = [first + pd.Timedelta(days=int(each)) for each in days]
        return dates, _unit(days.astype(np.float64))
    assert known.range is not None
    skewed, *figures = (["", *shape.split()]) if "log" not in shape else shape.split()
    centre, spread, digits = float(figures[0]), float(figures[1]), int(figures[2])
    drawn = generator.standard_normal(rows)
    numbers = centre * np.exp(spread * drawn) if skewed else centre + spread * drawn
    kept = np.clip(numbers, *known.range).round(digits)
    return [int(n) if digits == 0 else float(n) for n in kept], _unit(drawn)


def _unit(values: Floats) -> Floats:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread else np.zeros(len(values))


def _write(
    cells: Mapping[str, Sequence[Any]],
    whole: Collection[str],
    how: Defects,
    path: Path,
    generator: np.random.Generator,
) -> None:
    written: dict[str, list[str]] = {}
    for name, values in cells.items():
        texts = [_text(value, name, how) for value in values]
        if name not in whole:
            word, share = how.missing
            gone = generator.random(len(texts)) < share
            texts = [word if g else t for t, g in zip(texts, gone, strict=True)]
            if how.cased and all(isinstance(value, str) for value in values):
                big = generator.random(len(texts)) < 0.3
                texts = [t.upper() if b else t for t, b in zip(texts, big, strict=True)]
        written[name] = texts
    frame = pd.DataFrame(written)
    if how.trailing:
        frame[""] = ""
    frame.to_csv(path, index=how.index, sep=how.separator, encoding=how.encoding)


def _text(value: Any, name: str, how: Defects) -> str:
    if isinstance(value, pd.Timestamp):
        return value.strftime(how.dates)
    if isinstance(value, str):
        return value
    if name in how.money:
        return f"${value:,}"
    text = str(value).replace(".", how.decimal)
    return f"{text}%" if name in how.percent else text


def with_codebook(table: StrangerTable, draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drafted configuration with the columns and tiers of the codebook.

    Everything else stays: how the file is written, sites, budget, caps, model.
    """
    tags = {n: {"tier": t, "reason": "codebook"} for n, t in table.tiers.items()}
    columns = {n: k for n, k in table.columns.items() if table.tiers[n] != "identifier"}
    person = {} if table.person is None else {"person": table.person}
    data = {**draft["data"], "columns": columns, **person}
    law = {**draft["law"], "columns": {n: tags[n] for n in columns}}
    return {**draft, "data": data, "law": law}


def make_table(name: str, folder: Path) -> StrangerTable:
    """Write a table of either sort into a folder."""
    return (public_table if name in PUBLIC else invented_table)(name, folder)
