# SPDX-License-Identifier: Apache-2.0
"""Entries that people append: a document, a test, a change, a mishap, a correction.

What is stated comes as `name=value`. A value `@path` stands for a file: its digest goes
into the entry, and the file itself becomes a blob where the entry is nothing without
its text (the reason of a correction); documents stay with their owners.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lexfed.audit.entries import (
    ChangeEntry,
    Correction,
    Deletion,
    Document,
    Entry,
    Genesis,
    Incident,
    PrivacyTest,
    Withdrawal,
)
from lexfed.audit.entries.envelopes import RecordedEntry, body_of
from lexfed.audit.entries.fields import (
    TIME_FORMAT,
    CodeWord,
    DateText,
    DecimalText,
    Digest,
    TimeText,
)
from lexfed.audit.entries.opening import parties_of
from lexfed.audit.log.audit_log import AuditLog
from lexfed.audit.vocabulary import DOCUMENTS, LATER_DOCUMENTS
from lexfed.canonical import digest
from lexfed.errors import AuditError, RunFolderError, system_reason
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain

KINDS: dict[str, type[Entry]] = {
    model.kind: model
    for model in (
        Document, PrivacyTest, ChangeEntry, Withdrawal, Deletion, Incident, Correction,
    )
}  # fmt: skip

_TEXTS = {"reason", "delay_reason", "report"}
"""Fields whose file is kept as a blob."""


def append_by_hand(
    log: AuditLog, kind: str, stated: Mapping[str, str]
) -> RecordedEntry:
    """Append a person's statement; the same statement is appended once.

    The kind is one of `KINDS`; values come by the names of the entry's fields.
    """
    texts: list[bytes] = []
    entry = _stated_entry(kind, stated, texts)
    cited = None
    if isinstance(entry, Correction):
        cited = entry.index
    elif isinstance(entry, Document):
        _check_document(entry, log)
        cited = entry.about
    if cited is not None and cited >= log.size:
        raise AuditError(f"there is no entry {cited}; the log has {log.size}")
    for text in texts:  # now that nothing can be wrong any more
        log.blobs.put(text)
    return log.append(entry, f"{kind}/{digest(body_of(entry))[:32]}")


def _check_document(entry: Document, log: AuditLog) -> None:
    """Refuse a word or a site that no rule would ever look for."""
    known = (*DOCUMENTS, *LATER_DOCUMENTS)
    if entry.what not in known:
        near = get_close_matches(entry.what, known, n=1)
        raise AuditError(
            f"no rule asks for a document `{entry.what}`",
            f"did you mean `{near[0]}`?"
            if near
            else f"choose one of {', '.join(known)}",
        )
    if entry.what in LATER_DOCUMENTS and entry.about is None:
        raise AuditError(
            f"`{entry.what}` is about another entry",
            "state which: `about=NUMBER`, as `lexfed log show` lists them",
        )
    parties = [p for each in log.entries(Genesis) for p in parties_of(each, log.blobs)]
    sites = {party.key.keyid for party in parties if party.key is not None}
    if entry.site is not None and entry.site not in sites:
        raise AuditError(
            f"no site has the key `{entry.site[:16]}`",
            "`parties.json` in the run folder lists the key ids of the sites",
        )


def _stated_entry(kind: str, stated: Mapping[str, str], texts: list[bytes]) -> Entry:
    """Return the entry; files that become blobs are added to `texts`."""
    model = KINDS.get(kind)
    if model is None:
        raise AuditError(
            f"entries of kind `{kind}` are not made by hand",
            f"choose one of {', '.join(sorted(KINDS))}",
        )
    fields = model.model_fields
    for name in stated:
        if name not in fields:
            hint = f"it has {', '.join(fields)}"
            raise AuditError(f"`{kind}` has no field `{name}`", hint)
    values: dict[str, Any] = {
        name: None for name in fields if type(None) in get_args(fields[name].annotation)
    }
    for name, text in stated.items():
        values[name] = _value(name, text, _is_count(fields[name].annotation), texts)
        _check_calendar(f"`{kind}`: `{name}`", values[name])
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = str(first["loc"][0])
        what, example = _wanted(first)
        raise AuditError(
            f"`{kind}`: `{where}`: {what}", f"state it as `{where}={example}`"
        ) from error


def _pattern(annotated: Any) -> str:
    return str(get_args(annotated)[1].pattern)


_FORMS = {
    _pattern(CodeWord): ("expected one word without spaces", "WORD"),
    _pattern(DateText): ("expected a date", "2026-11-15"),
    _pattern(DecimalText): ("expected a number that is not negative", "0.5"),
    _pattern(Digest): ("expected a SHA-256 in hexadecimal, or a file", "@FILE"),
    _pattern(TimeText): ("expected a time in UTC", "2026-11-15T12:00:00Z"),
}
"""The expected form of a value in words, and an example, by its pattern."""


def _wanted(problem: ErrorDetails) -> tuple[str, str]:
    """Return the expected form of a value in plain words, and a way to state it."""
    context = problem.get("ctx", {})
    if "pattern" in context:
        return _FORMS[context["pattern"]]
    if "expected" in context:
        return f"expected {context['expected']}", "..."
    if problem["type"] == "missing":
        return "is not stated", "..."
    return "expected a whole number", "NUMBER"


def _check_calendar(where: str, value: object) -> None:
    """Refuse dates and times in the right form that no calendar has."""
    for shape, form in ((DateText, "%Y-%m-%d"), (TimeText, TIME_FORMAT)):
        if isinstance(value, str) and re.fullmatch(_pattern(shape), value):
            try:
                datetime.strptime(value, form).replace(tzinfo=UTC)
            except ValueError as error:
                raise AuditError(f"{where}: there is no `{value}`") from error


def _is_count(annotation: Any) -> bool:
    return annotation is int or any(_is_count(part) for part in get_args(annotation))


def _value(name: str, text: str, count: bool, texts: list[bytes]) -> Any:
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            content = read_plain(path, MOST_OF_A_MODEL, links=True)
        except (OSError, ValueError) as error:
            reason = system_reason(error)
            raise RunFolderError(f"cannot read `{path}`: {reason}") from error
        if name in _TEXTS:
            texts.append(content)
        return sha256(content).hexdigest()
    if count and re.fullmatch("[0-9]{1,16}", text):
        return int(text)
    return text
