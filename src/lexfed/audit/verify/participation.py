# SPDX-License-Identifier: Apache-2.0
"""Did as many sites take part as the coordinator says?

Where sites have keys, every one of them signs a receipt for every round. Sites count
their own charges in receipts, so releases that never reached the log show as well: a
site that was charged more often than there are rounds knows of a round that is not
here. And they sign what the round is charged for, so the log cannot state more noise
than they were asked for.
"""

from dataclasses import dataclass, field

from lexfed.audit.entries import Participation, PolicyEntry, RoundEntry, receipts
from lexfed.audit.entries.receipts import Receipt, ReceiptSubject
from lexfed.audit.log.evidence import Evidence, IndexedEntry, raw_key
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.counted_words import counted
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.keys import fingerprint

MAX_SEALED = 1 << 28


@dataclass
class _Receipts:
    """Keys and charges of the sites, and counts over the rounds so far."""

    keys: dict[str, bytes]
    charged: dict[str, int] = field(default_factory=dict)
    signed: int = 0
    unbacked: int = 0
    """Rounds without receipts."""
    closed: int = 0
    """Rounds whose receipts are sealed for the verifier, too."""


def participants(evidence: Evidence) -> str | Remark:
    """Receipts of every round are signed by its sites, and their number is stated."""
    if evidence.last(PolicyEntry) is None or not evidence.of(RoundEntry):
        return Remark("no round, nobody took part")
    seen = _all_rounds(evidence)
    if seen.unbacked:
        return Remark(
            f"{counted(seen.unbacked, 'round')} without receipts: who took part is the "
            "coordinator's word only"
        )
    sealed = (
        f", {counted(seen.closed, 'round')} sealed and not opened"
        if seen.closed
        else ""
    )
    sites = counted(len(seen.charged), "site")
    text = f"{counted(seen.signed, 'receipt')} of {sites}{sealed}"
    return Remark(text) if seen.closed else text


def charges_signed_for(evidence: Evidence) -> dict[str, int]:
    """Return the number of charges of each site by its last receipt here: by key id."""
    return _all_rounds(evidence).charged


def _all_rounds(evidence: Evidence) -> _Receipts:
    seen, policy = _Receipts(site_keys(evidence)), evidence.last(PolicyEntry)
    if policy is not None:
        for logged in evidence.of(RoundEntry):
            _one_round(evidence, policy, logged, seen)
    return seen


def site_keys(evidence: Evidence) -> dict[str, bytes]:
    """Return the keys of the sites by their ids, as entry 0 lists them."""
    keys = [
        raw_key(party.key, f"entry 0, `parties.{number}`")
        for number, party in enumerate(evidence.parties)
        if party.key is not None and party.role == "site"
    ]
    return {fingerprint(key): key for key in keys}


def _one_round(
    evidence: Evidence,
    policy: PolicyEntry,
    logged: IndexedEntry[RoundEntry],
    seen: _Receipts,
) -> None:
    entry, index = logged.entry, logged.index
    stated = entry.participation
    shown = stated.sites is not None or stated.receipts == "open"
    if policy.secret_sampling and shown:
        raise Unsound("shows who took part, which the guarantee keeps secret", index)
    if not policy.secret_sampling and stated.sites is None:
        raise Unsound("does not say how many sites took part", index)
    if (stated.digest is None) != (stated.receipts == "none"):
        raise Unsound("receipts and their digest do not fit together", index)
    if stated.receipts == "none":
        if seen.keys:
            raise Unsound("has no receipts, although the sites have keys", index)
        seen.unbacked += 1
        return
    blob = _receipt_list(evidence, stated, entry.round, index)
    if blob is None:
        seen.closed += 1
        return
    signed = receipts_in(blob, seen.keys, index)
    if stated.sites is not None and stated.sites != len(signed):
        raise Unsound(
            f"states {counted(stated.sites, 'site')}, {len(signed)} of them signed "
            "receipts",
            index,
        )
    for key_id, receipt in signed.items():
        _check_receipt(evidence, policy, logged, receipt)
        if entry.event is not None and receipt.charged <= seen.charged.get(key_id, 0):
            raise Unsound(f"site {key_id[:16]} was not charged for it", index)
        seen.charged[key_id] = receipt.charged
    if len({receipt.query for receipt in signed.values()}) > 1:
        raise Unsound("sites were asked different questions", index)
    seen.signed += len(signed)


def _receipt_list(
    evidence: Evidence, stated: Participation, number: int, index: int
) -> bytes | None:
    digest = stated.digest or ""
    if stated.receipts == "open":
        return evidence.blobs.get(digest)
    try:
        # The folder itself may be reached through a link, what is in it may not.
        with Folder(evidence.folder.resolve()) as folder:
            sealed = folder.read(f"sealed/round-{number}.json", MAX_SEALED)
    except RunFolderError:  # sealed for us too
        return None
    try:
        return None if sealed is None else receipts.unseal(sealed, digest)
    except AuditError as error:
        raise Unsound(error.message, index) from error


def receipts_in(blob: bytes, keys: dict[str, bytes], index: int) -> dict[str, Receipt]:
    """Return the receipts of a list by the key that signed each."""
    try:
        return dict(receipts.check(each, keys) for each in receipts.decode(blob))
    except AuditError as error:
        raise Unsound(error.message, index) from error


def _check_receipt(
    evidence: Evidence,
    policy: PolicyEntry,
    logged: IndexedEntry[RoundEntry],
    receipt: Receipt,
) -> None:
    entry, index = logged.entry, logged.index
    subject = ReceiptSubject(
        evidence.origin, evidence.run, policy.programme, entry.round, entry.event
    )
    try:
        receipts.expect(
            receipt,
            subject,
            event_signed=policy.receipts is not None,
            answer_signed=policy.receipts == "event-answer",
        )
    except AuditError as error:
        raise Unsound(error.message, index) from error
    if (receipt.query is None) != (entry.event is None):
        raise Unsound("receipt: `query` is hashed exactly where noise is added", index)
    if receipt.charged > entry.round:
        raise Unsound(
            f"a site was charged for {counted(receipt.charged, 'release')}, the log "
            "lists "
            f"{entry.round} up to here",
            index,
        )
