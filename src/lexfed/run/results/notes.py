# SPDX-License-Identifier: Apache-2.0
"""Notes about a run in words: its model, caps, noise, adaptation and sketches.

Everything here is derived from released values and public facts. Together the warnings
of one kind are wrong in at most 5 % of runs: of persons at several sites, of drift
since the profile, and of sites that differ from the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lexfed.budget.tower_steering import Adaptation, Steering
from lexfed.federation.coordinator.noisy_descent import TowerSteering
from lexfed.federation.coordinator.progress import Progress, tables_so_far
from lexfed.federation.coordinator.sketch_learner import (
    column_drifts,
    column_looks,
    most_looks,
)
from lexfed.federation.programme.sequence import SITE_WEIGHTS, Stage
from lexfed.models.networks.specifications import LINEAR, is_imported
from lexfed.models.tower_shapes import TowerShape
from lexfed.privacy.releases import Release
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.outlook import outlook_notes
from lexfed.sketch.queries.drift import drift
from lexfed.sketch.queries.duplicates import DuplicateShare, duplicate_shares

NETWORKS_LEFT_OUT = (
    "network parts are left out: at this budget they would add noise, not signal; with "
    "more data or epsilon they are trained"
)


def notes_of(priced: PricedRun) -> tuple[str, ...]:
    """Return notes for a reader of the result about how it came about.

    Counts of bent values are private (`Population.remarks`) and not part of the result.
    """
    shapes = priced.programme.shapes
    notes = [f"model: {reason}" for reason in _fallback_reasons(shapes) if reason]
    if (
        shapes[0].architecture in LINEAR
        and priced.config.federation.model not in LINEAR
    ):
        notes.append(NETWORKS_LEFT_OUT)
    return tuple(dict.fromkeys((*notes, *outlook_notes(priced))))


def _fallback_reasons(shapes: Sequence[TowerShape]) -> Iterator[str | None]:
    """Yield why a tower is slow to train; none of our own is."""
    for shape in shapes:
        if is_imported(shape.architecture):
            from lexfed.models.networks.known_layers import fallback_reason

            yield fallback_reason(shape.untrained())


def adaptation_lines(priced: PricedRun) -> list[str]:
    """Return lines about planned adaptation and its limits, before anything runs."""
    adapting = priced.programme.adapting
    if not adapting.active:
        return []
    lines = []
    if adapting.noise != "none":
        ranges = {stage.noise_range for stage in priced.programme.stages} - {(1.0, 1.0)}
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        lines.append(
            f"noise follows `{adapting.noise}`, {low:.3g} to {high:.3g} times the "
            f"planned; {_FENCE[adapting.guarantee]}"
        )
    if adapting.clip != "none":
        lines.append(f"clip follows `{adapting.clip}` of released values")
    if adapting.learning_rate != "none":
        lines.append(f"learning rate follows `{adapting.learning_rate}`")
    if adapting.patience is not None:
        lines.append(
            f"a tower ends after {adapting.patience} rounds without progress, which "
            "earns nothing"
        )
    return lines


_FENCE = {
    "envelope": "the plan below is the envelope: its noise is the least of any round",
    "filter": "a filter keeps the sum of all rounds within the plan below",
}


def adaptation_notes(
    priced: PricedRun, rows: Iterable[Mapping[str, Any]], progress: Progress
) -> tuple[str, ...]:
    """Return the rounds and the noise of each tower, by events and last state."""
    if not priced.programme.adapting.active:
        return ()
    charged: dict[int, list[Release]] = {}
    for row in rows:
        if row["type"] == "charge":
            release = Release.from_json(row["release"])
            charged.setdefault(row["stage"], []).append(release)
    steering = TowerSteering(priced.programme)
    return tuple(
        _adapted(stage, charged.get(index, []))
        + _adaptation_ending(
            priced.programme.adapting, steering.state(stage, progress.memory)
        )
        for index, stage in enumerate(priced.programme.stages)
        if priced.programme.steers(stage)
    )


def _adapted(stage: Stage, charged: list[Release]) -> str:
    planned = [release for release in stage.releases if release is not None]
    used = sum(release.noise_multiplier**-2 for release in charged)
    whole = sum(release.noise_multiplier**-2 for release in planned)
    return (
        f"{stage.name}: {len(charged)} rounds, {len(planned)} planned; used "
        f"{100 * used / whole:.0f} % of the planned sum of squares"
    )


def _adaptation_ending(adapting: Adaptation, state: Steering) -> str:
    if state.frozen:
        return "; frozen at the most noise: it released what honest sums cannot be"
    if adapting.is_over(state):
        return "; no more progress, and ending early earns nothing"
    return ""


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
    for released in tables_so_far(priced.programme, progress.memory):
        if released.table.domain == "keys":
            names = priced.programme.sites
            shares = duplicate_shares(released)
            for name, share in zip(names, shares, strict=True):
                if share.at_least > 0.0:
                    yield _duplicates(priced, name, share)


def _duplicates(priced: PricedRun, site: str, found: DuplicateShare) -> str:
    line = (
        f"site `{site}`: about {100 * found.part:.0f} % of its people, and at least "
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
