# SPDX-License-Identifier: Apache-2.0
"""The price of a programme: from a draft and a budget to noise, grids and stages.

Training and both kinds of purchases differ in what they want and in how towers share
the budget. All else is decided here, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lexfed.budget.allocation import CappedShares
from lexfed.budget.noise_plan import (
    Budget,
    full_batch_releases,
    searched_releases,
    tower_bounds,
)
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.programme_draft import (
    DraftRelease,
    ProgrammeDraft,
    column_groups,
)
from lexfed.federation.planning.site_shares import SiteShares, phases_of, planned_shares
from lexfed.federation.programme.integer_sums import grid_in_ring
from lexfed.federation.programme.sequence import Block, Programme, Stage
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.models.gradients.rounding_error import summation_error
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release

ShareRule = Callable[[tuple[float, ...]], CappedShares]
"""From the bounds on towers, as squares of Gaussian privacy, to their shares."""

UNCLIPPED = 2.0**10
"""Stands for "no clip" where the mechanism is `none`: far above the norm of a gradient
of inputs in [-1, 1]. The grid is relative to it: a larger one would round away the
gradients of small federations."""

ROOM = 16
"""The grid has room for this many times the public number of units, so that a wrong
declaration costs precision nowhere and overflows nowhere."""


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


def lay_out(
    draft: ProgrammeDraft,
    releases: Sequence[tuple[Release, ...]] | None,
    shares: Sequence[SiteShares],
) -> Programme:
    """Return the programme; without releases (mechanism `none`) nothing is noised."""
    facts, choices = draft.facts, draft.choices
    private = releases is not None
    stages = []
    for place, item in enumerate(draft.wanted):
        rounds: tuple[Release | None, ...] = (None,) * len(item.draft.profile)
        if releases is not None:
            rounds = releases[place]
            if draft.cohort is not None:
                rounds = tuple(
                    replace(each, noise="skellam") for each in releases[place]
                )
        share = shares[item.draft.tower]
        # Tables count persons, whatever their site is meant to count.
        weights = share.weights if item.kind != "sketch" else (1.0,) * len(facts.sites)
        noise_range, extra = (1.0, 1.0), 0
        if private and not choices.follows_rule and item.kind in ("gradient", "update"):
            adapting = choices.adapting
            noise_range = adapting.noise_range(draft.shapes[item.draft.tower].tier)
            extra = adapting.most_rounds(len(rounds)) - len(rounds)
        stages.append(
            Stage(
                name=item.draft.name,
                kind=item.kind,
                tower=item.draft.tower,
                sampling_rate=item.draft.sampling_rate,
                weights=weights,
                rates=share.rates,
                divisor=share.divisor,
                releases=rounds,
                blocks=_blocks(draft, item, rounds, noise_range[1]),
                noise_range=noise_range,
                extra=extra,
                phases=phases_of(facts, choices, item, share),
                tables=item.tables,
            )
        )
    return Programme(
        mechanism=choices.mechanism,
        trust=choices.trust if private else "central",
        unit=choices.unit,
        loss=facts.loss,
        sites=facts.sites,
        shapes=draft.shapes,
        stages=tuple(stages),
        groups=column_groups(facts.encoding) if choices.mechanism == "grouped" else (),
        float32=draft.float32,
        follows_rule=choices.follows_rule,
        learning_rate=choices.learning_rate,
        learning_rate_schedule=choices.learning_rate_schedule,
        momentum=choices.momentum,
        local_steps=choices.local_steps,
        batch_size=choices.batch_size,
        seed=choices.seed,
        guarantee=choices.adapting.guarantee,
        adapting=choices.adapting,
        site_units=facts.site_units,
        cohort=draft.cohort,
        setup_rounds=choices.setup_rounds,
        sketching=choices.sketching if private else SketchSchedule(),
    )


def _blocks(
    draft: ProgrammeDraft,
    item: DraftRelease,
    rounds: Sequence[Release | None],
    factor: float,
) -> tuple[Block, ...]:
    """Return the grid of each group, with room for the most noise of any round."""
    facts, cohort = draft.facts, draft.cohort
    private = rounds[0] is not None
    error = _summation_error(draft, item.kind == "gradient")
    blocks, start = [], 0
    for place, group in enumerate(item.draft.groups):
        clip = group.clip if private else UNCLIPPED
        sigmas = [r.groups[place].sigma * factor for r in rounds if r is not None]
        grid = Grid(
            clip=clip,
            sigma=max(sigmas, default=clip),
            dimension=group.dimension,
            units=max(ROOM * facts.units, 1024),
            summation_error=error * clip,
            moved=_moved(draft, item, place),
        )
        if cohort is not None:
            grid = grid_in_ring(grid, facts.units, cohort)
        blocks.append(Block(start, start + group.dimension, grid))
        start += group.dimension
    return tuple(blocks)


def _moved(draft: ProgrammeDraft, item: DraftRelease, place: int) -> int | None:
    """Return the cells of a table that a unit counts in; None where sums are floats.

    Sums of tables are exact (`site.table_counts`), so all other cells stay as they are.
    """
    if item.kind != "sketch" or draft.choices.unit == "client":
        return None
    table = item.tables[place]
    return min(table.cells, table.depth * draft.facts.places)


def _summation_error(draft: ProgrammeDraft, gradient: bool) -> float:
    """Return the bound on rounding in a site's sum, in clips; at most a hundredth.

    Only gradients by closed form add up a person's rows inside the sum; every other
    vector is averaged first and clipped as it is.
    """
    facts = draft.facts
    error = summation_error(
        max(ROOM * facts.units, 1024),
        np.dtype(np.float32 if draft.float32 and gradient else np.float64),
        terms=facts.places if gradient else 1,
        sites=len(facts.sites),
    )
    if error > 1e-2:
        what = (
            "so many rows of so many people cannot be summed with the precision that "
            "is charged for"
        )
        hint = "use `records_per_person = 1`, or a linear model with the built-in rule"
        raise ConfigError([Problem("`data.records_per_person`", what, hint)])
    return error
