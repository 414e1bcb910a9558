# SPDX-License-Identifier: Apache-2.0
"""Ceilings change by decision only: a chained row with a reason.

A ceiling proves something about results that nobody had seen when it was fixed. Raised
after a look at results it is no filter any more, so a raise must be asked for by name,
and stays in the rows for whoever reads them.
"""

from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.carried_sums import carried_sums
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import SCOPES
from lexfed.ledger.bookkeeping.refusals import no_price
from lexfed.ledger.bookkeeping.rows import chained_rows
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.storage import tables


def set_ceiling(
    ledger: LastingLedger,
    scope: str,
    ceiling: Ceiling | None,
    reason: str,
    raising: bool = False,
) -> None:
    """Give a scope another ceiling, or none; a chained row says why.

    Args:
        ledger: whose scope it is.
        scope: `record`, `label` or the name of a tier.
        ceiling: the new one; None takes the old one away.
        reason: why, for whoever reads the rows.
        raising: whether it may let more pass than before.

    Guarantees:
        Everything since the ledger began counts against the new ceiling.
        Without `raising` no more can pass than before.

    Raises:
        Refused: if it lets more pass and `raising` is not given, or has no price for
            what was charged before.
        LedgerError: for an unknown scope or an empty reason.
    """
    if scope not in SCOPES:
        known = ", ".join(f"`{name}`" for name in SCOPES)
        raise LedgerError(f"there is no scope `{scope}`", f"choose one of {known}")
    if not reason.strip():
        raise LedgerError(
            "a ceiling needs a reason", "say why, for whoever reads the rows"
        )
    with ledger.change() as change:
        book, database = change.book, ledger.database
        book.runs = tables.load_runs(database)
        old = book.limits[scope].ceiling if scope in book.limits else None
        more = old is not None if ceiling is None else ceiling.raises(old)
        if more and not raising:
            raise Refused(
                f"ledger of `{ledger.site}`: the new ceiling of `{scope}` lets more "
                f"pass than the old one ({old})",
                "say so with `--raise`; the reason stays in the ledger",
                scope="site",
            )
        stated = {}
        if ceiling is not None:
            found = book.unpriced_before(scope, ceiling)
            if found is None and book.has(scope, "unsaid") and not raising:
                found = "unsaid"
            if found is not None:
                raise no_price(ledger.site, scope, found)
            rows = chained_rows(None, tables.stored_rows(database))
            stated = carried_sums(rows, scope, ceiling, change.time, raising)
        change.append(
            "ceiling",
            {
                "scope": scope,
                "ceiling": None if ceiling is None else ceiling.to_json(),
                "reason": reason,
                "raised": raising,
                "carried": stated,
            },
        )
