# SPDX-License-Identifier: Apache-2.0
"""The releases that were planned, read back from the log; none where they are gone."""

import json

from lexfed.audit.entries import BudgetPlan
from lexfed.errors import AuditError
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease
from lexfed.report.facts.dossier import Dossier


def planned_releases(dossier: Dossier) -> tuple[CountedRelease, ...]:
    """Return what was planned, in order; empty if the blob was erased or is no list."""
    plan = dossier.entry(BudgetPlan)
    if plan is None or plan.releases is None:
        return ()
    try:
        rows = json.loads(dossier.evidence.blobs.get(plan.releases))
        return tuple((Release.from_json(row["release"]), row["count"]) for row in rows)
    except (AuditError, ValueError, TypeError, KeyError, AttributeError):
        # What is wrong with it is the verifier's to say.
        return ()
