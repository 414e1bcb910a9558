# SPDX-License-Identifier: Apache-2.0
"""Append to one log from several processes: `log_writer.py FOLDER COUNT NAME...`.

There is a process for every name. Every entry is appended by a store of its own, opened
as soon as the lock is free.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from lexfed.audit.storage.durable_store import Store
from lexfed.errors import RunFolderError
from support.log.folders import SIGNER


def open_when_free(folder: Path) -> Store:
    """Try until nobody else holds the lock."""
    while True:
        try:
            return Store.open(folder, SIGNER)
        except RunFolderError as error:
            if "held by another process" not in error.message:
                raise
            time.sleep(0.002)


def write(folder: Path, count: int, name: str) -> None:
    """Append entries under a name."""
    for number in range(count):
        with open_when_free(folder) as store:
            store.append([f"{name} {number}".encode()])


if __name__ == "__main__":
    children = []
    for name in sys.argv[3:]:
        child = os.fork()
        if not child:
            write(Path(sys.argv[1]), int(sys.argv[2]), name)
            sys.exit()
        children.append(child)
    ends = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(any(ends))
