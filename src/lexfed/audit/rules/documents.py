# SPDX-License-Identifier: Apache-2.0
"""Documents that count: signed into the log in time, issued before, not yet expired.

Only their digests and dates are known. Nobody opens one, so nobody judges one.
"""

from collections.abc import Sequence

from lexfed.audit.entries import Document, Party
from lexfed.audit.rules.facts import DatedEntry, LogFacts


def counts(facts: LogFacts, at: DatedEntry[Document], before: bool) -> bool:
    """Return True if a document was there in time and held to the last round."""
    document = at.entry
    early = facts.first_round is None or at.index < facts.first_round
    return (
        document.issued <= at.day
        and (not before or (early and document.issued <= facts.begun))
        and (document.expires is None or document.expires >= facts.ended)
    )


def find(
    facts: LogFacts,
    what: str,
    *,
    before: bool = False,
    ends: bool = False,
    about: int | None = None,
) -> DatedEntry[Document] | None:
    """Return the last document of a name that counts for the whole run.

    Args:
        facts: of the log.
        what: name of the document.
        before: it must have been in the log before the first round.
        ends: it must have an end date.
        about: index of the entry it must be about; None for any.
    """
    found = [
        at
        for at in facts.of(Document)
        if at.entry.what == what
        and at.entry.site is None
        and (about is None or at.entry.about == about)
        and not (ends and at.entry.expires is None)
        and counts(facts, at, before)
    ]
    return found[-1] if found else None


def find_for_sites(
    facts: LogFacts, what: str, *, before: bool = False, ends: bool = False
) -> tuple[int, ...]:
    """Return the documents that cover every site: one for all, or one for each.

    Empty if a site is left out. A simulated site has no key that a document could
    name, so only a document for all covers it.
    """
    common = find(facts, what, before=before, ends=ends)
    if common is not None:
        return (common.index,)
    return _each(
        [party for party in facts.parties if party.role == "site"],
        _by_site(facts, what, before, ends),
    )


def find_for(facts: LogFacts, what: str, parties: Sequence[Party]) -> tuple[int, ...]:
    """Return the documents that cover some parties: one for all, or one for each."""
    common = find(facts, what)
    if common is not None:
        return (common.index,)
    return _each(parties, _by_site(facts, what, before=False, ends=False))


def _by_site(facts: LogFacts, what: str, before: bool, ends: bool) -> dict[str, int]:
    return {
        at.entry.site: at.index
        for at in facts.of(Document)
        if at.entry.what == what
        and at.entry.site is not None
        and not (ends and at.entry.expires is None)
        and counts(facts, at, before)
    }


def _each(parties: Sequence[Party], found: dict[str, int]) -> tuple[int, ...]:
    keys = [None if party.key is None else party.key.keyid for party in parties]
    indices = [found[key] for key in keys if key in found]
    return tuple(indices) if len(indices) == len(keys) else ()


def answers(facts: LogFacts, what: str, index: int, prompt: bool) -> int | None:
    """Return the index of a document about an entry; None if there is none.

    Args:
        facts: of the log.
        what: name of the document.
        index: the entry it must be about.
        prompt: it must come before the next round after that entry.
    """
    limit = facts.next_round(index)
    found = (
        at.index
        for at in facts.of(Document)
        if at.entry.what == what
        and at.entry.about == index < at.index
        and at.entry.issued <= at.day
        and (not prompt or limit is None or at.index < limit)
    )
    return next(found, None)
