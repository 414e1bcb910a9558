# SPDX-License-Identifier: Apache-2.0
"""The parties: Ed25519 identities, enrolled before anything is sent.

Every site knows the public keys of all others from outside of the protocol (a letter, a
meeting, a signed policy). So a server that passes messages on cannot put a key of its
own in place of a site's. The conditions of every protocol are here too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from lexfed.canonical import digest
from lexfed.errors import ConfigError, Problem, SecAggError
from lexfed.terms import SITE_NAME

PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64
_NAME = re.compile(SITE_NAME)


@dataclass(frozen=True, repr=False)
class Identity:
    """A private key and the name it signs under. Its text shows the name only."""

    name: str
    private: Ed25519PrivateKey

    @classmethod
    def generate(cls, name: str) -> Self:
        """Make a new identity."""
        return cls(name, Ed25519PrivateKey.generate())

    def __repr__(self) -> str:
        return f"Identity({self.name!r})"

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self.private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature [RFC 8032]; a message names its own purpose."""
        return self.private.sign(message)


class Roster:
    """The enrolled sites: names and public keys, in the order of names.

    Guarantees:
        Two rosters have the same digest only if they have the same names and keys.
        No two sites have the same key.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        problems = [
            Problem(f"site {name!r}", "not a name", "use letters, digits and `_`")
            for name in keys
            if not _NAME.fullmatch(name)
        ]
        problems += [
            Problem(f"site {name!r}", "not an Ed25519 public key of 32 bytes")
            for name, key in keys.items()
            if len(key) != PUBLIC_BYTES
        ]
        if not keys or len(set(keys.values())) != len(keys):
            problems.append(Problem("roster", "every site needs a key of its own"))
        if problems:
            raise ConfigError(problems)
        self._keys = MappingProxyType({name: keys[name] for name in sorted(keys)})
        self.names: Final = tuple(self._keys)
        """The sites' names, sorted."""
        self._points = {name: at for at, name in enumerate(self.names, start=1)}
        content = {name: key.hex() for name, key in self._keys.items()}
        self.digest: Final = bytes.fromhex(digest({"lexfed-secagg-roster-v1": content}))
        """SHA-256 of the canonical roster, 32 bytes."""

    def __repr__(self) -> str:
        return f"Roster({', '.join(self.names)})"

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def public(self, name: str) -> bytes:
        """Return a site's public key."""
        if name not in self._keys:
            raise _stranger()
        return self._keys[name]

    def point(self, name: str) -> int:
        """Return a site's place, from 1; also its point for shares among all sites."""
        if name not in self._points:
            raise _stranger()
        return self._points[name]

    def verify(self, name: str, message: bytes, signature: bytes) -> None:
        """Check that the named site is enrolled and signed a message."""
        key = Ed25519PublicKey.from_public_bytes(self.public(name))
        try:
            key.verify(signature, message)
        except InvalidSignature as error:
            raise SecAggError(
                f"a message is not signed by site `{name}`, whose name it carries",
                "somebody changed or made it on the way: compare enrolled keys",
            ) from error


def _stranger() -> SecAggError:
    return SecAggError(
        "a message names a site that is not enrolled",
        "enrol its public key at every site first",
    )


def check_enrolled(identity: Identity, roster: Roster) -> None:
    """Refuse to act under a name that others know by another key."""
    if roster.public(identity.name) != identity.public:
        raise SecAggError(f"`{identity.name}` is enrolled with another key")


def check_later(round_number: int, last: int) -> None:
    """Refuse a round that is not above the last one."""
    if round_number <= last:
        raise SecAggError(
            f"round {round_number} is over: the last one was {last}",
            "deal every round once, in their order",
        )


def check_size(sites: int, least: int, what: str) -> None:
    """Refuse too few sites."""
    if sites < least:
        raise SecAggError(
            f"{what} of {sites} sites is too small: at least {least} are needed",
            "wait for more sites, or agree on other terms",
        )
