# SPDX-License-Identifier: Apache-2.0
"""Pure epsilon in ledgers that add Gaussians: Laplace noise, randomised response.

A mechanism is *pure* if no outcome is more than e^epsilon times as likely for one
neighbour as for the other. Ledgers know Gaussian releases only, and need no more:

**Theorem P.** A pure mechanism is mu-GDP with mu = -2 Phi^-1(1/(1 + e^epsilon)), and no
smaller mu serves for all of them.

*Proof*: guarantees, section 8, from the trade-off curve of a pure mechanism [DRS22,
Sec. 2], which lies above that of mu-GDP. So the mechanism is post-processing of that
Gaussian [DRS22, Thm. 2.10], and all that is known of Gaussian releases holds for the
event here: every accountant, adaptive composition, filters, other noise beside it.

**Relations.** epsilon is that of one person more or less. Ledgers charge twice the mu
for a replacement and m times for a person at m sites: that is right, since such data
are 2 (or 2m, or m) steps apart, and k steps of mu-GDP are k mu-GDP [DRS22, Thm. 2.14].
A mechanism whose epsilon holds against replacement alone must not be charged by this.

The event is **not the noise that is drawn**: its groups say so in their name.
"""

import math

from scipy.special import erfinv, ndtri_exp

from lexfed import checks
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

LARGEST_EPSILON = 500.0
"""Beyond this nobody is protected."""

_SMALL = 1.0  # below: by the inverse error function, which loses nothing near zero
_SAFETY = 1e-12
"""Relative step to the safe side, above the error of the inverse functions."""


def gaussian_of(epsilon: float) -> float:
    """Return the mu of Theorem P, for epsilon in (0, 500].

    Guarantees:
        Never below the exact value, and above it by less than 1e-11 of it.
    """
    checks.positive(epsilon=epsilon)
    checks.in_range(0.0, LARGEST_EPSILON, epsilon=epsilon)
    if epsilon < _SMALL:
        # Phi^-1(p) = sqrt(2) erfinv(2p - 1), and 1 - 2k = tanh(epsilon/2).
        mu = 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    else:
        log_kink = -epsilon - math.log1p(math.exp(-epsilon))
        mu = -2.0 * float(ndtri_exp(log_kink))
    return mu * (1.0 + _SAFETY)


def pure_release(
    name: str, epsilon: float, reads: Tier | None, samples: int
) -> Release:
    """Return the event of a mechanism that is pure with epsilon, for any ledger.

    It depends on tiers up to `reads` and draws `samples` values that are within 2^-90
    of their law, not exactly of it.

    Guarantees:
        Its Gaussian is post-processed to the mechanism, for every relation.
        Its group says that it is no noise that was drawn.
    """
    group = ReleaseGroup(
        f"as dear as pure ε = {epsilon:.6g}", gaussian_of(epsilon), 1.0
    )
    return Release(name, (group,), 1.0, reads, samples)
