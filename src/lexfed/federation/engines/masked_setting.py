# SPDX-License-Identifier: Apache-2.0
"""The agreement of sites and coordinator on masked sums: terms, and messages.

Both sides make the setting of an epoch from the programme, the run's log and the
enrolled keys, so a coordinator cannot choose terms. Sites are named in it by the start
of their key ids: evidence of a round goes into a log that holds no site's name.

**One change is enough** (`least_change = 1`). Sums of cohorts that differ by one site
could be subtracted. Here every sum carries fresh noise of its own and is charged, so
two sums together reveal no more than both were charged for; a cohort may lose one site,
and a site that was away may come back.

Most messages are those of `lexfed.secagg`, as they are. Four stand around them:

    BEGIN    "LXMB", epoch[8]                 -> ADVERTISE: an epoch is to be set up
    ASK      "LXMA", round in epoch[8], query -> ANSWER
    ANSWER   "LXMV", length[4], receipt, MASKED or HEADER
    FETCH    "LXMP", number[8]                -> PIECE: of what HEADER announced

A site refuses with `Refusal`, whatever it was sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lexfed.audit.entries.masking_record import masking_name, session_of
from lexfed.errors import SecAggError
from lexfed.federation.programme.integer_sums import ring_of
from lexfed.federation.programme.messages import Refusal, answer_from_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.envelopes.sealed_messages import Reader
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring
from lexfed.signing.keys import Signer, fingerprint

EpochSettings = Callable[[int], MaskSetting]
"""Returns the setting of an epoch."""

_BEGIN, _ASK, _ANSWER, _FETCH = b"LXMB", b"LXMA", b"LXMV", b"LXMP"
_MOST = 2**53 - 1
"""Largest number of an epoch."""
_BEFORE_NAME = 4 + 1 + 1 + 32 + 8 + 8 + 3 * 32
"""Bytes in front of a sender's name (`secagg.messages`)."""


def seat_name(public: bytes) -> str:
    """Return the name of a party in masked sums: the start of its key id."""
    return masking_name(fingerprint(public))


def seat_identity(signer: Signer) -> Identity:
    """Return a party of masked sums, with the key that signs its receipts."""
    return Identity(seat_name(signer.public), signer.private)


def epoch_settings(
    programme: Programme, log: str, sites: Mapping[str, bytes], coordinator: bytes
) -> EpochSettings:
    """Return the settings of every epoch of a run, from its parties' public keys."""
    cohort = programme.cohort
    if cohort is None:
        raise ValueError("expected a programme with noise in shares")
    policy = bytes.fromhex(programme.digest)
    session = session_of(log, programme.digest)
    roster = Roster({seat_name(sites[name]): sites[name] for name in programme.sites})
    server = Roster({seat_name(coordinator): coordinator})
    terms = MaskTerms(
        rounds=programme.setup_rounds,
        colluders=cohort.colluders,
        # At least 2t > n + c: two epochs cannot run beside each other either.
        least_sites=cohort.least,
        ring=Ring(ring_of(programme, cohort)),
        length=max(stage.dimension for stage in programme.stages),
        least_change=1,
    )
    return lambda epoch: MaskSetting(session, epoch, policy, roster, server, terms)


@dataclass(frozen=True)
class MaskEpochs:
    """The epochs of masks of a run; `next_epoch` returns a new number, durably."""

    identity: Identity
    settings: EpochSettings
    sites: Mapping[str, bytes]
    next_epoch: Callable[[], int]

    @classmethod
    def of(
        cls,
        programme: Programme,
        log: str,
        sites: Mapping[str, bytes],
        coordinator: Signer,
        next_epoch: Callable[[], int],
    ) -> "MaskEpochs":
        """Return the epochs of a programme in a log, under the coordinator's key."""
        settings = epoch_settings(programme, log, sites, coordinator.public)
        return cls(seat_identity(coordinator), settings, sites, next_epoch)


@dataclass(frozen=True)
class EpochRequest:
    """The coordinator's request to set up an epoch."""

    epoch: int

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _BEGIN + self.epoch.to_bytes(8, "big")


@dataclass(frozen=True)
class MaskedQuery:
    """A query, and the number of its round in the epoch."""

    number: int
    query: bytes

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _ASK + self.number.to_bytes(8, "big") + self.query


@dataclass(frozen=True)
class PieceRequest:
    """The coordinator's request for a piece of a long vector, from 0."""

    number: int

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _FETCH + self.number.to_bytes(8, "big")


def read_request(content: bytes) -> EpochRequest | MaskedQuery | PieceRequest | None:
    """Return a coordinator's request; None if it is a message of `lexfed.secagg`."""
    reader, kind = Reader(content[4:], "message"), content[:4]
    if kind not in (_BEGIN, _ASK, _FETCH):
        return None
    number = reader.number(8)
    if number > _MOST:
        raise SecAggError("message: has a number that is too large")
    if kind == _ASK:
        return MaskedQuery(number, content[12:])
    reader.end()
    return EpochRequest(number) if kind == _BEGIN else PieceRequest(number)


@dataclass(frozen=True)
class MaskedAnswer:
    """A site's masked vector, and its receipt for it."""

    receipt: bytes
    masked: bytes

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        size = len(self.receipt).to_bytes(4, "big")
        return b"".join((_ANSWER, size, self.receipt, self.masked))


def read_answer(content: bytes) -> MaskedAnswer:
    """Return a site's answer to a query, or raise `SecAggError`."""
    reader = Reader(content, "answer")
    if reader.take(4) != _ANSWER:
        raise SecAggError("an answer is not one")
    size = reader.number(4)
    receipt = bytes(reader.take(size))
    return MaskedAnswer(receipt, content[8 + size :])


def refusal_in(content: bytes) -> Refusal | None:
    """Return a site's refusal, if the message is one."""
    if content[:2] == b"LX":
        return None
    try:
        answer = answer_from_bytes(content)
    except Exception:  # whatever a stranger's bytes may cause
        return None
    return answer if isinstance(answer, Refusal) else None


def sender_of(message: bytes) -> str:
    """Return the sender that a message of secure aggregation names, unchecked."""
    reader = Reader(message, "message")
    reader.take(_BEFORE_NAME)
    return str(bytes(reader.take(reader.number(1))), "ascii", "replace")
