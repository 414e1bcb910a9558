# SPDX-License-Identifier: Apache-2.0
"""Ledgers of sites against the log of a run: every charge is written, none is missing.

A receipt says which round a site answered and how many charges its ledger had then. So
the log names the line of the ledger that paid for each answer.
"""

from lexfed.audit.entries import AbortedRoundEntry, RoundEntry, receipts
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import Status, verify_run
from lexfed.errors import AuditError
from lexfed.privacy.releases import Release
from lexfed.signing.keys import Signer, fingerprint, load_key
from support.deployed.federations import Federation


def logged_charges(made: Federation) -> dict[int, Release]:
    """Return what every round of the log was charged for, by its number."""
    evidence = read_evidence(made.out)
    events = {each.entry.round: each.entry.event for each in evidence.of(RoundEntry)}
    for each in evidence.of(AbortedRoundEntry):
        assert each.entry.round not in events
        events[each.entry.round] = each.entry.event
    return {n: event.release() for n, event in sorted(events.items()) if event}


def answered(made: Federation, site: str) -> dict[int, int]:
    """Return the rounds a site has signed for, with the line of its ledger."""
    evidence = read_evidence(made.out)
    public = Signer(site, load_key(made.kits[site].identity_key)).public
    keys = {fingerprint(public): public}
    found = {}
    for entry in (each.entry for each in evidence.of(RoundEntry)):
        digest = entry.participation.digest
        assert digest is not None
        for envelope in receipts.decode(evidence.blobs.get(digest)):
            try:
                _, receipt = receipts.check(envelope, keys)
            except AuditError:
                continue  # another site's
            found[receipt.round] = receipt.charged
    return found


def assert_paid(made: Federation, missed: dict[str, int]) -> None:
    """Check the ledgers of all sites.

    Args:
        made: the deployment after a run.
        missed: how many charges of each site may have no answer in the log, beside
            those for rounds that the log says were lost.
    """
    failed = [c for c in verify_run(made.out).checks if c.status is Status.FAIL]
    assert not failed
    charges = logged_charges(made)
    lost = len(read_evidence(made.out).of(AbortedRoundEntry))
    assert list(charges) == list(range(1, len(charges) + 1))
    assert list(charges.values()) == made.charges()
    for name in made.sites:
        ledger, said = made.ledger(name), answered(made, name)
        assert sorted(said.values()) == [said[number] for number in sorted(said)]
        assert len(set(said.values())) == len(said)
        for number, line in said.items():
            assert ledger[line - 1] == charges[number], (name, number)
        assert len(ledger) - len(said) <= lost + missed.get(name, 0), name
