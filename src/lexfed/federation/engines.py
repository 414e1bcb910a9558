# SPDX-License-Identifier: Apache-2.0
"""Engines: what moves a round's query to the sites and brings their answers back.

`inprocess` runs the very `Site` objects a deployment runs and passes them bytes.
`simulation` computes all sites of a round in one batched program; under the same
seeds both release the same numbers within one grid step (tests/federation).
"""

from collections.abc import Sequence
from typing import Protocol

import torch

from lexfed.federation import sums
from lexfed.federation.cohort import Cohort, SiteData, flip_coins
from lexfed.federation.contribute import contribute
from lexfed.federation.messages import Query, Refusal, Reply, answer_from_bytes
from lexfed.federation.programme import Programme
from lexfed.federation.site import Site, Sources


class Engine(Protocol):
    """Brings a query to the participating sites and returns what they answer."""

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return the answers; a simulated cohort may answer as one."""
        ...


class InProcess:
    """Every site is an object in this process; messages travel as bytes."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = {site.name: site for site in sites}

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Ask the participating sites one after the other."""
        content = query.to_bytes()
        return [
            answer_from_bytes(self._sites[name].handle(content))
            for name in participants
        ]


class Simulation:
    """All sites of a round in one batched program, for experiments on one machine."""

    def __init__(
        self, programme: Programme, data: Sequence[SiteData], sources: Sources
    ) -> None:
        self._programme = programme
        dtype, scales = programme.precision, programme.class_scales
        self._train = Cohort.of([site.train for site in data], dtype, scales)
        self._test = Cohort.of([site.test for site in data], dtype, scales)
        self._sources = sources

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return one answer: the sum over the participating sites."""
        programme = self._programme
        stage = programme.stages[query.stage].at(query.step)
        cohort = self._test if query.kind == "metrics" else self._train
        weights = torch.tensor(stage.factors, dtype=torch.float64)
        if programme.unit == "record":
            sources = [
                self._sources(f"coins/{name}/{query.round}") for name in programme.sites
            ]
            rates = [stage.rate_for(query.release, k) for k in range(len(sources))]
            chosen = flip_coins(sources, cohort.sites, rates)
            cohort = cohort.take(chosen)
        else:
            present = [name in participants for name in programme.sites]
            cohort = cohort.sites_where(present)
            weights = weights[present]
        total = sums.to_grid(contribute(query, programme, cohort, weights), stage)
        local = programme.trust == "local"
        if local:
            for name in participants:
                source = self._sources(f"noise/{name}/{query.round}")
                total = sums.add_noise(total, stage, query.release, source)
        return [Reply("all sites", query.round, total, noised=local)]
