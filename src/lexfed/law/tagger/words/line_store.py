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
            yield number * _FILE + start, line_number, _fields(line)
        start += len(line)


def _fields(line: bytes) -> list[str]:
    return line.decode("utf-8").rstrip("\r\n").split("\t")


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
    """The records of every key, decoded when asked for.

    `decode` is given the number of a file and the fields of a line.
    """

    def __init__(
        self,
        index: Mapping[str, LinePlaces],
        texts: Sequence[bytes],
        decode: Callable[[int, list[str]], T],
    ) -> None:
        self._index = index

        def record(place: int) -> T:
            number, start = divmod(place, _FILE)
            stop = texts[number].find(b"\n", start)
            return decode(
                number, _fields(texts[number][start : stop if stop >= 0 else None])
            )

        def records(key: str) -> tuple[T, ...]:
            places = index[key]
            listed: Iterable[int] = (places,) if isinstance(places, int) else places
            return tuple(map(record, listed))

        self._records = lru_cache(maxsize=_CACHED)(records)

    def __getitem__(self, key: str) -> tuple[T, ...]:
        return self._records(key)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)
