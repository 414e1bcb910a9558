# SPDX-License-Identifier: Apache-2.0
"""Prints what the tagger's answers are worth; run it by `scripts/evaluate-tagger`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lexfed.errors import LexfedError
from lexfed.law.tagger.accuracy import (
    JudgedColumn,
    TaggerAccuracy,
    judge_file,
    judge_packs,
    measure_accuracy,
    non_english_columns,
)
from lexfed.law.tagger.metadata.schema_packs import all_packs
from lexfed.law.tagger.settings import TaggerSettings


def main() -> int:
    """Measure a file of labelled columns, or the packs one without another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="labelled columns, CSV")
    parser.add_argument("--packs", action="store_true", help="leave-one-out of packs")
    parser.add_argument("--folds", type=int, default=10, help="packs left out at once")
    parser.add_argument(
        "--without", default="", help="packs to leave out, part of name"
    )
    parser.add_argument("--alpha", type=float, default=TaggerSettings().alpha)
    parser.add_argument("--by-source", action="store_true", help="one line a source")
    parser.add_argument("--errors", action="store_true", help="list wrong answers")
    given = parser.parse_args()
    if not given.packs and given.file is None:
        parser.error("give a file of labelled columns or --packs")
    parts = [part for part in given.without.split(",") if part]
    without = frozenset(
        pack.name for pack in all_packs() if any(part in pack.name for part in parts)
    )
    settings = TaggerSettings(alpha=given.alpha, without=without)
    try:
        if given.packs:
            judged = list(judge_packs(settings, given.folds))
        else:
            judged = judge_file(given.file, settings)
    except LexfedError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    _print(judged, given.by_source)
    if given.errors:
        _print_errors(judged)
    return 0


def _print(judged: Sequence[JudgedColumn], by_source: bool) -> None:
    _line("all", measure_accuracy(judged))
    if others := non_english_columns(judged):
        _line("not English", measure_accuracy(others))
    _line(
        "described",
        measure_accuracy([j for j in judged if j.suggestion.column.description]),
    )
    total = measure_accuracy(judged)
    for tier, (precision, recall, f1) in total.by_tier.items():
        print(
            f"  {tier:13} precision {precision:.2f}  recall {recall:.2f}  F1 {f1:.2f}"
        )
    worst = sorted(total.missed.items(), key=lambda item: -item[1][0])[:10]
    print("  most missed: " + ", ".join(f"{c} {n}/{of}" for c, (n, of) in worst))
    if by_source:
        # Few sources have all tiers: the share of right ones tells more than macro-F1.
        for source in dict.fromkeys(one.source for one in judged):
            _line(
                source,
                measure_accuracy([one for one in judged if one.source == source]),
            )


def _line(title: str, found: TaggerAccuracy) -> None:
    print(
        f"{title[:30]:30} {found.columns:6} columns  right tier {found.right:.3f}  "
        f"macro-F1 {found.macro_f1:.3f}  "
        f"special or identifier caught {found.caught:.3f}  "
        f"review {100 * found.reviewed:.1f} %"
    )


def _print_errors(judged: Sequence[JudgedColumn]) -> None:
    for one in judged:
        if not one.right:
            column, answer = one.suggestion.column, one.suggestion
            reasons = "; ".join(item.text for item in answer.evidence[:3])
            print(
                f"{one.source} {column.table}.{column.name}: is {one.category}, "
                f"called {answer.category}{' (review)' if answer.review else ''}: "
                f"{reasons}"
            )


if __name__ == "__main__":
    sys.exit(main())
