# SPDX-License-Identifier: Apache-2.0
"""A run under observation: the query, the sum and the release of every round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lexfed.arrays import Floats
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Sources
from lexfed.randomness import SecureSource
from lexfed.run.pricing.priced_run import PricedRun

Observer = Literal["round", "central"]


@dataclass(frozen=True)
class ObservedRound:
    """One round: its query, its exact sum, and its release."""

    query: Query
    exact: Floats
    released: Floats


def observe_run(
    priced: PricedRun, sources: Sources | None = None
) -> list[ObservedRound]:
    """Train once in memory and write down every round, nobody being charged.

    Coins and noise are from secure sources by default.

    Raises:
        ValueError: if units are sampled, or sites add the noise themselves: then the
            sums that an informed observer takes off are not those that were added.
    """
    programme = priced.programme
    if programme.trust != "central" or any(
        s.sampling_rate < 1 for s in programme.stages
    ):
        raise ValueError("expected central trust and no sampling")
    learner, secure = Learner(programme), SecureSource()
    drawn: Sources = sources or (lambda _: secure)
    coordinator = Coordinator(
        programme, learner, priced.ledger(), drawn, learner.start()
    )
    engine = Simulation(programme, priced.population.sites, drawn)
    rounds = []
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        stage = programme.stages[asked.query.stage]
        totals = [answer.total for answer in answers if isinstance(answer, Reply)]
        exact = integer_sums.descale(integer_sums.exact_sum(totals), stage)
        released = coordinator.receive(asked.query, answers).update
        rounds.append(
            ObservedRound(asked.query, exact, integer_sums.descale(released, stage))
        )
    return rounds


def deviations(programme: Programme, query: Query) -> Floats:
    """Return the planned deviation of the noise on each number; 1 without noise."""
    stage = programme.stages[query.stage].at(query.step)
    deviation = np.ones(stage.dimension)
    if query.release is not None:
        for block, group in zip(stage.blocks, query.release.groups, strict=True):
            deviation[block.start : block.stop] = group.sigma
    return deviation


def noise_of(programme: Programme, rounds: Sequence[ObservedRound]) -> Floats:
    """Return the noise that was added, in planned deviations: standard normal."""
    return np.concatenate(
        [
            (seen.released - seen.exact) / deviations(programme, seen.query)
            for seen in rounds
        ]
    )
