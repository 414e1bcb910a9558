# SPDX-License-Identifier: Apache-2.0
"""Signed messages: a site answers only the coordinator in its roster.

FLARE carries messages between any two parties of a deployment, and the maker of the
kits could have kept copies of their TLS keys. Without signatures another site could put
a question to this one and read an answer that is for the coordinator alone.

    signature[64] || number[8] || message
    signed: canonical JSON of job, number, site, and SHA-256 of the message

A signature holds for one site, one job and one place in the order of messages, so
nothing can be taken elsewhere or said again.
"""

import hashlib
from collections.abc import Mapping

from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.federation.engines.channel import LONGEST_WORD, Channel, Handler
from lexfed.signing.keys import Signer
from lexfed.signing.notes import verify_ed25519

_SIGNATURE = 64
_NUMBER = 8
_HEAD = _SIGNATURE + _NUMBER


class SignedChannel:
    """A channel whose messages carry the coordinator's signature."""

    def __init__(self, channel: Channel, signer: Signer, job: str) -> None:
        """Sign the messages of a channel, as the coordinator.

        `job` is FLARE's name of the job, which has one such channel.
        """
        self._channel = channel
        self._signer = signer
        self._job = job
        self._number = 0

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site; answers are as they come."""
        self._number += 1
        return self._channel.exchange(
            {name: self._signed(name, said) for name, said in messages.items()}, most
        )

    def _signed(self, site: str, message: bytes) -> bytes:
        said = _to_sign(self._job, self._number, site, message)
        number = self._number.to_bytes(_NUMBER, "big")
        return self._signer.sign(said) + number + message


class GuardedDoor:
    """The door of a site, for the coordinator alone.

    Guarantees:
        A message reaches the door only if the coordinator signed it, for this site,
        this job, and later than all messages before it.
    """

    def __init__(self, door: Handler, coordinator: bytes, site: str, job: str) -> None:
        """Guard the door of a site in one FLARE job.

        `coordinator` is the coordinator's public key in the roster.
        """
        self._door = door
        self._key = coordinator
        self._site = site
        self._job = job
        self._last = 0

    def __call__(self, content: bytes) -> bytes:
        """Answer a message of the coordinator.

        Raises:
            AuditError: if it is not one.
        """
        number = int.from_bytes(content[_SIGNATURE:_HEAD], "big")
        message = content[_HEAD:]
        said = _to_sign(self._job, number, self._site, message)
        if not verify_ed25519(self._key, said, content[:_SIGNATURE]):
            raise AuditError(
                "a message was not signed by the coordinator for this site and job"
            )
        if number <= self._last:
            raise AuditError("a message of the coordinator came again")
        self._last = number
        return self._door(message)


def _to_sign(job: str, number: int, site: str, message: bytes) -> bytes:
    return b"lexfed/asked/1\n" + canonical_bytes(
        {
            "job": job,
            "message": hashlib.sha256(message).hexdigest(),
            "number": str(number),
            "site": site,
        }
    )
