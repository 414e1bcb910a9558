# SPDX-License-Identifier: Apache-2.0
"""How well the tagger does on labelled columns, always on schemas it has not seen.

Run it by `scripts/evaluate-tagger`. A file of labelled columns has the fields `source`,
`table`, `column`, `description`, `dtype`, `label_tier`, `label_category` and `lang`;
each source is tagged on its own. The packs are labelled columns too: each is tagged
without itself, which is the honest estimate for standards that no pack knows.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from lexfed.errors import DataError, LexfedError, Problem
from lexfed.law.tagger.metadata.packs import all_packs
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    TIER_OF,
    TIERS,
    DescribedColumn,
    Suggestion,
    TaggerSettings,
)

_FIELDS = ("source", "table", "column", "label_tier", "label_category")
SENSITIVE = frozenset({"special", "identifier"})


class JudgedColumn(NamedTuple):
    """A suggestion beside the label that people gave."""

    suggestion: Suggestion
    category: str
    source: str
    language: str

    @property
    def tier(self) -> str:
        """The tier that people gave."""
        return TIER_OF[self.category]

    @property
    def right(self) -> bool:
        """Whether the suggested tier is that of the label."""
        return self.suggestion.tier == self.tier


@dataclass(frozen=True)
class TaggerAccuracy:
    """What the tagger's answers are worth.

    Attributes:
        columns: how many were judged.
        right: share of all columns that got the right tier.
        macro_f1: the mean F1 over the four tiers.
        by_tier: precision, recall and F1 of each tier.
        caught: share of special or identifying columns that were called so or sent to
            review; 1 if there are none.
        reviewed: share of all columns sent to review.
        missed: for each category, how many of its columns got a wrong tier, of how
            many.
    """

    columns: int
    right: float
    macro_f1: float
    by_tier: dict[str, tuple[float, float, float]]
    caught: float
    reviewed: float
    missed: dict[str, tuple[int, int]]


def measure_accuracy(judged: Sequence[JudgedColumn]) -> TaggerAccuracy:
    """Return what answers are worth."""
    by_tier = {tier: _one_tier(judged, tier) for tier in TIERS}
    sensitive = [one for one in judged if one.tier in SENSITIVE]
    caught = sum(
        one.suggestion.review or one.suggestion.tier in SENSITIVE for one in sensitive
    )
    total = Counter(one.category for one in judged)
    wrong = Counter(one.category for one in judged if not one.right)
    return TaggerAccuracy(
        columns=len(judged),
        right=sum(one.right for one in judged) / max(1, len(judged)),
        macro_f1=sum(f1 for _, _, f1 in by_tier.values()) / len(TIERS),
        by_tier=by_tier,
        caught=caught / len(sensitive) if sensitive else 1.0,
        reviewed=sum(one.suggestion.review for one in judged) / max(1, len(judged)),
        missed={c: (wrong[c], total[c]) for c in CATEGORIES if total[c]},
    )


def judge_file(path: Path, settings: TaggerSettings) -> list[JudgedColumn]:
    """Return the judged columns of a file, each source tagged on its own.

    Raises:
        DataError: if the file cannot be read as labelled columns.
    """
    sources: dict[str, list[dict[str, str]]] = {}
    for row in _rows(path):
        sources.setdefault(row["source"], []).append(row)
    judged: list[JudgedColumn] = []
    for source, rows in sources.items():
        columns = [
            DescribedColumn(
                row["table"],
                row["column"],
                row.get("description") or "",
                row.get("dtype") or "",
            )
            for row in rows
        ]
        judged += [
            JudgedColumn(answer, row["label_category"], source, row.get("lang") or "en")
            for row, answer in zip(rows, tag_columns(columns, settings), strict=True)
        ]
    return judged


def judge_packs(settings: TaggerSettings, folds: int) -> Iterator[JudgedColumn]:
    """Yield the judged columns of all packs, each tagged without its own fold.

    The network is left out: it has learned from the packs.
    """
    packs = all_packs()
    for fold in range(min(folds, len(packs))):
        left_out = packs[fold::folds]
        names = frozenset(pack.name for pack in left_out)
        blind = replace(settings, alpha=1.0, without=names)
        for pack in left_out:
            rows = list({(row.table, row.column): row for row in pack.rows}.values())
            columns = [
                DescribedColumn(r.table, r.column, r.description, r.dtype) for r in rows
            ]
            for row, answer in zip(rows, tag_columns(columns, blind), strict=True):
                yield JudgedColumn(answer, row.category, pack.name, pack.language)


def non_english_columns(judged: Iterable[JudgedColumn]) -> list[JudgedColumn]:
    """Return the judged columns whose names are not English."""
    return [one for one in judged if one.language != "en"]


def _one_tier(judged: Sequence[JudgedColumn], tier: str) -> tuple[float, float, float]:
    said = sum(one.suggestion.tier == tier for one in judged)
    is_so = sum(one.tier == tier for one in judged)
    both = sum(one.suggestion.tier == tier and one.right for one in judged)
    return (
        both / max(1, said),
        both / max(1, is_so),
        2 * both / max(1, said + is_so),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError([Problem(f"`{path}`", f"cannot be read: {error}")]) from error
    problems = [
        Problem(
            f"`{path}`: row {number}", "needs a source, a table, a column and a label"
        )
        for number, row in enumerate(rows, 1)
        if any(row.get(name) is None for name in _FIELDS)
        or TIER_OF.get(row["label_category"]) != row["label_tier"]
    ]
    if problems or not rows:
        raise DataError(problems[:20] or [Problem(f"`{path}`", "it has no columns")])
    return rows


def main() -> int:
    """Measure a file of labelled columns, or the packs one without another."""
    parser = argparse.ArgumentParser(description="What the tagger's answers are worth")
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
