# SPDX-License-Identifier: Apache-2.0
"""Did enough sites agree to every sum that was opened, and to no other of its round?

A round cites the record of its masked sum. What sites signed in it, with the keys of
entry 0, fixes session, policy, terms, round, model and list. A sum of n sites, c of
them colluding, may be opened with t consents where 2 t > n + c, so that no second list
of a round can have as many [BIK+17].

Where nobody but the sites is trusted, each adds a share of the noise, and what a sum
costs is proven under conditions (docs/theory/guarantees.md, section 10): Rényi
accounting, everybody asked in every round, sums that are masked, enough honest sites in
each, and receipts that say what noise was asked for. Half of it is not a weaker
guarantee, it is none, so no condition may become a remark.
"""

from dataclasses import dataclass, field

from lexfed.audit.entries import CohortAssumptions, PolicyEntry, RoundEntry
from lexfed.audit.entries.masking_record import (
    PROTOCOL,
    MaskingRecord,
    aggregation_of,
    masking_name,
    roster_of,
    session_of,
)
from lexfed.audit.log.evidence import Evidence, IndexedEntry
from lexfed.audit.verify.budgets import charges, read_plan
from lexfed.audit.verify.participation import receipts_in, site_keys
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.errors import AuditError

SHARES = "skellam-shares"


def aggregation(evidence: Evidence) -> str | Remark:
    """Rounds used the protocol that was decided on, and enough sites agreed to it.

    Guarantees:
        Where `distributed` trust is stated: noise in shares, Rényi accounting, no
        sampling, and in every round a masked sum of at least sites - dropouts, under
        the signatures of t different sites, 2 t > n + c, for what they were asked.
    """
    policy = evidence.last(PolicyEntry)
    for logged in evidence.of(RoundEntry):
        used, index = logged.entry.aggregation, logged.index
        if policy is not None and used.protocol != policy.aggregation:
            what = f"used `{used.protocol}`, decided was `{policy.aggregation}`"
            raise Unsound(what, index)
        if used.protocol == "none":
            continue
        if used.threshold is None or used.survivors is None:
            raise Unsound("states no threshold or no survivors", index)
        if used.survivors < used.threshold:
            few = f"{used.survivors} survivors, below the threshold {used.threshold}"
            raise Unsound(few, index)
    cohort = None if policy is None else decided(evidence, policy)
    if policy is None or policy.aggregation == "none":
        return Remark("none: the coordinator sees every site's sum")
    if cohort is None:
        return f"`{policy.aggregation}`, threshold met in every round"
    sites = {masking_name(key_id): key for key_id, key in site_keys(evidence).items()}
    masked = _MaskedSums(evidence, policy, cohort, sites)
    for logged in evidence.of(RoundEntry):
        masked.check(logged)
    return (
        f"`{PROTOCOL}`: {masked.sums} sums of at least "
        f"{cohort.sites - cohort.dropouts} of {cohort.sites} sites, "
        f"{masked.signatures} signatures; {cohort.honest} "
        "honest sites in each are assumed"
    )


@dataclass
class _MaskedSums:
    """The records of masked sums, followed round by round."""

    evidence: Evidence
    policy: PolicyEntry
    cohort: CohortAssumptions
    sites: dict[str, bytes]
    """Keys of the sites, by their names in records."""
    setups: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    """Key list and cohort of each epoch."""
    last: tuple[int, int] = (0, 0)
    """Epoch and round of the last record."""
    sums: int = 0
    signatures: int = 0

    def check(self, logged: IndexedEntry[RoundEntry]) -> None:
        """Check the record that a round cites."""
        stated, index = logged.entry.aggregation, logged.index
        if stated.evidence is None:
            raise Unsound("has no record of its masked sum", index)
        blob = self.evidence.blobs.get(stated.evidence)
        try:
            record = MaskingRecord.parse(blob)
            if stated != aggregation_of(blob):
                raise Unsound("does not say what its record shows", index)
            self._check_terms(record, index)
            self._check_consents(record, index)
        except Unsound:
            raise
        except AuditError as error:
            raise Unsound(error.message, index) from error
        self._check_receipts(logged, record)
        self.sums += 1
        self.signatures += len(record.consents)

    def _check_terms(self, record: MaskingRecord, index: int) -> None:
        """Refuse a record of another run, of weaker terms, or out of its order."""
        terms, cohort, programme = record.terms, self.cohort, self.policy.programme
        place = (record.epoch, record.round)
        setup = (record.key_list, record.cohort)
        session = session_of(self.evidence.origin, programme).hex()
        checked = {
            "session": record.session == session,
            "policy": record.policy == programme,
            "colluders": terms.colluders == cohort.colluders,
            "least_sites": terms.least_sites >= cohort.sites - cohort.dropouts,
            "roster": record.roster == roster_of(self.sites),
            "names": self.sites.keys() >= set(record.names),
            "survivors": len(record.survivors) >= terms.least_sites,
            "round": 1 <= record.round <= terms.rounds and place > self.last,
            "key_list": self.setups.setdefault(record.epoch, setup) == setup,
        }
        for name, fine in checked.items():
            if not fine:
                raise Unsound(
                    f"record: `{name}` is not what this run allows here", index
                )
        self.last = place

    def _check_consents(self, record: MaskingRecord, index: int) -> None:
        """Refuse a list that fewer sites signed than had to."""
        if len(record.consents) < record.threshold:
            raise Unsound(
                f"{len(record.consents)} sites signed the list, {record.threshold} "
                "had to",
                index,
            )
        for name in record.consents:
            if not record.signed_by(name, self.sites[name]):
                raise Unsound(f"record: site {name[:16]} did not sign this list", index)

    def _check_receipts(
        self, logged: IndexedEntry[RoundEntry], record: MaskingRecord
    ) -> None:
        """Compare with the receipts, which say what the sites were asked."""
        stated, index = logged.entry.participation, logged.index
        if stated.receipts != "open" or stated.digest is None:
            raise Unsound("has no open receipts, which masked sums need", index)
        blob = self.evidence.blobs.get(stated.digest)
        signed = receipts_in(blob, site_keys(self.evidence), index)
        if not record.surviving <= {masking_name(key_id) for key_id in signed}:
            raise Unsound("a site in the sum signed no receipt", index)
        if any(receipt.query != record.model for receipt in signed.values()):
            raise Unsound(
                "sites were asked something else than their sum is for", index
            )


