# SPDX-License-Identifier: Apache-2.0
"""A site's side of secure aggregation, as a machine without network or clock.

Set-up, once for N rounds:        then in every round:

    advertise() -> ADVERTISE          mask(r, model, x) -> MASKED, or HEADER
    deal(KEYS) -> DEAL                piece(k) -> PIECE, after HEADER, for each k
    accept(DELIVERY) -> READY         consent(SURVIVORS) -> CONSENT
    prove(INQUIRY) -> EVIDENCE,       unmask(CONSENTS) -> UNMASK
        if shares are disputed

A message that is refused changes nothing, so a broken line or a stranger cannot use
up an answer. One that is answered is answered once, and rounds only go up; a piece is
the same whenever it is asked for. Nothing is stored: a site that starts again has no
secrets of the old epoch and waits for the next. Why this is safe from a server that
lies: `docs/theory/secure-aggregation.md`.
"""

from hashlib import sha256

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import SEAT, read_consents
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, signed_bytes
from lexfed.secagg.mask_sessions.site_setup import SitePhase, SiteSetup
from lexfed.secagg.masks.epoch_secrets import OWN, PAIR, row
from lexfed.secagg.masks.round_masks import add_own, add_pairs, binding
from lexfed.secagg.masks.vector_pieces import OutgoingVector, count_of
from lexfed.secagg.primitives.shamir import secret_bytes


class SiteSession(SiteSetup):
    """One site in one epoch.

    Guarantees:
        A vector leaves only masked, once per round, in rounds that go up.
        Of every other site's two secrets of a round at most one share is given out,
        and only of the round at hand.
        Shares are given out only for a list of survivors that has this site in it, is
        large enough, and that t of them have signed.
        Secrets and shares of a round are erased when it is over.
        Pieces are of the one masked vector, and are given out until a list is signed.
    """

    def mask(self, round_number: int, model: bytes, values: Integers) -> bytes:
        """Return the site's vector of a round, masked; of a long one the header.

        Args:
            round_number: from 1; above every earlier one.
            model: SHA-256 of the model that the site itself was given.
            values: the vector, noise included; of a length that the terms allow.

        Raises:
            SecAggError: if the round is over, or the vector does not fit the ring.
        """
        self._expect(
            SitePhase.READY, SitePhase.MASKED, SitePhase.CONSENTED, SitePhase.OPENED
        )
        terms = self._setting.terms
        if not self._round.round < round_number <= terms.rounds:
            raise SecAggError(
                f"round {round_number} is not one that comes after "
                f"{self._round.round} in an epoch of {terms.rounds} rounds"
            )
        terms.check_length(values.size if values.ndim == 1 else 0)
        context = self._setting.context(round_number, model)
        total, bound = terms.ring.encode(values), binding(context, self._cohort.agreed)
        peers = self._cohort.mask_keys(self._seat, round_number).values()
        key = self._secrets.mask_key(round_number)
        add_own(total, bound, self._secrets.seed(round_number), 1)
        add_pairs(total, bound, self.name, key, peers, 1)
        self._begin(context)
        self._outgoing = OutgoingVector(terms.ring, self._seat, total)
        if count_of(len(total)):
            header = self._outgoing.header(self._cohort.agreed)
            return self._seal(EnvelopeKind.HEADER, header)
        return self._seal(
            EnvelopeKind.MASKED, self._cohort.agreed + terms.ring.pack(total)
        )

    def piece(self, number: int) -> bytes:
        """Return a piece of the masked vector whose header was sent, from 0."""
        self._expect(SitePhase.MASKED)
        return self._outgoing.piece(number)

    def _begin(self, context: Context) -> None:
        """Go to a round, and erase what belongs to those before it."""
        self._round, self._stage = context, SitePhase.MASKED
        self._secrets.erase(context.round)  # the vector is masked: not needed again
        for shares in self._held.values():
            shares[: row(context.round, OWN)] = 0

    def consent(self, message: bytes) -> bytes:
        """Sign the list of the sites that answered."""
        self._expect(SitePhase.MASKED)
        cohort = self._cohort
        payload = self._open(
            EnvelopeKind.SURVIVORS, message, cohort.survivors_lengths()
        )
        survivors = cohort.read_survivors(payload)
        if self._seat not in survivors:
            raise SecAggError(f"the list of survivors does not have `{self.name}`")
        self._survivors, self._list = frozenset(survivors), sha256(payload).digest()
        self._stage = SitePhase.CONSENTED
        self._outgoing.forget()  # it arrived, or the list would not name this site
        return self._seal(EnvelopeKind.CONSENT, self._list)

    def unmask(self, message: bytes) -> bytes:
        """Give out one share of each site's two secrets of the round.

        Raises:
            SecAggError: unless t sites of the list signed the very list that this site
                signed, in this round, for this model.
        """
        self._expect(SitePhase.CONSENTED)
        names, opens = self._listed.names, self._listed.quorum
        most = (SEAT + 64) * len(names)
        payload = self._open(EnvelopeKind.CONSENTS, message, range(most + 1))
        consents = read_consents(payload, len(names))
        if not set(consents) <= self._survivors or len(consents) < opens:
            raise SecAggError(
                f"a list of survivors needs the signatures of {opens} of them"
            )
        for seat, signature in list(consents.items())[:opens]:
            signed = signed_bytes(
                EnvelopeKind.CONSENT, self._round, names[seat], self._list
            )
            self._setting.sites.verify(names[seat], signed, signature)
        given = []
        for seat in self._cohort.circle(self._seat):
            which = OWN if seat in self._survivors else PAIR
            given.append(secret_bytes(self._held[seat][row(self._round.round, which)]))
        for shares in self._held.values():
            shares[: row(self._round.round, PAIR) + 1] = 0
        self._stage = SitePhase.OPENED
        return self._seal(EnvelopeKind.UNMASK, b"".join(given))
