# SPDX-License-Identifier: Apache-2.0
"""Every file of a folder, damaged in every way that disks, tools and people do it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Damage = Callable[[Path, Path | None], bool]
"""Damages a file, given its older version if there is one; False if it cannot."""

COPIES = "copies-elsewhere"
"""Folder beside a damaged one, for what links lead to."""


def _newline(path: Path, _: Path | None) -> bool:
    with path.open("ab") as file:
        file.write(b"\n")
    return True


def _flipped(path: Path, _: Path | None) -> bool:
    content = bytearray(path.read_bytes())
    if not content:
        return False
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return True


def _first_bit(path: Path, _: Path | None) -> bool:
    content = bytearray(path.read_bytes())
    if not content:
        return False
    content[0] ^= 128
    path.write_bytes(content)
    return True


def _cut(path: Path, _: Path | None) -> bool:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return bool(content)


def _one_byte_less(path: Path, _: Path | None) -> bool:
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    return bool(content)


def _emptied(path: Path, _: Path | None) -> bool:
    empty = path.stat().st_size == 0
    path.write_bytes(b"")
    return not empty


def _deleted(path: Path, _: Path | None) -> bool:
    path.unlink()
    return True


def _older(path: Path, before: Path | None) -> bool:
    if before is None or before.read_bytes() == path.read_bytes():
        return False
    path.write_bytes(before.read_bytes())
    return True


def _link(path: Path, _: Path | None) -> bool:
    folder = next(each for each in path.parents if (each / "log").is_dir())
    copy = folder.parent / COPIES
    copy.mkdir(exist_ok=True)
    target = path.replace(copy / path.name)
    path.symlink_to(target)
    return True


def _zeros(path: Path, _: Path | None) -> bool:
    path.unlink()
    path.symlink_to("/dev/zero")
    return True


def _pipe(path: Path, _: Path | None) -> bool:
    path.unlink()
    os.mkfifo(path)
    return True


def _folder(path: Path, _: Path | None) -> bool:
    path.unlink()
    path.mkdir()
    return True


DAMAGES: dict[str, Damage] = {
    "a newline more": _newline,
    "a bit flipped": _flipped,
    "its first bit flipped": _first_bit,
    "cut in half": _cut,
    "a byte less": _one_byte_less,
    "emptied": _emptied,
    "deleted": _deleted,
    "an older version": _older,
    "a link to a copy": _link,
    "a link to /dev/zero": _zeros,
    "a pipe": _pipe,
    "a folder": _folder,
}


@dataclass(frozen=True)
class Case:
    """One file and one damage."""

    name: str
    damage: str

    def __str__(self) -> str:
        return f"{self.name}: {self.damage}"


def cases(folder: Path) -> Iterator[Case]:
    """Yield every file below a folder with every damage, in a fixed order."""
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    for name in files:
        for damage in DAMAGES:
            yield Case(name, damage)


def inflict(case: Case, folder: Path, before: Path | None = None) -> bool:
    """Damage a file of a folder; False if that changes nothing.

    Args:
        case: which file, and how.
        folder: where it is.
        before: an older copy of the folder.
    """
    older = None if before is None else before / case.name
    if older is not None and not older.is_file():
        older = None
    return DAMAGES[case.damage](folder / case.name, older)