def decided(evidence: Evidence, policy: PolicyEntry) -> CohortAssumptions | None:
    """Return the assumptions about the sites; None where somebody else is trusted.

    `Unsound` if trust, noise, aggregation, accountant, sampling, plan or events
    contradict each other.
    """
    index = evidence.of(PolicyEntry)[-1].index
    distributed = policy.trust == "distributed"
    together = {
        "noise": policy.noise == SHARES,
        "aggregation": policy.aggregation == PROTOCOL,
        "cohort": policy.cohort is not None,
    }
    for name, stated in together.items():
        if stated != distributed:
            raise Unsound(f"`{name}` does not fit trust `{policy.trust}`", index)
    _require_noise(evidence, "skellam" if distributed else "gaussian")
    if policy.cohort is None:
        return None
    _require_everybody(evidence)
    needed = {
        "accountant": (policy.accountant, "rdp"),
        "sampling": (policy.sampling, "none"),
        "secret_sampling": (policy.secret_sampling, False),
        # Nobody but the sites is trusted, so they sign which noise they were asked for.
        "receipts": (policy.receipts, "event-digest"),
    }
    for name, (stated_value, expected) in needed.items():
        if stated_value != expected:
            raise Unsound(f"`{name}`: noise in shares needs `{expected}`", index)
    _require_possible(policy.cohort, len(site_keys(evidence)), index)
    return policy.cohort


def _require_possible(cohort: CohortAssumptions, keys: int, index: int) -> None:
    """Refuse assumptions under which no sum is safe."""
    if cohort.sites != keys:
        raise Unsound(
            f"a cohort of {cohort.sites} sites, entry 0 lists the keys of {keys}", index
        )
    least = cohort.sites - cohort.dropouts
    if cohort.honest < 1 or least < cohort.threshold(cohort.sites):
        raise Unsound(
            f"{cohort.sites} sites cannot bear {cohort.colluders} colluders and "
            f"{cohort.dropouts} dropouts",
            index,
        )


def _require_noise(evidence: Evidence, expected: str) -> None:
    """Refuse a planned or charged release with noise of another law."""
    planned = read_plan(evidence)
    if planned is not None:
        lists = [planned.releases]
        lists += [profile.releases for profile in planned.profiles.values()]
        for release, _ in (row for rows in lists for row in rows):
            if release.noise != expected:
                raise Unsound(f"plans `{release.noise}` noise", planned.index)
    for charge in charges(evidence):
        if charge.event is not None:
            noise = charge.event.noise or "gaussian"
            if noise != expected:
                raise Unsound(
                    f"round {charge.round} is charged for `{noise}` noise", charge.index
                )


def _require_everybody(evidence: Evidence) -> None:
    """Refuse a planned or charged release that not everybody is in.

    A release that nobody is in costs nothing, and the sites would have paid for one
    that everybody is in. Profiles may have such releases, of sites that sit out.
    """
    planned = read_plan(evidence)
    rates: list[tuple[float, str, int]] = []
    if planned is not None:
        what, index = "a planned release", planned.index
        rates += [(each.sampling_rate, what, index) for each, _ in planned.releases]
    for charge in charges(evidence):
        if charge.event is not None:
            rate = float(charge.event.sampling_rate)
            rates.append((rate, f"round {charge.round}", charge.index))
    for rate, what, index in rates:
        if rate != 1.0:
            raise Unsound(f"{what} has a sampling rate of {rate:g}, not 1", index)
