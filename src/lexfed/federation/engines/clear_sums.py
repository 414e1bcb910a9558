# SPDX-License-Identifier: Apache-2.0
"""Engines whose answers are readable: in one process, over a channel, and simulated.

`InProcess` runs the very `Site` objects a deployment runs and passes them bytes.
`Simulation` computes all sites of a round in one batched program. `OverChannel` asks
sites that are elsewhere, some of which may not answer; `masked_sums.MaskedSums` does so
where nobody may see a single answer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import torch

from lexfed.data.people.unit_blocks import SiteData
from lexfed.errors import Refused
from lexfed.federation.engines.channel import Channel
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.integer_sums import noised_by_site
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
    longest_answer,
)
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site, Sources
from lexfed.federation.site.unit_batch import UnitBatch, flip_coins
from lexfed.visible_text import visible

_LONGEST_REASON = 300

CheckReceipt = Callable[[Query, str, bytes, Reply | None], object]
"""Takes a query, a site, its receipt and, where it is in the clear, the receipt's sum;
raises `Refused` unless the receipt is for both."""

LossCause = Literal["site-lost", "site-refused", "site-blamed", "sum-out-of-bound"]


class RoundLost(Exception):
    """A round that was asked and released nothing; it stays charged."""

    def __init__(self, message: str, cause: LossCause = "site-lost") -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause


class Engine(Protocol):
    """Brings a query to the participating sites and returns their answers."""

    def prepare(self) -> None:
        """Do the work that needs no charge, before a round is charged; here nothing."""
        return

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return the answers, or raise `RoundLost`; several sites may answer as one."""
        ...


class InProcess(Engine):
    """Every site is an object in this process; messages travel as bytes.

    Guarantees:
        Where coins decide which sites are asked, all have paid for the round before
        any is, so their ledgers do not tell which took part.
    """

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = {site.name: site for site in sites}

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Ask the participating sites one after the other."""
        content = query.to_bytes()
        kept = [site.keep_up(query) for site in self._sites.values()]
        refused = [refusal for refusal in kept if refusal is not None]
        if refused:
            return refused
        return [
            answer_from_bytes(self._sites[name].handle(content))
            for name in participants
        ]


class OverChannel(Engine):
    """Sites that are elsewhere, and answer in the clear; `dropouts` of them may not.

    Guarantees:
        A reply enters a sum only if it is its site's, for this very question, with a
        receipt; a site that sends something else counts as missing.
    """

    def __init__(
        self, programme: Programme, channel: Channel, dropouts: int, check: CheckReceipt
    ) -> None:
        self._programme = programme
        self._channel = channel
        self._dropouts = dropouts
        self._check = check

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return the replies, or raise `RoundLost` if more are missing than may be."""
        content = query.to_bytes()
        stage = self._programme.stages[query.stage]
        most = longest_answer(stage.dimension)
        sent = self._channel.exchange(dict.fromkeys(participants, content), most)
        answers = {name: _read(sent[name]) for name in participants if name in sent}
        replies = [
            answer
            for name, answer in answers.items()
            if isinstance(answer, Reply) and self._is_sound(query, name, answer)
        ]
        if len(replies) < len(participants) - self._dropouts:
            refusals = {n: a for n, a in answers.items() if isinstance(a, Refusal)}
            raise too_few(query, len(replies), len(participants), refusals)
        return replies

    def _is_sound(self, query: Query, name: str, reply: Reply) -> bool:
        total, stage = reply.total, self._programme.stages[query.stage]
        longest = 2**62 // len(self._programme.sites)
        if (
            reply.site != name
            or reply.round != query.round
            or reply.noised != (self._programme.trust != "central")
            or total.dtype != np.int64
            or total.shape != (stage.dimension,)
            or not bool(np.all((total <= longest) & (total >= -longest)))
        ):
            return False
        try:
            self._check(query, name, reply.receipt, reply)
        except Refused:
            return False
        return True


def _read(content: bytes) -> Reply | Refusal | None:
    try:
        return answer_from_bytes(content)
    except Exception:  # whatever a stranger's bytes may cause
        return None


def too_few(
    query: Query, answered: int, asked: int, refusals: Mapping[str, Refusal]
) -> RoundLost:
    """Return the loss of a round that too few of the asked sites answered.

    Nobody signs a refusal, and people read it. So the name is the channel's, and the
    reason a short line of visible characters.
    """
    message = f"round {query.round} is lost: {answered} of {asked} sites answered"
    if not refusals:
        return RoundLost(message)
    site, first = next(iter(refusals.items()))
    reason = visible(str(first.reason)[:_LONGEST_REASON])
    return RoundLost(f"{message}; site `{site}` refused: {reason}", "site-refused")


class Simulation(Engine):
    """All sites of a round in one batched program, for experiments on one machine."""

    def __init__(
        self, programme: Programme, data: Sequence[SiteData], sources: Sources
    ) -> None:
        self._programme = programme
        dtype, scales = programme.precision, programme.class_scales
        self._train = UnitBatch.of([site.train for site in data], dtype, scales)
        self._test = UnitBatch.of([site.test for site in data], dtype, scales)
        self._sources = sources

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return one answer: the sum over the participating sites."""
        programme = self._programme
        stage = programme.stages[query.stage].at(query.step)
        cohort = self._test if query.kind == "metrics" else self._train
        weights = torch.tensor(stage.factors, dtype=torch.float64)
        places: Sequence[int] = range(len(programme.sites))
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
            places = [place for place in places if present[place]]
        whole = contribute(query, programme, cohort, weights, places)
        total = integer_sums.to_grid(whole, stage)
        by_sites = programme.trust != "central"
        if by_sites:
            for name in participants:
                source = self._sources(f"noise/{name}/{query.round}")
                total = noised_by_site(total, programme, stage, query.release, source)
        sites = tuple(participants)
        return [Reply("all sites", query.round, total, by_sites, of=sites)]
