# SPDX-License-Identifier: Apache-2.0
"""A witness's memory, in a folder that survives being killed at any moment.

    witness.pem, witness.pub.pem   the key, mode 0600 and 0644
    vkey                           the public key as one line, to give to others
    logs                           `log <vkey>` for every log to witness, as in a
                                   tlog-policy; several keys of one origin are one log.
                                   A name that ends in `/*` stands for all logs one
                                   level below, signed with the same key: one for each
                                   run of a project
    state/<SHA256(origin)>         the last checkpoint cosigned for that log: a note
                                   with the log's signature and ours
    conflicts/<SHA256(origin)>     proof that the log showed two histories, if it did
    lock                           held while a witness runs

The state carries our own cosignature, so a damaged or foreign one is noticed. An old
one is not: never restore `state` from a backup. A witness that forgot is worth nothing
for what it forgot; give it a new key and a new name instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lexfed.audit.storage.held_folder import Folder, WriterLock, make_folder
from lexfed.audit.tree.checkpoint import Checkpoint, verify_cosignature
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.keys import Signer, create_key, load_key
from lexfed.signing.notes import ED25519, VerifierKey, check_name, parse_note

MAX_NOTE = 65_536
_MAX_LOGS = 1_048_576
_KEY = "witness.pem"

WitnessedLogs = Mapping[str, tuple[VerifierKey, ...]]
"""The keys of each log to witness, by its origin."""


@dataclass(frozen=True)
class CosignedCheckpoint:
    """The last checkpoint a witness cosigned for a log, when, and the note."""

    checkpoint: Checkpoint
    time: int
    note: bytes


def digest_of(origin: str) -> str:
    """Return the name under which a log is filed."""
    return sha256(origin.encode()).hexdigest()


def create_folder(folder: Path, name: str) -> VerifierKey:
    """Make the folder of a new witness and return its public key."""
    check_name(name)
    signer = Signer(name, create_key(folder / _KEY))
    make_folder(folder)  # it is there: this puts its own name on disk
    with Folder(folder) as files:
        if files.read("logs", _MAX_LOGS) is None:
            files.write_part(b"# one line for each log to witness: log <vkey>\n")
            files.rename_part("logs")
        files.write_part(f"{signer.cosigner.vkey}\n".encode())
        files.rename_part("vkey")
        files.sync()
    return signer.cosigner


class WitnessFolder:
    """The open folder of a witness; one process at a time.

    Guarantees:
        On return from `keep` the checkpoint is on disk and so is its name.
        A state file that this witness did not sign, or of another log, is refused.
        A witness and a log with the same key are refused.
    """

    def __init__(self, folder: Path) -> None:
        self._files = Folder(folder)
        try:
            self._lock = WriterLock(self._files)
        except RunFolderError:
            self._files.close()
            raise
        try:
            self.signer = self._read_signer(folder)
            self.logs = self.read_logs()
            self.seen = self._read_state()
        except (AuditError, RunFolderError):
            self.close()
            raise

    def keep(self, seen: CosignedCheckpoint) -> None:
        """Put a cosigned checkpoint on disk, in place of the log's last one."""
        self._lock.check()
        self._replace("state", seen.checkpoint.origin, seen.note)
        self.seen[digest_of(seen.checkpoint.origin)] = seen

    def keep_conflict(self, origin: str, proof: bytes) -> None:
        """Put the first proof against a log on disk; one is enough."""
        if self._files.read(f"conflicts/{digest_of(origin)}", MAX_NOTE * 4) is None:
            self._replace("conflicts", origin, proof)

    def close(self) -> None:
        """Give the folder back; everything kept is on disk."""
        self._lock.close()
        self._files.close()

    def _replace(self, folder: str, origin: str, content: bytes) -> None:
        self._files.write_part(content)
        self._files.rename_part(f"{folder}/{digest_of(origin)}")
        self._files.sync()

    def _read_signer(self, folder: Path) -> Signer:
        vkey = self._read("vkey", MAX_NOTE)
        key = VerifierKey.parse(vkey.removesuffix("\n"))
        signer = Signer(key.name, load_key(folder / _KEY))
        if signer.cosigner != key:
            raise AuditError(
                f"`{folder / 'vkey'}` is not the public key of `{_KEY}`",
                f"expected: {signer.cosigner.vkey}",
            )
        return signer

    def read_logs(self) -> WitnessedLogs:
        """Read the list of logs as it is now."""
        logs = parse_logs(self._read("logs", _MAX_LOGS), str(self._files.path / "logs"))
        for keys in logs.values():
            for key in keys:
                # Our signature does not cover our name, so one key for two parts
                # would let a log pass as its own witness [tlog-cosignature].
                if key.public == self.signer.public:
                    raise AuditError(f"log `{key.name}` has the key of this witness")
        return logs

    def _read_state(self) -> dict[str, CosignedCheckpoint]:
        found = {}
        for name in self._files.listing("state"):
            path = f"{self._files.path}/state/{name}"
            data = self._files.read(f"state/{name}", MAX_NOTE) or b""
            try:
                seen = read_cosigned_checkpoint(data, self.signer.cosigner)
            except AuditError as error:
                raise AuditError(f"`{path}`: {error.message}", error.hint) from error
            if digest_of(seen.checkpoint.origin) != name:
                raise AuditError(f"`{path}` is of `{seen.checkpoint.origin}`")
            found[name] = seen
        return found

    def _read(self, name: str, limit: int) -> str:
        data = self._files.read(name, limit)
        path = self._files.path / name
        if data is None:
            raise RunFolderError(
                f"`{path}` is missing", "make a new witness in an empty folder"
            )
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise AuditError(f"`{path}` is not UTF-8 at byte {error.start}") from error


