# SPDX-License-Identifier: Apache-2.0
"""Many small records kept as the text of their files, decoded when asked for.

Tens of thousands of terms and columns as Python objects take some forty megabytes;
as the bytes of their files and the places of their lines they take a few. A record's
place is the number of its file times `_FILE` plus the offset of its line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

T = TypeVar("T")
_FILE = 1 << 24
_CACHED = 2048

LinePlaces = int | tuple[int, ...]


def lines_of(number: int, text: bytes) -> Iterator[tuple[int, int, list[str]]]:
    """Yield place, line number and fields of every line that is not a comment."""
    start = 0
    for line_number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.strip() and not line.startswith(b"#"):
            yield number * _FILE + start, line_number, fields_of(line)
        start += len(line)


def fields_of(line: bytes) -> list[str]:
    """Return the fields of a line, divided by tabs."""
    return line.decode("utf-8").rstrip("\r\n").split("\t")


def line_at(place: int, texts: Sequence[bytes]) -> list[str]:
    """Return the fields of the line at a place."""
    number, start = divmod(place, _FILE)
    text = texts[number]
    stop = text.find(b"\n", start)
    return fields_of(text[start : stop if stop >= 0 else len(text)])


def add_place(index: dict[str, LinePlaces], key: str, place: int) -> None:
    """Add a place to those of a key; one place is kept as a bare number."""
    known = index.get(key)
    if known is None:
        index[key] = place
    elif isinstance(known, int):
        index[key] = (known, place)
    else:
        index[key] = (*known, place)


class LineStore(Mapping[str, tuple[T, ...]], Generic[T]):
    """The records of every key, decoded when asked for."""

    def __init__(
        self, index: Mapping[str, LinePlaces], decode: Callable[[int], T]
    ) -> None:
        self._index = index

        def records(key: str) -> tuple[T, ...]:
            places = index[key]
            listed: Iterable[int] = (places,) if isinstance(places, int) else places
            return tuple(decode(place) for place in listed)

        self._records = lru_cache(maxsize=_CACHED)(records)

    def __getitem__(self, key: str) -> tuple[T, ...]:
        return self._records(key)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)
