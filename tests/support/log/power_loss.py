# SPDX-License-Identifier: Apache-2.0
"""What a disk may hold after the power fails: every state the system calls allow.

`Recorder` stands in for the functions of `os` that change files. It lets them happen
and keeps a model of what they did:

    file      what was written, and whether an fsync has put it on disk
    folder    for every name what it has stood for since the folder's last fsync

After a power loss a name may stand for any of those, whatever the other names do:
POSIX orders nothing that no fsync has ordered. A file that was not synced may be whole,
empty, or end in the middle. Real file systems lose less than that.
"""

import itertools
import math
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

State = frozenset[tuple[str, bytes]]
"""Path and content of every file."""

MOST = 300
"""States of one moment that are looked at; if there are more, so many are drawn."""

CHANGES = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "rmdir")


@dataclass(eq=False)
class File:
    """What was written to a file."""

    content: bytes = b""
    synced: bool = False

    def possible(self) -> list[bytes]:
        """Return what may be found after a power loss."""
        half = self.content[: len(self.content) // 2]
        found = [self.content] if self.synced else [self.content, half, b""]
        return list(dict.fromkeys(found))


@dataclass(eq=False)
class Folder:
    """Names, and what each may stand for; the newest comes last."""

    names: dict[str, list["Node | None"]] = field(default_factory=dict)

    def put(self, name: str, node: "Node | None") -> None:
        """Let a name stand for something else."""
        self.names.setdefault(name, [None]).append(node)

    def get(self, name: str) -> "Node | None":
        """Return what a name stands for now."""
        return self.names.get(name, [None])[-1]


Node = File | Folder


class Recorder:
    """A model of one folder, kept while `os` changes it.

    Args:
        root: the folder.
        lie: `file` or `folder`; an fsync of such does nothing then.
    """

    def __init__(self, root: Path, lie: str = "") -> None:
        self.moments: list[set[State]] = []
        """For every change what may be on disk after it."""
        self._lie = lie
        self._path = str(root)
        self._root = _load(root)
        self._handles: dict[int, Node] = {}
        self._random = random.Random(7)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the functions in `os`."""
        for name in CHANGES:
            patch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def _wrap(self, name: str, real: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            result = real(*args, **options)
            if getattr(self, f"after_{name}")(result, *args, **options):
                self.moments.append(set(self.states()))
            return result

        return call

    def _within(self, handle: int | None) -> Folder | None:
        node = None if handle is None else self._handles.get(handle)
        return node if isinstance(node, Folder) else None

    def after_open(
        self, handle: int, path: Any, *_: int, dir_fd: int | None = None
    ) -> bool:
        within = self._within(dir_fd)
        self._handles.pop(handle, None)
        if within is None:
            if str(path) == self._path:
                self._handles[handle] = self._root
            return False
        known = within if path == "." else within.get(path)
        self._handles[handle] = known or File()
        if known is None:
            within.put(path, self._handles[handle])
        return known is None

    def after_write(self, count: int, handle: int, data: bytes) -> bool:
        node = self._handles.get(handle)
        if isinstance(node, File):
            node.content += bytes(data[:count])
            node.synced = False
        return isinstance(node, File)

    def after_fsync(self, _: None, handle: int) -> bool:
        node = self._handles.get(handle)
        if isinstance(node, File) and self._lie != "file":
            node.synced = True
        if isinstance(node, Folder) and self._lie != "folder":
            node.names = {name: seen[-1:] for name, seen in node.names.items()}
        return node is not None

    def after_rename(
        self, _: None, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int
    ) -> bool:
        old, new = self._within(src_dir_fd), self._within(dst_dir_fd)
        if old and new:
            new.put(target, old.get(source))
            old.put(source, None)
        return bool(old and new)

    def after_link(
        self,
        _: None,
        source: str,
        target: str,
        *,
        src_dir_fd: int,
        dst_dir_fd: int,
        **_options: bool,
    ) -> bool:
        old, new = self._within(src_dir_fd), self._within(dst_dir_fd)
        if old and new:
            new.put(target, old.get(source))
        return bool(old and new)

    def after_unlink(self, _: None, name: str, *, dir_fd: int) -> bool:
        within = self._within(dir_fd)
        if within:
            within.put(name, None)
        return bool(within)

    after_rmdir = after_unlink

    def after_mkdir(
        self, _: None, name: Any, *_mode: int, dir_fd: int | None = None
    ) -> bool:
        within = self._within(dir_fd)
        if within:
            within.put(name, Folder())
        return bool(within)

    def states(self) -> Iterator[State]:
        """Yield what may be on disk if the power fails now."""
        choices = list(_choices(self._root, ""))
        count = math.prod(len(options) for _, options in choices)
        every: Iterator[tuple[Any, ...]] = itertools.product(
            *(options for _, options in choices)
        )
        if count > MOST:
            every = (
                tuple(self._random.choice(options) for _, options in choices)
                for _ in range(MOST)
            )
        for chosen in every:
            picked = dict(zip((key for key, _ in choices), chosen, strict=True))
            yield frozenset(_files(self._root, "", picked))


def _load(path: Path) -> Folder:
    folder = Folder()
    for child in path.iterdir():
        file = child.is_file()
        node = File(child.read_bytes(), synced=True) if file else _load(child)
        folder.names[child.name] = [node]
    return folder


def _choices(folder: Folder, path: str) -> Iterator[tuple[Any, list[Any]]]:
    for name, seen in folder.names.items():
        options = list(dict.fromkeys(seen))
        yield (path, name), options
        for node in options:
            if isinstance(node, Folder):
                yield from _choices(node, f"{path}{name}/")
            elif node is not None and not node.synced:
                yield node, node.possible()


def _files(folder: Folder, path: str, picked: dict[Any, Any]) -> Iterator[Any]:
    for name in folder.names:
        node = picked[path, name]
        if isinstance(node, Folder):
            yield from _files(node, f"{path}{name}/", picked)
        elif node is not None:
            yield f"{path}{name}", picked.get(node, node.content)
