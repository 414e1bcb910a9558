# SPDX-License-Identifier: Apache-2.0
"""The page: one file that opens anywhere, asks nobody and runs nothing.

This module chooses its content; `page_templates` renders it.
"""

from collections.abc import Mapping
from typing import Any

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Document,
    Entry,
    FeatureTags,
    PolicyEntry,
    PrivacyTest,
)
from lexfed.audit.rules import CANNOT
from lexfed.report.dossier import Dossier, planned_releases
from lexfed.report.markup import page_templates
from lexfed.report.sections import guarantee, spending, tier_gains
from lexfed.report.sections.certificate import certificate
from lexfed.report.sections.column_table import column_count, column_rows
from lexfed.report.sections.effects import effect_section
from lexfed.report.sections.headline import headline, limits, open_items, proxies
from lexfed.report.sections.log_entries import (
    VERIFIER,
    draw_merkle_path,
    identity,
    listing,
    merkle_path,
    readable_time,
)
from lexfed.report.sections.processing_record import processing
from lexfed.report.sections.result import COVER, key_figures, measured_result
from lexfed.report.sections.spending import noise_rows
from lexfed.report.wording.plain_words import ACCOUNTANTS, UNITS, scope_name
from lexfed.report.wording.rounding import delta


def render(dossier: Dossier, salt: str, made: str = "") -> bytes:
    """Return the page; `made` is the time of making, or empty to leave it out.

    `salt` has 64 random hexadecimal digits. Metrics on the page are not covered by the
    guarantee and easy to guess; with the salt in it, the page's digest in the log
    confirms no guess.

    Guarantees:
        No script, no address that a browser would fetch.
        Text of others is shown as text, whatever it looks like.
        The whole record's guarantee stands before every tier's.
    """
    return page_templates.page(
        "report.html", **_context(dossier), salt=salt, made=made
    ).encode()


def _context(dossier: Dossier) -> Mapping[str, Any]:
    policy = dossier.entry(PolicyEntry)
    attacks = _rows(dossier, PrivacyTest, "attack", "tool", "metric", "value", "model")
    return {
        **shared_values(dossier),
        "controller": dossier.controller,
        "headline": headline(dossier),
        "figures": key_figures(dossier),
        "result": measured_result(dossier),
        "verdict": dossier.measured.verdict,
        "cover": COVER[tier_gains.metrics_kind(dossier)],
        "checks": dossier.verdict.checks,
        "identity": identity(dossier),
        "mechanism": "none" if policy is None else policy.mechanism,
        "unit": "person" if policy is None else UNITS[policy.unit],
        "attacks": [{**row, "model": f"{row['model'][:10]}…"} for row in attacks],
        "certificate": certificate(dossier),
        "processing": processing(dossier),
        "documents": _rows(dossier, Document, "what", "issued", "expires", "digest"),
        "open_items": open_items(dossier),
        "entries": listing(dossier.records),
        "effects": effect_section(dossier),
        "no_gains": tier_gains.no_gains(dossier),
        "metrics_note": tier_gains.metrics_note(dossier),
        "curve": tier_gains.curve(dossier),
        "last_value": tier_gains.last_value(dossier),
        "has_baseline": tier_gains.baseline(dossier) is not None,
        "run_notes": dossier.measured.notes,
        **_spending(dossier),
        **_path(dossier),
    }


def shared_values(dossier: Dossier) -> dict[str, Any]:
    """Return the values that the drafts print as well."""
    times = [readable_time(record.time) for record in dossier.records]
    return {
        "name": dossier.name,
        "stamp": dossier.stamp,
        "verifier": VERIFIER,
        "first_time": times[0] if times else "",
        "last_time": times[-1] if times else "",
        "claim_at": dossier.index(CompletionEntry) if dossier.claim else None,
        "facts": guarantee.facts(dossier),
        "scopes": guarantee.scopes(dossier),
        "columns": () if dossier.tagged is None else column_rows(dossier.tagged),
        "column_count": column_count(dossier.tagged),
        "tags_at": dossier.index(FeatureTags),
        "gains": tier_gains.gain_rows(dossier),
        "metric": tier_gains.metric_name(dossier),
        "proxies": proxies(dossier),
        "cannot": CANNOT,
        "limits": limits(dossier),
    }


def _spending(dossier: Dossier) -> dict[str, Any]:
    rounds = dossier.rounds
    all_events = spending.events(dossier.records)
    keys = spending.scopes(rounds)
    planned = max(dossier.planned, len(rounds))
    policy = dossier.entry(PolicyEntry)
    small = None if policy is None else policy.delta
    return {
        "events": all_events,
        "odd_events": [event for event in all_events if event.what != "released"],
        "stages": spending.stages(rounds),
        "scope_keys": keys,
        "scope_names": [scope_name(key) for key in keys],
        "staircases": [
            (curve, curve.drawn(planned)) for curve in spending.curves(rounds)
        ],
        "planned": dossier.planned,
        "plan_total": spending.plan_total(rounds, dossier.entry(BudgetPlan)),
        "accountant": ACCOUNTANTS.get(spending.accountant(rounds), "no accountant"),
        "delta": "" if small is None else delta(small),
        "noise": noise_rows(rounds, planned_releases(dossier)),
    }


def _path(dossier: Dossier) -> dict[str, Any]:
    view = dossier.evidence.view
    if not dossier.records:
        return {"path": None, "path_figure": None, "path_kind": ""}
    index = dossier.rounds[-1].index if dossier.rounds else len(dossier.records) - 1
    path = merkle_path(view.tree, index, view.entries[index])
    return {
        "path": path,
        "path_figure": draw_merkle_path(path),
        "path_kind": dossier.records[index].kind,
    }


def _rows(dossier: Dossier, kind: type[Entry], *fields: str) -> list[dict[str, Any]]:
    return [
        {"entry": each.index, **{name: getattr(each.entry, name) for name in fields}}
        for each in dossier.of(kind)
    ]
