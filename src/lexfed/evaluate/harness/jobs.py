# SPDX-License-Identifier: Apache-2.0
"""One measurement of the evaluation, named by everything that decides its result.

A job is data: what is measured, on which table, by which method, with which settings
and seed. Its key is a hash of that, of the rows and of the code, so that a result is
found again after a kill and never mistaken for that of another setting. A change of any
module makes all results old: which of them it leaves as they were, nobody can tell.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import lexfed
from lexfed.canonical import digest
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.machine import software

JobKind = Literal["train", "attack", "audit", "plan", "overhead", "search"]
"""What can be measured; `measures.py` says how."""


@dataclass(frozen=True)
class Job:
    """One measurement.

    Attributes:
        kind: what is measured.
        dataset: name of a table that `datasets` prepares.
        method: who is measured: a method of training, an attack, a part.
        seed: decides split, partition and first weights; never noise.
        rows: how many rows are drawn from the table; all if None.
        setting: everything else, as JSON values.
    """

    kind: JobKind
    dataset: str
    method: str
    seed: int
    rows: int | None = None
    setting: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that identifies it, flat, as tables and rows show it."""
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "method": self.method,
            "seed": self.seed,
            "rows": self.rows,
            **self.setting,
        }

    @property
    def table(self) -> tuple[str, int | None]:
        """The prepared table that it reads; jobs with the same one share it."""
        return self.dataset, self.rows

    def key(self, dataset: Dataset) -> str:
        """Return the name of its result.

        Guarantees:
            Other settings, rows, data, code or versions of libraries have other keys.
        """
        code = code_digest(Path(lexfed.__file__).parent)
        named = {**self.facts, "data": dataset.digest, "code": code, "on": software()}
        return digest(named)[:24]


@cache
def code_digest(package: Path) -> str:
    """Return a hash of every module of a package and of the data it declares."""
    found = hashlib.sha256()
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".toml")):
        found.update(f"{path.relative_to(package)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
