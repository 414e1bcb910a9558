# SPDX-License-Identifier: Apache-2.0
"""`lexfed predict`: a score for every row of a table, by the model of a run."""

import csv
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def predict(
    folder: Annotated[Path, Argument(help="Folder of a finished run.", readable=False)],
    table: Annotated[Path, Argument(help="A CSV or Parquet file.", readable=False)],
    tiers: Annotated[
        str, Option(help="Most sensitive tier to read: later towers are left out.")
    ] = "special",
) -> None:
    """Score the rows of a table, one line each, as CSV on stdout."""
    from lexfed.cli.inputs import allow_own_models
    from lexfed.run import api

    allow_own_models(Path())
    found = api.predict(folder, table, tiers)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([[f"{value:.6g}" for value in row] for row in found.values])
