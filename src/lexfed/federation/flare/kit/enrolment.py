# SPDX-License-Identifier: Apache-2.0
"""Enrolments, and the roster of a deployment, agreed on by telephone.

Every organisation makes its own Ed25519 key and hands out an enrolment: the public key,
signed by itself together with project, name and the coordinator's pin. The coordinator
collects enrolments into `roster.json`, which everybody puts into the kit. Two checks
make it true:

1. each kit checks by itself that the roster has its own key, its own pin, and a proof
   by every key;
2. people compare one number, the roster's fingerprint, by telephone.

If the number is the same at two sites, both read the same keys, and by 1 each of them
has its own key in there. So a coordinator that swaps keys or pins is found out as soon
as the affected site compares the number with any other site.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, StringConstraints, ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.canonical import canonical_bytes
from lexfed.durable import write_atomically
from lexfed.errors import (
    AuditError,
    ConfigError,
    Problem,
    RunFolderError,
    system_reason,
)
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.plain_files import MOST_OF_A_DOCUMENT, plain_or_link, read_plain
from lexfed.signing.keys import create_key, load_key
from lexfed.signing.strict_text import decode_base64, encode_base64, parse_json

_PURPOSE = "lexfed-enrolment-v1"
_MOST = 1_048_576

EnrolmentBase64 = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{1,96}={0,2}$")
]
EnrolmentWord = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,64}$")]


class Enrolment(ClosedModel):
    """An organisation's public key, with the proof that it has the private one.

    Key and proof are in base64. The proof is a signature over project, name, `pin` of
    the certificate that it believes the coordinator, and key.
    """

    version: Literal[1] = 1
    project: EnrolmentWord
    name: EnrolmentWord
    pin: EnrolmentWord
    public: EnrolmentBase64
    proof: EnrolmentBase64

    @classmethod
    def of(cls, kit: Kit) -> Self:
        """Enrol a kit with the key that is in it."""
        key = load_key(kit.identity_key)
        public = encode_base64(key.public_key().public_bytes_raw())
        proof = encode_base64(key.sign(_signed(kit.project, kit.name, kit.pin, public)))
        return cls(
            project=kit.project, name=kit.name, pin=kit.pin, public=public, proof=proof
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read an enrolment and check its proof."""
        enrolled = _parse(cls, path)
        enrolled.check(str(path))
        return enrolled

    @property
    def key(self) -> bytes:
        """The public key, 32 bytes."""
        return decode_base64(self.public, f"key of `{self.name}`")

    def check(self, where: str) -> None:
        """Refuse an enrolment that is not signed by the key it names."""
        signed = _signed(self.project, self.name, self.pin, self.public)
        try:
            proof = decode_base64(self.proof, f"proof of `{self.name}`")
            Ed25519PublicKey.from_public_bytes(self.key).verify(proof, signed)
        except (AuditError, ValueError, InvalidSignature) as error:
            what = f"the enrolment of `{self.name}` is not signed by the key it names"
            hint = f"ask `{self.name}` for the `enrolment.json` of its kit again"
            raise ConfigError([Problem(where, what, hint)]) from error

    def to_bytes(self) -> bytes:
        """Return the content of `enrolment.json`."""
        return canonical_bytes(self.model_dump()) + b"\n"


class _File(ClosedModel):
    """The content of `roster.json`."""

    version: Literal[1]
    parties: list[Enrolment]


