# SPDX-License-Identifier: Apache-2.0
"""The delta that each line of a claim pays for the noise sampler.

The real transcript is within total variation N 2^-90 of the ideal one, N the number of
noise values of the whole run. A line that states epsilon pays N (1 + e^epsilon) 2^-90
for that, with *its own* epsilon: the label's replace-one epsilon is two to three times
the record's under add/remove, and e^epsilon with it is another number altogether.

Claims of version 1 state one figure, that of the record, for all lines. They are read
as long as no line's own figure is above the stated one and above a thousandth of delta,
less than any text shows of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lexfed.errors import ClaimError
from lexfed.privacy.claim_record import Claim
from lexfed.privacy.noise import delta_sampler
from lexfed.privacy.rounding import TOLERANCE, up

SHOWN = 1e-3
"""Part of delta that a claim of version 1 may leave out."""


@dataclass(frozen=True)
class SamplerError:
    """What lines of a claim pay for the sampler.

    Attributes:
        samples: noise values of the whole run.
        delta: of every line; the error beside it must not be larger.
    """

    samples: int
    delta: float

    def at(self, line: str, epsilon: float) -> float:
        """Return what a line with that epsilon states on top of delta, rounded up.

        Raises:
            ClaimError: if it is more than delta.
        """
        return up(self.least(line, epsilon))

    def least(self, line: str, epsilon: float) -> float:
        """Return what a line with that epsilon has to pay.

        Raises:
            ClaimError: if it is more than delta.
        """
        error = delta_sampler(self.samples, epsilon)
        if error > self.delta:
            raise ClaimError(
                f"claim: the epsilon of the {line} is {epsilon:.4g}, and the error of "
                f"the noise sampler, times e^ε, {error:.2g}: more than delta, "
                f"{self.delta:g}",
                "choose a smaller `budget.epsilon`; so large a one means nothing",
            )
        return error


def check_sampler(claim: Claim, samples: int) -> None:
    """Require that every line pays for the sampler at the epsilon it states.

    Raises:
        ClaimError: if a figure is missing, or smaller than it has to be.
    """
    error = SamplerError(samples, claim.delta)
    for line, epsilon, stated in _lines(claim):
        least = error.least(line, epsilon)
        if (stated is None) != (claim.version == 1 and line != "record"):
            raise ClaimError(
                f"claim: version {claim.version} and `delta_sampler` of the {line} do "
                "not go together"
            )
        if stated is None:
            stated = max(claim.delta_sampler, SHOWN * claim.delta)
        if stated < least * (1.0 - TOLERANCE):
            raise ClaimError(
                f"claim: `delta_sampler` of the {line} is {stated:g}, at its epsilon "
                f"it is no less than {least:g}"
            )


def _lines(claim: Claim) -> Iterator[tuple[str, float, float | None]]:
    """Yield the name, the epsilon and the stated figure of every line."""
    yield "record", claim.epsilon, claim.delta_sampler
    yield "label", claim.label.epsilon, claim.label.delta_sampler
    for tier, row in claim.tiers.items():
        yield f"tier {tier}", row.epsilon, row.delta_sampler
    for name, profile in claim.profiles.items():
        largest = max(profile.epsilon, profile.label, *profile.tiers.values())
        yield f"profile {name}", largest, profile.delta_sampler
    for name, one in claim.classes.items():
        yield f"class {name}", one.epsilon, one.delta_sampler
