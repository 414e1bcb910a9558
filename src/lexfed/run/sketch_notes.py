# SPDX-License-Identifier: Apache-2.0
"""What the sketches of a run say, in words: persons at several sites, drift, weights.

Everything here is derived from released values. Together the warnings of one kind are
wrong in at most 5 % of runs: of persons at several sites, of drift since the profile,
and of sites that differ from the others.
"""

from collections.abc import Iterator

from lexfed.federation.looking import drifts, looks, places
from lexfed.federation.progress import Progress
from lexfed.federation.site_weights import NAME
from lexfed.federation.told import told_tables
from lexfed.run.planning import Priced
from lexfed.sketch.drift import drift
from lexfed.sketch.duplicates import Duplicated, duplicated


def sketch_lines(priced: Priced) -> list[str]:
    """Return what is sketched along the way, before anything runs."""
    sketching = priced.programme.sketching
    stages = [s.name for s in priced.programme.stages if s.kind == "sketch"]
    if sketching.share == 0.0 or not stages:
        return []
    lines = [f"{', '.join(stages)}: {sketching.share:.0%} of their towers' budgets"]
    if sketching.weights == "overlap":
        lines.append("weights of sites follow overlap, between a half and one")
    return lines


def sketch_notes(priced: Priced, progress: Progress) -> tuple[str, ...]:
    """Return what a reader of the result should know of its sketches.

    Args:
        priced: the run.
        progress: where it ended.
    """
    if priced.programme.sketching.share == 0.0:
        return ()
    return (
        *_persons(priced, progress),
        *_weights(priced, progress),
        *_drifts(priced, progress),
        *_different_sites(priced, progress),
        *_not_asked(priced, progress),
    )


def _persons(priced: Priced, progress: Progress) -> Iterator[str]:
    for told in told_tables(priced.programme, progress.memory):
        if told.table.domain == "keys":
            names = priced.programme.sites
            for name, found in zip(names, duplicated(told), strict=True):
                if found.at_least > 0.0:
                    yield _duplicates(priced, name, found)


def _duplicates(priced: Priced, site: str, found: Duplicated) -> str:
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


def _weights(priced: Priced, progress: Progress) -> Iterator[str]:
    weights = progress.memory.get(NAME)
    if weights is not None and weights.min() < 1.0:
        each = zip(priced.programme.sites, weights.tolist(), strict=True)
        yield "weights of sites by overlap: " + ", ".join(
            f"`{site}` {weight:.3g}" for site, weight in each
        )


def _drifts(priced: Priced, progress: Progress) -> Iterator[str]:
    # A column that is looked at twice has one line, of the last look.
    found = {
        column.name: one for column, one in drifts(priced.programme, progress.memory)
    }
    for name, one in found.items():
        if one.warns:
            yield (
                f"column `{name}` has drifted since the profile, by at least "
                f"{one.at_least:.2g} of at most 1.41"
            )


def _different_sites(priced: Priced, progress: Progress) -> Iterator[str]:
    sites = priced.programme.sites
    asked = max(1, places(priced.programme)) * len(sites)
    last = {look.column.name: look for look in looks(priced.programme, progress.memory)}
    for name, look in last.items():
        for place, site in enumerate(sites if len(sites) > 1 else ()):
            found = drift(*look.of_site(place), asked)
            if found.warns:
                yield (
                    f"column `{name}` is spread otherwise at site `{site}` than at the "
                    f"others, by at least {found.at_least:.2g} of at most 1.41"
                )


def _not_asked(priced: Priced, progress: Progress) -> Iterator[str]:
    for place, stage in enumerate(priced.programme.stages):
        asked = f"sketch.{place}.0" in progress.memory
        if stage.kind == "sketch" and not asked and place < progress.stage:
            yield (
                f"`{stage.name}`: not released: the round was lost, or columns were "
                "those of the last look, and then nothing was spent on it"
            )
