# SPDX-License-Identifier: Apache-2.0
r"""Digests of the words, standards and network that suggestions are made with.

    digest of a part  =  SHA-256 of lines `<file name> <SHA-256 of the file>\n`, sorted

Suggestions change when the data files of the tagger do. With these digests beside
them, anybody can find the files to ask again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

PARTS = ("lexicon", "packs", "model")
"""The lexicon, the packs of known standards, and all other data of the tagger."""


@cache
def fingerprint() -> Mapping[str, str]:
    """Return the digest of every part of the tagger's data.

    Guarantees:
        A changed byte, and a file more or less, changes the digest of its part.
    """
    lines: dict[str, list[str]] = {part: [] for part in PARTS}
    for name, file in _data_files(files("lexfed.law.tagger"), ""):
        folder = name.partition("/")[0]
        part = folder if folder in PARTS else "model"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        lines[part].append(f"{name} {digest}\n")
    return {
        part: hashlib.sha256("".join(sorted(found)).encode()).hexdigest()
        for part, found in lines.items()
    }


def _data_files(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _data_files(entry, f"{name}/")
        elif entry.is_file() and not entry.name.endswith((".py", ".pyc")):
            yield name, entry
