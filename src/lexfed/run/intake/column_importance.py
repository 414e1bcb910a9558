# SPDX-License-Identifier: Apache-2.0
"""Importances of columns for a run, from the source that its configuration names.

Everything here is known before a private row is read: stated numbers, a public table, a
released model, or a release that was paid for. So columns that group sparsity leaves
out are not read at all.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from lexfed.arrays import Floats
from lexfed.budget import column_importance
from lexfed.config.tables.root import Config
from lexfed.data.encoding import Encoding, encode, encode_target
from lexfed.data.reading.checked_tables import read_files
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.purchase_programmes import IMPORTANCE
from lexfed.models.rule.contributions import slot_scales
from lexfed.privacy.scopes import CountedRelease
from lexfed.run.earlier_runs import EarlierRun, earlier_releases, released_model
from lexfed.run.folder import STATE

PUBLIC, WEIGHTS, PAID = "public:", "weights:", "paid:"


@dataclass(frozen=True)
class Importance:
    """The importances of columns, 1 for those not named, and what they cost.

    Columns that are `left_out` belong to groups too unimportant to be read. The
    releases `paid` are on the same data and share the run's budget.
    """

    values: dict[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    source: str = ""
    paid: tuple[CountedRelease, ...] = ()


def importance_of(config: Config, base: Path, encoding: Encoding) -> Importance:
    """Return the importances of all columns that could be used."""
    budget = config.budget
    source, stated = budget.importance_from or "", dict(budget.importance)
    _require_columns(config, encoding)
    paid: tuple[CountedRelease, ...] = ()
    found = dict.fromkeys(encoding.columns, 1.0)
    if source.startswith(PUBLIC):
        rows = _public_rows(base / source.removeprefix(PUBLIC), encoding)
        lengths = column_importance.importance_by_column(
            encoding, *column_importance.first_step(*rows)
        )
        found = column_importance.relative_importance(lengths)
    elif source.startswith(WEIGHTS):
        found = _from_weights(base / source.removeprefix(WEIGHTS), encoding)
        found = column_importance.decayed_importance(found, stated)
    elif source.startswith(PAID):
        folder = base / source.removeprefix(PAID)
        found, paid = _from_paid(config, folder, encoding)
    elif not (budget.groups or budget.groups_from or budget.sparsity):
        return Importance(stated)
    if not source.startswith(WEIGHTS):
        found |= stated
    pairs = column_importance.stated_pairs(budget.groups)
    if budget.groups_from is not None:
        path = base / budget.groups_from.removeprefix(PUBLIC)
        inputs, _ = _public_rows(path, encoding)
        pairs += column_importance.correlated_pairs(
            encoding, inputs, budget.correlation
        )
    groups = column_importance.joined_groups(encoding.columns, pairs)
    values = column_importance.group_importances(found, groups)
    unused = column_importance.omitted_columns(values, budget.sparsity)
    return Importance(values, unused, source, paid)


def _require_columns(config: Config, encoding: Encoding) -> None:
    named = [
        (f"budget.groups.{group}", name)
        for group, names in config.budget.groups.items()
        for name in names
    ]
    named += [("budget.importance", name) for name in config.budget.importance]
    problems = [
        Problem(f"`{where}`", f"`{name}` is not a column that a model may read")
        for where, name in named
        if name not in encoding.columns
    ]
    if problems:
        raise ConfigError(problems)


def _public_rows(path: Path, encoding: Encoding) -> tuple[Floats, Floats]:
    """Return slots and goals of a public table with the same columns."""
    schema = replace(encoding.schema, person=None, site=None)
    table = read_files([path], schema, columns=encoding.columns)
    targets = encode_target(table)
    if schema.task == "multiclass":
        return encode(encoding, table), np.eye(len(schema.classes))[targets.astype(int)]
    return encode(encoding, table), targets[:, None]


def _from_weights(folder: Path, encoding: Encoding) -> dict[str, float]:
    """Return importances by the weights of a model; 1 for columns it did not know."""
    model, known = released_model(folder, "name the folder of a finished run")
    lengths = np.zeros((known.width, 1))
    for tower in model.towers:
        weights = tower.slot_weights()
        if weights is None:
            what = "holds a model whose weights do not belong to single columns"
            raise ConfigError([Problem(f"`{folder}`", what)])
        own = np.linalg.norm(weights, axis=1) * slot_scales(tower.shape)
        lengths[list(tower.shape.slots), 0] = own
    found = column_importance.importance_by_column(
        known, lengths, np.zeros(known.width)
    )
    scaled = column_importance.relative_importance(found)
    return {name: scaled.get(name, 1.0) for name in encoding.columns}


def _from_paid(
    config: Config, folder: Path, encoding: Encoding
) -> tuple[dict[str, float], tuple[CountedRelease, ...]]:
    from lexfed.models import towers

    earlier = EarlierRun(folder, "`budget.importance_from`", _MAKE)
    releases = earlier_releases(earlier, config, encoding.schema, encoding.tiers)
    known = Encoding.from_dict(json.loads(earlier.content("encoding.json")))
    if known.slots != encoding.slots:
        what = "holds importances of other columns, or of other declarations"
        raise ConfigError([Problem(f"`{folder}`", what, _MAKE)])
    if not any(release.name.startswith(IMPORTANCE) for release, _ in releases):
        raise ConfigError([Problem(f"`{folder}`", "holds no importances", _MAKE)])
    # If every round was lost there is no state, and the model has no memory.
    name = STATE if (folder / STATE).exists() else "model.safetensors"
    model, _, memory = towers.from_bytes(earlier.content(name))
    values = np.zeros((encoding.width, len(model.intercept)))
    noise = np.zeros(encoding.width)
    released: set[int] = set()
    for number, tower in enumerate(model.towers):
        if f"{number}.importance" in memory:
            places = list(tower.shape.slots)
            values[places] = memory[f"{number}.importance"]
            noise[places] = memory[f"{number}.importance.noise"]
            released |= set(places)
    lengths = column_importance.importance_by_column(encoding, values, noise)
    known_lengths = {
        column: length
        for column, length in lengths.items()
        if released.issuperset(encoding.slots_of_column(column))
    }
    # Nothing is known about the columns of a tier whose round was lost.
    unknown = dict.fromkeys(encoding.columns, 1.0)
    return unknown | column_importance.relative_importance(known_lengths), releases


_MAKE = "make them with `lexfed importance lexfed.toml --epsilon E --out FOLDER`"
