# SPDX-License-Identifier: Apache-2.0
"""Findings of a run's sketches, in words: persons at several sites, drift, weights.

Everything here is derived from released values. Together the warnings of one kind are
wrong in at most 5 % of runs: of persons at several sites, of drift since the profile,
and of sites that differ from the others.
"""

from collections.abc import Iterator

from lexfed.federation.coordinator.progress import Progress, tables_so_far
from lexfed.federation.coordinator.sketch_learner import (
    column_drifts,
    column_looks,
    most_looks,
)
from lexfed.federation.programme.sequence import SITE_WEIGHTS
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.sketch.queries.drift import drift
from lexfed.sketch.queries.duplicates import DuplicateShare, duplicate_shares


def sketch_lines(priced: PricedRun) -> list[str]:
    """Return lines about the planned sketches, before anything runs."""
    sketching = priced.programme.sketching
    stages = [s.name for s in priced.programme.stages if s.kind == "sketch"]
    if sketching.share == 0.0 or not stages:
        return []
    lines = [f"{', '.join(stages)}: {sketching.share:.0%} of their towers' budgets"]
    if sketching.weights == "overlap":
        lines.append("weights of sites follow overlap, between a half and one")
    return lines


def sketch_notes(priced: PricedRun, progress: Progress) -> tuple[str, ...]:
    """Return notes about the sketches of a run, for a reader of its result."""
    if priced.programme.sketching.share == 0.0:
        return ()
    return (
        *_persons(priced, progress),
        *_weights(priced, progress),
        *_drifts(priced, progress),
        *_different_sites(priced, progress),
        *_not_asked(priced, progress),
    )


def _persons(priced: PricedRun, progress: Progress) -> Iterator[str]:
    for told in tables_so_far(priced.programme, progress.memory):
        if told.table.domain == "keys":
            names = priced.programme.sites
            for name, found in zip(names, duplicate_shares(told), strict=True):
                if found.at_least > 0.0:
                    yield _duplicates(priced, name, found)


def _duplicates(priced: PricedRun, site: str, found: DuplicateShare) -> str:
    line = (
        f"site `{site}`: about {100 * found.part:.0f} % of its persons, and at least "
        f"{100 * found.at_least:.1f} %, are at other sites too"
    )
    if priced.budget.sites_per_person > 1:
        return line
    return (
        f"{line}; `data.sites_per_person` is 1, so what is claimed does not hold for "
        "them: declare at how many sites one person may be"
    )


def _weights(priced: PricedRun, progress: Progress) -> Iterator[str]:
    weights = progress.memory.get(SITE_WEIGHTS)
    if weights is not None and weights.min() < 1.0:
        each = zip(priced.programme.sites, weights.tolist(), strict=True)
        yield "weights of sites by overlap: " + ", ".join(
            f"`{site}` {weight:.3g}" for site, weight in each
        )


def _drifts(priced: PricedRun, progress: Progress) -> Iterator[str]:
    # A column that is looked at twice has one line, of the last look.
    found = {
        column.name: one
        for column, one in column_drifts(priced.programme, progress.memory)
    }
    for name, one in found.items():
        if one.warns:
            yield (
                f"column `{name}` has drifted since the profile, by at least "
                f"{one.at_least:.2g} of at most 1.41"
            )


def _different_sites(priced: PricedRun, progress: Progress) -> Iterator[str]:
    sites = priced.programme.sites
    asked = max(1, most_looks(priced.programme)) * len(sites)
    last = {
        look.column.name: look
        for look in column_looks(priced.programme, progress.memory)
    }
    for name, look in last.items():
        for place, site in enumerate(sites if len(sites) > 1 else ()):
            found = drift(*look.of_site(place), asked)
            if found.warns:
                yield (
                    f"column `{name}` is spread otherwise at site `{site}` than at the "
                    f"others, by at least {found.at_least:.2g} of at most 1.41"
                )


def _not_asked(priced: PricedRun, progress: Progress) -> Iterator[str]:
    for place, stage in enumerate(priced.programme.stages):
        asked = f"sketch.{place}.0" in progress.memory
        if stage.kind == "sketch" and not asked and place < progress.stage:
            yield (
                f"`{stage.name}`: not released: the round was lost, or columns were "
                "those of the last look, and then nothing was spent on it"
            )
