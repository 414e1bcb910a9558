# SPDX-License-Identifier: Apache-2.0
"""The coordinator's side of masked sums: it learns a round's sum and nothing else.

An epoch is set up before its first round is charged, and again when its rounds are used
up, when a round released nothing, or when a site was found to cheat: a blamed site is
not asked again in this run. Only what a site signed is held against it; a silent one is
missing, and no more. A site that is missing from a round may come back in the next one,
one that is missing from a set-up in the next epoch. A round with too few sites left is
lost, and so is one whose sum left its bound: it may have wrapped around.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from lexfed.arrays import Integers
from lexfed.errors import Refused, SecAggError
from lexfed.federation.engines.channel import LONGEST_WORD, Channel
from lexfed.federation.engines.clear_sums import (
    CheckReceipt,
    LossCause,
    RoundLost,
    too_few,
)
from lexfed.federation.engines.masked_setting import (
    EpochRequest,
    MaskedQuery,
    MaskEpochs,
    PieceRequest,
    read_answer,
    refusal_in,
    seat_name,
    sender_of,
)
from lexfed.federation.programme.integer_sums import longest_sum, stays_within
from lexfed.federation.programme.messages import LONGEST_RECEIPT, Query, Refusal, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.secagg.envelopes.payloads import longest_deal
from lexfed.secagg.mask_sessions.round_record import RoundRecord
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import EstablishedEpoch, ServerSetup
from lexfed.secagg.masks.vector_pieces import longest_masked, longest_piece

_AT_ONCE = 8
"""Sites whose pieces are on their way at a time; each is a few megabytes."""

MessageSink = Callable[[bytes], None]
"""Takes one site's message, or raises `SecAggError`."""
BlameSink = Callable[[str, str], None]
"""Takes a blamed site and the reason; durable on return."""


@dataclass(frozen=True, kw_only=True)
class MaskedSum(Reply):
    """A sum opened for several sites, with their receipts and evidence for others."""

    signed: Mapping[str, bytes]
    record: RoundRecord

    @property
    def receipts(self) -> Mapping[str, bytes]:
        """The signed receipt of each site in the sum."""
        return self.signed


