# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes to a log by somebody without its key: none is accepted.

Rows 1 and 2 of the fault table. A change is refused in our own words, and they name
the file or the entry. What may be missing unnoticed is said in one place, `spare`.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lexfed.audit.storage.reader import read_log
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.tiles import bundle_files, partial_tiles, tile_files
from lexfed.errors import AuditError, RunFolderError
from support.log.folders import (
    KEYS,
    ORIGIN,
    SIGNER,
    entries,
    files_of,
    make_log,
    memory_folder,
    tree_of,
    write_files,
)

Files = dict[str, bytes]
LOGS = {"short": (1, 2, 5), "tiles": (255, 256, 259), "one": (300,)}


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


def spare(files: Files) -> set[str]:
    """Files whose loss takes nothing away: copies of checkpoints of older sizes.

    They are held to the tree if they are there. The partial tiles that only one size
    needs show that it was signed; once they are gone, nothing does.
    """
    sizes = [int(name[7:]) for name in files if name.startswith("signed/")]
    needs = {size: {name.path for name in partial_tiles(size)} for size in sizes}
    found = {"lock"}
    for size in set(sizes) - {max(sizes)}:
        others = set().union(*(needs[other] for other in sizes if other != size))
        if not (needs[size] - others) & files.keys():
            found.add(f"signed/{size}")
    return found


def flip(files: Files, draw: random.Random) -> None:
    name = draw.choice([name for name in files if files[name]])
    at = draw.randrange(len(files[name]))
    changed = bytearray(files[name])
    changed[at] ^= 1 << draw.randrange(8)
    files[name] = bytes(changed)


def truncate(files: Files, draw: random.Random) -> None:
    name = draw.choice([name for name in files if files[name]])
    files[name] = files[name][: draw.randrange(len(files[name]))]


def extend(files: Files, draw: random.Random) -> None:
    name = draw.choice(list(files))
    more = draw.choice([b"\0", b"\n", files[name] or b"x", draw.randbytes(32)])
    files[name] += more


def insert(files: Files, draw: random.Random) -> None:
    name = draw.choice([name for name in files if files[name]])
    at = draw.randrange(len(files[name]))
    files[name] = files[name][:at] + draw.randbytes(1) + files[name][at:]


def cut(files: Files, draw: random.Random) -> None:
    name = draw.choice([name for name in files if files[name]])
    at = draw.randrange(len(files[name]))
    length = draw.choice([1, 2, 32])
    files[name] = files[name][:at] + files[name][at + length :]


def exchange(files: Files, draw: random.Random) -> None:
    """Change the order of two pieces within a file: hashes, lines, entries."""
    name = draw.choice([name for name in files if len(files[name]) >= 4])
    size = draw.choice([size for size in (1, 2, 32) if 2 * size <= len(files[name])])
    places = range(len(files[name]) // size)
    one, two = sorted(draw.sample(places, 2))
    content = files[name]
    pieces = [content[at * size : (at + 1) * size] for at in places]
    pieces[one], pieces[two] = pieces[two], pieces[one]
    files[name] = b"".join(pieces) + content[len(places) * size :]


def delete(files: Files, draw: random.Random) -> None:
    del files[draw.choice([name for name in files if name not in spare(files)])]


def delete_kind(files: Files, draw: random.Random) -> None:
    """Delete all bundles, all tiles of a level, or all that was signed."""
    folder = draw.choice(["tile/entries/", "tile/0/", "tile/", "signed/"])
    for name in [name for name in files if name.startswith(folder)]:
        del files[name]


def swap(files: Files, draw: random.Random) -> None:
    one, two = draw.sample(list(files), 2)
    files[one], files[two] = files[two], files[one]


def duplicate(files: Files, draw: random.Random) -> None:
    """Put a file in the place of another one, or under a name of the same kind."""
    source = draw.choice(list(files))
    target = draw.choice(list(files) + other_names(source, draw))
    files[target] = files[source]


def rename(files: Files, draw: random.Random) -> None:
    source = draw.choice([name for name in files if name not in spare(files)])
    target = draw.choice(other_names(source, draw))
    files[target] = files.pop(source)


def other_names(name: str, draw: random.Random) -> list[str]:
    folder, _, base = name.rpartition("/")
    number = draw.randrange(1, 300)
    return [
        *(f"{folder}/{number}".lstrip("/"), f"{name}x", f"{name}.p/{number % 255 + 1}"),
        *(f"tile/0/{number:03}", f"tile/1/000.p/{number % 255 + 1}", f"x/{base}"),
        *(f"tile/entries/x001/{number:03}", f"signed/{number}", f".{base}", "extra"),
        *(f"tile/64/{number:03}", "tile/0/x000/000", "signed/01", "signed/-1"),
    ]


MUTATIONS: list[Callable[[Files, random.Random], None]] = [
    *(flip, truncate, extend, insert, cut, exchange),
    *(delete, delete_kind, swap, duplicate, rename),
]


def sound_folder(files: Files) -> bool:
    """Return True if the names can exist together: none is a file and a folder."""
    return not any(
        other.startswith(f"{name}/")
        for name in files
        for other in files
        if other != name
    )


class Target:
    """A log that is changed file by file and put right again."""

    def __init__(self, folder: Path, files: Files) -> None:
        self.folder = write_files(folder, files)
        self.files = files

    def try_out(self, changed: Files) -> str:
        """Return the words with which a changed log is refused; empty if it is not."""
        names = {
            name
            for name in {*self.files, *changed}
            if self.files.get(name) != changed.get(name)
        }
        try:
            self.place(names, changed)
            read_log(self.folder, KEYS)
        except (AuditError, RunFolderError) as error:
            return error.message
        finally:
            self.place(names, self.files)
        return ""

    def place(self, names: set[str], files: Files) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # where there is something left in it
                for folder in Path(name).parents[:-1]:
                    (self.folder / folder).rmdir()
        for name in names & files.keys():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])


