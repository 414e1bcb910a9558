# SPDX-License-Identifier: Apache-2.0
"""The cap that keeps a run from using its record budget, and the price of raising it.

The first tower has the whole record budget to share with those above it. A cap on the
tier that it reads bounds them all, and so does any cap where one part of the model
reads everything: the rest of the record budget then cannot be spent. The alternative is
a plan of its own, with that cap doubled and everything else the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lexfed.budget.noise_plan import Budget, TowerTiers
from lexfed.errors import LexfedError
from lexfed.federation.programme.sequence import Programme
from lexfed.privacy.scopes import record_epsilon, up
from lexfed.terms import Accountant
from lexfed.tiers import Tier

UNUSED = 0.01
"""Part of the record budget that may stay unused without a word. Sampled plans fill a
budget up to 3e-4 of their noise, and the sampler's own error comes off first."""

_RAISE = 2.0

Replan = Callable[[Budget], Programme]
"""The programme of the same run at another budget."""


@dataclass(frozen=True)
class RaisedCap:
    """The same run at a larger cap: its record epsilon, and its noise relative to now.

    `noise` is a ratio of deviations, of the noise that all rounds leave in the model.
    """

    cap: float
    epsilon: float
    noise: float


@dataclass(frozen=True)
class BindingCap:
    """A cap because of which `used` of the record's epsilon is all that can be spent.

    `raised` is None where no larger cap can be planned; `whole` says that one part of
    the model reads the tier together with all others.
    """

    tier: Tier
    cap: float
    used: float
    budget: float
    whole: bool
    raised: RaisedCap | None

    def to_json(self) -> dict[str, Any]:
        """Return it under its fixed names."""
        raised = self.raised
        return {
            "tier": self.tier.label,
            "cap": self.cap,
            "record_used": self.used,
            "record_budget": self.budget,
            "if_raised": None
            if raised is None
            else {
                "cap": raised.cap,
                "record_used": raised.epsilon,
                "noise_ratio": raised.noise,
            },
        }

    def sentence(self, source: str) -> str:
        """Return it in words; `source` names the key or policy that sets the cap."""
        why = (
            "one part of the model reads all columns"
            if self.whole
            else "the first part of the model, on which the others build, reads them"
        )
        words = (
            f"only ε {_shown(self.used)} of {self.budget:.4g} of the record is used: "
            f"the cap on {self.tier.label} columns, {self.cap:.4g} ({source}), binds "
            f"first, since {why}"
        )
        if self.raised is None:
            return f"{words}; no plan has twice this cap"
        return (
            f"{words}; at a cap of {self.raised.cap:.4g} the record would use "
            f"ε {_shown(self.raised.epsilon)}, with {self.raised.noise:.2f} times the "
            "noise"
        )


def binding_cap(
    programme: Programme,
    tiers: TowerTiers,
    budget: Budget,
    accountant: Accountant,
    replan: Replan,
) -> BindingCap | None:
    """Return the cap that leaves record budget unused; None if none does."""
    first = [(cap, tier) for tier, cap in budget.caps.items() if _binds(tier, tiers)]
    if not first:
        return None
    used = _record(programme, budget, accountant)
    if used >= (1.0 - UNUSED) * budget.epsilon:
        return None
    cap, tier = min(first)
    larger = replace(budget, caps={**budget.caps, tier: _RAISE * cap})
    return BindingCap(
        tier=tier,
        cap=cap,
        used=used,
        budget=budget.epsilon,
        whole=len(tiers.reads) == 1 and len(tiers.present) > 1,
        raised=_raised(programme, larger, tier, accountant, replan),
    )


def _binds(tier: Tier, tiers: TowerTiers) -> bool:
    """Return True if a cap on the tier bounds the first tower, hence all of them."""
    return tier in tiers.present and tiers.reads[0] >= tier


def _record(programme: Programme, budget: Budget, accountant: Accountant) -> float:
    return up(
        record_epsilon(
            programme.charges(),
            budget.delta,
            budget.neighbours,
            accountant,
            budget.sites_per_person,
        )
    )


def _raised(
    programme: Programme,
    larger: Budget,
    tier: Tier,
    accountant: Accountant,
    replan: Replan,
) -> RaisedCap | None:
    try:
        planned = replan(larger)
        epsilon = _record(planned, larger, accountant)
    except LexfedError:
        return None
    ratio = math.sqrt(_precision(programme) / _precision(planned))
    return RaisedCap(larger.caps[tier], epsilon, ratio)


def _precision(programme: Programme) -> float:
    """Return the sum of squares of sampled signal over noise, for one unit."""
    return math.fsum(
        count * (release.sampling_rate / release.noise_multiplier) ** 2
        for release, count in programme.charges()
    )


def _shown(epsilon: float) -> str:
    return f"{up(epsilon, digits=3 if epsilon >= 1.0 else 2):g}"
