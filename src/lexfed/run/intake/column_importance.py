# SPDX-License-Identifier: Apache-2.0
"""Importances of columns for a run, from the source that its configuration names.

Everything here is known before a private row is read: stated numbers, a public table, a
released model, or a release that was paid for. So columns that group sparsity leaves
out are not read at all.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.budget import column_importance
from lexfed.budget.importance_intervals import ImportanceRanking, importance_ranking
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
    releases `paid` are on the same data and share the run's budget. The `ranking` has
    intervals of the columns alone, where the noise of their source is known.
    """

    values: dict[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    source: str = ""
    paid: tuple[CountedRelease, ...] = ()
    ranking: ImportanceRanking | None = None

    @property
    def ordered(self) -> list[tuple[str, float]]:
        """The importances, the largest first; in the table's order if undecided."""
        if self.ranking is not None and not self.ranking.is_decided:
            return list(self.values.items())
        return sorted(self.values.items(), key=lambda item: -item[1])


@dataclass(frozen=True)
class NoisyImportances:
    """Importances of columns as they were released, with mean 1, and their ranking."""

    values: dict[str, float]
    ranking: ImportanceRanking

    @classmethod
    def of(
        cls,
        encoding: Encoding,
        values: Floats,
        noise: Floats,
        columns: Collection[str] | None = None,
    ) -> "NoisyImportances":
        """Return the importances of noised entries, of all columns or of some."""
        wanted = encoding.columns if columns is None else columns
        found = column_importance.importance_by_column(encoding, values, noise)
        lengths = {name: found[name] for name in encoding.columns if name in wanted}
        relative = column_importance.relative_importance(lengths)
        ranking = importance_ranking(encoding, values, noise, wanted)
        largest = max(lengths, key=lambda name: lengths[name], default=None)
        if largest is not None and lengths[largest] > 0.0:
            unit = lengths[largest] / relative[largest]
        else:
            unit = max((one.high for one in ranking.intervals.values()), default=0.0)
        return cls(relative, ranking.over(unit or 1.0))


def importances_in(
    memory: Mapping[str, NDArray[Any]],
    towers: Sequence[Sequence[int]],
    encoding: Encoding,
) -> NoisyImportances:
    """Return the importances that a run has released, by the slots of its towers."""
    names = {f"{number}.importance": slots for number, slots in enumerate(towers)}
    outputs = {memory[name].shape[1] for name in names if name in memory}
    values = np.zeros((encoding.width, max(outputs, default=1)))
    noise = np.zeros(encoding.width)
    released: set[int] = set()
    for name, slots in names.items():
        if name in memory:
            values[list(slots)] = memory[name]
            noise[list(slots)] = memory[f"{name}.noise"]
            released |= set(slots)
    # Nothing is known about the columns of a tier whose round was lost.
    known = [
        column
        for column in encoding.columns
        if released.issuperset(encoding.slots_of_column(column))
    ]
    return NoisyImportances.of(encoding, values, noise, known)


def importance_of(config: Config, base: Path, encoding: Encoding) -> Importance:
    """Return the importances of all columns that could be used."""
    budget = config.budget
    source, stated = budget.importance_from or "", dict(budget.importance)
    _require_columns(config, encoding)
    paid: tuple[CountedRelease, ...] = ()
    ranking = None
    found = dict.fromkeys(encoding.columns, 1.0)
    if source.startswith(PUBLIC):
        rows = _public_rows(base / source.removeprefix(PUBLIC), encoding)
        step = column_importance.first_step(*rows)
        found = NoisyImportances.of(encoding, *step).values
    elif source.startswith(WEIGHTS):
        found = _from_weights(base / source.removeprefix(WEIGHTS), encoding)
        found = column_importance.decayed_importance(found, stated)
    elif source.startswith(PAID):
        folder = base / source.removeprefix(PAID)
        noisy, paid = _from_paid(config, folder, encoding)
        found, ranking = found | noisy.values, noisy.ranking
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
    return Importance(values, unused, source, paid, ranking)


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
) -> tuple[NoisyImportances, tuple[CountedRelease, ...]]:
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
    slots = [tower.shape.slots for tower in model.towers]
    return importances_in(memory, slots, encoding), releases


_MAKE = "make them with `lexfed importance lexfed.toml --epsilon E --out FOLDER`"
