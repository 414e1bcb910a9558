# SPDX-License-Identifier: Apache-2.0
"""Paying for a joining: an organisation reads its keys, pays, and only then answers.

Whoever keeps a lasting ledger of the data pays from it, before noise is drawn. A crash
in between leaves something paid for that never left: that is the safe side.
"""

import secrets
from contextlib import closing
from pathlib import Path

from lexfed.data.problems import Problems
from lexfed.data.reading.conversion import plain_texts
from lexfed.data.reading.table_files import read_file
from lexfed.ledger.purse import ChargeTerms, LedgerPlace
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.run.driver.site_accounts import ALL_PARTS
from lexfed.sketch.joining.keys import PersonKeys, people_of
from lexfed.sketch.joining.offered_sketch import OfferedSketch, exact_tables, offer
from lexfed.sketch.joining.terms import JoiningTerms


def ledger_of(folder: Path | None, site: str | None, file: Path) -> LedgerPlace | None:
    """Return the ledger that pays for answers about a file, if one was named.

    Args:
        folder: of ledgers, as `budget.ledgers` of a configuration names it.
        site: whose data it is, as runs name it; one file without sites is of all parts.
        file: with the data.
    """
    if folder is None:
        return None
    return LedgerPlace(folder, site or ALL_PARTS, file.name)


def read_people(file: Path, column: str) -> PersonKeys:
    """Return the different people of a column of keys in a CSV or Parquet file.

    Raises:
        DataError: if file or column cannot be read; names no key.
    """
    problems = Problems()
    frame = read_file(file, [column], problems)
    if frame is None or problems.kept:
        raise problems.error()
    texts = plain_texts(column, frame, problems)
    problems.raise_if_any()
    return people_of(text or "" for text in texts)


def charge_joining(ledger: LedgerPlace | None, event: Release) -> None:
    """Charge an event, once and for ever; on return it is on disk.

    Raises:
        Refused: if a ceiling leaves no room; nothing was charged then.
        LedgerError: if the ledger cannot be used.
    """
    if ledger is None:
        return
    name = f"joining {secrets.token_hex(8)}"
    with closing(ledger.purse(ChargeTerms(name, "record", "add-remove"))) as purse:
        purse.pay(1, event)


def make_offer(
    terms: JoiningTerms,
    people: PersonKeys,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> OfferedSketch:
    """Pay for a sketch, then make it.

    Guarantees:
        Nothing is paid for people that do not fit the terms.
        Nothing is drawn before it is paid.

    Raises:
        DataError: if there is nobody, or more people than agreed.
        Refused: if a ceiling of the ledger leaves no room.
        LedgerError: if the ledger cannot be used.
    """
    tables = exact_tables(terms, people)
    charge_joining(ledger, terms.noise.event(terms.width))
    return offer(terms, tables, source)