def fuzz(place: Path, files: Files, mutate: Callable[..., None], count: int) -> int:
    """Try changes of one kind and return how many were tried."""
    target = Target(place / "log", files)
    draw = random.Random(f"{mutate.__name__} {len(files)}")
    tried = 0
    for _ in range(count):
        changed = dict(files)
        mutate(changed, draw)
        if changed == files or not sound_folder(changed):
            continue
        tried += 1
        message = target.try_out(changed)
        assert message, f"{mutate.__name__} was accepted"
        assert "`" in message
    assert target.try_out(files) == ""  # control: unchanged it is accepted
    return tried


def log_files(place: Path, name: str) -> Files:
    return files_of(make_log(place / "made", *LOGS[name]))


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_no_change_is_accepted(
    place: Path, mutate: Callable[[Files, random.Random], None]
) -> None:
    assert fuzz(place, log_files(place, "short"), mutate, 100) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LOGS))
@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_no_change_of_many_is_accepted(
    place: Path, name: str, mutate: Callable[[Files, random.Random], None]
) -> None:
    assert fuzz(place, log_files(place, name), mutate, 400) > 200


@pytest.mark.slow
def test_no_flip_of_any_bit_is_accepted(place: Path) -> None:
    files = log_files(place, "short")
    target = Target(place / "log", files)
    for name, content in files.items():
        for at in range(len(content)):
            changed = bytearray(content)
            changed[at] ^= 1 << at % 8
            message = target.try_out(files | {name: bytes(changed)})
            assert name in message, (name, at, message)


@pytest.mark.parametrize("name", ["short", "tiles"])
def test_an_unfinished_append_is_no_way_in(place: Path, name: str) -> None:
    # With a stage more files are allowed, but only those it announces.
    files = log_files(place, name)
    size = LOGS[name][-1]
    stage = StagedAppend(
        ORIGIN, size, tree_of(size).root(), tuple(entries(size, size + 2))
    )
    files["stage"] = stage.to_bytes(SIGNER)
    tree = tree_of(size + 2)
    files |= dict(bundle_files(entries(0, size + 2), size, size + 2))
    files |= dict(tile_files(tree, size, size + 2))
    for mutate in (flip, truncate, extend, exchange, swap):
        assert fuzz(place, files, mutate, 60) > 30


def test_first_bad_entry_is_named(place: Path) -> None:
    files = log_files(place, "tiles")
    target = Target(place / "log", files)
    content = files["tile/entries/000"]
    at = content.index(b"entry 7 ")
    changed = content[:at] + b"ENTRY" + content[at + 5 :]
    message = target.try_out(files | {"tile/entries/000": changed})
    assert "entry 7 in" in message
    assert "tile/entries/000" in message
    last = files["tile/entries/001.p/3"].replace(b"entry 257", b"ENTRY 257", 1)
    message = target.try_out(files | {"tile/entries/001.p/3": last})
    assert "entry 257 in" in message


def test_entries_and_tiles_changed_together(place: Path) -> None:
    # Whoever rewrites everything but the signature is stopped by the checkpoint.
    files = log_files(place, "short")
    changed = entries(0, 5)
    changed[3] = b"another"
    tree = tree_of(3)
    for each in changed[3:]:
        tree.append(each)
    forged = files | dict(bundle_files(changed, 0, 5)) | dict(tile_files(tree, 0, 5))
    message = Target(place / "log", files).try_out(forged)
    assert "is not the root in" in message
    assert "checkpoint" in message


def test_what_may_be_missing(place: Path) -> None:
    files = log_files(place, "tiles")
    assert spare(files) == {"lock", "signed/0", "signed/255", "signed/256"}
    left = {name: files[name] for name in files if name not in spare(files)}
    view = read_log(write_files(place / "log", left), KEYS)
    assert list(view.entries) == entries(0, 259)