def keys_of(logs: WitnessedLogs, origin: str) -> tuple[VerifierKey, ...]:
    """Return the keys of a log; none if it is not witnessed.

    Guarantees:
        A log that is listed by its own name has exactly the keys listed for it.
        `a/*` stands for `a/b`, not for `a` or `a/b/c`.
    """
    if origin in logs:
        return logs[origin]
    project = f"{origin.rpartition('/')[0]}/*"
    family = () if project == "/*" else logs.get(project, ())
    return tuple(VerifierKey(origin, key.algorithm, key.public) for key in family)


def parse_logs(text: str, where: str) -> WitnessedLogs:
    """Return the keys of each log by its origin, which is the name of its keys.

    The lines are `log <vkey> [<url>]`, comments and blank lines [tlog-policy].
    """
    logs: dict[str, tuple[VerifierKey, ...]] = {}
    known: set[bytes] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.replace("\t", " ").split(" ")
        words = [word for word in words if word]
        if not words or words[0].startswith("#"):
            continue
        at = f"{where}:{number}"
        if words[0] != "log" or not 2 <= len(words) <= 3:
            raise AuditError(f"{at}: expected `log <vkey>`, got: {line[:60]!a}")
        try:
            key = VerifierKey.parse(words[1])
        except AuditError as error:
            raise AuditError(f"{at}: {error.message}", error.hint) from error
        if key.algorithm != ED25519:
            raise AuditError(f"{at}: `{key.name}` is a cosigner's key, not a log's")
        if key.public in known:
            raise AuditError(f"{at}: the key of `{key.name}` is there twice")
        known.add(key.public)
        logs[key.name] = (*logs.get(key.name, ()), key)
    return logs


def read_cosigned_checkpoint(data: bytes, witness: VerifierKey) -> CosignedCheckpoint:
    """Read a note that the witness has cosigned; `AuditError` if it has not."""
    note = parse_note(data)
    signatures = note.signed_by(witness)
    if not signatures:
        raise AuditError(f"not cosigned by `{witness.name}`")
    time = verify_cosignature(note.body, signatures[0], witness)
    return CosignedCheckpoint(Checkpoint.parse(note.body), time, data)
