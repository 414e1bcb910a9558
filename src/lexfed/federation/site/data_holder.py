# SPDX-License-Identifier: Apache-2.0
"""A site: it answers queries about its own units, or refuses. It knows no network.

A site trusts nobody with its budget. Before it computes anything it checks that the
query belongs to the programme it agreed to, that the release is one that was agreed on
for its place there, and that its own ledger can pay.

Arithmetic on arrays stretches what is too short or has an axis too many. A coordinator
that lies could so multiply one unit's contribution beyond its clip, or ask something
that can be computed for some data only: then answering or not would tell, without any
noise. So a site checks every length before it looks at its data.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lexfed.audit.entries import ChargedEvent, receipts
from lexfed.budget.sites import LEAST_OVERLAP_WEIGHT
from lexfed.data.people.unit_blocks import SiteData
from lexfed.errors import LexfedError, Refused
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.integer_sums import noised_by_site
from lexfed.federation.programme.messages import Query, Refusal, Reply, answer_to_bytes
from lexfed.federation.programme.sequence import SITE_WEIGHTS, Programme
from lexfed.federation.programme.sketch_schedule import (
    are_follow_ups,
    follow_up_lengths,
)
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.unit_batch import UnitBatch, flip_coins
from lexfed.models.networks.flat_parameters import count
from lexfed.models.shape_functions import BINS, FUNCTIONS
from lexfed.models.tower_shapes import TowerShape
from lexfed.models.towers import Tower
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import SiteLedger
from lexfed.randomness import RandomSource
from lexfed.signing.keys import Signer

Sources = Callable[[str], RandomSource]
"""Returns the random source of a purpose, such as `coins/north/12`."""


class RoundPosition(NamedTuple):
    """The round that a site answered last, and where it is in the programme."""

    round: int = 0
    stage: int = -1
    step: int = -1


NOWHERE = RoundPosition()
"""The position of a site that has answered nothing."""

PositionWriter = Callable[[RoundPosition], None]
"""Puts a position on disk, or raises a `LexfedError`."""


class Site:
    """One party that holds data.

    Guarantees:
        Nothing is computed for a query it refuses, and nothing is charged.
        It answers or refuses, whatever bytes it gets.
        The charge is in its ledger before the answer is.
        An answer holds a sum of clipped contributions on the integer grid, never a
        row; with `trust = "local"` it is noised before it leaves, and with
        `"distributed"` it has its share of noise and leaves only masked.
        A round is answered once, and none before it afterwards, as long as what
        `keep` wrote down comes back as `answered`.
        A receipt names the question and the charge and binds the site to its sum,
        tells nothing about data, and is for the log that the site was opened for.
    """

    def __init__(
        self,
        programme: Programme,
        data: SiteData,
        ledger: SiteLedger | None,
        sources: Sources,
        signer: Signer | None = None,
        every_answer: bool | None = None,
        log: str = "",
        answered: RoundPosition = NOWHERE,
        keep: PositionWriter = lambda _: None,
    ) -> None:
        """Open a site for a programme that it agreed to.

        There is no ledger without privacy, and no signer where nobody asks for
        receipts, which are for one `log` alone. With `every_answer` each answer is
        charged, also a second one to the same round; by default unless the coordinator
        is trusted with the noise. The site has `answered` already, and `keep` gets its
        position before it charges.
        """
        self.name = data.name
        self._programme = programme
        self._digest = programme.digest
        scales = programme.class_scales
        self._train = UnitBatch.of([data.train], programme.precision, scales)
        self._test = UnitBatch.of([data.test], programme.precision, scales)
        self._place = programme.sites.index(data.name)
        self._ledger = ledger
        self._sources = sources
        self._signer = signer
        self._log = log
        central = programme.trust == "central"
        self._every_answer = not central if every_answer is None else every_answer
        self._answered = answered
        self._keep = keep
        self._coins_leave_out = programme.unit == "client" and any(
            stage.sampling_rate * min(stage.rates) < 1.0 for stage in programme.stages
        )
        # This site may pay for less than the round releases.
        self._planned = tuple(
            own
            for stage in programme.stages
            for step, release in enumerate(stage.releases)
            if (own := stage.at(step).release_for(release, self._place)) is not None
        )

    def handle(self, content: bytes) -> bytes:
        """Answer one query in the clear; where sums are masked, with a refusal."""
        if self._programme.cohort is None:
            return answer_to_bytes(self.answer(content))
        return answer_to_bytes(Refusal(self.name, 0, "its sums leave only masked"))

    def answer(self, content: bytes) -> Reply | Refusal:
        """Return the answer to one query, not yet masked where it must be."""
        try:
            query = Query.from_bytes(content)
        except Exception:  # whatever a stranger's bytes may cause
            return Refusal(self.name, 0, "the message is not a query")
        reason = self._objection(query)
        if reason:
            return Refusal(self.name, query.round, reason)
        try:
            self._advance(RoundPosition(query.round, query.stage, query.step))
            self._pay(query)
        except Refused as refusal:
            return Refusal(self.name, query.round, refusal.message)
        answer = self._reply(self._of_own_shapes(query))
        return self._signed(query, content, answer)

    def keep_up(self, query: Query) -> Refusal | None:
        """Pay for a round in which coins decide which sites are asked, before any is.

        A ledger that grew only in rounds its site was asked in would tell who took
        part, which is what the coins keep secret. Asked afterwards, a site has paid
        already.
        """
        if self._coins_leave_out:
            try:
                self._pay(query)
            except Refused as refusal:
                return Refusal(self.name, query.round, refusal.message)
        return None

    def _pay(self, query: Query) -> None:
        """Charge the ledger up to a round, or raise `Refused` if it does not pay."""
        if self._ledger is not None:
            for release in self._unpaid(query, self._ledger) or ():
                self._ledger.charge(release)

    def _advance(self, place: RoundPosition) -> None:
        """Write down that a round is being answered, before it is paid for.

        After a crash a round that may have been answered is lost, and is not answered
        again with other noise.
        """
        try:
            self._keep(place)
        except LexfedError as error:  # its message names files of the site
            raise Refused("its state cannot be written", scope="site") from error
        self._answered = place

    def _signed(
        self, query: Query, content: bytes, answer: Reply | Refusal
    ) -> Reply | Refusal:
        """Return a reply with a receipt, which commits to its sum.

        The receipt names the release of the query, which is the same for all sites,
        since the round's entry must name it too; what this site pays may be less. Where
        sums are masked, the masked vector is signed. Without privacy the query holds
        values without noise, so it is not hashed.
        """
        if self._signer is None or isinstance(answer, Refusal):
            return answer
        salt, bound = b"", None
        if self._programme.cohort is None:
            salt = secrets.token_bytes(receipts.SALT)
            bound = receipts.answer_digest(answer.content, salt)
        event = None if query.release is None else ChargedEvent.of(query.release)
        receipt = receipts.Receipt(
            log=self._log,
            run=self._log.rsplit("/", 1)[-1],
            programme=self._digest,
            round=query.round,
            query=None if event is None else hashlib.sha256(content).hexdigest(),
            clips=() if event is None else tuple(g.clip for g in event.groups),
            charged=0 if self._ledger is None else len(self._ledger.events()),
            event=None if event is None else event.digest,
            answer=bound,
        )
        signed = receipts.sign(receipt, self._signer)
        return replace(answer, receipt=signed, salt=salt)

    def _objection(self, query: Query) -> str:
        if query.programme != self._digest:
            return "the query belongs to another programme"
        if self._signer is not None and query.log != self._log:
            return "the query belongs to another log"
        if not self._agreed(query):
            return "the release is not the one that was agreed on"
        if query.round <= self._answered.round:
            return f"round {query.round} was answered already"
        if (query.stage, query.step) <= self._answered[1:]:
            return f"round {query.round} goes back in the programme"
        if query.release is None:
            return ""
        if self._ledger is None:
            return "it has no ledger to charge"
        unpaid = self._unpaid(query, self._ledger)
        if unpaid is None:
            return f"round {query.round} is not the next one of its ledger"
        if not unpaid:
            return ""
        excess = self._ledger.would_exceed(unpaid[0])
        return "" if excess is None else str(excess)

    def _agreed(self, query: Query) -> bool:
        """Return True if the programme has such a question at this place.

        The shapes that come with the query are compared: a tower that reads a more
        sensitive tier than its release is charged for would break every claim about
        that tier. So are the lengths of all arrays (`is_well_formed`).
        """
        stages = self._programme.stages
        if not 0 <= query.stage < len(stages):
            return False
        stage = stages[query.stage]
        before = sum(earlier.most_rounds for earlier in stages[: query.stage])
        shapes = tuple(tower.shape for tower in query.model.towers)
        return (
            query.kind == stage.kind
            and query.tower == stage.tower
            and 1 <= query.round <= before + query.step + 1
            and stage.admits(query.step, query.release)
            and shapes == self._programme.shapes
            and is_well_formed(query, self._programme)
        )

    def _of_own_shapes(self, query: Query) -> Query:
        """Return a query of the site's own shapes: 1.0 equals 1 and is no index."""
        pairs = zip(query.model.towers, self._programme.shapes, strict=True)
        towers = tuple(replace(tower, shape=own) for tower, own in pairs)
        return replace(query, model=replace(query.model, towers=towers))

    def _unpaid(self, query: Query, ledger: SiteLedger) -> tuple[Release, ...] | None:
        """Return the releases that the ledger is still to be charged for up to a round.

        Where noise is the coordinator's and everything is in one process, a round that
        was charged before a crash is answered under that charge: nothing of it had
        left. Everywhere else an answer may have arrived, so every answer is charged. A
        client that coins left out of rounds pays for the planned ones too, since not
        being asked is what the coins keep secret; elsewhere, missed rounds leave what
        was planned for them unspent. None if the round is not the next one of the
        ledger.
        """
        stage = self._programme.stages[query.stage].at(query.step)
        own = stage.release_for(query.release, self._place)
        if own is None:
            return ()
        if self._every_answer and not self._coins_leave_out:
            return (own,)
        events, before = ledger.events(), query.round - 1
        left_out: tuple[Release, ...] = ()
        if self._coins_leave_out:
            # Which planned rounds it missed is known only if none is ever skipped.
            if before != self._programme.rounds_before(query.stage, query.step):
                return None
            left_out = self._planned[len(events) : before]
        if len(events) + len(left_out) == before:
            return (*left_out, own)
        paid = len(events) == before + 1 and events[-1] == own
        return () if paid and not self._every_answer else None

    def _reply(self, query: Query) -> Reply | Refusal:
        stage = self._programme.stages[query.stage].at(query.step)
        cohort = self._test if query.kind == "metrics" else self._train
        if self._programme.unit == "record":
            coins = self._sources(f"coins/{self.name}/{query.round}")
            rate = stage.rate_for(query.release, self._place)
            chosen = flip_coins([coins], cohort.sites, [rate])
            cohort = cohort.take(chosen)
        weights = torch.tensor([stage.factors[self._place]], dtype=torch.float64)
        own = contribute(query, self._programme, cohort, weights, (self._place,))
        if query.release is None and not bool(torch.isfinite(own).all()):
            # Nothing is clipped without privacy, and nothing was charged.
            return Refusal(self.name, query.round, "its sum is not finite")
        total = integer_sums.to_grid(own, stage)
        by_site = self._programme.trust != "central"
        if by_site:
            source = self._sources(f"noise/{self.name}/{query.round}")
            total = noised_by_site(total, self._programme, stage, query.release, source)
        return Reply(self.name, query.round, total, by_site)


