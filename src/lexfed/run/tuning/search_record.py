# SPDX-License-Identifier: Apache-2.0
"""`tune.json`: the grid of a search, its cost, and its result.

    {"kind": "charged", "state": "charged", "cost": {...}, "chosen": null, ...}
    {"kind": "charged", "state": "done",    "cost": {...}, "chosen": {...}, ...}

A charged search is on disk with its whole cost before its first run; if it dies, the
cost stands and nothing was released. Nothing in the file depends on runs that lost, or
on their number. The releases of one run under each setting are there, so anyone can
compute the cost again.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lexfed.config.search_grid import SearchGrid
from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError, system_reason
from lexfed.run.tuning.charged_search import ChargedSearch, ReleasedSetting
from lexfed.run.tuning.public_search import REPEATS, PublicTrial

TUNE = "tune.json"
VERSION = 1
FREE = "free: public data"
NOT_COVERED = (
    "how long the search took, which tells something about the number of its runs",
    "runs that follow it: each has a budget of its own",
)


def make_folder(folder: Path) -> None:
    """Make the folder of a search; one that exists is never written to.

    Raises:
        RunFolderError: if it exists, or cannot be made.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise RunFolderError(
            f"`{folder}` exists: a search began there, and what it cost is spent",
            "another search costs again; give it a folder of its own with `--out`",
        ) from error
    except OSError as error:
        raise RunFolderError(
            f"cannot create `{folder}`: {system_reason(error)}",
            "choose another folder with `--out`",
        ) from error


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Put the record of a search on disk."""
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    write_atomically(folder / TUNE, text.encode())


def public_record(grid: SearchGrid, tried: Sequence[PublicTrial]) -> dict[str, Any]:
    """Return the record of a search on public data."""
    return {
        "version": VERSION,
        "kind": "public",
        "state": "done",
        "cost": FREE,
        "grid": grid.to_json(),
        "trainings_per_setting": REPEATS,
        "tried": [_tried(one) for one in tried],
        "chosen": _tried(tried[0]),
    }


def _tried(one: PublicTrial | ReleasedSetting) -> dict[str, Any]:
    return {
        "setting": one.setting.to_json(),
        "metric": one.metric,
        "score": None if math.isnan(one.score) else round(one.score, 6),
    }


def charged_record(
    grid: SearchGrid, search: ChargedSearch, ledger: str | None
) -> dict[str, Any]:
    """Return the record of a charged search before its first run.

    `ledger` is the name under which the sites' lasting ledgers paid; None without any.
    """
    cost = search.cost
    law = search.repetitions
    return {
        "version": VERSION,
        "kind": "charged",
        "state": "charged",
        "cost": {
            "record": {
                "epsilon": cost.epsilon,
                "delta": cost.delta,
                "neighbours": cost.neighbours,
            },
            "label": {"epsilon": cost.label, "delta": cost.delta},
            "tiers": {
                tier.label: {"epsilon": value, "delta": cost.delta}
                for tier, value in cost.tiers.items()
            },
            "accountant": "rdp",
            "theorem": "repeat and select, arXiv:2110.03620",
        },
        "ledger": ledger,
        "repetitions": {"distribution": law.distribution, "mean": law.mean},
        "grid": grid.to_json(),
        "part_of_one_run": search.part,
        "sites_per_person": search.runs[0].budget.sites_per_person,
        "runs": [
            {
                "setting": setting.to_json(),
                "releases": [
                    {"release": release.to_json(), "count": count}
                    for release, count in run.programme.charges()
                ],
            }
            for setting, run in zip(search.settings, search.runs, strict=True)
        ],
        "not_covered": list(NOT_COVERED),
        "chosen": None,
    }


def finished_record(
    record: dict[str, Any], chosen: ReleasedSetting | None
) -> dict[str, Any]:
    """Return the record with the setting found; None if the secret number was 0."""
    found = None
    if chosen is not None:
        found = {**_tried(chosen), "noised": True}
    return {**record, "state": "done", "chosen": found}
