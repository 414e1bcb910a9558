# SPDX-License-Identifier: Apache-2.0
"""The tagger's settings: shares of the sources of evidence, thresholds for review."""

from dataclasses import dataclass

from lexfed.errors import ConfigError, Problem

TIER_COUNTS = (3, 4)
"""Numbers of tiers to choose from: with three, identifiers count as special."""


@dataclass(frozen=True)
class TaggerSettings:
    """Settings of a tagging; the defaults were chosen on the development columns.

    Attributes:
        alpha: share of metadata (names, descriptions, packs) against semantics.
        statistics: share of values and statistics against the semantic network.
        low: the chance of being special or identifying from which on a person looks.
        high: the chance from which on no person needs to look any more.
        tiers: number of tiers, 3 or 4.
        without: names of packs that are not used, to measure on unseen schemas.

    Raises:
        ConfigError: naming every setting that is out of range.
    """

    alpha: float = 0.4
    statistics: float = 0.6
    low: float = 0.3
    high: float = 0.7
    tiers: int = 4
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        shares = ("alpha", "statistics", "low", "high")
        problems = [
            Problem(f"`{name}`", f"expected a number from 0 to 1, got: {value}")
            for name in shares
            if not 0.0 <= (value := getattr(self, name)) <= 1.0
        ]
        if self.low >= self.high:
            problems.append(
                Problem("`low`", f"must be below `high` ({self.high}), got: {self.low}")
            )
        if self.tiers not in TIER_COUNTS:
            problems.append(Problem("`tiers`", f"expected 3 or 4, got: {self.tiers}"))
        if problems:
            raise ConfigError(problems)
