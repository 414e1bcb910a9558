# SPDX-License-Identifier: Apache-2.0
"""A stage of a server: one message from each site, until the stage closes.

The caller decides when to stop waiting and closes a stage. A message that comes later
is refused: a vector that arrives after its masks were opened must not be added.
"""

from collections.abc import Sequence
from enum import Enum

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.admission import check_enrolled
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.sealed_messages import (
    EnvelopeKind,
    OpenedMessage,
    open_sealed,
    seal,
)
from lexfed.secagg.masks.terms import MaskSetting


class ServerPhase(Enum):
    """The message that a server waits for."""

    ADVERTISE = "keys"
    DEAL = "shares"
    READY = "words that shares are good"
    EVIDENCE = "keys of disputed shares"
    IDLE = "the next round"
    MASKED = "masked vectors"
    CONSENT = "signatures of the list of survivors"
    UNMASK = "shares of the round"
    OPENED = "the sum to be taken"


class Collector:
    """Takes messages of one kind at a time, one from each site."""

    def __init__(
        self, identity: Identity, setting: MaskSetting, phase: ServerPhase
    ) -> None:
        check_enrolled(identity, setting.server)
        self._identity = identity
        self._setting = setting
        self._setup = setting.context().digest
        self._round: Context = setting.context()
        self._phase = phase
        self._came: set[str] = set()

    def _expect(self, *phases: ServerPhase) -> None:
        if self._phase not in phases:
            raise SecAggError(
                "this comes too late or too early: the server waits for "
                f"{self._phase.value}"
            )

    def _next(self, phase: ServerPhase) -> None:
        self._phase, self._came = phase, set()

    def _seal(self, kind: EnvelopeKind, payload: bytes) -> bytes:
        return seal(kind, self._round, self._identity, payload)

    def _take(
        self,
        phase: ServerPhase,
        kind: EnvelopeKind,
        message: bytes,
        lengths: range | Sequence[int],
        among: Sequence[str] | frozenset[str],
    ) -> OpenedMessage:
        """Check a message of a phase, which each of some sites sends once."""
        self._expect(phase)
        opened = open_sealed(message, kind, self._round, self._setting.sites, lengths)
        if opened.sender not in among:
            raise SecAggError(f"`{opened.sender}` is not asked, or dropped out before")
        if opened.sender in self._came:
            raise SecAggError(f"`{opened.sender}` has answered already")
        return opened
