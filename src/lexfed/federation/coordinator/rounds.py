# SPDX-License-Identifier: Apache-2.0
"""The coordinator: asks the next query, adds noise to the sum, learns from the release.

It knows no network and no files. The driver (`lexfed.run`) takes a `RoundRequest` from
`next`, makes its event durable, brings the query to the sites, and hands the answers to
`receive`. Everything the coordinator knows of the data are the released sums.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lexfed.arrays import Integers
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query, Refusal, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Sources
from lexfed.federation.site.unit_batch import flip_coins
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger


@dataclass(frozen=True)
class RoundRequest:
    """A query and the sites it goes to."""

    query: Query
    participants: tuple[str, ...]


@dataclass(frozen=True)
class RoundRelease:
    """The release of a round: the state after it, and the noised sum on the grid."""

    progress: Progress
    update: Integers


class Coordinator:
    """Drives a programme on from a state; without privacy it has no ledger.

    Sites' receipts are bound to the audit log that has `log` as its origin.

    Guarantees:
        A round that the ledger cannot pay for is refused before anyone computes.
        Noise is drawn afresh for every round and every coordinate.
        The state after a round is a function of released values and public facts.
    """

    def __init__(
        self,
        programme: Programme,
        learner: Learner,
        ledger: Ledger | None,
        sources: Sources,
        progress: Progress,
        log: str = "",
    ) -> None:
        self._programme = programme
        self._digest = programme.digest
        self._learner = learner
        self._ledger = ledger
        self._sources = sources
        self._log = log
        self._costs: dict[Release, list[Fraction]] = {}
        self.progress = progress

    def is_over(self, charged: bool = False) -> bool:
        """Return True if there is no further round; arguments are those of `next`."""
        return not self._choose(charged)

    def next(self, charged: bool = False) -> RoundRequest | None:
        """Return the next round, charged to the ledger, or None when all are done.

        It is refused if it would overspend. A round that was `charged` before an
        interruption, and of which nothing left the process, is run under that charge.
        """
        chosen = self._choose(charged)
        if not chosen:
            return None
        [release] = chosen
        stage = self._programme.stages[self.progress.stage]
        number = self.progress.done + 1
        if self._ledger is not None and charged:
            # The charge to the bit, also on another machine.
            release = self._ledger.events()[-1]
        elif self._ledger is not None and release is not None:
            excess = self._ledger.would_exceed(release)
            if excess is not None:
                raise Refused(
                    f"round {number} refused: {excess}",
                    scope=excess.scope,
                    would_reach=excess.would_reach,
                    limit=excess.of,
                )
            self._ledger.charge(release)
        model, arrays = self._learner.question(self.progress)
        query = Query(
            programme=self._digest,
            log=self._log,
            round=number,
            kind=stage.kind,
            tower=stage.tower,
            stage=self.progress.stage,
            step=self.progress.step,
            release=release,
            model=model,
            arrays=arrays,
        )
        return RoundRequest(query, self._participants(query))

    def _choose(self, charged: bool) -> tuple[Release | None, ...]:
        """Go to the next round's place and return its event; nothing at the end.

        A round that does not fit in its stage's part any more is asked with the most
        noise of its range, if that fits: a rest of the budget is worth a noisy round.
        """
        paid = () if self._ledger is None else self._ledger.events()
        if charged:
            paid = paid[:-1]
        while self.progress.stage < len(self._programme.stages):
            if not self._learner.is_over(self.progress):
                for most_noise in (False, True):
                    release = self._learner.release(self.progress, most_noise)
                    if self._fits(paid, release):
                        return (release,)
            self.progress = replace(
                self.progress, stage=self.progress.stage + 1, step=0
            )
        return ()

    def _fits(self, paid: Sequence[Release], release: Release | None) -> bool:
        """Return True if a stage's part of a filter's budget has room for a round.

        Its part is the cost of its planned rounds: a tower cannot spend a later one's.
        """
        if self._programme.guarantee == "envelope" or self._ledger is None:
            return True
        stage = self._programme.stages[self.progress.stage]
        # Every step of a stage was charged, so the last charges are the stage's.
        spent = [*paid[len(paid) - self.progress.step :], release]
        used = self._sums(self._ledger, spent)
        part = self._sums(self._ledger, stage.releases)
        return all(one <= whole for one, whole in zip(used, part, strict=True))

    def _sums(
        self, ledger: Ledger, releases: Sequence[Release | None]
    ) -> list[Fraction]:
        """Return the exact cost of releases in each scope of the ledger."""
        counts = Counter(release for release in releases if release is not None)
        for release in counts.keys() - self._costs.keys():
            self._costs[release] = [Fraction(cost) for cost in ledger.costs(release)]
        rows = [[n * cost for cost in self._costs[r]] for r, n in counts.items()]
        return [sum(scope, Fraction(0)) for scope in zip(*rows, strict=True)]

    def _participants(self, query: Query) -> tuple[str, ...]:
        names = self._programme.sites
        if self._programme.unit == "record":
            return names
        source = self._sources(f"clients/{query.round}")
        stage = self._programme.stages[query.stage].at(query.step)
        rates = [stage.rate_for(query.release, place) for place in range(len(names))]
        coins = flip_coins([source] * len(names), [1] * len(names), rates)
        return tuple(name for name, coin in zip(names, coins, strict=True) if coin)

    def spent(self) -> float:
        """Return the record epsilon of all charges so far; the ledger value."""
        return 0.0 if self._ledger is None else self._ledger.spent().record

    def receive(
        self,
        query: Query,
        answers: Sequence[Reply | Refusal],
        missing: Collection[str] = (),
    ) -> RoundRelease:
        """Sum the answers, add noise, and learn; `missing` sites were asked as well.

        Nothing is released if a site refused, or an answer is not one to this query: it
        would count twice, or be released without noise.
        """
        refusals = [answer for answer in answers if isinstance(answer, Refusal)]
        if refusals:
            first = refusals[0]
            raise Refused(f"site `{first.site}` refused: {first.reason}", scope="site")
        replies = [answer for answer in answers if isinstance(answer, Reply)]
        self._check(query, replies)
        stage = self._programme.stages[query.stage]
        empty = np.zeros(stage.dimension, dtype=np.int64)
        total = integer_sums.exact_sum([empty, *(reply.total for reply in replies)])
        if self._programme.trust == "central":
            source = self._sources(f"noise/{query.round}")
            total = integer_sums.add_noise(total, stage, query.release, source)
        released = integer_sums.descale(total, stage)
        self.progress = self._learner.learn(
            self.progress, query.release, released, missing
        )
        return RoundRelease(self.progress, total)

    def lost(self, query: Query) -> Progress:
        """Return the state after a round that was charged and released nothing."""
        self.progress = self.progress.after_round(query.stage, query.step)
        return self.progress

    def _check(self, query: Query, replies: Sequence[Reply]) -> None:
        by_sites = self._programme.trust != "central"
        seen: set[str] = set()
        for reply in replies:
            if reply.site in seen:
                raise Refused(f"site `{reply.site}` answered twice")
            if reply.round != query.round:
                raise Refused(f"site `{reply.site}` answered another round")
            if reply.noised != by_sites:
                raise Refused(
                    f"site `{reply.site}` and the programme disagree on noise"
                )
            seen.add(reply.site)
