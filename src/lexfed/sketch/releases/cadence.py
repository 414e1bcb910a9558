# SPDX-License-Identifier: Apache-2.0
"""Cadence: how often a sketch gets new noise, and what that costs.

A noised sketch is kept, and renewed only every few rounds or when its subject changes;
renewal in every round is refused, with its cost (`running_sums` has another way).

**When to renew must be public.** The features of a released model or the sites that
take part may decide; a renewal *because the data changed* reveals that they did.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.errors import Refused
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.privacy.scopes import CountedRelease, record_epsilon, up
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.noised_sketch import NoisedSketch, NoisePlan, release_sketch
from lexfed.terms import Accountant


@dataclass(frozen=True)
class Cadence:
    """The rounds in which new noise is drawn; public, fixed before the first round.

    `every` is None if only the first is planned; `changes` bounds how often the subject
    of the sketch changes.
    """

    rounds: int
    every: int | None = None
    changes: int = 0

    def __post_init__(self) -> None:
        checks.in_range(1, 2**30, rounds=self.rounds)
        checks.in_range(0, 2**30, changes=self.changes)
        if self.every is not None:
            checks.in_range(1, self.rounds, every=self.every)

    @property
    def releases(self) -> int:
        """The most releases there can be."""
        planned = 1 if self.every is None else math.ceil(self.rounds / self.every)
        return planned + self.changes

    def period(self, at: int) -> int:
        """Return the number of the last planned renewal before a round."""
        return 0 if self.every is None else at // self.every


def planned_releases(
    cadence: Cadence,
    event: Release,
    limits: Limits,
    accountant: Accountant = "rdp",
    sites_per_person: int = 1,
) -> CountedRelease:
    """Return the releases that a ledger must have planned for a sketch of a cadence.

    Guarantees:
        As many releases as `RenewedSketch` may make.
        As many as there are rounds, or more, are refused unless there is one round
        only, with what one in every round would cost.
    """
    if cadence.releases >= cadence.rounds > 1:
        counted = [(event, cadence.rounds)]
        cost = record_epsilon(
            counted, limits.delta, limits.neighbours, accountant, sites_per_person
        )
        raise Refused(
            f"sketch `{event.name}`: new noise in each of {cadence.rounds} rounds "
            f"would cost ε = {up(cost, 4)} of {limits.epsilon}",
            "renew it every few rounds, allow fewer changes, or release running sums",
            scope="record",
            would_reach=cost,
            limit=limits.epsilon,
        )
    return event, cadence.releases


class RenewedSketch:
    """A noised sketch that is kept until its cadence renews it.

    Guarantees:
        At most `cadence.releases` releases are charged, whatever is asked and when.
        Between renewals the very same sketch is returned, and data are not looked at.
        After a refusal the sketch is as it was.
    """

    def __init__(
        self, cadence: Cadence, plan: NoisePlan, ledger: Ledger, source: RandomSource
    ) -> None:
        """Nothing is charged before the first round that asks."""
        self._cadence = cadence
        self._plan = plan
        self._ledger = ledger
        self._source = source
        self._changes = 0
        self._round = 0
        self._kept: tuple[int, str, NoisedSketch] | None = None

    def at(
        self, at: int, of: str, tables: Callable[[], Sequence[Integers]]
    ) -> NoisedSketch:
        """Return a round's sketch, from 0; `of` are public words for its subject."""
        checks.in_range(self._round, self._cadence.rounds - 1, at=at)
        period, changes = self._cadence.period(at), self._changes
        if self._kept is not None:
            kept_period, subject, sketch = self._kept
            if period == kept_period:
                if of == subject:
                    return sketch
                changes += 1
        if changes > self._cadence.changes:
            raise Refused(
                f"sketch `{self._plan.name}`: it became one of something else more "
                f"often than the {self._cadence.changes} times that were declared",
                "wait for the next planned renewal, or declare more changes",
            )
        sketch = release_sketch(self._plan, tables(), self._ledger, self._source)
        self._kept, self._changes, self._round = (period, of, sketch), changes, at
        return sketch