def is_well_formed(query: Query, programme: Programme) -> bool:
    """Return True if every array of a query is one that its place in a programme has.

    Its stage, kind and shapes are those of the programme, which was checked before.

    Guarantees:
        Every array is a finite vector of float64 of the one length that the programme
        gives it, and no array is missing or too many.
        Ends of bins and prefixes of texts are such as a table can have.
        A column that is chosen is one of the towers up to the stage's own.
        No site is weighed above 1, and nobody descends by a step that is not positive.
    """
    lengths = dict(_kind_lengths(query, programme))
    tables = programme.stages[query.stage].tables
    if programme.is_weighed(query.stage):
        lengths[SITE_WEIGHTS] = len(programme.sites)
    return (
        _is_vector(query.model.intercept, programme.shapes[0].outputs)
        and _is_vector(
            query.model.shifts, 0, len(programme.shapes) * programme.shapes[0].outputs
        )
        and _is_vector(query.model.factors, 0, len(programme.shapes))
        and all(map(_is_whole, query.model.towers))
        and query.arrays.keys() == lengths.keys()
        and all(_is_vector(query.arrays[name], size) for name, size in lengths.items())
        and (not tables or are_follow_ups(tables, query.arrays))
        and (not tables or _may_be_chosen(query, programme))
        and are_weights(query.arrays.get(SITE_WEIGHTS, np.zeros(0)))
        and (query.kind != "update" or query.arrays["learning_rate"][0] > 0.0)
    )


