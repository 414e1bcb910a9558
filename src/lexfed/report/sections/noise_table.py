# SPDX-License-Identifier: Apache-2.0
"""The noise of each release, beside the planned noise.

The guarantee is that of the plan. Where noise adapted to earlier releases, the two
differ, and a reader must see both: the guarantee rests on the planned column, the
other one tells what was done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from lexfed.audit.entries import RoundEntry
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.privacy.scopes import CountedRelease
from lexfed.report.markup.figures import bar
from lexfed.report.wording.plain_words import tier_name
from lexfed.report.wording.rounding import round_down_all, round_up_all


@dataclass(frozen=True)
class NoiseRow:
    """One group of one release.

    Attributes:
        name: release and group.
        tier: most sensitive tier it may depend on; `label` where it reads no column.
        rounds: number of rounds that released it.
        clip: bound on one unit's part, printed, rounded up.
        sigma: deviation of the noise on the sum, printed, rounded down; from the
            smallest to the largest where rounds differ.
        planned: the same of the planned rounds; empty where they do not differ.
        multiplier: smallest sigma over clip, rounded down.
        rate: probability that a unit takes part.
        bar: the multiplier, drawn.
        entries: first and last entry that charged it.
    """

    name: str
    tier: str
    rounds: int
    clip: str
    sigma: str
    planned: str
    multiplier: str
    rate: str
    bar: Markup
    entries: tuple[int, int]


_Key = tuple[str, str, float, float]
"""Name, tier, clip and rate: what rows have in common whose noise differs."""


@dataclass
class _Found:
    entries: list[int] = field(default_factory=list)
    used: list[float] = field(default_factory=list)


def noise_rows(
    rounds: Sequence[RecordedEntry], plan: Sequence[CountedRelease] = ()
) -> tuple[NoiseRow, ...]:
    """Return one row for every group of every release, in the order of the rounds."""
    found: dict[_Key, _Found] = {}
    for record in rounds:
        entry = record.entry
        if not isinstance(entry, RoundEntry) or entry.event is None:
            continue
        event = entry.event
        for group in event.groups:
            name = _name(event.name, group.name, len(event.groups))
            tier = "label" if event.reads is None else tier_name(event.reads)
            key = (name, tier, float(group.clip), float(event.sampling_rate))
            row = found.setdefault(key, _Found())
            row.entries.append(record.index)
            row.used.append(float(group.sigma))
    meant = _planned(plan)
    ratios = [min(row.used) / key[2] for key, row in found.items()]
    longest = max(ratios, default=1.0)
    clips, multipliers = round_up_all(key[2] for key in found), round_down_all(ratios)
    used = _ranges([row.used for row in found.values()])
    other = _ranges([meant.get(key[0], row.used) for key, row in found.items()])
    return tuple(
        NoiseRow(
            name=key[0],
            tier=key[1],
            rounds=len(row.entries),
            clip=clips[number],
            sigma=used[number],
            planned="" if used[number] == other[number] else other[number],
            multiplier=multipliers[number],
            rate=f"{key[3]:g}",
            bar=bar(ratios[number] / longest, f"σ/clip {multipliers[number]}"),
            entries=(row.entries[0], row.entries[-1]),
        )
        for number, (key, row) in enumerate(found.items())
    )


def _name(release: str, group: str, groups: int) -> str:
    return group if groups == 1 else f"{release}: {group}"


def _planned(plan: Sequence[CountedRelease]) -> dict[str, list[float]]:
    """Return the planned noise of every group, by the name of its row."""
    meant: dict[str, list[float]] = {}
    for release, count in plan:
        for group in release.groups:
            name = _name(release.name, group.name, len(release.groups))
            if count:
                meant.setdefault(name, []).append(group.sigma)
    return meant


def _ranges(columns: Sequence[Sequence[float]]) -> list[str]:
    """Return the smallest and the largest of each, with the decimals of all."""
    ends = [end for values in columns for end in (min(values), max(values))]
    printed = round_down_all(ends)
    pairs = zip(printed[::2], printed[1::2], strict=True)
    return [low if low == high else f"{low}–{high}" for low, high in pairs]
