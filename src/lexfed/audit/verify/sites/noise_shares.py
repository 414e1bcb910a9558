# SPDX-License-Identifier: Apache-2.0
"""Is noise in shares decided, planned and charged as its proof needs it?

Where nobody but the sites is trusted, each adds a share of the noise, and what a sum
costs is proven under conditions (docs/theory/guarantees.md, section 10): Rényi
accounting, everybody asked in every round, sums that are masked, enough honest sites in
each, and receipts that say what noise was asked for.
All of it is decided together or not at all. Half of it is not a weaker guarantee; it
is none.
"""

from lexfed.audit.entries import CohortAssumptions, PolicyEntry
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.guarantee.plan_price import read_plan
from lexfed.audit.verify.guarantee.spending import charges
from lexfed.audit.verify.sites.participation import site_keys
from lexfed.audit.verify.verdict import Unsound

SHARES = "skellam-shares"


def decided(evidence: Evidence, policy: PolicyEntry) -> CohortAssumptions | None:
    """Return the assumptions about the sites; None where somebody else is trusted.

    Raises:
        Unsound: if trust, noise, aggregation, accountant, sampling, plan or events
            contradict each other.
    """
    index = evidence.of(PolicyEntry)[-1].index
    distributed = policy.trust == "distributed"
    together = {
        "noise": policy.noise == SHARES,
        "aggregation": policy.aggregation == PROTOCOL,
        "cohort": policy.cohort is not None,
    }
    for name, there in together.items():
        if there != distributed:
            raise Unsound(f"`{name}` does not fit trust `{policy.trust}`", index)
    _same_noise(evidence, "skellam" if distributed else "gaussian")
    if policy.cohort is None:
        return None
    _everybody(evidence)
    needed = {
        "accountant": (policy.accountant, "rdp"),
        "sampling": (policy.sampling, "none"),
        "secret_sampling": (policy.secret_sampling, False),
        # Nobody but the sites is trusted, so they sign which noise they were asked for.
        "receipts": (policy.receipts, "event-digest"),
    }
    for name, (found, expected) in needed.items():
        if found != expected:
            raise Unsound(f"`{name}`: noise in shares needs `{expected}`", index)
    _possible(policy.cohort, len(site_keys(evidence)), index)
    return policy.cohort


def _possible(cohort: CohortAssumptions, keys: int, index: int) -> None:
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


def _same_noise(evidence: Evidence, expected: str) -> None:
    """Refuse a planned or charged release with noise of another law."""
    planned = read_plan(evidence)
    if planned is not None:
        lists = [planned.releases]
        lists += [profile.releases for profile in planned.profiles.values()]
        for release, _ in (row for rows in lists for row in rows):
            if release.noise != expected:
                raise Unsound(f"plans `{release.noise}` noise", planned.index)
    for charge in charges(evidence):
        event = charge.event
        if event is not None and (event.noise or "gaussian") != expected:
            raise Unsound(
                f"round {charge.round} is charged for `{event.noise or 'gaussian'}` "
                "noise",
                charge.index,
            )


def _everybody(evidence: Evidence) -> None:
    """Refuse a planned or charged release that not everybody is in.

    A release that nobody is in costs nothing, and the sites would have paid for one
    that everybody is in. Profiles may have such releases, of sites that sit out.
    """
    planned = read_plan(evidence)
    if planned is not None:
        for release, _ in planned.releases:
            _all_in(release.sampling_rate, "a planned release", planned.index)
    for charge in charges(evidence):
        if charge.event is not None:
            rate = float(charge.event.sampling_rate)
            _all_in(rate, f"round {charge.round}", charge.index)


def _all_in(rate: float, what: str, index: int) -> None:
    if rate != 1.0:
        raise Unsound(f"{what} has a sampling rate of {rate:g}, not 1", index)
