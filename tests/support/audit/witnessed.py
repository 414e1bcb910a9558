# SPDX-License-Identifier: Apache-2.0
"""A log in memory, and what it asks of a witness."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.tree.checkpoint import Checkpoint, sign
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.proof_files import ConsistencyProof
from lexfed.audit.tree.trust_policy import TrustPolicy, parse_policy
from lexfed.audit.witness.client import WitnessTarget
from lexfed.audit.witness.cosigner import Witness
from lexfed.audit.witness.server import WitnessServer
from lexfed.signing.keys import Signer
from lexfed.signing.notes import VerifierKey

ORIGIN = "audit.example.org/run-1"
WITNESS = "witness.example.net/w1"


def signer(name: str = ORIGIN, seed: int = 1) -> Signer:
    """Return a key that is the same in every test."""
    raw = seed.to_bytes(32, "big")
    return Signer(name, Ed25519PrivateKey.from_private_bytes(raw))


class Book:
    """A log that can be copied, forked and rolled back."""

    def __init__(self, *entries: str, by: Signer | None = None) -> None:
        self.signer = by or signer()
        self.tree = Tree()
        self.add(*entries)

    def add(self, *entries: str) -> "Book":
        """Append entries."""
        for entry in entries:
            self.tree.append(entry.encode())
        return self

    def note(self, size: int | None = None) -> bytes:
        """Return the signed checkpoint of a size."""
        at = self.tree.size if size is None else size
        return sign(Checkpoint(self.signer.name, at, self.tree.root(at)), self.signer)

    def ask(self, old: int, new: int | None = None) -> bytes:
        """Return a request to cosign the checkpoint of a size."""
        at = self.tree.size if new is None else new
        proof = self.tree.consistency_proof(old, at) if old else ()
        return ConsistencyProof(old, proof, self.note(at)).to_bytes()


def numbered(count: int, by: Signer | None = None) -> Book:
    """Return a log of so many entries."""
    return Book(*(f"entry {number}" for number in range(count)), by=by)


def make_witness(folder: Path, *logs: Signer, name: str = WITNESS) -> Path:
    """Make the folder of a witness that knows these logs, or the usual one."""
    Witness.create(folder, name).close()
    know(folder, *(logs or (signer(),)))
    return folder


def know(folder: Path, *logs: Signer) -> None:
    """Write the list of logs a witness knows."""
    lines = [f"log {log.verifier.vkey}\n" for log in logs]
    (folder / "logs").write_text("# logs\n" + "".join(lines))


@contextmanager
def served(folder: Path, name: str = WITNESS) -> Iterator[WitnessTarget]:
    """A real witness on a real port."""
    if not folder.exists():
        make_witness(folder, name=name)
    witness = Witness(folder)
    server = WitnessServer(witness, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield WitnessTarget(name, witness.key, server.url)
    finally:
        server.shutdown()
        thread.join()
        server.close()
        witness.close()


def policy_of(
    *witnesses: VerifierKey, quorum: str, log: Signer | None = None
) -> TrustPolicy:
    """Return the policy of an auditor that trusts these witnesses."""
    lines = [f"log {(log or signer()).verifier.vkey}"]
    names = [f"w{number}" for number in range(1, len(witnesses) + 1)]
    for name, key in zip(names, witnesses, strict=True):
        lines.append(f"witness {name} {key.vkey}")
    if quorum == "none":
        lines.append("quorum none")
    else:
        lines += [f"group enough {quorum} {' '.join(names)}", "quorum enough"]
    return parse_policy(("\n".join(lines) + "\n").encode())
