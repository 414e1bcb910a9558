# SPDX-License-Identifier: Apache-2.0
"""One page for people: three answers, then the figures behind them.

It opens anywhere, asks nobody and runs nothing. As in the report, whatever a template
prints is first made visible (`escape`) and then escaped by the engine.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from lexfed.evaluate.machine import today
from lexfed.evaluate.own.findings import Finding, findings
from lexfed.evaluate.own.parts import part_of
from lexfed.evaluate.own.questions import LeftOut
from lexfed.evaluate.summary import Summary
from lexfed.report.escape import visible

PAGE = "evaluation.html"
INTERNAL = (
    "Internal: not for publication. Every figure comes from the private rows and has "
    "no noise of its own; each evaluation is a look at the data that no budget pays "
    "for."
)
_CODE = re.compile(r"`([^`]*)`")


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
    parts = [part_of(one) for one in summaries]
    return (
        _environment()
        .get_template("evaluation.html")
        .render(
            css=Markup(_stylesheet()),  # noqa: S704 - our own file
            name=name,
            internal=INTERNAL,
            findings=found,
            alarm=any(one.alarm for one in found),
            parts=parts,
            left_out=left_out,
            splits=max((one.table.seeds for one in summaries), default=0),
            made=today(),
            machine=machine,
        )
    )


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lexfed.evaluate.own"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = _words
    return environment


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _words(text: str) -> Markup:
    """Return a sentence with what stands in backticks set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))  # noqa: S704


def _stylesheet() -> str:
    folder = resources.files("lexfed.report") / "templates"
    return (folder / "report.css").read_text(encoding="utf-8")
