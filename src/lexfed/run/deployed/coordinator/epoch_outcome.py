# SPDX-License-Identifier: Apache-2.0
"""The outcome of an epoch, from the process of its job to the submitting one.

    KIT/runs/<run>/outcome.json

FLARE knows that a process ended, not the outcome of the run: whether it is finished,
or what went wrong and what to do about it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.durable import write_atomically
from lexfed.errors import LexfedError
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

_FILE = "outcome.json"


class _File(ClosedModel):
    job: str
    finished: bool
    message: str
    hint: str
    exit_code: int


@dataclass(frozen=True)
class EpochOutcome:
    """The end of an epoch.

    Attributes:
        job: FLARE's name of the job.
        finished: whether the run came to its end.
        error: the error that keeps it from going on, if any.
    """

    job: str
    finished: bool
    error: LexfedError | None = None

    def write(self, folder: Path) -> None:
        """Put it beside the run; on return it is on disk."""
        error = self.error
        said = {
            "job": self.job,
            "finished": self.finished,
            "message": "" if error is None else error.message,
            "hint": "" if error is None else error.hint,
            "exit_code": 0 if error is None else error.exit_code,
        }
        write_atomically(folder / _FILE, (json.dumps(said, indent=2) + "\n").encode())

    @classmethod
    def read(cls, folder: Path, job: str) -> "EpochOutcome | None":
        """Return the outcome of a job's epoch; None if it has not ended."""
        try:
            said = _File.model_validate_json(
                read_plain(folder / _FILE, MOST_OF_A_DOCUMENT)
            )
        except (OSError, ValidationError):
            return None
        if said.job != job:
            return None
        if not said.message:
            return cls(job, said.finished)
        error = LexfedError(said.message, said.hint)
        error.exit_code = said.exit_code
        return cls(job, said.finished, error)
