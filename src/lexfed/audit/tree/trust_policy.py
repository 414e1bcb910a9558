# SPDX-License-Identifier: Apache-2.0
"""The auditor's trust file: the logs and witnesses to believe [tlog-policy].

One item per line (`_USAGE`), fields separated by spaces or tabs, `#` starts a comment
line. A group counts as a witness when at least k of its members do. A name must be
defined before it is used and may be a member only once, so no witness counts twice. A
log's key signs with algorithm 01 under the log's origin, a witness's with 04 or 06; the
same public key on two lines is refused. With `quorum none` nobody but the log vouches
for its history. Bytes beyond ASCII, opaque to the specification, are UTF-8 here.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lexfed.audit.tree.checkpoint import (
    SignedCheckpoint,
    open_checkpoint,
    verify_cosignature,
)
from lexfed.errors import AuditError
from lexfed.signing.notes import (
    ED25519,
    ED25519_COSIGNER,
    MLDSA44_COSIGNER,
    VerifierKey,
)
from lexfed.signing.strict_text import naming

NO_QUORUM = "none"
MAX_BYTES = 1024 * 1024
MAX_ITEMS = 100
"""Logs, witnesses or groups in one file; the specification asks for at least 32."""

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_USAGE = {
    "log": "log <vkey> [<url>]",
    "witness": "witness <name> <vkey> [<url>]",
    "group": "group <name> all|any|<k> <member>...",
    "quorum": "quorum <name>|none",
}


@dataclass(frozen=True)
class WitnessGroup:
    """So many of these count as one."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class TrustedCheckpoint:
    """A checkpoint that a listed log signed, and who else vouches for it."""

    signed: SignedCheckpoint
    witnesses: Mapping[str, int]
    """Times at which witnesses saw it, in seconds since 1970, by name in the policy."""
    quorum_met: bool
    witnessed: bool
    """True if witnesses were asked for and enough of them cosigned."""
    reason: str
    """The finding about the cosignatures, or the lack of some, in words."""


@dataclass(frozen=True)
class TrustPolicy:
    """The logs and witnesses that an auditor trusts; read it with `parse_policy`."""

    logs: tuple[VerifierKey, ...]
    witnesses: Mapping[str, VerifierKey]
    groups: Mapping[str, WitnessGroup]
    quorum: str
    urls: Mapping[str, str]
    """Addresses of witnesses for checkpoints, by name, for those that give one."""

    def met_by(self, names: Collection[str]) -> bool:
        """Return True if witnesses, by their names in the policy, are a quorum."""
        if self.quorum == NO_QUORUM:
            return True
        counted = set(names) & set(self.witnesses)
        for name, group in self.groups.items():  # members come before their group
            if len(counted.intersection(group.members)) >= group.threshold:
                counted.add(name)
        return self.quorum in counted

    def check(self, data: bytes, *log_keys: VerifierKey) -> TrustedCheckpoint:
        """Check the signatures of a checkpoint and whether its witnesses suffice.

        Keys of the log are used only if the policy lists no log. A quorum that is not
        met is no error: the result says so, and why.

        Guarantees:
            Nothing is returned unless a listed log signed the checkpoint.
            A wrong signature of a listed log or witness refuses the checkpoint.
            Cosignatures of others are ignored.
        """
        signed = open_checkpoint(data, *(self.logs or log_keys))
        times = {}
        for name, key in self.witnesses.items():
            for signature in signed.note.signed_by(key)[:1]:
                times[name] = verify_cosignature(signed.note.body, signature, key)
        met = self.met_by(times)
        witnessed = met and self.quorum != NO_QUORUM
        return TrustedCheckpoint(signed, times, met, witnessed, self._words(times, met))

    def _words(self, times: Mapping[str, int], met: bool) -> str:
        seen = ", ".join(f"`{name}`" for name in sorted(times)) or "no witness"
        split = "a split view cannot be excluded"
        if self.quorum == NO_QUORUM:
            return f"the policy asks for no witness (cosigned by {seen}): {split}"
        if met:
            return f"quorum `{self.quorum}` met: cosigned by {seen}"
        return f"quorum `{self.quorum}` not met: cosigned by {seen}; {split}"


