# SPDX-License-Identifier: Apache-2.0
"""Append to a log that others write too: `python log_writer.py FOLDER NAME COUNT`.

Every entry is appended by a store of its own, opened as soon as the lock is free.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from lexfed.audit.store import Store
from lexfed.errors import RunFolderError
from support.log_folders import SIGNER


def open_when_free(folder: Path) -> Store:
    """Try until nobody else holds the lock."""
    while True:
        try:
            return Store.open(folder, SIGNER)
        except RunFolderError as error:
            if "held by another process" not in error.message:
                raise
            time.sleep(0.002)


if __name__ == "__main__":
    for number in range(int(sys.argv[3])):
        with open_when_free(Path(sys.argv[1])) as store:
            store.append([f"{sys.argv[2]} {number}".encode()])
