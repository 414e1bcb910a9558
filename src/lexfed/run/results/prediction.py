# SPDX-License-Identifier: Apache-2.0
"""Scores for new rows, from the towers up to a tier.

With `tiers = "personal"` the columns of more sensitive tiers are not even read.
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
from lexfed.models.losses import Loss
from lexfed.models.towers import Model, Tower
from lexfed.run.earlier_runs import released_model
from lexfed.run.intake.public_facts import LOSSES
from lexfed.tiers import Tier


@dataclass(frozen=True)
class Predictions:
    """A line of values, [rows, columns], for each row of the table.

    `bent` counts inputs that do not fit the model's declarations: scores of their rows
    are those of other inputs.
    """

    columns: tuple[str, ...]
    values: Floats
    bent: BentValues = field(default_factory=BentValues)

    def to_json(self) -> dict[str, Any]:
        """Return them under fixed names."""
        return {
            "columns": list(self.columns),
            "values": np.reshape(self.values, (-1, len(self.columns))).tolist(),
            "clamped": dict(self.bent.clamped),
            "undeclared": dict(self.bent.undeclared),
        }


def predict(folder: Path, table: TableSource, upto: Tier) -> Predictions:
    """Score the rows of a table, which has the columns up to a tier."""
    model, full = released_model(folder, "finish it with `lexfed run --resume`")
    return scores(model, full, table, upto)


def scores(model: Model, full: Encoding, table: TableSource, upto: Tier) -> Predictions:
    """Score the rows of a table by a model and the encoding of its inputs."""
    towers = [tower for tower in model.towers if tower.shape.tier <= upto]
    if len(towers) == 0:
        lowest = model.towers[0].shape.tier.label
        raise RunFolderError(
            f"the model has no tower that reads only tiers up to `{upto.label}`",
            f"use `--tiers {lowest}`",
        )
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
    logits = model.logits(torch.from_numpy(slots), len(towers))
    values = loss.predict(logits).numpy()
    names = tuple(f"p_{name}" for name in full.schema.classes)
    if full.schema.task == "regression":
        names, values = (full.schema.target,), decode_target(full.schema, values)
    elif full.schema.task == "binary":
        names = names[1:]
    return Predictions(names, values, rows.bent)


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
