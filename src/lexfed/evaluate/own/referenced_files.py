# SPDX-License-Identifier: Apache-2.0
"""Files that a configuration names, which decide a run beside it and its rows.

A policy, a catalogue, a profile, a table of importances, an own model can change while
the configuration stays the same. Results measured before are then those of something
else, so the content of all of them is part of the key of a result.
"""

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from lexfed.config import Config
from lexfed.models.networks.architectures import is_imported
from lexfed.run.deployed.terms.bundle import named_files


def referenced_content(config: Config, base: Path) -> dict[str, str]:
    """Return a hash of everything that a configuration names, by its name there.

    Guarantees:
        Another content of a policy, its signature and keys, a catalogue, a profile,
        a table or folder of importances or groups, or another module of an own model's
        package, or beside its file, gives another result.
    """
    named = {name: _hashes([base / name]) for name in named_files(config)}
    for key in ("importance_from", "groups_from"):
        if (stated := getattr(config.budget, key)) is not None:
            named[f"{key} {stated}"] = _hashes([base / stated.partition(":")[2]])
    if is_imported(model := config.federation.model):
        named[f"model {model}"] = _hashes(_modules(model.partition(".")[0]))
    return named


def _hashes(places: Iterator[Path] | list[Path]) -> str:
    """Return one hash of files and of everything in folders; absence counts too."""
    found = hashlib.sha256()
    for place in places:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in inside:
            found.update(f"{path.relative_to(place.parent)}\0{path.is_file()}".encode())
            if path.is_file():
                with path.open("rb") as file:
                    found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _modules(name: str) -> Iterator[Path]:
    """Return every module of a package, or those beside a module that is a file."""
    spec = find_spec(name.partition(":")[0])
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        yield from sorted(Path(folder).rglob("*.py"))
    if spec.submodule_search_locations is None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("*.py"))
