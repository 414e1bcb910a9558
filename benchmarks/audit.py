# SPDX-License-Identifier: Apache-2.0
"""Speed of the log: appends in memory and on disk, proofs, and whole verifications.

    python -m benchmarks.audit

Prints one JSON line:

    appends_per_s           entries of 1 kB into the tree in memory
    proofs_per_s            inclusion and consistency proofs in a tree of 300,000
    proof_checks_per_s      verifications of such proofs
    commits_per_s           durable appends of one entry, on the disk of this folder
    fsyncs_per_s            fsyncs of 1 kB beside them: what the disk can do
    fsyncs_per_commit       how many of those one append needs
    verify_tree_s           reading 70,000 entries and checking every byte of the log
    verify_signatures_s     the same, and the signature of every envelope

All but commits and fsyncs are CPU time. Everything is measured in turns, and the best
turn counts: the machine may be busy with other things.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.reader import read_log
from lexfed.audit.tree.merkle import Tree, verify_consistency, verify_inclusion
from lexfed.signing.dsse import InTotoStatement, SignedEnvelope
from lexfed.signing.keys import Signer

ORIGIN = "benchmark.example/log"
ENTRIES = 70_000
LEAVES = 300_000
PROOFS = 2_000
COMMITS = 20
TURNS = 5


def seconds(job: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return what one run of a job takes."""
    start = clock()
    job()
    return clock() - start


def envelopes(signer: Signer) -> list[bytes]:
    """Return signed entries of about 1 kB, as a run writes them."""
    found = []
    for number in range(ENTRIES):
        predicate = {
            "entry": {"round": number, "epsilon": "0.0123", "note": "x" * 220},
            "index": number,
            "log": ORIGIN,
        }
        subject = (("model", f"{number:064x}"),)
        statement = InTotoStatement(subject, "https://benchmark.example/v1", predicate)
        found.append(SignedEnvelope.sign(statement.to_bytes(), signer).to_bytes())
    return found


def check_signatures(entries: list[bytes], signer: Signer) -> None:
    """Check the signature of every entry."""
    keys = {signer.fingerprint: signer.public}
    for entry in entries:
        SignedEnvelope.parse(entry).verify(keys, keys)


class Proofs:
    """A large tree, and proofs at places all over it."""

    def __init__(self, entries: list[bytes]) -> None:
        self.tree = Tree()
        for number in range(LEAVES):
            self.tree.append(entries[number % len(entries)])
        # A step without common factors with the size: places of every kind.
        self.places = [1 + number * 7919 % (LEAVES - 1) for number in range(PROOFS)]

    def make(self) -> None:
        """Make two proofs for each place."""
        self.made = [
            (
                self.tree.inclusion_proof(place, LEAVES),
                self.tree.consistency_proof(place, LEAVES),
            )
            for place in self.places
        ]

    def check(self) -> None:
        """Verify them."""
        root = self.tree.root()
        leaves = self.tree.nodes(0, 0, LEAVES)
        for place, (inclusion, consistency) in zip(self.places, self.made, strict=True):
            verify_inclusion(leaves[place], place, LEAVES, inclusion, root)
            old = self.tree.root(place)
            verify_consistency(place, old, LEAVES, root, consistency)


def append_all(entries: list[bytes]) -> None:
    """Append entries to a tree in memory."""
    tree = Tree()
    for entry in entries:
        tree.append(entry)


def commit(store: Store, entries: list[bytes]) -> None:
    """Append entries one by one, each durable before the next."""
    for entry in entries[:COMMITS]:
        store.append([entry])


def sync(file: Path, count: int) -> None:
    """Append 1 kB to a file and sync it, so many times."""
    with open(file, "ab", buffering=0) as target:
        for _ in range(count):
            target.write(bytes(1024))
            os.fsync(target.fileno())


def syncs_per_commit(store: Store, entry: bytes) -> int:
    """Count the fsyncs of one append."""
    real, count = os.fsync, 0

    def counting(fd: Any) -> None:
        nonlocal count
        count += 1
        real(fd)

    os.fsync = counting
    try:
        store.append([entry])
    finally:
        os.fsync = real
    return count


def main() -> None:
    """Measure and print."""
    signer = Signer(ORIGIN, Ed25519PrivateKey.generate())
    entries = envelopes(signer)
    raw = [os.urandom(1000) for _ in range(20_000)]
    proofs = Proofs(entries)
    cpu = time.process_time
    best: dict[str, float] = {}

    def turn(name: str, job: Callable[[], object], clock: Callable[[], float]) -> None:
        best[name] = min(seconds(job, clock), best.get(name, float("inf")))

    # Beside the working folder: a temporary folder may be in memory.
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".audit-") as folder:
        large, small = Path(folder, "large"), Path(folder, "small")
        with Store.create(large, signer, ORIGIN) as store:
            store.append(entries)
        with Store.create(small, signer, ORIGIN) as store:
            store.append(raw[:1])
            per_commit = syncs_per_commit(store, raw[1])
            for _ in range(TURNS):
                turn("appends", lambda: append_all(raw), cpu)
                turn("proofs", proofs.make, cpu)
                turn("checks", proofs.check, cpu)
                turn("commits", lambda: commit(store, raw), time.perf_counter)
                turn(
                    "fsyncs",
                    lambda: sync(Path(folder, "file"), 5 * COMMITS),
                    time.perf_counter,
                )
                turn("tree", lambda: read_log(large, [signer.verifier]), cpu)
        for _ in range(2):
            turn("signatures", lambda: check_signatures(entries, signer), cpu)
    print(
        json.dumps(
            {
                "benchmark": "audit",
                "appends_per_s": round(len(raw) / best["appends"]),
                "proofs_per_s": round(2 * PROOFS / best["proofs"]),
                "proof_checks_per_s": round(2 * PROOFS / best["checks"]),
                "commits_per_s": round(COMMITS / best["commits"], 1),
                "fsyncs_per_s": round(5 * COMMITS / best["fsyncs"]),
                "fsyncs_per_commit": per_commit,
                "verify_tree_s": round(best["tree"], 2),
                "verify_signatures_s": round(best["tree"] + best["signatures"], 2),
            }
        )
    )


if __name__ == "__main__":
    main()