def parse_policy(data: bytes, where: str = "policy") -> TrustPolicy:
    """Read a trust file.

    Guarantees:
        No witness can count twice towards the quorum.
        No public key stands for two logs, two witnesses, or a log and a witness.
        Exactly one quorum is named, and it was defined before.
    """
    if len(data) > MAX_BYTES:
        raise AuditError(f"{where}: more than {MAX_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise AuditError(f"{where}: not UTF-8 at byte {error.start}") from error
    if text and not text.endswith("\n"):
        raise AuditError(
            f"{where}: the last line has no newline", "the file may have been cut off"
        )
    reading = _Reading()
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        with naming(f"{where}:{number}"):
            reading.line(line)
    if reading.quorum is None:
        raise AuditError(
            f"{where}: no quorum",
            "add a line `quorum <name>`, or `quorum none` to trust the log alone",
        )
    logs, quorum = tuple(reading.logs), reading.quorum
    return TrustPolicy(logs, reading.witnesses, reading.groups, quorum, reading.urls)


class _Reading:
    def __init__(self) -> None:
        self.logs: list[VerifierKey] = []
        self.witnesses: dict[str, VerifierKey] = {}
        self.groups: dict[str, WitnessGroup] = {}
        self.urls: dict[str, str] = {}
        self.quorum: str | None = None
        self.members: set[str] = set()
        self.publics: set[bytes] = set()

    def line(self, line: str) -> None:
        if _FORBIDDEN.search(line):
            raise AuditError("has a control character")
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not fields or fields[0].startswith("#"):
            return
        keyword, *rest = fields
        match keyword, rest:
            case "log", [vkey] | [vkey, _]:
                self._log(vkey)
            case "witness", [name, vkey, *url] if len(url) < 2:
                self._witness(name, vkey)
                self.urls.update((name, each) for each in url)
            case "group", [name, threshold, *members] if members:
                self._group(name, threshold, members)
            case "quorum", [name]:
                if self.quorum is not None:
                    raise AuditError("a second quorum; there must be one")
                if name != NO_QUORUM:
                    self._check_defined(name)
                self.quorum = name
            case _:
                usage = _USAGE.get(keyword, "log, witness, group or quorum")
                raise AuditError(f"expected `{usage}`")

    def _log(self, vkey: str) -> None:
        key = VerifierKey.parse(vkey)
        if key.algorithm != ED25519:
            raise AuditError("the key of a log has algorithm 01 (Ed25519)")
        self._unique(key)
        self.logs.append(key)
        _check_count("logs", len(self.logs))

    def _witness(self, name: str, vkey: str) -> None:
        key = VerifierKey.parse(vkey)
        if key.algorithm not in (ED25519_COSIGNER, MLDSA44_COSIGNER):
            raise AuditError("the key of a witness has algorithm 04 or 06")
        self._unique(key)
        self._define(name)
        self.witnesses[name] = key
        _check_count("witnesses", len(self.witnesses))

    def _group(self, name: str, threshold: str, members: list[str]) -> None:
        for member in members:
            self._check_defined(member)
            if member in self.members:
                raise AuditError(f"`{member}` is a member already; it may count once")
            self.members.add(member)
        shorthand = {"any": 1, "all": len(members)}
        number = int(threshold) if _NUMBER.fullmatch(threshold) else 0
        needed = shorthand.get(threshold, number)
        if not 1 <= needed <= len(members):
            raise AuditError(
                f"expected `all`, `any` or a number from 1 to {len(members)}, "
                f"got: {threshold[:30]}"
            )
        self._define(name)
        self.groups[name] = WitnessGroup(needed, tuple(members))
        _check_count("groups", len(self.groups))

    def _define(self, name: str) -> None:
        if name == NO_QUORUM or name in self.witnesses or name in self.groups:
            raise AuditError(f"the name `{name}` is taken")

    def _check_defined(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise AuditError(f"`{name}` is not defined before this line")

    def _unique(self, key: VerifierKey) -> None:
        if key.public in self.publics:
            raise AuditError(f"the public key of `{key.name}` is listed twice")
        self.publics.add(key.public)


def _check_count(what: str, count: int) -> None:
    if count > MAX_ITEMS:
        raise AuditError(f"more than {MAX_ITEMS} {what}")
