# SPDX-License-Identifier: Apache-2.0
"""Small logs of byte strings, made by the store, for tests that spoil or kill them."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.storage.durable_store import Store
from lexfed.audit.tree.merkle import Tree
from lexfed.signing.keys import Signer

ORIGIN = "log.example/run"
SIGNER = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\x01"))
OTHER = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\x02"))
KEYS = (SIGNER.verifier,)


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one, for tests of many small writes."""
    memory = "/dev/shm"  # noqa: S108 - what is made in it has a random name
    usable = os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if usable else None) as folder:
        yield Path(folder)


def entry(number: int) -> bytes:
    """Return an entry that no other number has; some are empty or long."""
    return b"" if number == 2 else f"entry {number} ".encode() * (1 + number % 5)


def entries(start: int, stop: int) -> list[bytes]:
    """Return the entries from `start` to `stop` - 1."""
    return [entry(number) for number in range(start, stop)]


def tree_of(size: int) -> Tree:
    """Return the tree of the first entries."""
    tree = Tree()
    for each in entries(0, size):
        tree.append(each)
    return tree


def grow(store: Store, *sizes: int) -> None:
    """Append until the log has had each of the sizes."""
    for size in sizes:
        store.append(entries(store.size, size))


def make_log(folder: Path, *sizes: int) -> Path:
    """Make a log that has had each of the sizes, and return its folder."""
    with Store.create(folder, SIGNER, ORIGIN) as store:
        grow(store, *sizes)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Return path and content of every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Make a folder that holds exactly these files, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
