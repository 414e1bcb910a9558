# SPDX-License-Identifier: Apache-2.0
"""A witness: it signs a log's checkpoint only if it extends the last one it signed.

The request (`proof_files.ConsistencyProof`, from the size that the log believes we
signed last) and the answers are those of [tlog-witness] v1.0.0, with its checks in its
order:

    400  malformed, or old size larger than the checkpoint's
    404  unknown origin
    403  not signed by a key we know for the origin
    409  old size is not the last one we signed; the body is that size and a newline,
         of type text/x.tlog.size
    422  the proof does not hold (from old size 0 it must be empty)
    409  same size, other root; plain text, as no other old size would help
    200  our cosignature lines

    500  we cannot keep our promise: disk, or a clock that went back

Check and update are one step under a lock, and the new state is on disk before the
answer leaves. Otherwise a request for size N, checked before and stored after one for
N + K, would roll the state back by K. `GET /<SHA256(origin)>/checkpoint` of later
drafts gives a log that lost its memory a signed proof instead of a bare number.

The folder of a witness is its memory, which survives being killed at any moment:

    witness.pem, witness.pub.pem   the key, mode 0600 and 0644
    vkey                           the public key as one line, to give to others
    logs                           `log <vkey>` for every log to witness, as in a
                                   tlog-policy; several keys of one origin are one log.
                                   A name that ends in `/*` stands for all logs one
                                   level below with that key: the runs of a project
    state/<SHA256(origin)>         the last checkpoint cosigned for that log: a note
                                   with the log's signature and ours
    conflicts/<SHA256(origin)>     proof that the log showed two histories, if it did
    lock                           held while a witness runs

The state carries our own cosignature, so a damaged or foreign one is noticed. An old
one is not: never restore `state` from a backup, but make a new witness.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lexfed.audit.storage.held_folder import Folder, WriterLock, make_folder
from lexfed.audit.tree.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    cosign,
    open_checkpoint,
    verify_cosignature,
)
from lexfed.audit.tree.merkle import EMPTY_ROOT, verify_consistency
from lexfed.audit.tree.proof_files import ConsistencyProof
from lexfed.audit.witness.conflict_proof import conflict_of_notes
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.signing.keys import Signer, create_key, load_key
from lexfed.signing.notes import (
    ED25519,
    SignedNote,
    VerifierKey,
    check_name,
    parse_note,
)
from lexfed.signing.strict_text import naming

SIZE_TYPE = "text/x.tlog.size"
MAX_REQUEST = 65_536

MAX_NOTE = 65_536
_MAX_LOGS = 1_048_576
_KEY = "witness.pem"

WitnessedLogs = Mapping[str, tuple[VerifierKey, ...]]
"""The keys of each log to witness, by its origin."""

UnixClock = Callable[[], int]


def unix_time() -> int:
    """Return the time in seconds since 1970."""
    return int(time.time())


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
        with ExitStack() as opened:
            self._files = opened.enter_context(Folder(folder))
            self._lock = opened.enter_context(closing(WriterLock(self._files)))
            self.signer = self._read_signer(folder)
            self.logs = self.read_logs()
            self.seen = self._read_state()
            opened.pop_all()  # everything was sound: both stay open

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
        state = {}
        for name in self._files.listing("state"):
            path = f"{self._files.path}/state/{name}"
            data = self._files.read(f"state/{name}", MAX_NOTE) or b""
            with naming(f"`{path}`"):
                seen = read_cosigned_checkpoint(data, self.signer.cosigner)
            if digest_of(seen.checkpoint.origin) != name:
                raise AuditError(f"`{path}` is of `{seen.checkpoint.origin}`")
            state[name] = seen
        return state

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
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        if not words or words[0].startswith("#"):
            continue
        at = f"{where}:{number}"
        if words[0] != "log" or not 2 <= len(words) <= 3:
            raise AuditError(f"{at}: expected `log <vkey>`, got: {line[:60]!a}")
        with naming(at):
            key = VerifierKey.parse(words[1])
        if key.algorithm != ED25519:
            raise AuditError(f"{at}: `{key.name}` is a cosigner's key, not a log's")
        if key.public in known:
            raise AuditError(f"{at}: the key of `{key.name}` is there twice")
        known.add(key.public)
        logs[key.name] = (*logs.get(key.name, ()), key)
    return logs


def read_cosigned_checkpoint(data: bytes, witness: VerifierKey) -> CosignedCheckpoint:
    """Read a note that the witness has cosigned."""
    note = parse_note(data)
    signatures = note.signed_by(witness)
    if not signatures:
        raise AuditError(f"not cosigned by `{witness.name}`")
    time = verify_cosignature(note.body, signatures[0], witness)
    return CosignedCheckpoint(Checkpoint.parse(note.body), time, data)


@dataclass(frozen=True)
class WitnessReply:
    """A witness's answer: an HTTP status, a body and its type."""

    status: int
    body: bytes
    content_type: str = "text/plain"


def read_request(
    body: bytes, logs: WitnessedLogs
) -> tuple[ConsistencyProof, SignedCheckpoint] | WitnessReply:
    """Read a request as far as it can be judged without memory: 400, 404 and 403."""
    if len(body) > MAX_REQUEST:
        return _refusal(400, f"request has more than {MAX_REQUEST} bytes")
    try:
        asked = ConsistencyProof.parse(body)
        checkpoint = Checkpoint.parse(parse_note(asked.checkpoint).body)
    except AuditError as error:
        return _refusal(400, error.message)
    keys = keys_of(logs, checkpoint.origin)
    if not keys:
        return _refusal(404, f"unknown log `{checkpoint.origin}`")
    try:
        signed = open_checkpoint(asked.checkpoint, *keys)
    except AuditError as error:
        return _refusal(403, error.message)
    if asked.old_size > checkpoint.size:
        return _refusal(400, "old size is larger than the checkpoint's size")
    return asked, signed


