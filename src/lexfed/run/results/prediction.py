# SPDX-License-Identifier: Apache-2.0
"""Scores for new rows, from the towers up to a tier.

With `tiers = "personal"` the columns of more sensitive tiers are not even read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding, decode_target, encode
from lexfed.data.reading.checked_tables import read_inputs
from lexfed.data.reading.memory_tables import TableSource
from lexfed.errors import DataError, RunFolderError
from lexfed.models.losses import Loss
from lexfed.models.towers import Tower
from lexfed.run.earlier_runs import released_model
from lexfed.run.intake.public_facts import LOSSES
from lexfed.tiers import Tier


@dataclass(frozen=True)
class Predictions:
    """A line of values, [rows, columns], for each row of the table."""

    columns: tuple[str, ...]
    values: Floats


def predict(folder: Path, table: TableSource, upto: Tier) -> Predictions:
    """Score the rows of a table, which has the columns up to a tier."""
    model, full = released_model(folder, "finish it with `lexfed run --resume`")
    towers = [tower for tower in model.towers if tower.shape.tier <= upto]
    if len(towers) == 0:
        lowest = model.towers[0].shape.tier.label
        raise RunFolderError(
            f"the model has no tower that reads only tiers up to `{upto.label}`",
            f"use `--tiers {lowest}`",
        )
    encoding = full.upto(towers[-1].shape.tier)
    try:
        read = encode(encoding, read_inputs([table], encoding))
    except DataError as error:
        raise _with_way_out(error, encoding, towers) from error
    # A slot that is not read stays NaN: if a tower looked at it, nobody could miss it.
    slots = np.full((len(read), full.width), np.nan)
    place = {slot.name: index for index, slot in enumerate(full.slots)}
    slots[:, [place[slot.name] for slot in encoding.slots]] = read
    loss = Loss(LOSSES[full.schema.task])
    logits = model.logits(torch.from_numpy(slots), len(towers))
    values = loss.predict(logits).numpy()
    if full.schema.task == "regression":
        return Predictions((full.schema.target,), decode_target(full.schema, values))
    if full.schema.task == "binary":
        return Predictions((f"p_{full.schema.classes[1]}",), values)
    return Predictions(tuple(f"p_{name}" for name in full.schema.classes), values)


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
