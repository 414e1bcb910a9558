# SPDX-License-Identifier: Apache-2.0
"""Results on disk as they come, so that a killed evaluation loses only what ran.

A folder holds `results.jsonl`: one synced line for each finished job. Everything else
in it, tables, figures, the page, is made from these lines and can be made again.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexfed.durable import FileLock, JsonLines
from lexfed.errors import RunFolderError, system_reason

RESULTS = "results.jsonl"


class ResultJournal:
    """The results in a folder, by key.

    Guarantees:
        What `add` returned from is found again after a kill at any later moment.
        A line that was cut off is dropped on opening, and its job runs again.
        At most one process of the machine holds a folder.
    """

    def __init__(self, folder: Path, resume: bool, private: bool = False) -> None:
        """Open the folder, or make it.

        Args:
            folder: where the results are.
            resume: go on with those that are there.
            private: let nobody else read them.

        Raises:
            RunFolderError: if there are results and nobody said to go on with them, or
                if another evaluation holds the folder.
        """
        path = folder / RESULTS
        if path.exists() and path.stat().st_size and not resume:
            raise RunFolderError(
                f"`{folder}` holds the results of an evaluation already",
                "`--resume` goes on with it; `--out DIR` begins another",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            what = system_reason(error)
            raise RunFolderError(f"cannot write `{folder}`: {what}") from error
        try:
            self._lock = FileLock(handle)
        except BlockingIOError as error:
            raise RunFolderError(
                f"another evaluation writes to `{folder}`", "wait until it has ended"
            ) from error
        if private:
            os.fchmod(handle, 0o600)
        self._lines = JsonLines(path)
        self._found = {row["key"]: row for row in self._lines.rows if "key" in row}

    def __len__(self) -> int:
        """How many results there are."""
        return len(self._found)

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return a result, or None if its job has not run."""
        return self._found.get(key)

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a result; on return it is on disk."""
        self._lines.append(row)
        self._found[row["key"]] = dict(row)

    def close(self) -> None:
        """Let others write."""
        self._lines.close()
        self._lock.close()
