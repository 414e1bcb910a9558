# SPDX-License-Identifier: Apache-2.0
"""The model of a finished run, compared with the digests in its log."""

import json
from pathlib import Path

from lexfed.audit.entries import CompletionEntry
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.log.logged_files import ENCODING, MODEL, read_logged, unreadable
from lexfed.data.encoding import Encoding
from lexfed.errors import AuditError, RunFolderError
from lexfed.models import towers
from lexfed.models.towers import Model
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain


def released_model(folder: Path, make: str) -> tuple[Model, Encoding]:
    """Return the model of a finished run, and the encoding of its inputs.

    `make` is the command that makes such a folder, for messages.

    Guarantees:
        Both have the digests that signed entries of the run's log name. Without
        privacy the log has no digest of the model, so that the encoding alone is
        compared.

    Raises:
        RunFolderError: if the folder holds no finished run.
        AuditError: if its log is not sound, or a file is not the one that was logged.
    """
    if not (folder / "log").is_dir():
        raise RunFolderError(f"`{folder}` holds no trained model", make)
    evidence = read_evidence(folder)
    ends = evidence.of(CompletionEntry)
    encoding = read_logged(evidence, ENCODING)
    content = _model(evidence, ends[-1].entry) if ends else None
    if content is None or encoding is None:
        raise RunFolderError(f"`{folder}` holds no trained model", make)
    try:
        model, _, _ = towers.from_bytes(content)
        return model, Encoding.from_dict(json.loads(encoding))
    except Exception as error:  # whatever bytes of a stranger may cause
        raise AuditError(
            f"`{folder}` holds no model that can be read: it is damaged"
        ) from error


def _model(evidence: Evidence, end: CompletionEntry) -> bytes | None:
    if end.model is not None:
        return read_logged(evidence, MODEL)
    try:
        return read_plain(evidence.folder / MODEL, MOST_OF_A_MODEL)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(evidence.folder / MODEL, error) from error
