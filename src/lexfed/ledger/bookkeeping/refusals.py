# SPDX-License-Identifier: Apache-2.0
"""The words of a ledger that cannot pay: which ceiling, what is spent, what is left."""

import math
from typing import Any

from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import SCALE, Costs, Counting, meter
from lexfed.privacy.run_ledger import BudgetExcess
from lexfed.privacy.scopes import up


def excess_of(book: Book, scope: str, total: int) -> BudgetExcess:
    """Return the ceiling that is exceeded, and what it would reach."""
    ceiling = book.limits[scope].ceiling
    # Floats may round to the ceiling itself what exceeds it by a unit.
    above = math.nextafter(ceiling.epsilon, math.inf)
    return BudgetExcess(scope, max(ceiling.reached(total), above), ceiling.epsilon)


def refusal_of(
    site: str,
    asked: str,
    book: Book,
    before: dict[str, Any],
    time: int,
    excess: tuple[str, int],
) -> Refused:
    """Return the refusal of something that a ceiling does not leave room for.

    `book` has the sums that it would lead to, `before` those without it, as
    `Book.after` states them; `excess` is the scope whose ceiling is exceeded, and the
    sum that would count against it.
    """
    scope, total = excess
    ceiling = book.limits[scope].ceiling
    broken = excess_of(book, scope, total)
    _, reserved = before["meters"].get(meter(scope, ceiling.kind), ("0", "0"))
    period, counted = before["limits"][scope]
    # A period that is over counts no more.
    spent = int(counted) if book.limits[scope].at(time).period == period else 0
    with_others = spent + int(reserved)
    return Refused(
        f"ledger of `{site}` refuses {asked}: {broken} ({ceiling.terms})",
        f"{_epsilon(ceiling, spent)} is spent, {_epsilon(ceiling, with_others)} with "
        f"what runs have reserved; left: {remaining_room(ceiling, with_others)}",
        scope="site",
        would_reach=broken.would_reach,
        limit=broken.of,
    )


def require_priced(site: str, book: Book, costs: Costs) -> None:
    """Refuse costs that a ceiling has no price for, naming the scope of the ceiling."""
    unpriced = book.unpriced(costs)
    if unpriced is not None:
        raise no_price(site, *unpriced)


def no_price(site: str, scope: str, counting: Counting) -> Refused:
    """Return the refusal of charges that a ceiling has no price for."""
    problem, hint = _NO_PRICE[counting]
    return Refused(
        f"ledger of `{site}`: {problem}, in which the ceiling of `{scope}` is measured",
        hint,
        scope="site",
    )


_NO_PRICE: dict[Counting, tuple[str, str]] = {
    "shares": (
        "noise in shares has no price by `gdp`",
        "set the ceiling with `--kind rdp`",
    ),
    "told": (
        "a run under `replace-one` tells the exact number of records, which has no "
        "price under add/remove",
        'plan the run with `neighbours = "add-remove"`; or bound the record under '
        "replace-one by a ceiling of `label`, and take that of `record` away",
    ),
    "unsaid": (
        "rows of the first version do not say whether their runs told the exact "
        "number of records, which has no price under add/remove",
        "if all of them were planned under `add-remove`, say so with `--raise`; the "
        "reason stays in the ledger",
    ),
}


def remaining_room(ceiling: Ceiling, total: int) -> str:
    """Return the room that is left, rounded down, in the ceiling's measure."""
    rest = max(0, ceiling.bound - total) / SCALE
    if ceiling.kind == "gdp":
        return f"μ = {_down(math.sqrt(rest))}"
    return f"a divergence of {_down(rest)} at order {ceiling.order}"


def _epsilon(ceiling: Ceiling, amount: int) -> str:
    return f"ε = {up(ceiling.reached(amount), 3):g}"


def _down(value: float) -> str:
    return f"{math.floor(value * 1e4) / 1e4:g}"
