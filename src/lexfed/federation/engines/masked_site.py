# SPDX-License-Identifier: Apache-2.0
"""A site whose sums leave only masked: its answers, inside `lexfed.secagg`.

`site.data_holder` decides what is computed and charged, `secagg.mask_sessions` what
leaves. The channel must let only the coordinator knock: a stranger could begin epochs
and so keep the site from sums. He could learn nothing, because the messages that open
sums are signed.
"""

from collections.abc import Callable
from functools import partial
from hashlib import sha256

from lexfed.errors import LexfedError, SecAggError
from lexfed.federation.engines.masked_setting import (
    EpochRequest,
    EpochSettings,
    MaskedAnswer,
    MaskedQuery,
    PieceRequest,
    read_request,
)
from lexfed.federation.programme.messages import Refusal, answer_to_bytes
from lexfed.federation.site.data_holder import Site
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind, open_sealed
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.terms import MaskSetting

_KIND_AT = 5
"""The place of the kind in a message of secure aggregation."""


class MaskedSite:
    """One party that holds data, behind masks.

    Guarantees:
        A vector leaves only with the site's share of noise, and masked.
        A query is charged and computed only when its answer can be masked.
        `handle` never raises, and a refusal tells no secret.
        An epoch is entered once; later ones have larger numbers.
    """

    def __init__(self, site: Site, identity: Identity, setting: EpochSettings) -> None:
        self._site = site
        self._identity = identity
        self._settings = setting
        self._epoch = -1
        self._session: SiteSession | None = None
        self._ready = False
        self._round = 0

    def handle(self, content: bytes) -> bytes:
        """Answer one message."""
        try:
            return self._answer(content)
        except SecAggError as error:
            reason = error.message
        except LexfedError:  # its message may name files of the site
            reason = "it cannot answer now"
        except Exception:  # whatever a stranger's bytes may cause
            reason = "the message is not one of masked sums"
        return answer_to_bytes(Refusal(self._site.name, 0, reason))

    def _answer(self, content: bytes) -> bytes:
        request = read_request(content)
        if isinstance(request, EpochRequest):
            return self._begin(request.epoch)
        session = self._session
        if session is None:
            raise SecAggError("no epoch has begun")
        if isinstance(request, MaskedQuery):
            return self._ask(session, request)
        if isinstance(request, PieceRequest):
            return session.piece(request.number)
        steps: dict[int, Callable[[bytes], bytes]] = {
            EnvelopeKind.KEYS: session.deal,
            EnvelopeKind.DELIVERY: partial(self._accept, session),
            EnvelopeKind.SURVIVORS: session.consent,
            EnvelopeKind.CONSENTS: session.unmask,
            EnvelopeKind.INQUIRY: partial(self._prove, session),
        }
        return steps[content[_KIND_AT]](content)

    def _begin(self, epoch: int) -> bytes:
        """Draw the secrets of an epoch; those of the one before are forgotten."""
        if epoch <= self._epoch:
            raise SecAggError(f"epoch {epoch} is not after epoch {self._epoch}")
        session = SiteSession(self._identity, self._settings(epoch))
        self._epoch, self._session = epoch, session
        self._ready, self._round = False, 0
        return session.advertise()

    @property
    def _setting(self) -> MaskSetting:
        return self._settings(self._epoch)

    def _accept(self, session: SiteSession, content: bytes) -> bytes:
        reply = session.accept(content)
        # A site that complains of shares names them behind the digest, and waits.
        setting, lengths = self._setting, range(DIGEST, len(reply))
        payload = open_sealed(
            reply, EnvelopeKind.READY, setting.context(), setting.sites, lengths
        ).payload
        self._ready = len(payload) == DIGEST
        return reply

    def _prove(self, session: SiteSession, content: bytes) -> bytes:
        proof = session.prove(content)
        self._ready = False  # secrets that were shown mask nothing
        return proof

    def _ask(self, session: SiteSession, request: MaskedQuery) -> bytes:
        number = request.number
        if not self._ready:
            raise SecAggError("the set-up of this epoch is not finished")
        if not self._round < number <= self._setting.terms.rounds:
            raise SecAggError(f"round {number} of the epoch is over, or not in it")
        answer = self._site.answer(request.query)
        if isinstance(answer, Refusal):
            return answer_to_bytes(answer)
        self._round = number
        model = sha256(request.query).digest()
        masked = session.mask(number, model, answer.total)
        return MaskedAnswer(answer.receipt, masked).to_bytes()
