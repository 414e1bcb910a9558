# SPDX-License-Identifier: Apache-2.0
"""Change logs in forked processes, for strace to break at a chosen system call.

    python fault_server.py              requests as JSON lines on standard input

A request is [folder, what to do, system call, times]. A forked process makes that
call so often in vain that the one strace waits for comes where the test wants it, and
then changes the log between two calls of getppid(2). It ends with 0 if the change was
acknowledged and with 3 if it was refused in our own words; the answer is how it ended.

The fork has everything imported, so a fault costs milliseconds and not a start of
Python. This process reads and writes by readv and writev only, which no test breaks.
"""

import ctypes
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.tree.checkpoint import cosign
from lexfed.errors import LexfedError
from lexfed.signing.notes import parse_note
from support.log.folders import ORIGIN, OTHER, SIGNER, grow

ACKNOWLEDGED, REFUSED, BROKEN = 0, 3, 4
PR_SET_PTRACER = 0x59616D61
SYMBOLS = {"newfstatat": "fstatat"}
libc = ctypes.CDLL(None, use_errno=True)


def prepare(folder: Path, job: str) -> Callable[[], object]:
    """Return the action between the two marks."""
    name, _, number = job.partition(" ")
    match name:
        case "create":
            return lambda: Store.create(folder, SIGNER, ORIGIN)
        case "open":
            return lambda: Store.open(folder, SIGNER)
        case "append":
            store = Store.open(folder, SIGNER)
            size, _, limit = number.partition(" ")
            if limit:
                _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), most))
            return lambda: grow(store, int(size))
        case "cosign":
            store = Store.open(folder, SIGNER)
            mark = cosign(parse_note(store.checkpoint).body, OTHER, 1)
            return lambda: store.add_signatures([mark])
        case "put":
            return lambda: Blobs(folder / "blobs/sha256").put(
                b"blob " + number.encode()
            )
        case _:
            digest = Blobs(folder / "blobs/sha256").put(b"blob " + number.encode())
            return lambda: Blobs(folder / "blobs/sha256").erase(digest)


def serve(folder: str, job: str, call: str, times: int) -> int:
    """Do one request in a process of its own and return how that ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = BROKEN
    try:
        change = prepare(Path(folder), job)
        function = getattr(libc, SYMBOLS.get(call, call))
        for _ in range(times):
            function(-1, b"", -1, b"", 0)
        os.getppid()
        try:
            change()
            code = ACKNOWLEDGED
        except LexfedError:
            code = REFUSED
        os.getppid()
    finally:
        os._exit(code)


def requests() -> Iterator[str]:
    """Yield the lines of standard input."""
    rest = b""
    buffer = bytearray(4096)
    while count := os.readv(0, [buffer]):
        *lines, rest = (rest + buffer[:count]).split(b"\n")
        yield from map(bytes.decode, lines)


def main() -> None:
    """Answer requests until there are no more."""
    # Let strace attach where only ancestors may [prctl(2), Yama].
    libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    os.writev(1, [b"ready\n"])
    for line in requests():
        os.writev(1, [json.dumps(serve(*json.loads(line))).encode() + b"\n"])


if __name__ == "__main__":
    main()
