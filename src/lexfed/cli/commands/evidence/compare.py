# SPDX-License-Identifier: Apache-2.0
"""`lexfed compare`: several runs on one page and in one table, never ranked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from lexfed.cli import talk
from lexfed.cli.options import AsJson, TrustFileOption
from lexfed.cli.output import print_json, write_parts
from lexfed.errors import RunFolderError
from lexfed.visible_text import visible

if TYPE_CHECKING:
    from lexfed.report.comparison.compared_runs import ComparedRun

_WIDEST = 18
_HEADER = ("", "run", "ε", "δ", "per", "neighbours", "by", "trust")


def compare(
    runs: Annotated[
        list[Path],
        Argument(metavar="RUN...", help="Folders of two runs or more.", readable=False),
    ],
    out: Annotated[
        Path, Option(metavar="FILE", help="The page; replaced if it is there.")
    ] = Path("compare.html"),
    policy: TrustFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs side by side, and price them together.

    The exit code is 1 if a run does not verify.
    """
    from lexfed.audit.log.audit_log import utc_now
    from lexfed.audit.verify.outside_evidence import read_small
    from lexfed.report.comparison.compared_runs import read_runs
    from lexfed.report.comparison.page import compare_json, compare_page
    from lexfed.report.comparison.together import CHOOSING, PLANNED, joint_cost
    from lexfed.report.sections.log_entries import readable_time

    if len(runs) < 2:
        raise RunFolderError(
            "`lexfed compare` needs two runs or more",
            f"for one run there is `lexfed report {runs[0]}`",
        )
    found = read_runs(runs, read_small(policy))
    page = compare_page(found, readable_time(utc_now()))
    write_parts(out, [page])
    if as_json:
        print_json({**compare_json(found), "page": str(out)})
    else:
        for line in table(found):
            print(line)
    joint = joint_cost(found)
    who = ", ".join(map(str, joint.counted))
    talk.say(f"together: {f'runs {who}: ' if who else ''}{joint.sentence}")
    for line in (*joint.left_out, joint.people):
        if line:
            talk.say(f"          {line}")
    if joint.composed is not None:
        talk.say(f"          {PLANNED}")
    talk.say(f"choosing: {CHOOSING}")
    if any(run.dossier is None for run in found):
        raise Exit(1)


def table(runs: Sequence["ComparedRun"]) -> list[str]:
    """Return the table of runs: guarantees of the whole record, then the metric."""
    from lexfed.report.comparison.page import metric_line
    from lexfed.report.sections.result import COVER
    from lexfed.report.sections.tier_gains import metrics_kind

    names = list(dict.fromkeys(name for _, name in map(metric_line, runs) if name))
    covers = {
        COVER[metrics_kind(run.dossier)]
        for run in runs
        if run.dossier is not None and run.metric is not None
    }
    rows = [(*_HEADER, *names)]
    for run in runs:
        value, metric = metric_line(run)
        guarantee = _guarantee(run)
        rows.append(
            (
                str(run.number),
                visible(run.name)[:_WIDEST],
                *guarantee,
                *(value if name == metric else "" for name in names),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = {2, *range(len(_HEADER), len(widths))}
    lines = [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    troubles = [f"{run.number}  {visible(run.trouble)}" for run in runs if run.trouble]
    cover = f"; {', '.join(names)} {' or '.join(sorted(covers))}" if names else ""
    note = f"ε of the whole record, rounded up{cover}"
    return [*lines, "", *troubles, note]


def _guarantee(run: "ComparedRun") -> tuple[str, ...]:
    from lexfed.report.wording.plain_words import NEIGHBOURS, UNITS
    from lexfed.report.wording.rounding import delta, round_up

    claim = run.claim
    if claim is None:
        return ("–", "", "", "", "", "")
    return (
        round_up(claim.epsilon),
        delta(claim.delta),
        UNITS[claim.unit],
        NEIGHBOURS[claim.neighbours],
        claim.accountant.name.upper(),
        claim.trust,
    )
