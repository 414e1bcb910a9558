# SPDX-License-Identifier: Apache-2.0
"""The rows of a configuration as one CSV file, which the evaluation reads like others.

Files of several sites, Parquet files and built-in sources become one table with the
declared columns, and nothing else. The copy holds private rows: the caller who gave the
folder for it removes it at the end.
"""

import csv
import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lexfed import canonical
from lexfed.config import Config
from lexfed.data.builtin.registry import load_builtin
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import plain_frame, raw_frames
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.schema import Column, Schema
from lexfed.errors import RunFolderError, system_reason
from lexfed.evaluate.datasets import Dataset
from lexfed.run.intake.population import data_sources
from lexfed.run.pricing.priced_run import PricedRun

FILE = "table.csv"
_GROUPS = {
    "sex": frozenset({"sex", "gender"}),
    "age": frozenset({"age"}),
    "ethnicity": frozenset({"ethnicity", "ethnic", "race"}),
}
"""Attributes of fairness -> words that name their column."""

BANDS = (40.0, 65.0)
"""Ages at which a group ends, where age is a number."""


def own_table(priced: PricedRun, base: Path, into: Path) -> Dataset:
    """Write the rows of a configuration into an empty folder; return public facts.

    Guarantees:
        The file can be read by its owner only, and takes the place of no other.
        Other rows, declarations or tiers have another digest.

    Raises:
        DataError: with every problem of the files.
        RunFolderError: if the copy cannot be written, or something has its name.
    """
    config, tagged = priced.config, priced.population.tagged
    schema, tiers = tagged.schema, tagged.tiers()
    frames = _frames(config, schema, base)
    added = _added(config, schema, frames, priced.population.names)
    try:
        _write(into / FILE, frames, _wanted(schema), added)
    except OSError as error:
        what = system_reason(error)
        raise RunFolderError(f"cannot write `{into / FILE}`: {what}") from error
    tables = {
        "data": _data_table(priced, base, next(iter(added), None)),
        "law": {
            "columns": {
                name: {"tier": tiers[name].label, "reason": tagged.tags[name].reason}
                for name in schema.names
            }
        },
    }
    with (into / FILE).open("rb") as file:
        rows = hashlib.file_digest(file, "sha256").hexdigest()
    return Dataset(
        name=config.run.name,
        folder=into,
        tables=tables,
        target=schema.target,
        groups=_groups(schema, added),
        digest=canonical.digest({"rows": rows, "tables": tables}),
    )


def _frames(config: Config, schema: Schema, base: Path) -> list[Frame]:
    data = config.data
    if data.built_in:
        chosen = data.generator.model_dump(exclude_none=True)
        return [load_builtin(data.source or "", **chosen).frame]
    problems, wanted = Problems(), _wanted(schema)
    frames = raw_frames(data_sources(config, base), schema, wanted, problems)
    problems.raise_if_any()
    plain = [plain_frame(frame, schema, wanted, problems) for frame in frames]
    problems.raise_if_any()
    return plain


def _wanted(schema: Schema) -> list[str]:
    """Return the columns that are read: keys, features and the target."""
    keys = [key for key in (schema.person, schema.site) if key is not None]
    return [*keys, *(each.name for each in schema.features()), schema.target]


AddedColumns = dict[str, list[list[str]]]
"""Columns that the source does not have: texts by frame."""


def _added(
    config: Config, schema: Schema, frames: Sequence[Frame], sites: Sequence[str]
) -> AddedColumns:
    """Return the site of rows that come in files, and the band of an age."""
    found: AddedColumns = {}
    if config.data.sites is not None and config.data.sites.files is not None:
        name = _free("site", schema)
        sources = dict.fromkeys(frame.source for frame in frames)
        site_of = dict(zip(sources, sites, strict=True))
        found[name] = [[site_of[frame.source]] * len(frame) for frame in frames]
    age = _column_of("age", schema)
    if age is not None and age.kind == "number":
        bands = [[_band(text) for text in _texts(f.columns[age.name])] for f in frames]
        found[_free("age_band", schema)] = bands
    return found


def _free(name: str, schema: Schema) -> str:
    while name in (*schema.names, *schema.keys):
        name += "_"
    return name


def _band(text: str) -> str:
    try:
        age = float(text)
    except ValueError:
        return ""
    low, high = BANDS
    if age < low:
        return f"below {low:g}"
    return f"{low:g} to {high:g}" if age < high else f"from {high:g}"


def _write(
    path: Path, frames: Sequence[Frame], wanted: Sequence[str], added: AddedColumns
) -> None:
    # A new file, so that neither the content nor the mode of another is touched.
    private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(private, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*wanted, *added])
        for place, frame in enumerate(frames):
            columns = [_texts(frame.columns[name]) for name in wanted]
            columns += [texts[place] for texts in added.values()]
            writer.writerows(zip(*columns, strict=True))


def _texts(raw: RawColumn) -> list[str]:
    gone = raw.missing.tolist()
    values = zip(raw.values.tolist(), gone, strict=True)
    return ["" if missing else _text(value) for value, missing in values]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))  # a whole number with gaps around it: 3.0 is "3"
    return str(value)


def _data_table(priced: PricedRun, base: Path, site: str | None) -> dict[str, Any]:
    config, population = priced.config, priced.population
    data, schema = config.data, population.tagged.schema
    found: dict[str, Any] = {
        "source": FILE,
        "target": schema.target,
        "records_per_person": population.records_per_person,
        "sites_per_person": data.sites_per_person,
        "test_size": data.test_size,
        "strict": data.strict,
        "columns": {each.name: _declared(each) for each in schema.columns},
    }
    if schema.person is not None:
        found |= {"person": schema.person, "excess_records": data.excess_records}
    persons = sum(len(site.train) + len(site.test) for site in population.sites)
    if units := data.units or (persons if data.built_in else None):
        found["units"] = units
    if data.profile is not None:
        found["profile"] = str((base / data.profile).resolve())
    return found | _sites(config, schema, site, priced.population.names)


def _sites(
    config: Config, schema: Schema, added: str | None, names: Sequence[str]
) -> dict[str, Any]:
    sites = config.data.sites
    if sites is not None and sites.files is not None:
        return {"sites": {"column": added, "names": list(names)}}
    if sites is not None and sites.count is not None:
        return {"sites": sites.model_dump(mode="json", exclude_none=True)}
    if schema.site is not None:
        return {"sites": {"column": schema.site, "names": list(names)}}
    return {}


def _declared(column: Column) -> dict[str, Any]:
    """Return a column as a configuration declares it; its tier covers its sources."""
    stated = asdict(column)
    kept = ("kind", "range", "values", "scale", "missing", "public_stats")
    return {
        name: list(stated[name]) if isinstance(stated[name], tuple) else stated[name]
        for name in kept
        if stated[name] is not None and (name, stated[name]) != ("scale", "auto")
    }


def _groups(schema: Schema, added: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the file that tell groups of people apart."""
    bands = [name for name in added if name.startswith("age_band")]
    groups: dict[str, str] = {}
    for attribute in _GROUPS:
        column = _column_of(attribute, schema)
        if column is not None and column.kind in ("category", "flag"):
            groups[attribute] = column.name
        elif column is not None and attribute == "age" and bands:
            groups[attribute] = bands[0]
    return groups


def _column_of(attribute: str, schema: Schema) -> Column | None:
    for column in schema.features():
        if set(re.split(r"[^a-z]+", column.name.lower())) & _GROUPS[attribute]:
            return column
    return None
