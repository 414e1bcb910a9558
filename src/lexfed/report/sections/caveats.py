# SPDX-License-Identifier: Apache-2.0
"""The limits of the guarantee, and the tasks that people still have."""

from dataclasses import dataclass

from lexfed.audit.entries import Document, PrivacyTest, RoundEntry
from lexfed.report.facts.dossier import Dossier
from lexfed.report.facts.log_identity import SPLIT_VIEW
from lexfed.report.sections.certificate import certificate
from lexfed.report.wording.rounding import count

_ALWAYS = (
    "A budget belongs to one run. Several runs about the same people add up, and "
    "nothing here adds them up.",
    "A tier's guarantee speaks about the values in its columns. It says nothing about "
    "what other columns tell about them, nor about whether a person took part.",
    "The guarantee holds for the persons as keys name them: one human being under two "
    "keys is two persons here.",
)


@dataclass(frozen=True)
class OpenItem:
    """Something open, and the entry it follows from."""

    words: str
    entry: int | None = None


def limits(dossier: Dossier) -> tuple[str, ...]:
    """Return the limits of the guarantee: the claim's own, then those of every run."""
    listed = () if dossier.claim is None else dossier.claim.not_covered
    own = tuple(f"Not covered: {item}." for item in listed)
    split = () if dossier.witnessed else (SPLIT_VIEW,)
    return (*own, *_ALWAYS, *split)


def proxies(dossier: Dossier) -> str:
    """Return the sentence about columns that reveal others."""
    reviews = [
        record.index
        for record in dossier.of(Document)
        if isinstance(record.entry, Document) and record.entry.what == "proxy-review"
    ]
    known = (
        f"A review by people is on record (entry {reviews[-1]}); what it says is for "
        "its readers."
        if reviews
        else "No review of proxies is on record."
    )
    return (
        f"{known} A column of a lower tier that tells something about a more sensitive "
        "one, as a postcode may about ethnic origin, is released at the price of its "
        "own tier. Tags of this run carry no measurement of such links."
    )


def open_items(dossier: Dossier) -> tuple[OpenItem, ...]:
    """Return the items that a person should still see to."""
    found = [
        OpenItem(f"Failed check: {check.claim}: {check.detail}", check.index)
        for check in dossier.failures
    ]
    if dossier.state == "unfinished":
        found.append(
            OpenItem("The run is not finished: it has no claim and no model yet.")
        )
    if not dossier.witnessed:
        found.append(
            OpenItem("No quorum of witnesses: keep a copy of the checkpoint elsewhere.")
        )
    if dossier.rounds and not dossier.of(PrivacyTest) and not dossier.stamp:
        found.append(OpenItem("No attack on the model was run."))
    shown = certificate(dossier)
    if shown is not None and shown.missing:
        found.append(
            OpenItem(
                f"{count(shown.missing, 'rule')} lack evidence; their lines above say "
                "what is missing.",
                shown.entry,
            )
        )
    bare = [r.index for r in dossier.rounds if _unsigned(r.entry)]
    if bare:
        found.append(
            OpenItem(
                f"In {len(bare)} of {len(dossier.rounds)} rounds the number of sites "
                "is the coordinator's word: no site signed a receipt.",
                bare[0],
            )
        )
    return tuple(found)


def _unsigned(entry: object) -> bool:
    return isinstance(entry, RoundEntry) and entry.participation.receipts == "none"
