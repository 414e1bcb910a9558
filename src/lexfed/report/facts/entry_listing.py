# SPDX-License-Identifier: Apache-2.0
"""Every entry of the log on a line or two, for the appendix that numbers link to."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lexfed.audit.entries.envelopes import RecordedEntry, body_of
from lexfed.terms import DIGEST

_DIGEST = re.compile(f"^{DIGEST}$")
_MOST = 6
"""Items of a list that are spelled out."""

_ELSEWHERE = {
    "round": ("stage", "delta", "accountant", "budgets", "tags"),
    "event": ("groups", "sampling_rate", "reads", "samples"),
}
"""Fields that other tables of the report show, and every round would repeat."""


@dataclass(frozen=True)
class ListedEntry:
    """One entry.

    Attributes:
        time: of writing, by the coordinator's clock.
        title: its kind, with its round.
        fields: its content, digests shortened, without what other tables show.
        leaf: its leaf hash, in hexadecimal.
    """

    index: int
    time: str
    title: str
    fields: tuple[tuple[str, str], ...]
    leaf: str


def listing(records: Iterable[RecordedEntry]) -> tuple[ListedEntry, ...]:
    """Return every entry, oldest first."""
    found = []
    for record in records:
        body = _shortened(body_of(record.entry), record.kind)
        title = record.kind.replace("-", " ")
        if "round" in body:
            title += f" {body.pop('round')}"
        fields = tuple(_fields(body))
        found.append(
            ListedEntry(record.index, readable_time(record.time), title, fields,
                   record.leaf.hex())
        )  # fmt: skip
    return tuple(found)


def _shortened(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    if body.get("protocol") == "none":
        return {}  # no sum was masked: there is nothing to list
    left_out = _ELSEWHERE.get(name, ())
    return {
        key: _shortened(value, key) if isinstance(value, dict) else value
        for key, value in body.items()
        if key not in left_out
    }


def readable_time(time: str) -> str:
    """Return a time without its letters.

    >>> readable_time("2026-11-15T12:00:00Z")
    '2026-11-15 12:00:00'
    """
    return time.replace("T", " ").removesuffix("Z")


def _fields(body: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in body.items():
        words = prefix + name.replace("non_personal", "non-personal").replace("_", " ")
        if value in (None, "", [], {}):
            continue
        match value:
            case dict():
                yield from _fields(value, f"{words} ")
            case list() if len(value) > _MOST or isinstance(value[0], dict):
                yield words, f"{len(value)} listed"
            case list():
                yield words, ", ".join(map(_short, value))
            case _:
                yield words, _short(value)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if _DIGEST.match(text):
        return f"{text[:10]}…"
    return text if len(text) <= 80 else f"{text[:79]}…"
