# SPDX-License-Identifier: Apache-2.0
"""Models on profiled declarations beside models on hand-written ones, at one budget.

The same table is trained on twice for each seed, with the same split:

    hand      ranges and lists from a codebook, which cost nothing
    profiled  all ranges and lists open; a profile learns them first (`lexfed profile`,
              `lexfed init --profile`), and what it cost is taken off what training
              may spend

Both keep record epsilon 2 in total. A profile costs a tenth of that, which is the
default, or a quarter, which was chosen on `adult` alone. A column of which a profile
found nothing is left out of the model, as a person would do.
"""

import itertools
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tables import Table, write_table
from lexfed.cli.commands.setup.init import learned_columns
from lexfed.config import from_mapping
from lexfed.config.edits import with_learned_domains
from lexfed.config.open_decisions import examine_open
from lexfed.errors import ConfigError
from lexfed.run import price, seeded_population
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.purchases.profile_purchase import buy_profile
from lexfed.run.results.metrics import evaluate

EPSILON = 2.0
DELTA = 1e-5


def _first_stays(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep everybody once, without codes of diagnoses, of which there are hundreds."""
    first = frame.drop_duplicates("patient_nbr")
    return first.drop(columns=["diag_1", "diag_2", "diag_3"])


PARTS = (0.1, 0.25)
TABLES = (
    Table(
        "taiwan_default",
        ("SEX", "EDUCATION", "MARRIAGE", "AGE", "LIMIT_BAL"),
        ("SEX", "EDUCATION", "MARRIAGE"),
    ),
    Table(
        "adult",
        ("race", "sex", "native_country", "marital_status", "relationship", "age"),
    ),
    Table(
        "diabetes130",
        None,
        ("admission_type_id", "discharge_disposition_id", "admission_source_id"),
        clean=_first_stays,
    ),
    Table("support2", None),
)
"""All rows: a profile of a few hundred persons at epsilon .2 is refused."""


def mapping(tables: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a configuration with everything but the budget at its default."""
    return {
        "version": 1,
        "run": {"name": "declarations", "seed": seed},
        **tables,
        "budget": {"epsilon": EPSILON, "delta": DELTA, "neighbours": "replace-one"},
    }


def opened(config: dict[str, Any]) -> str:
    """Return the configuration as TOML, with all ranges and lists open."""
    columns = {
        name: {key: "?" if key in ("range", "values") else v for key, v in each.items()}
        for name, each in config["data"]["columns"].items()
    }
    return _toml({**config, "data": {**config["data"], "columns": columns}})


def _toml(config: dict[str, Any]) -> str:
    lines = [f"version = {config['version']}"]
    for name in ("run", "data", "law", "budget"):
        plain = {key: v for key, v in config[name].items() if key != "columns"}
        lines += [f"[{name}]", *(f"{key} = {_value(v)}" for key, v in plain.items())]
        if "columns" in config[name]:
            lines.append(f"[{name}.columns]")
            for column, each in config[name]["columns"].items():
                lines.append(f"{json.dumps(column)} = {_value(each)}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def auc(config: dict[str, Any], folder: Path) -> float:
    """Train through the product and return the test AUC."""
    parsed = from_mapping(config)
    priced = price(parsed, seeded_population(parsed, folder), base=folder)
    return evaluate(priced, rehearse(priced))["auc"]


def profiled(
    config: dict[str, Any], folder: Path, part: float
) -> tuple[dict[str, Any], list[str]]:
    """Buy a profile; return the configuration with what it found, and what it missed.

    Args:
        config: with declarations by hand.
        folder: of the data.
        part: of the budget that the profile costs.

    Raises:
        ConfigError: if the budget is too small for a profile of this table.
    """
    path, bought = folder / "open.toml", folder / "profile"
    shutil.rmtree(bought, ignore_errors=True)
    text = opened(config)
    path.write_text(text)
    found = buy_profile(path, part * EPSILON, bought).profile
    columns = examine_open(text, str(path)).require().columns
    learned = learned_columns(found, columns)
    known = tomllib.loads(with_learned_domains(text, learned, bought.name, str(path)))
    missed = [name for name in columns if name not in learned]
    for name in missed:
        del known["data"]["columns"][name]
        del known["law"]["columns"][name]
    return known, missed


def measure(table: Table, folder: Path, part: float, seeds: int) -> dict[str, Any]:
    """Return both mean AUCs of a table, and their difference over seeds."""
    tables = write_table(table, folder)
    cell: dict[str, Any] = {"table": table.name, "epsilon_of_profile": part * EPSILON}
    hand, learned, missed = [], [], []
    for seed in range(seeds):
        config = mapping(tables, seed)
        try:
            known, left = profiled(config, folder, part)
        except ConfigError as error:
            return {**cell, "refused": [str(each) for each in error.problems]}
        hand.append(auc(config, folder))
        learned.append(auc(known, folder))
        missed.append(left)
    gain = np.array(learned) - np.array(hand)
    return {
        **cell,
        "hand": round(float(np.mean(hand)), 4),
        "profiled": round(float(np.mean(learned)), 4),
        "difference": round(float(gain.mean()), 4),
        "standard_error": round(float(gain.std(ddof=1) / np.sqrt(seeds)), 4),
        "not_found": sorted(set(itertools.chain.from_iterable(missed))),
        "columns": len(tables["data"]["columns"]) - 1,
    }
