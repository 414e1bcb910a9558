# SPDX-License-Identifier: Apache-2.0
"""Did enough sites agree to every sum that was opened, and to no other of its round?

A round cites the record of its masked sum. It is read here again, and the signatures in
it are checked with the keys of entry 0: sites sign consents and receipts with the same
key. What they signed fixes session, policy, terms, round, model and list, so a record
of another run or round, or of fewer sites, does not pass.
"""

from dataclasses import dataclass, field

from lexfed.audit.entries import Aggregation, CohortAssumptions, PolicyEntry, RoundEntry
from lexfed.audit.entries.masking_record import (
    PROTOCOL,
    MaskingRecord,
    aggregation_of,
    masking_name,
    roster_of,
    session_of,
)
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.sites.noise_shares import decided
from lexfed.audit.verify.sites.participation import receipts_in, site_keys
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.errors import AuditError


def aggregation(evidence: Evidence) -> str | Remark:
    """Rounds used the protocol that was decided on, and enough sites agreed to it.

    Guarantees:
        Where `distributed` trust is stated: noise in shares, Rényi accounting, no
        sampling, and in every round a masked sum of at least sites - dropouts, under
        the signatures of t different sites, 2 t > n + c, for what they were asked.
    """
    policy = evidence.last(PolicyEntry)
    for found in evidence.of(RoundEntry):
        _protocol(found.entry.aggregation, policy, found.index)
    if policy is None:
        return _nothing()
    cohort = decided(evidence, policy)
    if policy.aggregation == "none":
        return _nothing()
    if cohort is None:
        return f"`{policy.aggregation}`, threshold met in every round"
    seen = _Seen(
        {masking_name(key_id): key for key_id, key in site_keys(evidence).items()},
        session_of(evidence.origin, policy.programme).hex(),
    )
    for found in evidence.of(RoundEntry):
        _masked(evidence, policy, cohort, found.entry, found.index, seen)
    return (
        f"`{PROTOCOL}`: {seen.sums} sums of at least {cohort.sites - cohort.dropouts} "
        f"of {cohort.sites} sites, {seen.signatures} signatures; {cohort.honest} "
        "honest sites in each are assumed"
    )


def _nothing() -> Remark:
    return Remark("none: the coordinator sees every site's sum")


def _protocol(used: Aggregation, policy: PolicyEntry | None, index: int) -> None:
    if policy is not None and used.protocol != policy.aggregation:
        raise Unsound(
            f"used `{used.protocol}`, decided was `{policy.aggregation}`", index
        )
    if used.protocol == "none":
        return
    if used.threshold is None or used.survivors is None:
        raise Unsound("states no threshold or no survivors", index)
    if used.survivors < used.threshold:
        raise Unsound(
            f"{used.survivors} survivors, below the threshold {used.threshold}", index
        )


@dataclass
class _Seen:
    """Facts gathered from the rounds so far.

    Attributes:
        sites: keys of the sites, by what they are called in records.
        session: of this run.
        setups: key list and cohort of each epoch.
        last: epoch and round of the last record.
        sums: how many there were.
        signatures: how many were checked.
    """

    sites: dict[str, bytes]
    session: str
    setups: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)
    sums: int = 0
    signatures: int = 0


def _masked(
    evidence: Evidence,
    policy: PolicyEntry,
    cohort: CohortAssumptions,
    entry: RoundEntry,
    index: int,
    seen: _Seen,
) -> None:
    stated = entry.aggregation
    if stated.evidence is None:
        raise Unsound("has no record of its masked sum", index)
    blob = evidence.blobs.get(stated.evidence)
    try:
        record = MaskingRecord.parse(blob)
        if stated != aggregation_of(blob):
            raise Unsound("does not say what its record shows", index)
        _agreed(record, policy, cohort, index, seen)
        _consents(record, index, seen)
    except Unsound:
        raise
    except AuditError as error:
        raise Unsound(error.message, index) from error
    _receipts(evidence, entry, record, index)
    seen.sums += 1
    seen.signatures += len(record.consents)


def _agreed(
    record: MaskingRecord,
    policy: PolicyEntry,
    cohort: CohortAssumptions,
    index: int,
    seen: _Seen,
) -> None:
    """Refuse a record of another run, of weaker terms, or out of its order."""
    terms, least = record.terms, cohort.sites - cohort.dropouts
    here = (record.epoch, record.round)
    setup = (record.key_list, record.cohort)
    checked = {
        "session": record.session == seen.session,
        "policy": record.policy == policy.programme,
        "colluders": terms.colluders == cohort.colluders,
        "least_sites": terms.least_sites >= least,
        "roster": record.roster == roster_of(seen.sites),
        "names": seen.sites.keys() >= set(record.names),
        "survivors": len(record.survivors) >= terms.least_sites,
        "round": 1 <= record.round <= terms.rounds and here > seen.last,
        "key_list": seen.setups.setdefault(record.epoch, setup) == setup,
    }
    for name, fine in checked.items():
        if not fine:
            raise Unsound(f"record: `{name}` is not what this run allows here", index)
    seen.last = here


def _consents(record: MaskingRecord, index: int, seen: _Seen) -> None:
    """Refuse a list that fewer sites signed than had to."""
    if len(record.consents) < record.threshold:
        raise Unsound(
            f"{len(record.consents)} sites signed the list, {record.threshold} had to",
            index,
        )
    for name in record.consents:
        if not record.signed_by(name, seen.sites[name]):
            raise Unsound(f"record: site {name[:16]} did not sign this list", index)


def _receipts(
    evidence: Evidence, entry: RoundEntry, record: MaskingRecord, index: int
) -> None:
    """Compare with the receipts, which say what the sites were asked."""
    stated = entry.participation
    if stated.receipts != "open" or stated.digest is None:
        raise Unsound("has no open receipts, which masked sums need", index)
    blob = evidence.blobs.get(stated.digest)
    signed = receipts_in(blob, site_keys(evidence), index)
    if not record.surviving <= {masking_name(key_id) for key_id in signed}:
        raise Unsound("a site in the sum signed no receipt", index)
    if any(receipt.query != record.model for receipt in signed.values()):
        raise Unsound("sites were asked something else than their sum is for", index)
