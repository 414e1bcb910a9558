# SPDX-License-Identifier: Apache-2.0
"""The delta that each line of a claim pays for the noise sampler.

The real transcript is within total variation N 2^-90 of the ideal one, N the number of
noise values of the whole run. A line that states epsilon pays N (1 + e^epsilon) 2^-90
for that, with *its own* epsilon: the label's replace-one epsilon is two to three times
the record's under add/remove, and e^epsilon with it is another number altogether.

A record whose error is more than delta has no claim. The label has no budget, and at
large epsilons its error may be more than delta; its line then says so by its figure,
and the claim lists it among what is not covered.

Claims of version 1 state one figure, that of the record, for all lines. They are read
as long as no line's own figure is above the stated one and above a thousandth of delta,
less than any text shows of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lexfed.errors import ClaimError
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.rounding import TOLERANCE, up

SHOWN = 1e-3
"""Part of delta that a claim of version 1 may leave out."""


@dataclass(frozen=True)
class SamplerError:
    """The sampler's error, and the delta that lines of a claim pay for it.

    Attributes:
        samples: noise values of the whole run.
        delta: of every line; the record's error must not be larger.
    """

    samples: int
    delta: float

    def at(self, epsilon: float) -> float:
        """Return the error that a line with that epsilon states, rounded up."""
        return up(delta_sampler(self.samples, epsilon))

    def of_record(self, epsilon: float) -> float:
        """Return the error that the record's line states.

        Raises:
            ClaimError: if it is more than delta: then there is no claim to make.
        """
        error = self.at(epsilon)
        if error > self.delta:
            raise ClaimError(
                f"claim: at the record's epsilon of {epsilon:.4g} the error of the "
                f"noise sampler, times e^ε, is {error:.2g}: more than delta, "
                f"{self.delta:g}",
                "choose a smaller `budget.epsilon`; so large a one means nothing",
            )
        return error

    def empty_lines(self, lines: Mapping[str, float]) -> tuple[str, ...]:
        """Name the lines without a guarantee, given epsilons by names in words."""
        return tuple(
            f"{name}: at its epsilon of {epsilon:.4g} the error of the noise sampler "
            "is more than delta, so that its line says nothing"
            for name, epsilon in lines.items()
            if self.at(epsilon) > self.delta
        )


def check_sampler(claim: Claim, samples: int) -> None:
    """Require that every line pays for the sampler at the epsilon it states.

    Raises:
        ClaimError: if a figure is missing, or smaller than it has to be.
    """
    for line, epsilon, stated in _lines(claim):
        least = delta_sampler(samples, epsilon)
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


def check_uncovered_lines(claim: Claim) -> None:
    """Require that lines which the sampler leaves without a guarantee are named.

    Raises:
        ClaimError: naming the first that is not among what is not covered.
    """
    lines = {f"tier {name}": row.delta_sampler for name, row in claim.tiers.items()}
    lines["the label"] = claim.label.delta_sampler
    for name, stated in lines.items():
        named = any(gap.startswith(f"{name}: ") for gap in claim.not_covered)
        if (stated or 0.0) > claim.delta and not named:
            raise ClaimError(
                f"claim: `delta_sampler` of {name} is more than delta, and "
                "`not_covered` does not say so"
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
