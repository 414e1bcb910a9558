# SPDX-License-Identifier: Apache-2.0
"""Asking witnesses to cosign a checkpoint, and what they have seen [tlog-witness].

Slow, silent, refusing, lying and forgetting witnesses all end as a `MissingCosignature`
with a reason for the report, after at most three requests.

A witness that knows a larger size than ours means that this log was rolled back, or
that the witness lies. Its bare number proves neither; the note of
`last_seen_checkpoint`, signed by our own key, is proof.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from lexfed.audit.tree.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    open_checkpoint,
    verify_cosignature,
)
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.proof_files import ConsistencyProof
from lexfed.audit.tree.trust_policy import TrustPolicy
from lexfed.audit.witness.bounded_http import HttpReply, MissingHttpReply, exchange
from lexfed.audit.witness.cosigner import SIZE_TYPE, digest_of
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, VerifierKey, parse_note
from lexfed.signing.strict_text import parse_decimal

ATTEMPTS = 3
"""A guess, the size the witness answers with, and one more if it was overtaken."""
TIMEOUT_S = 10.0
MAX_ANSWER = 65_536


@dataclass(frozen=True)
class CheckedCosignature:
    """A witness cosigned: its signature, checked, and the time in it."""

    signature: NoteSignature
    time: int


@dataclass(frozen=True)
class MissingCosignature:
    """A witness did not cosign, and why, in words for the report."""

    reason: str
    claims: int | None = None
    """A size larger than ours that the witness says it has seen."""


@dataclass(frozen=True)
class WitnessTarget:
    """A witness to ask: its name in the policy, its key, and where it listens."""

    name: str
    key: VerifierKey
    url: str
    allow_plain: bool = False
    """True if it may be asked without TLS on another machine."""


def targets_of(
    policy: TrustPolicy, urls: Mapping[str, str]
) -> tuple[WitnessTarget, ...]:
    """Return the witnesses of a policy whose addresses are known."""
    return tuple(
        WitnessTarget(name, key, urls[name])
        for name, key in policy.witnesses.items()
        if name in urls
    )


def submit_checkpoint(
    target: WitnessTarget,
    note: bytes,
    tree: Tree,
    *,
    known_size: int = 0,
    timeout_s: float = TIMEOUT_S,
) -> CheckedCosignature | MissingCosignature:
    """Ask one witness to cosign a checkpoint.

    `known_size` is the last size this witness is known to have cosigned; `timeout_s`
    limits each request.

    Guarantees:
        Nothing the witness does raises, or takes longer than three requests.
        A signature is returned only if the witness's key made it for this checkpoint.
        Signatures of other keys in its answer are dropped.
        A witness that went back behind `known_size` is not counted.
    """
    checkpoint = Checkpoint.parse(parse_note(note).body)
    if tree.root(checkpoint.size) != checkpoint.root:
        raise AuditError(f"the checkpoint of `{checkpoint.origin}` is of another tree")
    old = known_size
    tried: list[int] = []
    while len(tried) < ATTEMPTS:
        if old > checkpoint.size:
            return MissingCosignature(
                f"it has seen {old} entries, the log here has {checkpoint.size}: "
                "was the log restored from a backup?",
                claims=old,
            )
        tried.append(old)
        proof = tree.consistency_proof(old, checkpoint.size) if old else ()
        body = ConsistencyProof(old, proof, note).to_bytes()
        reply = _exchange(target, "add-checkpoint", body, timeout_s)
        if isinstance(reply, MissingHttpReply):
            return MissingCosignature(reply.reason)
        if reply.status == 200:
            return _cosigned(reply.body, note, target.key)
        if reply.status != 409 or reply.content_type != SIZE_TYPE:
            return _refused(reply)
        try:
            old = _size(reply.body)
        except AuditError as error:
            return MissingCosignature(f"it answered 409: {error.message}")
        if old < known_size:
            return MissingCosignature(
                f"it cosigned {known_size} entries before and now knows only {old}: "
                "a witness that forgets protects nobody"
            )
    sizes = ", ".join(map(str, tried))
    return MissingCosignature(
        f"it asked for one old size after the other: {sizes}, {old}"
    )


def gather_cosignatures(
    targets: Sequence[WitnessTarget],
    note: bytes,
    tree: Tree,
    *,
    known_sizes: Mapping[str, int] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, CheckedCosignature | MissingCosignature]:
    """Ask all witnesses at the same time; return each outcome by name."""
    known = known_sizes or {}
    ask = partial(submit_checkpoint, note=note, tree=tree, timeout_s=timeout_s)
    with ThreadPoolExecutor(max_workers=32) as pool:
        waiting = {
            target.name: pool.submit(ask, target, known_size=known.get(target.name, 0))
            for target in targets
        }
        return {name: future.result() for name, future in waiting.items()}


def last_seen_checkpoint(
    target: WitnessTarget,
    origin: str,
    *log_keys: VerifierKey,
    timeout_s: float = TIMEOUT_S,
) -> SignedCheckpoint | MissingCosignature:
    """Ask a witness for the last checkpoint of a log that it cosigned.

    The request is of later drafts of [tlog-witness]; not every witness answers it.

    Guarantees:
        Returns a checkpoint only if the log's key and the witness's key signed it.
    """
    reply = _exchange(target, f"{digest_of(origin)}/checkpoint", None, timeout_s)
    if isinstance(reply, MissingHttpReply):
        return MissingCosignature(reply.reason)
    if reply.status != 200:
        return _refused(reply)
    try:
        seen = open_checkpoint(reply.body, *log_keys)
        if seen.checkpoint.origin != origin:
            raise AuditError(f"it is of another log, `{seen.checkpoint.origin}`")
        signatures = seen.note.signed_by(target.key)
        if not signatures:
            raise AuditError(f"it is not cosigned by `{target.key.name}`")
        verify_cosignature(seen.note.body, signatures[0], target.key)
    except AuditError as error:
        return MissingCosignature(f"its checkpoint is not sound: {error.message}")
    return seen


def _exchange(
    target: WitnessTarget, path: str, body: bytes | None, timeout_s: float
) -> HttpReply | MissingHttpReply:
    return exchange(
        f"{target.url.rstrip('/')}/{path}",
        body,
        "text/plain; charset=utf-8",
        timeout_s=timeout_s,
        most=MAX_ANSWER,
        allow_plain=target.allow_plain,
    )


def _cosigned(
    lines: bytes, note: bytes, key: VerifierKey
) -> CheckedCosignature | MissingCosignature:
    body = parse_note(note).body
    try:
        # The answer continues the note [tlog-witness]; so it is read as part of one.
        for signature in parse_note(body + b"\n" + lines).signed_by(key):
            return CheckedCosignature(
                signature, verify_cosignature(body, signature, key)
            )
    except AuditError as error:
        return MissingCosignature(f"its answer is not sound: {error.message}")
    return MissingCosignature(f"its answer has no signature of `{key.name}`")


def _size(body: bytes) -> int:
    text = body.decode("ascii", "replace")
    if not text.endswith("\n"):
        raise AuditError("its size has no newline")
    return parse_decimal(text[:-1], "its size")


def _refused(reply: HttpReply) -> MissingCosignature:
    first = reply.body.decode("ascii", "replace").split("\n")[0][:120]
    return MissingCosignature(f"it refused with status {reply.status}: {first!a}")
