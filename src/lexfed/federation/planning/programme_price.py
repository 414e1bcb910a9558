# SPDX-License-Identifier: Apache-2.0
"""The price of a programme: from a draft and a budget to noise and stages.

Training, the purchase of importances and the purchase of a profile differ in what they
want and in how towers share the budget. All else is decided here, once.
"""

from collections.abc import Callable

from lexfed.budget.allocation import CappedShares
from lexfed.budget.noise_plan import (
    Budget,
    full_batch_releases,
    searched_releases,
    tower_bounds,
)
from lexfed.federation.planning.programme_draft import ProgrammeDraft
from lexfed.federation.planning.site_shares import planned_shares
from lexfed.federation.planning.stage_layout import lay_out
from lexfed.federation.programme.sequence import Programme
from lexfed.privacy.releases import Release

ShareRule = Callable[[tuple[float, ...]], CappedShares]
"""From the bounds on towers, as squares of Gaussian privacy, to their shares."""


def price_programme(
    draft: ProgrammeDraft, budget: Budget, allocate: ShareRule
) -> Programme:
    """Return the programme with the least noise that keeps to a budget.

    The error of the noise sampler is paid for first.

    Raises:
        ConfigError: if that error takes more than half of delta, a person at several
            sites would be sampled, or the sums do not fit what sites can add up.
    """
    left = draft.effective(budget)
    shares = allocate(tower_bounds(left, draft.tiers))
    releases = _releases(draft, left, shares)
    return lay_out(draft, releases, planned_shares(draft, releases))


def _releases(
    draft: ProgrammeDraft, budget: Budget, shares: CappedShares
) -> tuple[tuple[Release, ...], ...]:
    drafts, accountant = draft.drafts, draft.choices.accountant
    whole = all(each.sampling_rate == 1.0 for each in drafts)
    # Rényi accounting costs more than the formula, also without sampling.
    if whole and accountant != "rdp":
        return full_batch_releases(drafts, shares.squares)
    return searched_releases(drafts, shares, budget, draft.tiers, accountant)
