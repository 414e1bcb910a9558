# SPDX-License-Identifier: Apache-2.0
"""A charged search in the lasting ledgers of the sites.

A ledger adds squares of Gaussian privacy, so a search is entered as the releases of a
Gaussian that dominates it (`lexfed.privacy.selection`), all at once and
before the first run: how many runs there are must not show, not even here.
"""

from contextlib import ExitStack
from pathlib import Path

from lexfed.ledger.purse import ChargeTerms
from lexfed.privacy.selection import dominating_releases
from lexfed.run.driver.site_accounts import FOLDER, data_holders
from lexfed.run.tuning.charged_search import ChargedSearch


def charge_search(search: ChargedSearch, name: str, base: Path) -> int:
    """Charge the ledgers of all data holders; return their number.

    Args:
        search: about to begin.
        name: of the search, one for ever.
        base: folder that paths in the configuration are relative to.

    Guarantees:
        Nobody pays before every ledger has set room aside for the search; on return
        all have paid. Unused room is free again, however it ends.

    Raises:
        Refused: if a ledger has no room for the search; then nothing is spent.
        LedgerError: if a ledger cannot be used; those before it may have paid.
    """
    first = search.runs[0]
    budget = first.config.budget
    releases = dominating_releases(
        [run.programme.charges() for run in search.runs],
        search.repetitions,
        first.budget.sites_per_person,
    )
    folder = base / (budget.ledgers or FOLDER)
    # The releases are already those of a person at several sites.
    terms = ChargeTerms(name, budget.unit, budget.neighbours)
    with ExitStack() as opened:
        purses = []
        for holder in data_holders(first):
            purse = holder.ledger(folder).purse(terms)
            opened.callback(purse.close)
            purses.append(purse)
        try:
            for purse in purses:
                purse.reserve((release, 1) for release in releases)
            for purse in purses:
                for number, release in enumerate(releases, start=1):
                    purse.pay(number, release)
        finally:
            for purse in purses:
                purse.give_back()
    return len(purses)
