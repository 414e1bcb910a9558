# SPDX-License-Identifier: Apache-2.0
"""Spending over time, round by round and by stage, and the noise of each release.

The guarantee is that of the plan. Where noise adapted to earlier releases, it differs
from the planned noise, and a reader must see both: the guarantee rests on the planned
column, the other one tells what was done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markupsafe import Markup

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.audit.log.evidence import IndexedEntry
from lexfed.privacy.scopes import CountedRelease
from lexfed.report.markup.charts import SpendingCurve
from lexfed.report.markup.svg import bar
from lexfed.report.wording.plain_words import TIERS, scope_name, tier_name
from lexfed.report.wording.rounding import round_down_all, round_up, round_up_all

RECORD = "record"

Rounds = Sequence[IndexedEntry[RoundEntry]]
"""The rounds of a run that released something, in order."""


@dataclass(frozen=True)
class TrainingEvent:
    """Something that happened in training, in the order of the log.

    Attributes:
        what: `released`, `lost`, `refused` or `resumed`.
        stage: the release, or the reason why there was none.
        alone: epsilon of the record for this round alone, printed.
        spent: epsilon so far by scope, printed; empty where nothing is stated.
        sites: number of sites that took part, with the source of that number.
    """

    entry: int
    round: int | None
    what: str
    stage: str
    alone: str
    spent: dict[str, str]
    sites: str


@dataclass(frozen=True)
class SpendingStage:
    """Rounds in a row that summed the same thing."""

    stage: str
    first: int
    last: int
    entries: tuple[int, int]
    spent: dict[str, str]

    @property
    def rounds(self) -> str:
        """The rounds, as a range."""
        one = self.first == self.last
        return str(self.first) if one else f"{self.first}–{self.last}"


def scopes(rounds: Rounds) -> tuple[str, ...]:
    """Return the record and then every tier that rounds speak of, sensitive first."""
    named = {name for each in rounds for name in each.entry.tiers_so_far}
    private = any(each.entry.epsilon_so_far is not None for each in rounds)
    return ((RECORD,) if private else ()) + tuple(t for t in TIERS if t in named)


def events(records: Iterable[RecordedEntry]) -> tuple[TrainingEvent, ...]:
    """Return every event of training."""
    listed = []
    for each in records:
        alone, spent, sites, number = "", {}, "", None
        match each.entry:
            case RoundEntry() as entry:
                kind, stage, number = "released", stage_of(entry), entry.round
                alone = "" if entry.epsilon is None else round_up(entry.epsilon)
                spent = {name: round_up(value) for name, value in _spent(entry).items()}
                sites = _sites(entry)
            case AbortedRoundEntry() as entry:
                kind, number = "lost", entry.round
                stage = entry.cause.replace("-", " ") + ", charged and not used"
            case RefusalEntry() as entry:
                kind, stage, number = "refused", why_refused(entry), entry.round
            case ResumptionEntry() as entry:
                kind, stage = "resumed", f"started again after round {entry.rounds}"
            case _:
                continue
        event = TrainingEvent(each.index, number, kind, stage, alone, spent, sites)
        listed.append(event)
    return tuple(listed)


def stages(rounds: Rounds) -> tuple[SpendingStage, ...]:
    """Return the rounds by stage, with the spending at the end of each."""
    names = scopes(rounds)
    blocks = [list(g) for _, g in groupby(rounds, key=lambda r: stage_of(r.entry))]
    ends = [_spent(block[-1].entry) for block in blocks]
    columns = {
        name: round_up_all([end.get(name, "0") for end in ends]) for name in names
    }
    return tuple(
        SpendingStage(
            stage=stage_of(block[0].entry),
            first=block[0].entry.round,
            last=block[-1].entry.round,
            entries=(block[0].index, block[-1].index),
            spent={name: columns[name][number] for name in names},
        )
        for number, block in enumerate(blocks)
    )


def plan_total(rounds: Rounds, plan: BudgetPlan | None) -> dict[str, str]:
    """Return the price of the whole plan by scope, printed: that is the guarantee.

    It stands under the spending, which is less where rounds were left out or quieter.
    """
    if plan is None or plan.epsilon is None:
        return {}
    prices = {RECORD: plan.epsilon, **{str(t): v for t, v in plan.tiers.items()}}
    return {name: round_up(prices[name]) for name in scopes(rounds) if name in prices}


def curves(rounds: Rounds) -> list[SpendingCurve]:
    """Return one curve per scope, the record first.

    Each is drawn on a scale of its own: the record's epsilon and a tier's belong to
    different relations and must not be compared on one axis.
    """
    drawn = []
    for name in scopes(rounds):
        entries = [each.entry for each in rounds]
        spent = [(each.round, float(_spent(each).get(name, "0"))) for each in entries]
        limit = entries[-1].budgets.get(name)  # type: ignore[call-overload]
        bound = None if limit is None else float(limit)
        drawn.append(SpendingCurve(scope_name(name), spent, bound))
    return drawn


def why_refused(refusal: RefusalEntry) -> str:
    """Return the budget that a refused round would have broken."""
    whose = "a site" if refusal.by == "site" else "the coordinator"
    if refusal.scope == "plan":
        return f"refused by {whose}: it is not in the plan"
    what = scope_name(refusal.scope)
    if refusal.would_reach is None or refusal.limit is None:
        return f"refused by {whose}: {what} would exceed its budget"
    return (
        f"refused by {whose}: {what} would reach ε {round_up(refusal.would_reach)} "
        f"of {round_up(refusal.limit)}"
    )


def _spent(entry: RoundEntry) -> dict[str, str]:
    record = {} if entry.epsilon_so_far is None else {RECORD: entry.epsilon_so_far}
    return {**record, **{str(t): value for t, value in entry.tiers_so_far.items()}}


def _sites(entry: RoundEntry) -> str:
    taken = entry.participation
    words = {
        "open": "signed receipts",
        "sealed": "receipts sealed",
        "none": "coordinator's word",
    }
    number = "secret" if taken.sites is None else str(taken.sites)
    return f"{number}, {words[taken.receipts]}"


def stage_of(entry: RoundEntry) -> str:
    """Return the name of a round's release, or its kind where none is charged."""
    return entry.stage if entry.event is None else entry.event.name


def accountant(rounds: Rounds) -> str:
    """Return the accountant of the last round's numbers; empty if none is stated."""
    return (rounds[-1].entry.accountant or "") if rounds else ""


@dataclass(frozen=True)
class NoiseRow:
    """One group of one release.

    Attributes:
        tier: most sensitive tier it may depend on; `label` where it reads no column.
        clip: bound on one unit's part, printed, rounded up.
        sigma: deviation of the noise on the sum, printed, rounded down; from the
            smallest to the largest where rounds differ.
        planned: the same of the planned rounds; empty where they do not differ.
        multiplier: smallest sigma over clip, rounded down.
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
    rounds: Rounds, plan: Sequence[CountedRelease] = ()
) -> tuple[NoiseRow, ...]:
    """Return one row for every group of every release, in the order of the rounds."""
    found: dict[_Key, _Found] = {}
    for record in rounds:
        event = record.entry.event
        if event is None:
            continue
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
