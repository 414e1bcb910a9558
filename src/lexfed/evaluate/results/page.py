# SPDX-License-Identifier: Apache-2.0
"""The results as one Markdown page, written by the evaluation and never by hand.

Every table says what was asked, with which configuration, seeds and machine, and what
others published beside what we find. A table of which jobs are missing shows none of
its figures: it says how many are missing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lexfed
from lexfed.evaluate.harness.jobs import code_digest
from lexfed.evaluate.harness.machine import software, today
from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine
from lexfed.evaluate.harness.tables import PublishedFigure, ResultTable
from lexfed.evaluate.harness.verdicts import TargetVerdict, verdicts
from lexfed.evaluate.results import draw

_HEAD = """\
# Results

Written by `scripts/reproduce`; do not edit. What each method is stands in \
`lexfed/evaluate/methods`, what each table asks in `lexfed/evaluate/catalogue`. Values \
are means over splits with the half-width of a 95 % interval (Student's t). Splits of \
one table share rows; intervals of trainings allow for that, which makes those of 20 \
splits three times as wide, too wide where the noise of a run decides. Accuracy stands \
beside the accuracy of always answering with the more frequent class. Noise is fresh \
in every run; only splits repeat.

An attribute's ε is about one value of the most sensitive tier. It is never about the \
outcome that is learned, which the ε of the whole record protects.

- machine: {machine}
- software: {software}, code `{code}`
- written on {date} from {runs:,} runs, {minutes:.0f} minutes of one core
"""
_NAMES = {
    "attribute_epsilon": "attribute ε",
    "record_epsilon": "record ε",
    "alpha": "α",
    "auc": "AUC",
    "ap": "AP",
    "f1": "F1",
}
_NOTHING = "–"


def page(summaries: Sequence[Summary], machine: str, figures: str) -> str:
    """Return the page.

    Args:
        summaries: the tables, in order.
        machine: what they were measured on.
        figures: folder of the figures, as seen from the page.
    """
    runs = {str(r["key"]): r for one in summaries for r in one.results}
    head = _HEAD.format(
        machine=machine,
        software=software(),
        code=code_digest(Path(lexfed.__file__).parent)[:12],
        date=today(),
        runs=len(runs),
        minutes=sum(result.get("took", 0.0) for result in runs.values()) / 60.0,
    )
    sections = [_section(summary, machine, figures) for summary in summaries]
    return "\n".join([head, _short(summaries), *sections])


def _short(summaries: Sequence[Summary]) -> str:
    """Return every verdict in one place, what was missed first."""
    judged = [
        (summary.table, one) for summary in summaries for one in verdicts(summary)
    ]
    if not judged:
        return ""
    missed = [(table, one) for table, one in judged if not one.reached]
    lines = [f"## In short\n\n{len(judged)} things were asked; {len(missed)} missed.\n"]
    for table, one in missed:
        why = f" {one.target.reason}" if one.target.reason else ""
        lines.append(f"- **missed** in [{table.title}](#{_anchor(table)}): {one}.{why}")
    lines += [
        f"- {one.word} in [{table.title}](#{_anchor(table)}): {one}"
        for table, one in judged
        if one.reached
    ]
    return "\n".join(lines) + "\n"


def _anchor(table: ResultTable) -> str:
    """Return the name that Markdown readers give a heading."""
    kept = (
        letter for letter in table.title.lower() if letter.isalnum() or letter in " -"
    )
    return "".join(kept).replace(" ", "-")


def _section(summary: Summary, machine: str, figures: str) -> str:
    table = summary.table
    asked = f"`lexfed evaluate --table {table.name}`"
    if table.name == "quick":
        asked = "`lexfed evaluate --quick`"
    parts = [
        f"## {table.title}\n",
        f"{table.question}\n",
        f"{asked} · configuration `{table.digest}` · {len(table.jobs)} runs, "
        f"{_count(table.seeds, 'seed')} · {_measured(summary, machine)}\n",
    ]
    if not summary.whole:
        parts.append(
            f"**Not whole**: {summary.done} of {len(table.jobs)} runs are there, so no "
            "figure is shown.\n"
        )
        return "\n".join(parts)
    parts.append(_lines(summary))
    parts += [f"![{table.title}]({figures}/{name})\n" for name in draw(summary)]
    parts.append(_published(table))
    parts.append(_verdicts(verdicts(summary)))
    parts.append(_notes(summary.lines))
    return "\n".join(part for part in parts if part)


def _measured(summary: Summary, machine: str) -> str:
    """Say when the runs of a table were made, and where if that is elsewhere."""
    dates = sorted({str(result.get("date", today())) for result in summary.results})
    others = {str(result.get("machine", machine)) for result in summary.results}
    where = "".join(f", on {one}" for one in sorted(others - {machine}))
    return f"measured {' to '.join(dict.fromkeys((*dates[:1], *dates[-1:])))}{where}"


def _lines(summary: Summary) -> str:
    table = summary.table
    shown = [m for m in table.shows if any(m in one.values for one in summary.lines)]
    facts = [
        fact
        for fact in table.across
        if fact != "rows" and any(one.facts[fact] is not None for one in summary.lines)
    ]
    head = [*map(heading, facts), *map(heading, shown)]
    gain = bool(table.against) and bool(shown)
    if gain:
        head.append(f"gain in {heading(shown[0])} over `{table.against}`")
    if table.published:
        head.append("published")
    body = []
    for one in summary.lines:
        cells = [_fact(fact, one.facts) for fact in facts]
        cells += [_value(one.values.get(metric), metric, one.seeds) for metric in shown]
        if gain:
            cells.append(_signed(one.gains.get(shown[0]), one.seeds))
        if table.published:
            cells.append(_beside(one, table.published))
        body.append(cells)
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


def heading(name: str) -> str:
    """Return what people call a fact or a metric."""
    return _NAMES.get(name, name.replace("_", " "))


def _fact(name: str, facts: Mapping[str, Any]) -> str:
    value = facts[name]
    if value is None:
        return _NOTHING
    if name == "dataset" and facts.get("rows"):
        return f"{value}, {facts['rows']:,} rows"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(found: MeanEstimate | None, metric: str, seeds: int) -> str:
    if found is None:
        return _NOTHING
    places = 3
    if metric.endswith("_bytes"):
        places = 0
    elif metric == "rounds" or metric.endswith("seconds") or abs(found.mean) >= 100:
        places = 2
    text = f"{found.mean:.{places}f}"
    half = f" ± {found.half:.{places}f}" if found.half else ""
    return f"{text}{half}{_of(found, seeds)}"


def _signed(found: MeanEstimate | None, seeds: int) -> str:
    if found is None:
        return _NOTHING
    return f"{found.mean:+.3f} ± {found.half or 0.0:.3f}{_of(found, seeds)}"


def _of(found: MeanEstimate, seeds: int) -> str:
    """Say so where some of the seeds have no number."""
    return "" if found.count == seeds else f" ({found.count} of {seeds})"


def _beside(line: TableLine, published: Sequence[PublishedFigure]) -> str:
    found = [
        f"{one.value:.3f} ({one.source})"
        for one in published
        if all(line.facts.get(name) == value for name, value in one.where.items())
    ]
    return ", ".join(found) or _NOTHING


def _published(table: ResultTable) -> str:
    reasons = dict.fromkeys((one.source, one.reason) for one in table.published)
    return "".join(
        f"- published by {source}: {reason}.\n" for source, reason in reasons
    )


def _verdicts(found: Sequence[TargetVerdict]) -> str:
    if not found:
        return ""
    lines = [f"- {one.word if one.reached else '**missed**'}: {one}" for one in found]
    return "Asked of this table:\n\n" + "\n".join(lines) + "\n"


def _notes(lines: Sequence[TableLine]) -> str:
    notes: dict[str, list[str]] = {}
    for one in lines:
        who = str(one.facts.get("method", ""))
        for part in dict.fromkeys(p for note in one.notes for p in _parts(note)):
            notes.setdefault(part, []).append(who)
    return "".join(
        f"- {', '.join(dict.fromkeys(who))}: {note}\n" for note, who in notes.items()
    )


def _parts(note: str) -> list[str]:
    """Return what a note says, piece by piece; a refusal stays whole."""
    return [note] if note.startswith("refused") else note.split("; ")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
