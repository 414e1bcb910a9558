# SPDX-License-Identifier: Apache-2.0
"""A column as a profile asks about it: what is declared, and what is not yet known."""

from dataclasses import dataclass
from typing import Literal

from lexfed.tiers import Tier

ProfiledKind = Literal["number", "category", "flag"]


@dataclass(frozen=True)
class ProfiledColumn:
    """One column of a profile.

    Attributes:
        name: as in the configuration.
        kind: number, category or flag; texts and keys are not profiled.
        tier: how sensitive it is.
        range: lowest and highest value of a number; None if it is sought.
        values: the list of a category; None if it is sought.

    Raises:
        ValueError: if there is a range of no number or a list of no category.
    """

    name: str
    kind: ProfiledKind
    tier: Tier
    range: tuple[float, float] | None = None
    values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.range is not None and self.kind != "number":
            raise ValueError(f"expected no `range` of a {self.kind}")
        if self.values is not None and self.kind != "category":
            raise ValueError(f"expected no `values` of a {self.kind}")

    @property
    def codes(self) -> tuple[str, ...] | None:
        """Labels of cells of exact codes: the list, or no and yes of a flag."""
        return ("no", "yes") if self.kind == "flag" else self.values
