# SPDX-License-Identifier: Apache-2.0
"""How much noise each release carries, from the events that rounds were charged for."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.audit.entries import Round
from lexfed.audit.entries.recorded import Recorded
from lexfed.report.digits import down_all, up_all
from lexfed.report.figures import bar
from lexfed.report.words import tier_name


@dataclass(frozen=True)
class NoiseRow:
    """One group of one release, in the rounds that charged the same for it.

    Attributes:
        name: release and group.
        tier: most sensitive tier it may depend on; `label` where it reads no column.
        rounds: how many rounds released it.
        clip: bound on one unit's part, printed, rounded up.
        sigma: deviation of the noise on the sum, printed, rounded down.
        multiplier: sigma over clip, rounded down.
        rate: probability that a unit takes part.
        bar: the multiplier, drawn.
        entries: first and last entry that charged it.
    """

    name: str
    tier: str
    rounds: int
    clip: str
    sigma: str
    multiplier: str
    rate: str
    bar: Markup
    entries: tuple[int, int]


def noise_rows(rounds: Sequence[Recorded]) -> tuple[NoiseRow, ...]:
    """Return one row for every group of every different release, in order."""
    found: dict[tuple[str, str, str, str, str], list[int]] = {}
    for record in rounds:
        entry = record.entry
        if not isinstance(entry, Round) or entry.event is None:
            continue
        event = entry.event
        for group in event.groups:
            name = group.name
            if len(event.groups) > 1:
                name = f"{event.name}: {group.name}"
            tier = "label" if event.reads is None else tier_name(event.reads)
            key = (name, tier, group.clip, group.sigma, event.sampling_rate)
            found.setdefault(key, []).append(record.index)
    ratios = [float(key[3]) / float(key[2]) for key in found]
    longest = max(ratios, default=1.0)
    clips = up_all(key[2] for key in found)
    sigmas, multipliers = down_all(key[3] for key in found), down_all(ratios)
    rows = []
    for number, (key, entries) in enumerate(found.items()):
        name, tier, _, _, rate = key
        rows.append(
            NoiseRow(
                name=name,
                tier=tier,
                rounds=len(entries),
                clip=clips[number],
                sigma=sigmas[number],
                multiplier=multipliers[number],
                rate=f"{float(rate):g}",
                bar=bar(ratios[number] / longest, f"σ/clip {multipliers[number]}"),
                entries=(entries[0], entries[-1]),
            )
        )
    return tuple(rows)
