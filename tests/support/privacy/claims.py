# SPDX-License-Identifier: Apache-2.0
"""Claims of few releases, whose premises are given by name, and their stored text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from lexfed.privacy.claim.premises import (
    ClaimedRun,
    ClaimTerms,
    MechanismFacts,
    ProtectedPopulation,
)
from lexfed.privacy.claim.proof import build_claim, dump_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.scopes import CountedRelease

_USUAL = {
    "delta": 1e-6,
    "neighbours": "add-remove",
    "mechanism": "cascade",
    "unit": "record",
    "trust": "central",
    "private": True,
}


def claim_of(releases: Sequence[CountedRelease], **given: Any) -> Claim:
    """Return the claim of releases.

    Args:
        releases: planned ones and their counts.
        given: fields of any premise, by their names; `mechanism` for that one's name.
    """
    facts = {**_USUAL, **given, "releases": releases}
    facts["name"] = facts.pop("mechanism")

    def taken(premise: type[Any]) -> Any:
        names = {field.name for field in fields(premise)} & facts.keys()
        return premise(**{name: facts.pop(name) for name in names})

    premises = (ClaimedRun, ClaimTerms, MechanismFacts, ProtectedPopulation)
    run, terms, mechanism, population = map(taken, premises)
    assert not facts, f"no premise has: {', '.join(facts)}"
    return build_claim(run, terms, mechanism, population)


def stored_claim(claim: Claim, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim as it is stored, with other values at `key__0__key`."""
    value: dict[str, Any] = json.loads(json.dumps(dump_claim(claim)))
    for path, new in changes.items():
        place: Any = value
        *parents, last = path.split("__")
        for parent in parents:
            place = place[int(parent) if parent.isdigit() else parent]
        place[last] = new
    return value
