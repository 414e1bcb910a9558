# SPDX-License-Identifier: Apache-2.0
"""Claims of few releases, whose premises are given by name."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from lexfed.privacy.claim.premises import (
    ClaimedRun,
    ClaimTerms,
    MechanismFacts,
    ProtectedPopulation,
)
from lexfed.privacy.claim.proof import build_claim
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