def judge(
    asked: ConsistencyProof, new: Checkpoint, latest: Checkpoint | None
) -> WitnessReply | None:
    """Compare a request with the last checkpoint signed: 409 and 422, or None."""
    size, root = (latest.size, latest.root) if latest else (0, EMPTY_ROOT)
    if asked.old_size != size:
        return WitnessReply(409, f"{size}\n".encode(), SIZE_TYPE)
    if size == 0 or size == new.size:
        # Nothing to prove [RFC 6962, 2.1.2]; equal sizes are compared below.
        if asked.hashes:
            return _refusal(422, f"proof from size {size} to {new.size} must be empty")
    else:
        try:
            verify_consistency(size, root, new.size, new.root, asked.hashes)
        except AuditError as error:
            return _refusal(422, error.message)
    if size == new.size and root != new.root:
        return _refusal(409, f"another root was signed for size {size}")
    return None


class Witness:
    """A witness with its memory.

    Guarantees:
        Of all checkpoints of one origin it cosigns, each extends the one before.
        What it answers with 200 is on disk; killed at any moment, it remembers it.
        Times on its cosignatures of one log never go back.
        After a failure to write it answers 500 until it is started anew.
        A log that shows it two roots for one size leaves a proof in `conflicts`.
    """

    def __init__(self, folder: Path, clock: UnixClock = unix_time) -> None:
        self._folder = WitnessFolder(folder)
        self._clock = clock
        self._lock = threading.Lock()
        self._broken = ""

    @classmethod
    def create(cls, folder: Path, name: str, clock: UnixClock = unix_time) -> "Witness":
        """Make a new witness: folder, key and an empty list of logs."""
        create_folder(folder, name)
        return cls(folder, clock)

    @property
    def key(self) -> VerifierKey:
        """The public key, for the policy files of those who trust it."""
        return self._folder.signer.cosigner

    @property
    def origins(self) -> tuple[str, ...]:
        """The logs it witnesses."""
        return tuple(self._folder.logs)

    def add_checkpoint(self, body: bytes) -> WitnessReply:
        """Answer one request; safe to call from several threads."""
        logs = self._folder.logs
        request = read_request(body, logs)
        if isinstance(request, WitnessReply):
            return request
        asked, signed = request
        with self._lock:
            if self._broken:
                return _refusal(500, self._broken)
            seen = self._folder.seen.get(digest_of(signed.checkpoint.origin))
            latest = seen.checkpoint if seen else None
            refusal = judge(asked, signed.checkpoint, latest)
            if refusal is not None:
                if seen is not None:
                    self._keep_conflict(signed, seen, logs)
                return refusal
            return self._cosign(signed, seen, logs)

    def latest(self, digest: str) -> WitnessReply:
        """Answer with the last checkpoint cosigned for the log filed under a digest."""
        seen = self._folder.seen.get(digest)
        if seen is None:
            return _refusal(404, "no checkpoint of this log was cosigned")
        return WitnessReply(200, seen.note, "text/plain; charset=utf-8")

    def reload(self) -> None:
        """Read the list of logs anew; on an error the old list stays in force."""
        with self._lock:
            self._folder.logs = self._folder.read_logs()

    def close(self) -> None:
        """Wait for the request under way, then give the folder back."""
        with self._lock:
            self._broken = "the witness is stopping"
            self._folder.close()

    def _cosign(
        self,
        request: SignedCheckpoint,
        seen: CosignedCheckpoint | None,
        logs: WitnessedLogs,
    ) -> WitnessReply:
        now = self._clock()
        if now <= 0 or (seen and now < seen.time):
            # A cosignature says "as of this time": without a clock, no cosignature.
            return _refusal(500, "the clock of this witness went back")
        signed = request.note
        signature = cosign(signed.body, self._folder.signer, now)
        # Only signatures that were checked: others could be anything.
        keys = keys_of(logs, request.checkpoint.origin)
        checked = tuple(each for key in keys for each in signed.signed_by(key)[:1])
        note = SignedNote(signed.body, (*checked, signature)).to_bytes()
        try:
            self._folder.keep(CosignedCheckpoint(request.checkpoint, now, note))
        except LexfedError as error:
            # Whether old or new is on disk only the next start can tell.
            self._broken = f"cannot keep the state: {error.message}"
            return _refusal(500, "this witness cannot keep its state")
        return WitnessReply(200, signature.line.encode(), "text/plain; charset=utf-8")

    def _keep_conflict(
        self, request: SignedCheckpoint, seen: CosignedCheckpoint, logs: WitnessedLogs
    ) -> None:
        origin = request.checkpoint.origin
        # "MAY log the request ... as it might be proof of log misbehavior"
        # [tlog-witness]. If it cannot be kept, the refusal stands all the same.
        with suppress(AuditError, RunFolderError):
            sent = request.note.to_bytes()
            conflict = conflict_of_notes(seen.note, sent, *keys_of(logs, origin))
            if conflict is not None:
                self._folder.keep_conflict(origin, conflict.to_bytes())


def _refusal(status: int, reason: str) -> WitnessReply:
    return WitnessReply(
        status, f"{reason[:300]}\n".encode(), "text/plain; charset=utf-8"
    )