def are_weights(array: NDArray[Any]) -> bool:
    """Return True if a site takes these weights: none above 1 or below the least."""
    return bool(((array >= LEAST_OVERLAP_WEIGHT) & (array <= 1.0)).all())


def _may_be_chosen(query: Query, programme: Programme) -> bool:
    """Return True if the columns to be counted are ones that the release reads.

    A column of a tier above would be told at the price of a tier below.
    """
    read = programme.shapes[: query.tower + 1]
    slots = [slot for shape in read for slot in shape.slots]
    allowed = programme.sketching.within(slots)
    tables = programme.stages[query.stage].tables
    return all(
        float(query.arrays[f"chosen.{place}"][0]) in allowed
        for place, table in enumerate(tables)
        if table.domain == "chosen"
    )


def _kind_lengths(query: Query, programme: Programme) -> Mapping[str, int]:
    shape = programme.shapes[query.tower]
    if query.kind == "residuals":
        slots = dict.fromkeys(("centre", "scale"), len(shape.coordinates.slots))
        if shape.is_additive:
            slots["basis"] = len(shape.shaped) * BINS * FUNCTIONS
        return {**slots, "residual": 1, "reference": shape.outputs, "listen": 1}
    if query.kind == "amplitudes":
        return {"size": len(programme.shapes), "spread": 1}
    if query.kind == "gradient" and programme.networks:
        return {"radius": 1}
    if query.kind in ("gradient", "update"):
        adapts = programme.adapting.clip != "none"
        return {"learning_rate": 1, **({"radius": 1} if adapts else {})}
    if query.kind == "sketch":
        return follow_up_lengths(programme.stages[query.stage].tables)
    return {}


def _is_whole(tower: Tower) -> bool:
    slots, linear = len(tower.shape.slots), replace(tower.shape, architecture="linear")
    return (
        _is_vector(tower.parameters, _parameters(tower.shape))
        and _is_vector(tower.skip, 0, _parameters(linear))
        and _is_vector(tower.centre, 0, slots)
        and _is_vector(tower.scale, tower.centre.size)
    )


def _is_vector(array: NDArray[Any], *sizes: int) -> bool:
    return (
        array.dtype == np.float64
        and array.ndim == 1
        and array.size in sizes
        and bool(np.isfinite(array).all())
    )


@lru_cache(maxsize=64)
def _parameters(shape: TowerShape) -> int:
    return count(shape.untrained())
