# SPDX-License-Identifier: Apache-2.0
"""Sums of sketches by whichever protocol there is: masks, aggregators or encryption.

All three of `lexfed.secagg` add vectors of integers exactly and open the sum only. A
`SharedPlan` says what the vector is; here it becomes the terms of each:

    masking_terms     sites and one server; no second organisation
    sharing_terms     two to seven aggregators, which may be sites themselves; all
                      shares but one are seeds of 32 bytes
    encryption_terms  a key holder decrypts one sum (extra `he`)

The ring is the smallest that holds what the declared people can reach and the noise,
so that a sum beyond it fails instead of wrapping. A round's model is the plan's
digest: sites with another seed, width, domain or noise derive other keys. A site sends
`plan.share(...)`, and the sum goes through `plan.opened(...)`, whatever the protocol.
"""

from lexfed.errors import ConfigError, Problem
from lexfed.secagg.encrypted.terms import EncryptionTerms
from lexfed.secagg.masks.terms import MaskTerms
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.schemes import AdditiveSharing
from lexfed.secagg.shares.site import OperatorTerms
from lexfed.sketch.sharing.sum_plan import SharedPlan

_SUBTRACT = 2
"""Of a sum of colluders and one other site, that site would be left."""


def masking_terms(plan: SharedPlan, rounds: int = 1) -> MaskTerms:
    """Return the terms of sums under masks; one set-up serves `rounds` of them.

    Guarantees:
        Sums of fewer sites than the noise is sized for are never opened.

    Raises:
        ConfigError: if colluders could subtract themselves.
    """
    return MaskTerms(
        rounds,
        plan.masked.cohort.colluders,
        _least(plan),
        Ring(plan.masked.ring()),
        plan.length,
        # Every sum has fresh noise and is charged, whoever is in it.
        least_change=1,
    )


def sharing_terms(plan: SharedPlan, operators: int) -> OperatorTerms:
    """Return the terms of additive shares for that many aggregators.

    Guarantees:
        As `masking_terms`; and all shares but the last are seeds.
    """
    scheme = AdditiveSharing(operators, Ring(plan.masked.ring()), plan.length)
    return OperatorTerms(scheme, _least(plan), plan.masked.bound())


def encryption_terms(plan: SharedPlan) -> EncryptionTerms:
    """Return the terms of sums under encryption.

    Guarantees:
        As `masking_terms`.
    """
    return EncryptionTerms(_least(plan), plan.masked.bound(), plan.length)


def _least(plan: SharedPlan) -> int:
    cohort = plan.masked.cohort
    if cohort.least < cohort.colluders + _SUBTRACT:
        what = (
            f"{cohort.colluders} colluders in a sum of {cohort.least} sites can "
            "subtract themselves, and one site is left"
        )
        hint = "expect fewer colluders or dropouts, or let more sites take part"
        where = f"sketch `{plan.masked.plan.name}`"
        raise ConfigError([Problem(where, what, hint)])
    return cohort.least