@dataclass(frozen=True)
class DeploymentRoster:
    """The enrolled parties of a deployment, each with its proof.

    Guarantees:
        Two rosters have the same fingerprint only if they have the same parties,
        keys, project and pin.
        Every key has signed its own enrolment, and no two parties share one.
    """

    parties: tuple[Enrolment, ...]

    @classmethod
    def of(cls, kit: Kit, enrolments: Iterable[Enrolment]) -> Self:
        """Put together a roster, or list everything that does not fit a kit."""
        roster = cls(tuple(sorted(enrolments, key=lambda one: one.name)))
        problems = list(roster.problems(kit))
        if problems:
            raise ConfigError(problems)
        return roster

    @classmethod
    def read(cls, path: Path, kit: Kit) -> Self:
        """Read a roster and check it against a kit, with all proofs."""
        parties = _parse(_File, path).parties
        for party in parties:
            party.check(str(path))
        return cls.of(kit, parties)

    @property
    def keys(self) -> Mapping[str, bytes]:
        """The public keys of all, the coordinator's too, by name."""
        return MappingProxyType({party.name: party.key for party in self.parties})

    @property
    def fingerprint(self) -> str:
        """The number that people compare: SHA-256 of the canonical bytes."""
        return sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return the content of `roster.json`, the same bytes at everybody."""
        parties = [party.model_dump() for party in self.parties]
        return canonical_bytes({"version": 1, "parties": parties}) + b"\n"

    def problems(self, kit: Kit) -> Iterable[Problem]:
        """Yield the contradictions to a kit, apart from its own key."""
        names = [party.name for party in self.parties]
        for name in (COORDINATOR, *kit.sites):
            if names.count(name) != 1:
                place = "is missing" if name not in names else "is there twice"
                what = f"the enrolment of `{name}` {place}"
                hint = "give one `enrolment.json` of every site, as its kit has it"
                yield Problem("roster", what, hint)
        for party in self.parties:
            if party.name not in (COORDINATOR, *kit.sites):
                yield _misfit(party, "is of a site that the project does not name")
            elif party.project != kit.project:
                yield _misfit(party, f"is for project `{party.project}`")
            elif party.pin != kit.pin:
                yield _misfit(party, "pins another certificate of the coordinator")
        keys = [party.public for party in self.parties]
        if len(set(keys)) != len(keys):
            hint = "each makes its own: `lexfed site enrol KIT`"
            yield Problem("roster", "two parties have the same key", hint)


def _misfit(party: Enrolment, what: str) -> Problem:
    return Problem(
        "roster",
        f"the enrolment of `{party.name}` {what}",
        "its kit is not of this deployment: `lexfed deploy init` makes them together",
    )


def _signed(project: str, name: str, pin: str, public: str) -> bytes:
    content = {"project": project, "name": name, "pin": pin, "public": public}
    return canonical_bytes({_PURPOSE: content})


_Model = TypeVar("_Model", bound=BaseModel)


def _parse(kind: type[_Model], path: Path) -> _Model:
    try:
        with open(path, "rb", opener=plain_or_link) as file:
            return kind.model_validate(parse_json(file.read(_MOST)))
    except OSError as error:
        what = f"cannot be read: {system_reason(error)}"
        raise ConfigError([Problem(str(path), what)]) from error
    except (AuditError, ValidationError) as error:
        name = "an enrolment" if kind is Enrolment else "a roster"
        hint = "`lexfed site enrol` writes enrolments, `lexfed deploy roster` rosters"
        raise ConfigError([Problem(str(path), f"not {name}", hint)]) from error


def enrol(kit: Kit) -> Enrolment:
    """Make the key of a kit, unless it has one, and write its enrolment."""
    if not os.path.lexists(kit.identity_key):
        create_key(kit.identity_key)
    made = Enrolment.of(kit)
    write_atomically(kit.enrolment, made.to_bytes())
    return made


def write_roster(kit: Kit, paths: list[Path]) -> DeploymentRoster:
    """Write the coordinator's roster from all enrolments, its own made here."""
    if kit.role != "coordinator":
        raise RunFolderError(
            f"`{kit.folder}` is the kit of a site",
            "the coordinator collects enrolments; a site takes over what it wrote: "
            "`lexfed site roster KIT roster.json`",
        )
    enrolments = [enrol(kit)]
    problems: list[Problem] = []
    for path in paths:
        try:
            enrolments.append(Enrolment.read(path))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return _keep(kit, DeploymentRoster.of(kit, enrolments))


def install_roster(kit: Kit, path: Path) -> DeploymentRoster:
    """Put a roster into a site's kit.

    Guarantees:
        A roster without this kit's own key and pin, or with a key that nobody
        proved to have, is not taken over.
        A roster that is there is never replaced by a different one.
    """
    return _keep(kit, read_roster(kit, path))


def read_roster(kit: Kit, path: Path | None = None) -> DeploymentRoster:
    """Read a roster, the kit's own by default, and check all of it against the kit."""
    roster = DeploymentRoster.read(path or kit.roster, kit)
    own = load_key(kit.identity_key).public_key().public_bytes_raw()
    if roster.keys[kit.name] != own:
        what = f"it has another key for `{kit.name}` than this kit"
        hint = (
            "do not start: somebody enrolled in your name, or you made a new key and "
            "the roster is old; ask who collected it"
        )
        raise ConfigError([Problem(str(path or kit.roster), what, hint)])
    return roster


def _keep(kit: Kit, roster: DeploymentRoster) -> DeploymentRoster:
    if kit.roster.exists() and _content(kit.roster) != roster.to_bytes():
        raise RunFolderError(
            f"`{kit.roster}` is there and has other keys",
            "keys change only together with everybody: compare fingerprints, and "
            "remove the old roster if you all agree to the new one",
        )
    write_atomically(kit.roster, roster.to_bytes())
    return roster


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_OF_A_DOCUMENT)
    except OSError as error:
        reason = system_reason(error)
        raise RunFolderError(f"cannot read `{path}`: {reason}") from error
