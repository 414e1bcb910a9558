# SPDX-License-Identifier: Apache-2.0
"""One measurement of the evaluation, named by everything that decides its result.

A job is data: what is measured, on which table, by which method, with which settings
and seed. Its key is a hash of that, of the rows and of the version of lexfed, so that
a result is found again after a kill and never mistaken for that of another setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lexfed import __version__
from lexfed.canonical import digest
from lexfed.evaluate.datasets import Dataset

Kind = Literal["train", "attack", "audit", "plan", "overhead"]
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

    kind: Kind
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
            Other settings, rows, data or versions of lexfed have other keys.
        """
        named = {**self.facts, "data": dataset.digest, "lexfed": __version__}
        return digest(named)[:24]
