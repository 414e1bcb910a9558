# SPDX-License-Identifier: Apache-2.0
"""One page for people: three answers, then the figures behind them.

It opens anywhere, asks nobody and runs nothing. It is made as every page is
(`report/html.py`), so text of others is shown as text.
"""

from collections.abc import Sequence

from lexfed.evaluate.machine import today
from lexfed.evaluate.own.findings import findings
from lexfed.evaluate.own.lines import Finding
from lexfed.evaluate.own.parts import shown
from lexfed.evaluate.own.questions import LeftOut
from lexfed.evaluate.summary import Summary
from lexfed.report.html import page

PAGE = "evaluation.html"
INTERNAL = (
    "Internal: not for publication. Every figure comes from the private rows and has "
    "no noise of its own; each evaluation is a look at the data that no budget pays "
    "for."
)


def evaluation_html(
    name: str, summaries: Sequence[Summary], left_out: Sequence[LeftOut], machine: str
) -> str:
    """Return the page.

    Args:
        name: of the configuration.
        summaries: whole tables.
        left_out: what was not measured, and why.
        machine: what it was measured on.

    Guarantees:
        No script, no address that a browser would fetch.
        That it is internal stands before every figure.
    """
    by_name = {one.table.name: one for one in summaries}
    found: tuple[Finding, ...] = findings(by_name)
    parts = [shown(one) for one in summaries]
    return page(
        PAGE,
        name=name,
        internal=INTERNAL,
        findings=found,
        alarm=any(one.alarm for one in found),
        parts=parts,
        left_out=left_out,
        made=today(),
        machine=machine,
    )
