# SPDX-License-Identifier: Apache-2.0
"""Overlaps of two organisations, as a table or JSON."""

from dataclasses import asdict
from typing import Any

from lexfed.privacy.scopes import up
from lexfed.sketch.estimates.intervals import Estimate
from lexfed.sketch.joining.comparison import PeopleOverlap, combined_price
from lexfed.sketch.joining.offered_sketch import OfferedSketch


def lines(
    found: PeopleOverlap,
    names: tuple[str, str],
    left: OfferedSketch,
    right: OfferedSketch,
) -> list[str]:
    """Return a table of counts and shares, and what they cost."""
    one, two = names
    rows = [
        (f"people in {one}", _count(found.left)),
        (f"people in {two}", _count(found.right)),
        ("in both", _count(found.both)),
        ("in either", _count(found.either)),
        ("Jaccard (both / either)", _share(found.jaccard)),
        (f"of {one} in {two}", _share(found.left_share)),
        (f"of {two} in {one}", _share(found.right_share)),
    ]
    label = max(len(name) for name, _ in rows)
    width = max(len(value) for _, (value, _) in rows)
    table = [
        f"{name:<{label}}  {value:>{width}}   {interval}"
        for name, (value, interval) in rows
    ]
    epsilon, delta = combined_price(left, right)
    return [
        f"{'':<{label}}  {'':>{width}}   95 % interval",
        *table,
        "",
        f"cost  {one}: {price(left.epsilon, left.delta)}; "
        f"{two}: {price(right.epsilon, right.delta)}",
        f"      a person in both: {price(up(epsilon, 4), delta or None)}",
        *_not_private(names, left, right),
    ]


def plain(
    found: PeopleOverlap, left: OfferedSketch, right: OfferedSketch
) -> dict[str, Any]:
    """Return everything as JSON values."""
    epsilon, delta = combined_price(left, right)
    return {
        **asdict(found),
        "cost": {
            "left": {"epsilon": left.epsilon, "delta": left.delta},
            "right": {"epsilon": right.epsilon, "delta": right.delta},
            "person_in_both": {"epsilon": up(epsilon), "delta": delta or None},
        },
        "private": left.private and right.private,
    }


def price(epsilon: float, delta: float | None) -> str:
    """Return the words of a price."""
    return f"ε = {epsilon:g}, " + ("pure" if delta is None else f"δ = {delta:g}")


def _not_private(
    names: tuple[str, str], left: OfferedSketch, right: OfferedSketch
) -> list[str]:
    sides = zip(names, (left, right), strict=True)
    return [
        f"NOT PRIVATE: the noise of {name} can be repeated"
        for name, side in sides
        if not side.private
    ]


def _count(found: Estimate) -> tuple[str, str]:
    return f"{found.value:,.0f}", f"{found.low:,.0f} to {found.high:,.0f}"


def _share(found: Estimate) -> tuple[str, str]:
    return f"{found.value:.1%}", f"{found.low:.1%} to {found.high:.1%}"
