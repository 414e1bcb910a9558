# SPDX-License-Identifier: Apache-2.0
"""Public domains of columns, as the catalogue writes them and people type them.

    0..120                  a range; `0..1000 linear` where another scale is suggested
    = female; male | f; m   lists of values, each one way in which tables write them
    ~ 8                     buckets, for values that nobody can list
    1900-01-01..2050-12-31  the first and the last day of dates

A list has several codings because the same answer is `female`, `f` or `weiblich`. The
coding is part of a kind: a majority of the values chooses it, out of lists that
were there before the table was.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from lexfed.data.made_columns import MOST_BUCKETS
from lexfed.data.schema import NumberScale, suggested_transform

_NUMBER = r"-?\d+(?:\.\d+)?(?:e\d+)?"
_PERIOD = re.compile(r"(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)")
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?: (linear|log|symlog))?")


@dataclass(frozen=True)
class PublicDomain:
    """A range, lists of values, a number of buckets or a period, with the reason.

    Guarantees:
        Exactly one of `range`, `codings`, `buckets` and `period` is there.
    """

    reason: str
    range: tuple[float, float] | None = None
    scale: NumberScale = "auto"
    codings: tuple[tuple[str, ...], ...] = ()
    buckets: int | None = None
    period: tuple[str, str] | None = None

    @property
    def keys(self) -> dict[str, Any]:
        """Its keys in `[data.columns]`; of a list with the first coding."""
        if self.range is not None:
            scale = {} if self.scale == "auto" else {"scale": self.scale}
            return {"kind": "number", "range": self.range, **scale}
        if self.period is not None:
            return {"kind": "date", "period": self.period}
        if self.buckets is not None:
            return {"kind": "category", "buckets": self.buckets}
        return {"kind": "category", "values": self.codings[0]}

    def coding_of(self, texts: Counter[str]) -> tuple[str, ...] | None:
        """Return the list that holds the most of counted texts, if it holds half.

        A longer list is taken only if it holds a twentieth of them more, so that it is
        seldom a single row that decides between two. Case does not matter.
        """
        folded: Counter[str] = Counter()
        for text, times in texts.items():
            folded[plain_code(text)] += times
        best: tuple[str, ...] | None = None
        most, total = 0, folded.total()
        for coding in sorted(self.codings, key=len):
            known = {plain_code(value) for value in coding}
            held = sum(folded[text] for text in known)
            if held > most + total / 20:
                best, most = coding, held
        return best if total and 2 * most >= total else None


def plain_code(text: str) -> str:
    """Return a value without what tables write differently: case, and `1.0` for `1`."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text.strip()).casefold()


def parse_domain(text: str, reason: str) -> PublicDomain:
    """Return the domain that a text states; `ValueError` if it states none."""
    sign, rest = text[:1], text[1:].strip()
    if sign == "=":
        codings = tuple(
            tuple(value.strip() for value in coding.split(";"))
            for coding in rest.split(" | ")
        )
        if any(len(set(c)) < len(c) or not all(c) for c in codings):
            raise ValueError("a list holds a value twice, or an empty one")
        return PublicDomain(reason, codings=codings)
    if sign == "~":
        if not rest.isdecimal() or not 2 <= int(rest) <= MOST_BUCKETS:
            raise ValueError(f"expected 2 to {MOST_BUCKETS} buckets")
        return PublicDomain(reason, buckets=int(rest))
    if (days := _PERIOD.fullmatch(text)) is not None:
        first, last = (date.fromisoformat(day) for day in days.groups())
        if not first < last:
            raise ValueError("the period is empty")
        return PublicDomain(reason, period=(first.isoformat(), last.isoformat()))
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError("expected LOW..HIGH, `= a; b; c` or `~ 8`")
    low, high = float(found[1]), float(found[2])
    if not low < high < math.inf:
        raise ValueError("the range is empty, or has no end")
    scale = cast(NumberScale, found[3] or "auto")
    if scale == suggested_transform((low, high)):
        scale = "auto"
    return PublicDomain(reason, range=(low, high), scale=scale)


def written_domain(keys: Mapping[str, Any]) -> str:
    """Return keys of a column as a person would type its domain."""
    ends = keys.get("range") or keys.get("period")
    if ends is not None:
        low, high = (f"{end:g}" if isinstance(end, float) else end for end in ends)
        scale = keys.get("scale")
        return f"{low}..{high} {scale}" if scale else f"{low}..{high}"
    return f"~ {keys['buckets']}"
