# SPDX-License-Identifier: Apache-2.0
"""AUC after 1, 2, 4, 8, ... rounds: how fast each method learns, as curves.

Runs have from a handful to hundreds of rounds, and journals keep some of them. A point
is the last one that is known at or before its number of rounds; a run that was over
earlier stays where it ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lexfed.evaluate.harness.summary import OVERLAP, Result, TableLine, estimate

ROUND, AUC = "round", "auc"
_PLACES = tuple(2**power for power in range(9))


def learning_lines(results: Sequence[Result], across: Sequence[str]) -> list[TableLine]:
    """Return a line for each method and number of rounds, averaged over seeds.

    Args:
        results: of a table; those without a path of AUCs are left out.
        across: facts that make a line of the table.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for result in results:
        values = result["values"]
        if values.get("path") and values.get(AUC) is not None:
            place = tuple(result["job"].get(fact) for fact in across)
            groups.setdefault(place, []).append(values)
    return [
        line
        for place, runs in groups.items()
        for line in _lines(dict(zip(across, place, strict=True)), runs)
    ]


def _lines(
    facts: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> Iterator[TableLine]:
    longest = max(run["path"][-1][0] for run in runs)
    first = max(run["path"][0][0] for run in runs)
    for number in _PLACES:
        if number < first:
            continue
        shared = max(run.get(OVERLAP) or 0.0 for run in runs)
        found = estimate((_known(run["path"], number) for run in runs), shared)
        if found is not None:
            yield TableLine({**facts, ROUND: number}, {AUC: found}, {}, len(runs), ())
        if number >= longest:
            return


def _known(path: Sequence[Sequence[Any]], number: int) -> float:
    """Return the last value at or before a round that the path has reached."""
    return float([point[1] for point in path if point[0] <= number][-1])
