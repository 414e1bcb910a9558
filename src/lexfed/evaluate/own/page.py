# SPDX-License-Identifier: Apache-2.0
"""One page for people: three answers, then the figures behind them.

It opens anywhere, asks nobody and runs nothing. It is made as every page is
(`report/markup/page_templates.py`), so text of others is shown as text.
"""

from collections.abc import Sequence

from lexfed.evaluate.harness.machine import today
from lexfed.evaluate.harness.summary import Summary
from lexfed.evaluate.own.figure_tables import figure_table
from lexfed.evaluate.own.findings import findings
from lexfed.evaluate.own.paired_lines import EvaluationFinding
from lexfed.evaluate.own.questions import Omission
from lexfed.report.markup.page_templates import page

PAGE = "evaluation.html"
INTERNAL = (
    "Internal: not for publication. Every figure comes from the private rows and has "
    "no noise of its own; each evaluation is a look at the data that no budget pays "
    "for."
)


def evaluation_html(
    name: str, summaries: Sequence[Summary], left_out: Sequence[Omission], machine: str
) -> str:
    """Return the page; `name` is that of the configuration.

    Guarantees:
        No script, no address that a browser would fetch.
        That it is internal stands before every figure.
    """
    by_name = {one.table.name: one for one in summaries}
    found: tuple[EvaluationFinding, ...] = findings(by_name)
    parts = [figure_table(one) for one in summaries]
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
