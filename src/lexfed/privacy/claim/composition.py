# SPDX-License-Identifier: Apache-2.0
"""Several claims together: the price for somebody who is in all of their runs.

The runs are the adaptive composition of their releases, so Theorem C.1 prices the lists
of all claims as one list. What is handed to the accountant has to be a list that
dominates each run, whatever it did:

* F0: the plan dominates the run, by any accountant.
* F2: the run is mu-GDP with the plan's mu [ST22], as the plan itself.
* F1: divergences are bounded at a single order, so there is no list. Such claims add
  up: (sum of epsilon, sum of delta), which is true of any claims.

The relation is add/remove if all claims have it. A run under replace-one tells the
number of units, so with one of them the whole is stated under replace-one, and so are
the parts. Delta is the smallest of the claims', where one accountant prices all.

Runs are taken as one after another. Their number and their plans must not depend on
what earlier ones released; what else was chosen by it does not matter. A filter over
all runs, such as a ceiling of a lasting ledger, needs no such assumption.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lexfed.errors import ClaimError
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.claim.lines import SHOWN, SamplerError
from lexfed.privacy.claim.proof import most_samples
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.privacy.scopes import releases_per_person, steps_of, up
from lexfed.terms import Accountant, Neighbours, Trust, Unit


@dataclass(frozen=True)
class ComposedGuarantee:
    """The guarantee of the whole record for somebody who is in several runs.

    `accountant` is None where epsilons and deltas were added up; `delta_sampler` is on
    top of delta.
    """

    unit: Unit
    neighbours: Neighbours
    epsilon: float
    replace_one: float
    delta: float
    delta_sampler: float
    accountant: Accountant | None
    trust: Trust


def composition_obstacles(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the reasons why claims have no price together."""
    if any(claim.stamp for claim in claims):
        yield "noise that was seeded protects nobody"
    if len({claim.unit for claim in claims}) > 1:
        yield "some protect a person, others a whole site"
    if len({claim.trust for claim in claims}) > 1:
        trusts = ", ".join(sorted({claim.trust for claim in claims}))
        yield f"they hold against different adversaries (trust: {trusts})"
    cohorts = [claim.cohort for claim in claims if claim.cohort is not None]
    if len({cohort.colluders for cohort in cohorts}) > 1:
        yield "they assume different numbers of colluding sites"


def composed_guarantee(claims: Sequence[Claim]) -> ComposedGuarantee:
    """Return the guarantee of all runs together, for somebody who is in each of them.

    Guarantees:
        Never below the exact price of all releases, in whatever order the claims are.
        Epsilon is rounded up, by at most 1e-7.

    Raises:
        ClaimError: if there is an obstacle, or if the error of the noise sampler is
            more than delta.
    """
    if not claims:
        raise ClaimError("no claim to compose")
    for why in composition_obstacles(claims):
        raise ClaimError(f"the claims do not compose: {why}")
    told = any(claim.neighbours == "replace-one" for claim in claims)
    neighbours: Neighbours = "replace-one" if told else "add-remove"
    if any(claim.accountant.filter == "F1" for claim in claims):
        return _added(claims, neighbours)
    accountant = _accountant(claims)
    smallest = min(claim.delta for claim in claims)
    record, replaced = (
        _price(claims, smallest, relation, accountant)
        for relation in (neighbours, "replace-one")
    )
    samples = sum(most_samples(claim) for claim in claims)
    return ComposedGuarantee(
        unit=claims[0].unit,
        neighbours=neighbours,
        epsilon=record,
        replace_one=replaced,
        delta=smallest,
        delta_sampler=SamplerError(samples, smallest).of_record(record),
        accountant=accountant,
        trust=claims[0].trust,
    )


def _accountant(claims: Sequence[Claim]) -> Accountant:
    """Return the accountant of all claims; `rdp` where noise in shares needs it."""
    names = {claim.accountant.name for claim in claims}
    if len(names) == 1:
        return claims[0].accountant.name
    shares = any(claim.mechanism.noise == "skellam-shares" for claim in claims)
    return "rdp" if shares else "pld"


def _price(
    claims: Sequence[Claim],
    delta: float,
    neighbours: Neighbours,
    accountant: Accountant,
) -> float:
    steps = [
        step
        for claim in claims
        for step in steps_of(
            releases_per_person(
                counted_releases(claim.releases), claim.sites_per_person
            )
        )
    ]
    return up(epsilon(steps, delta, neighbours, accountant))


def _added(claims: Sequence[Claim], neighbours: Neighbours) -> ComposedGuarantee:
    """Return the sum of what claims state, which needs no accountant."""
    whole = neighbours == "add-remove"
    epsilons = [claim.epsilon if whole else claim.label.epsilon for claim in claims]
    return ComposedGuarantee(
        unit=claims[0].unit,
        neighbours=neighbours,
        epsilon=up(math.fsum(epsilons)),
        replace_one=up(math.fsum(claim.label.epsilon for claim in claims)),
        delta=up(math.fsum(claim.delta for claim in claims)),
        delta_sampler=up(math.fsum(_sampler(claim, whole) for claim in claims)),
        accountant=None,
        trust=claims[0].trust,
    )


def _sampler(claim: Claim, record: bool) -> float:
    """Return the sampler's error of the record's line, or of the label's."""
    if record:
        return claim.delta_sampler
    stated = claim.label.delta_sampler
    # Version 1 states the record's figure for all lines, true up to this much.
    return max(claim.delta_sampler, SHOWN * claim.delta) if stated is None else stated
