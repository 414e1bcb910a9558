# SPDX-License-Identifier: Apache-2.0
"""Spending over time: one row per event of training, and a summary by stage."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.report.markup.figures import Panel
from lexfed.report.wording.plain_words import TIERS, scope_name
from lexfed.report.wording.rounding import round_up, round_up_all

RECORD = "record"


@dataclass(frozen=True)
class TrainingEvent:
    """Something that happened in training, in the order of the log.

    Attributes:
        entry: index of the entry that states it.
        round: number of the round; None for a restart.
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
        return (
            str(self.first) if self.first == self.last else f"{self.first}–{self.last}"
        )


def scopes(rounds: Sequence[RecordedEntry]) -> tuple[str, ...]:
    """Return the record and then every tier that rounds speak of, sensitive first."""
    named = {name for each in rounds for name in _round(each).tiers_so_far}
    private = any(_round(each).epsilon_so_far is not None for each in rounds)
    return ((RECORD,) if private else ()) + tuple(t for t in TIERS if t in named)


def events(records: Iterable[RecordedEntry]) -> tuple[TrainingEvent, ...]:
    """Return every event of training."""
    found = []
    for each in records:
        match each.entry:
            case RoundEntry() as entry:
                alone = "" if entry.epsilon is None else round_up(entry.epsilon)
                spent = {name: round_up(value) for name, value in _spent(entry).items()}
                found.append(
                    TrainingEvent(each.index, entry.round, "released", stage_of(entry),
                          alone, spent, _sites(entry))
                )  # fmt: skip
            case AbortedRoundEntry() as entry:
                why = entry.cause.replace("-", " ") + ", charged and not used"
                found.append(
                    TrainingEvent(each.index, entry.round, "lost", why, "", {}, "")
                )
            case RefusalEntry() as entry:
                found.append(
                    TrainingEvent(each.index, entry.round, "refused",
                                  why_refused(entry), "", {}, "")
                )  # fmt: skip
            case ResumptionEntry() as entry:
                found.append(
                    TrainingEvent(each.index, None, "resumed",
                          f"started again after round {entry.rounds}", "", {}, "")
                )  # fmt: skip
            case _:
                pass
    return tuple(found)


def stages(rounds: Sequence[RecordedEntry]) -> tuple[SpendingStage, ...]:
    """Return the rounds by stage, with the spending at the end of each."""
    names = scopes(rounds)
    blocks = [list(g) for _, g in groupby(rounds, key=lambda r: stage_of(_round(r)))]
    ends = [_spent(_round(block[-1])) for block in blocks]
    columns = {
        name: round_up_all([end.get(name, "0") for end in ends]) for name in names
    }
    return tuple(
        SpendingStage(
            stage=stage_of(_round(block[0])),
            first=_round(block[0]).round,
            last=_round(block[-1]).round,
            entries=(block[0].index, block[-1].index),
            spent={name: columns[name][number] for name in names},
        )
        for number, block in enumerate(blocks)
    )


def plan_total(
    rounds: Sequence[RecordedEntry], plan: BudgetPlan | None
) -> dict[str, str]:
    """Return the price of the whole plan by scope, printed: that is the guarantee.

    It stands under the spending, which is less where rounds were left out or quieter.
    """
    if plan is None or plan.epsilon is None:
        return {}
    prices = {RECORD: plan.epsilon, **{str(t): v for t, v in plan.tiers.items()}}
    return {name: round_up(prices[name]) for name in scopes(rounds) if name in prices}


def panels(rounds: Sequence[RecordedEntry]) -> list[Panel]:
    """Return one panel per scope, the record first."""
    found = []
    for name in scopes(rounds):
        spent = [
            (_round(each).round, float(_spent(_round(each)).get(name, "0")))
            for each in rounds
        ]
        limit = _round(rounds[-1]).budgets.get(name)  # type: ignore[call-overload]
        found.append(
            Panel(scope_name(name), spent, None if limit is None else float(limit))
        )
    return found


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


def _round(record: RecordedEntry) -> RoundEntry:
    entry = record.entry
    if not isinstance(entry, RoundEntry):
        raise TypeError(f"entry {record.index} is not a round")
    return entry


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


def accountant(rounds: Sequence[RecordedEntry]) -> str:
    """Return the accountant of the last round's numbers; empty if none is stated."""
    return (_round(rounds[-1]).accountant or "") if rounds else ""
