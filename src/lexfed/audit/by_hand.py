# SPDX-License-Identifier: Apache-2.0
"""Entries that people append: a document, a test, a change, a mishap, a correction.

What is stated comes as `name=value`. A value `@path` stands for a file: its digest goes
into the entry, and the file itself becomes a blob where the entry is nothing without
its text (the reason of a correction); documents stay with their owners.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from lexfed.audit.blobs import Blobs
from lexfed.audit.entries import (
    Change,
    Correction,
    Deletion,
    Document,
    Entry,
    Incident,
    PrivacyTest,
    Withdrawal,
)
from lexfed.audit.entries.recorded import Recorded, body_of
from lexfed.audit.log import AuditLog
from lexfed.canonical import digest
from lexfed.errors import AuditError, RunFolderError

KINDS: dict[str, type[Entry]] = {
    model.kind: model
    for model in (
        Document, PrivacyTest, Change, Withdrawal, Deletion, Incident, Correction,
    )
}  # fmt: skip

_TEXTS = {"reason", "delay_reason", "report"}
"""Fields whose file is kept as a blob."""


def append_by_hand(log: AuditLog, kind: str, stated: Mapping[str, str]) -> Recorded:
    """Append what a person states; the same statement is appended once.

    Args:
        log: open for writing.
        kind: one of `KINDS`.
        stated: values by the names of the entry's fields.

    Raises:
        AuditError: if the kind or a field is unknown, or a value does not fit.
        RunFolderError: if a file cannot be read.
    """
    entry = stated_entry(kind, stated, log.blobs)
    if isinstance(entry, Correction) and entry.index >= log.size:
        raise AuditError(f"there is no entry {entry.index} to correct")
    return log.append(entry, f"{kind}/{digest(body_of(entry))[:32]}")


def stated_entry(kind: str, stated: Mapping[str, str], blobs: Blobs) -> Entry:
    """Return the entry that a person's words make; see `append_by_hand`."""
    model = KINDS.get(kind)
    if model is None:
        raise AuditError(
            f"entries of kind `{kind}` are not made by hand",
            f"choose one of {', '.join(sorted(KINDS))}",
        )
    fields = model.model_fields
    for name in stated:
        if name not in fields:
            raise AuditError(
                f"`{kind}` has no field `{name}`", f"it has {', '.join(fields)}"
            )
    values: dict[str, Any] = {
        name: None for name in fields if type(None) in get_args(fields[name].annotation)
    }
    for name, text in stated.items():
        values[name] = _value(name, text, _is_count(fields[name].annotation), blobs)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise AuditError(
            f"`{kind}`: `{where}`: {first['msg'].lower()}",
            f"state it as `{where}=...`",
        ) from error


def _is_count(annotation: Any) -> bool:
    return annotation is int or int in get_args(annotation)


def _value(name: str, text: str, count: bool, blobs: Blobs) -> Any:
    if text.startswith("@"):
        content = _read(Path(text[1:]))
        if name in _TEXTS:
            return blobs.put(content)
        return sha256(content).hexdigest()
    if count and text.isascii() and text.isdigit():
        return int(text)
    return text


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {(error.strerror or str(error)).lower()}"
        ) from error
