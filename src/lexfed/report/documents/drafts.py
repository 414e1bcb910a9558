# SPDX-License-Identifier: Apache-2.0
"""Drafts for people to complete, in Markdown: impact assessment and model card.

They are filled from the same dossier as the page. Facts that only people can know are
blanks with the name of the person to fill them: `[to be completed: DPO]`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2
from markupsafe import Markup

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Genesis,
    Governance,
    PolicyEntry,
    PrivacyTest,
)
from lexfed.report.documents.report_page import shared_values
from lexfed.report.dossier import Dossier
from lexfed.report.markup.escaping import markdown, markdown_code
from lexfed.report.markup.page_templates import template_environment
from lexfed.report.sections import tier_gains
from lexfed.report.sections.column_table import column_rows
from lexfed.report.sections.headline import headline, why_not_private
from lexfed.report.wording.rounding import count

BLANK = Markup("[to be completed: controller]")


def dpia(dossier: Dossier) -> bytes:
    """Return a draft of the impact assessment (GDPR Art. 35) in seven steps."""
    return _render("dpia.md", dossier)


def model_card(dossier: Dossier) -> bytes:
    """Return the model card."""
    return _render("card.md", dossier)


def _render(name: str, dossier: Dossier) -> bytes:
    text = _environment().get_template(name).render(_context(dossier))
    return (text.strip() + "\n").encode()


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = template_environment(markdown)
    environment.filters["code"] = lambda text: Markup(markdown_code(str(text)))  # noqa: S704
    environment.globals["at"] = _at
    return environment


def _at(index: int | None) -> Markup:
    return Markup("") if index is None else Markup(" (entry {})").format(index)


def _context(dossier: Dossier) -> Mapping[str, Any]:
    checkpoint = dossier.evidence.view.signed.checkpoint
    verdict = headline(dossier)
    return {
        **shared_values(dossier),
        "why_stamp": why_not_private(dossier),
        "origin": checkpoint.origin,
        "size": str(checkpoint.size),
        "root": checkpoint.root.hex(),
        "sentence": verdict.sentence,
        "guarantee": verdict.guarantee,
        "meaning": verdict.meaning,
        "trust": verdict.trust,
        "genesis_at": dossier.index(Genesis),
        "completed_at": dossier.index(CompletionEntry),
        "witness_line": f"witnesses: {dossier.check('witnesses').detail}",
        **_measured(dossier),
        **_stated(dossier),
        **_run(dossier),
    }


def _measured(dossier: Dossier) -> dict[str, Any]:
    note = tier_gains.metrics_note(dossier)
    tests = dossier.of(PrivacyTest)
    places = ", ".join(str(record.index) for record in tests)
    return {
        "metrics_line": tier_gains.metrics_line(dossier),
        "metrics_note": note,
        "metrics_lower": note[0].lower() + note[1:],
        "attacks_line": f"{count(len(tests), 'attack')} in the log (entries {places})"
        if tests
        else "no attack is in the log",
    }


def _stated(dossier: Dossier) -> dict[str, Any]:
    """Return people's statements, with a blank for each that is missing."""
    stated = dossier.entry(Governance) or Governance()
    exceptions = ", ".join(f"{k}: {v.exception}" for k, v in stated.special.items())
    kept = ", ".join(f"{what} until {day}" for what, day in stated.retention.items())
    return {
        "governance_at": dossier.index(Governance),
        "purpose": stated.purpose or BLANK,
        "basis": f"Art. {stated.legal_basis}" if stated.legal_basis else BLANK,
        "exceptions": exceptions or BLANK,
        "retention": kept or BLANK,
        "triggers": ", ".join(stated.dpia_triggers or ()) or BLANK,
        "residual": stated.residual_risk or Markup("[to be completed: DPO]"),
        "review": stated.review_due or BLANK,
    }


def _run(dossier: Dossier) -> dict[str, Any]:
    genesis, done = dossier.entry(Genesis), dossier.entry(CompletionEntry)
    plan, policy = dossier.entry(BudgetPlan), dossier.entry(PolicyEntry)
    noised = policy is not None and policy.epsilon is not None
    planned = "–" if plan is None else count(plan.rounds, "planned round")
    rows = () if dossier.tagged is None else column_rows(dossier.tagged)
    special = [row.name for row in rows if row.tier == "special"]
    model = None if done is None else done.model
    federation = dossier.table("federation")
    return {
        "parties": count(len(dossier.parties), "party", "parties"),
        "software": "" if genesis is None else genesis.software,
        "special_columns": ", ".join(special) or "none",
        "rounds_line": tier_gains.rounds_line(dossier),
        "model_digest": Markup(markdown_code(model))  # noqa: S704
        if model
        else "not in the log",
        "model_kind": str(federation.get("model", "logistic")),
        "target": ""
        if dossier.tagged is None
        else Markup(markdown_code(dossier.tagged.schema.target)),  # noqa: S704
        "noise_line": f"in each of {count(len(dossier.rounds), 'round')}; the scales "
        "are in their entries"
        if noised
        else "no noise is added",
        "budget_line": f"{planned}, priced and fixed before the first"
        if noised
        else "there is no budget",
    }
