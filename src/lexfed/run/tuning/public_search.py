# SPDX-License-Identifier: Apache-2.0
"""A search on public data: free, because no private row is read.

Every setting is trained on the public file under the run's own budget, with its noise,
so that the setting that bears the noise best wins. The public file may have another
size than the private data; its noise per person then differs as well.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from lexfed.config import Config, from_mapping
from lexfed.config.search_grid import (
    SearchGrid,
    SearchSetting,
    searched_configs,
    set_key,
)
from lexfed.models.losses import LOWER_IS_BETTER
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.intake.population import seeded_population
from lexfed.run.pricing.priced_run import price
from lexfed.run.results.metrics import evaluate

REPEATS = 3
"""Trainings of each setting; their scores are averaged."""


@dataclass(frozen=True)
class PublicTrial:
    """A setting and the mean of its deciding metric on public rows."""

    setting: SearchSetting
    metric: str
    score: float

    @property
    def rank(self) -> float:
        """The score, larger is better."""
        return -self.score if self.metric in LOWER_IS_BETTER else self.score


def search_public(
    tables: Mapping[str, Any], grid: SearchGrid, file: str, base: Path
) -> tuple[PublicTrial, ...]:
    """Try every setting on a public file and return the trials, the best first.

    Args:
        tables: of the configuration file, parsed.
        grid: the settings to try.
        file: the public data, of the same schema; relative to `base`.
        base: folder of the configuration.

    Raises:
        ConfigError, DataError: with every problem; nothing is spent in any case.
    """
    public = _on_public(tables, file)
    settings = grid.settings()
    configs = searched_configs(public, settings)
    population = seeded_population(_countable(public), base)
    tried = []
    for setting, config in zip(settings, configs, strict=True):
        priced = price(config, population, base)
        found = [evaluate(priced, rehearse(priced)) for _ in range(REPEATS)]
        metric = next(iter(found[0]))
        tried.append(PublicTrial(setting, metric, fmean(one[metric] for one in found)))
    return tuple(sorted(tried, key=lambda one: one.rank, reverse=True))


def _on_public(tables: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the configuration with the public file as its data."""
    changed = copy.deepcopy(dict(tables))
    sites = changed.get("data", {}).get("sites", {})
    if "files" in sites:
        set_key(changed, ("data", "sites"), {"count": len(sites["files"])})
    set_key(changed, ("data", "source"), file)
    set_key(changed, ("evaluation", "metrics"), "public")
    return changed


def _countable(tables: Mapping[str, Any]) -> Config:
    """Return the configuration under which public persons may be counted.

    The number that private sums are divided by must be declared; a public file has
    its own, and nobody minds if it is counted.
    """
    changed = copy.deepcopy(dict(tables))
    changed.get("data", {}).pop("units", None)
    set_key(changed, ("budget", "neighbours"), "replace-one")
    return from_mapping(changed)
