# SPDX-License-Identifier: Apache-2.0
"""Scores for new rows, from the towers up to a tier.

With `tiers = "personal"` the columns of more sensitive tiers are not even read. Where
the model is a sum over columns, each score can be taken apart into what they add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding, decode_target, encode
from lexfed.data.reading.checked_tables import read_inputs
from lexfed.data.reading.table_sources import TableSource
from lexfed.data.table import BentValues
from lexfed.errors import DataError, RunFolderError
from lexfed.models.column_parts import ColumnParts, adds_up, column_parts
from lexfed.models.losses import Loss
from lexfed.models.towers import Model, Tower
from lexfed.run.earlier_runs import released_model
from lexfed.run.intake.public_facts import LOSSES
from lexfed.tiers import Tier


@dataclass(frozen=True)
class Predictions:
    """A line of values, [rows, columns], for each row of the table.

    `bent` counts inputs that do not fit the model's declarations: scores of their rows
    are those of other inputs. `explained` has the terms of every row's logits, if they
    were asked for, for the `outputs` of the model: classes, or the target.
    """

    columns: tuple[str, ...]
    values: Floats
    bent: BentValues = field(default_factory=BentValues)
    explained: ColumnParts | None = None
    outputs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return them under fixed names."""
        plain = {
            "columns": list(self.columns),
            "values": np.reshape(self.values, (-1, len(self.columns))).tolist(),
            "clamped": dict(self.bent.clamped),
            "undeclared": dict(self.bent.undeclared),
        }
        if self.explained is None:
            return plain
        explained = {
            "outputs": list(self.outputs),
            "intercept": self.explained.intercept.tolist(),
            "columns": list(self.explained.columns),
            "contributions": self.explained.terms.tolist(),
        }
        return {**plain, "explain": explained}

    def explained_columns(self) -> tuple[tuple[str, ...], Floats]:
        """Return names and values, [rows, names], of the terms as columns of a table.

        The intercept comes first. With three classes or more a column has one for each
        class, with the class at the end of its name.
        """
        found = self.explained
        if found is None:
            return (), np.zeros((len(self.values), 0))
        names = ("intercept", *found.columns)
        if "intercept" in found.columns:
            names = (":intercept", *found.columns)
        classes = (
            [f":{name}" for name in self.outputs] if len(self.outputs) > 1 else [""]
        )
        rows = len(found.terms)
        first = np.broadcast_to(found.intercept, (rows, 1, len(found.intercept)))
        values = np.concatenate([first, found.terms], axis=1).reshape(rows, -1)
        return tuple(f"explain:{n}{c}" for n in names for c in classes), values


def predict(
    folder: Path, table: TableSource, upto: Tier, explain: bool = False
) -> Predictions:
    """Score the rows of a table, which has the columns up to a tier."""
    model, full = released_model(folder, "finish it with `lexfed run --resume`")
    return scores(model, full, table, upto, explain)


def scores(
    model: Model,
    full: Encoding,
    table: TableSource,
    upto: Tier,
    explain: bool = False,
) -> Predictions:
    """Score the rows of a table by a model and the encoding of its inputs.

    Guarantees:
        The terms that `explain` adds to a row's scores add up to its logits. A model
        that is not a sum over columns is refused.
    """
    towers = [tower for tower in model.towers if tower.shape.tier <= upto]
    if len(towers) == 0:
        lowest = model.towers[0].shape.tier.label
        raise RunFolderError(
            f"the model has no tower that reads only tiers up to `{upto.label}`",
            f"use `--tiers {lowest}`",
        )
    if explain:
        _require_sums(towers)
    encoding = full.upto(towers[-1].shape.tier)
    try:
        rows = read_inputs([table], encoding)
        read = encode(encoding, rows)
    except DataError as error:
        raise _with_way_out(error, encoding, towers) from error
    # A slot that is not read stays NaN: if a tower looked at it, nobody could miss it.
    slots = np.full((len(read), full.width), np.nan)
    place = {slot.name: index for index, slot in enumerate(full.slots)}
    slots[:, [place[slot.name] for slot in encoding.slots]] = read
    loss = Loss(LOSSES[full.schema.task])
    inputs = torch.from_numpy(slots)
    logits = model.logits(inputs, len(towers))
    values = loss.predict(logits).numpy()
    names = tuple(f"p_{name}" for name in full.schema.classes)
    outputs = full.schema.classes
    if full.schema.task == "regression":
        names, values = (full.schema.target,), decode_target(full.schema, values)
        outputs = names
    elif full.schema.task == "binary":
        names, outputs = names[1:], outputs[1:]
    if not explain:
        return Predictions(names, values, rows.bent)
    owners = [slot.column for slot in full.slots]
    parts = column_parts(model, inputs, owners, len(towers))
    return Predictions(names, values, rows.bent, parts, outputs)


def _require_sums(towers: Sequence[Tower]) -> None:
    """Refuse to explain scores that are no sum over columns."""
    for place, tower in enumerate(towers):
        if adds_up(tower):
            continue
        label, name = tower.shape.tier.label, tower.shape.architecture
        hint = (
            'train a model that is a sum, `federation.model = "additive"` or '
            '`"logistic"`'
        )
        if place:
            below = towers[place - 1].shape.tier.label
            hint = f"`--tiers {below}` leaves it out; or {hint}"
        raise RunFolderError(
            f"the tower of {label} columns is a network (`{name}`), whose scores are "
            "no sum of what single columns add",
            hint,
        )


def _with_way_out(
    error: DataError, encoding: Encoding, towers: Sequence[Tower]
) -> DataError:
    """Return the error with the `--tiers` that do without a missing column."""
    tiers = {slot.column: slot.tier for slot in encoding.slots}
    problems = []
    for problem in error.problems:
        column = getattr(problem, "column", "")
        below = [
            tower.shape.tier.label
            for tower in towers
            if column in tiers and tower.shape.tier < tiers[column]
        ]
        if below and getattr(problem, "kind", "") == "column-missing":
            hint = f"`--tiers {below[-1]}` leaves it out"
            problem = replace(problem, hint=hint)
        problems.append(problem)
    return DataError(problems)