class MaskedSums:
    """Asks sites for masked answers and opens their sum.

    Guarantees:
        Only the sum of at least `sites - dropouts` sites is ever opened.
        A site without a valid receipt is not in a sum.
        A blamed site is left out of every later set-up.
        Sites that follow the protocol are not blamed, whatever others do.
    """

    def __init__(
        self,
        programme: Programme,
        channel: Channel,
        epochs: MaskEpochs,
        check: CheckReceipt,
        exclude: BlameSink,
        blamed: Collection[str] = (),
    ) -> None:
        if programme.cohort is None:
            raise ValueError("expected a programme with noise in shares")
        self._programme, self._cohort = programme, programme.cohort
        self._channel, self._check = channel, check
        self._identity, self._settings = epochs.identity, epochs.settings
        self._next_epoch = epochs.next_epoch
        self._names = {seat_name(key): name for name, key in epochs.sites.items()}
        self._session: ServerSession | None = None
        self._rounds = 0
        self._exclude = exclude
        self.blamed = set(blamed)

    # Set-up

    def prepare(self) -> None:
        """Set up an epoch if none has rounds left, or raise before any charge."""
        if self._session is not None and self._rounds < self._programme.setup_rounds:
            return
        without: set[str] = set()
        while True:
            known = len(self.blamed | without)
            try:
                established = self._set_up(without)
                break
            except SecAggError as error:
                self._blame(error)
                without.update(self._names[seat] for seat in error.silent)
                if len(self.blamed | without) == known:
                    raise self._no_epoch(error) from error
        self._session = ServerSession(self._identity, established)
        self._rounds = 0

    def _set_up(self, without: Collection[str]) -> EstablishedEpoch:
        """Set up an epoch without sites that were silent while others waited."""
        setting = self._settings(self._next_epoch())
        setup = ServerSetup(self._identity, setting)
        left_out = self.blamed.union(without)
        names = [name for name in self._programme.sites if name not in left_out]
        begin = EpochRequest(setting.epoch).to_bytes()
        most = longest_deal(len(self._programme.sites), setting.terms.rounds)
        names = self._collect(dict.fromkeys(names, begin), setup.advertised, most)
        keys = setup.close_keys()
        names = self._collect(dict.fromkeys(names, keys), setup.dealt, most)
        names = self._collect(self._by_name(setup.close_deals()), setup.ready)
        self._collect(self._by_name(setup.inquiries()), setup.proven)
        established = setup.established()
        if len(names) < setting.terms.least_sites:
            raise SecAggError(f"only {len(names)} sites are ready")
        return established

    def _by_name(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        return {self._names[seat]: message for seat, message in messages.items()}

    def _no_epoch(self, error: SecAggError) -> SecAggError:
        named = sorted(self.blamed)
        without = f", without {', '.join(named)}, who broke the rules" if named else ""
        return SecAggError(
            f"no epoch of masked sums could be set up{without}: {error.message}",
            "wait until more sites are there, then continue the run",
        )

    def _blame(self, error: SecAggError) -> None:
        for seat in error.blamed:
            name = self._names[seat]
            if name not in self.blamed:
                self._exclude(name, error.message)
                self.blamed.add(name)

    def _collect(
        self, messages: Mapping[str, bytes], take: MessageSink, most: int = LONGEST_WORD
    ) -> list[str]:
        """Send messages and take the answers; return the sites with right ones."""
        answers = self._channel.exchange(messages, most) if messages else {}
        right = []
        for name in messages:
            if name not in answers:
                continue
            try:
                self._take(name, answers[name], take)
            except SecAggError as error:
                self._blame(error)
                continue
            right.append(name)
        return right

    def _take(self, name: str, message: bytes, take: MessageSink) -> None:
        """Take a message from the site that signed it, and from nobody else."""
        if self._names.get(sender_of(message)) != name:
            raise SecAggError(f"`{name}` sent what is not its own")
        take(message)

    # A round

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Return the opened sum of the sites that answered, or raise `RoundLost`."""
        self.prepare()
        if self._session is None:  # pragma: no cover - `prepare` sees to it
            raise RoundLost("no epoch")
        session, self._session = self._session, None
        known = len(self.blamed)
        self._rounds += 1
        content = query.to_bytes()
        stage = self._programme.stages[query.stage]
        session.begin(self._rounds, sha256(content).digest(), stage.dimension)
        signed = self._gather(session, query, content, participants)
        try:
            self._open(session)
        except SecAggError as error:
            self._blame(error)
            cause: LossCause = "site-blamed" if error.blamed else "site-lost"
            message = f"round {query.round} is lost: {error.message}"
            raise RoundLost(message, cause) from error
        total = self._total(session, query)
        if len(self.blamed) == known:
            self._session = session
        survivors = {self._names[seat] for seat in session.survivors}
        present = tuple(name for name in self._programme.sites if name in survivors)
        opened = MaskedSum(
            site="all sites",
            round=query.round,
            total=total,
            noised=True,
            of=present,
            signed={name: signed[name] for name in present},
            record=session.record(),
        )
        return [opened]

    def _gather(
        self,
        session: ServerSession,
        query: Query,
        content: bytes,
        participants: Sequence[str],
    ) -> dict[str, bytes]:
        """Take the masked answers to a query; return the receipts of their sites."""
        signed: dict[str, bytes] = {}
        refusals: dict[str, Refusal] = {}
        asked = [name for name in participants if name not in self.blamed]
        message = MaskedQuery(self._rounds, content).to_bytes()
        most = LONGEST_RECEIPT + longest_masked(
            self._settings(0).terms.ring, self._programme.stages[query.stage].dimension
        )
        sent = self._channel.exchange(dict.fromkeys(asked, message), most)
        for name in asked:
            reply = sent.get(name, b"")
            refusal = refusal_in(reply)
            if refusal is not None:
                refusals[name] = refusal
                continue
            try:
                answer = read_answer(reply)
                self._check(query, name, answer.receipt, None)
                self._take(name, answer.masked, session.masked)
            except (SecAggError, Refused):
                continue
            signed[name] = answer.receipt
        if session.pieces:
            self._fetch(session, signed)
        if len(signed) < self._cohort.least:
            raise too_few(query, len(signed), len(participants), refusals)
        return signed

    def _fetch(self, session: ServerSession, signed: dict[str, bytes]) -> None:
        """Fetch long vectors piece by piece; drop sites with an incomplete one."""
        seats = {name: seat for seat, name in self._names.items()}
        names, most = list(signed), longest_piece(self._settings(0).terms.ring)
        for start in range(0, len(names), _AT_ONCE):
            group = names[start : start + _AT_ONCE]
            for number in range(session.pieces):
                if not group:
                    break
                fetch = PieceRequest(number).to_bytes()
                pieces = self._channel.exchange(dict.fromkeys(group, fetch), most)
                for piece in pieces.values():
                    with suppress(SecAggError):  # the site is left out below
                        session.piece(piece)
                group = [name for name in group if name in pieces]
        for name in names:
            if session.missing(seats[name]):
                del signed[name]

    def _open(self, session: ServerSession) -> None:
        """Agree on the survivors, and open the masks of their sum."""
        survivors = session.close_masked()
        listed = [self._names[seat] for seat in session.survivors]
        agreed = self._collect(dict.fromkeys(listed, survivors), session.consented)
        consents = session.close_consents()
        self._collect(dict.fromkeys(agreed, consents), session.unmasked)
        session.reconstruct()

    def _total(self, session: ServerSession, query: Query) -> Integers:
        """Take the masks off the sum; honest sites hardly ever leave its bound."""
        stage = self._programme.stages[query.stage]
        try:
            total = session.total(longest_sum(stage, self._cohort))
            inside = stays_within(total, stage, self._cohort)
        except SecAggError:
            inside = False
        if not inside:
            raise RoundLost(
                f"round {query.round} is lost: the sum left its bound, so a site sent "
                "a vector that no honest one can have",
                "sum-out-of-bound",
            )
        return total
