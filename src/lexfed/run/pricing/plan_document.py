# SPDX-License-Identifier: Apache-2.0
"""Plans and claims as JSON values; the names of their fields are fixed."""

from typing import Any

from lexfed.privacy.claim.schema import Claim
from lexfed.run.pricing.priced_run import PricedRun


def plan_json(priced: PricedRun) -> dict[str, Any]:
    """Return the machine-readable plan; the names of its fields are fixed."""
    claim = priced.claim(priced.programme.rounds)
    groups = [
        {
            "name": group.name,
            "clip": group.clip,
            "sigma": group.sigma,
            "sampling_rate": release.sampling_rate,
            "rounds": count,
            "release": release.name,
        }
        for release, count in priced.programme.charges()
        for group in release.groups
    ]
    return {
        "mechanism": priced.programme.mechanism,
        "neighbours": priced.budget.neighbours,
        "groups": groups,
        "claims": None if claim is None else claims_json(claim),
    }


def claims_json(claim: Claim) -> dict[str, Any]:
    """Return claims of record, tiers, label and profiles under their fixed names."""
    return {
        "record": {
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "neighbours": claim.neighbours,
            "accountant": claim.accountant.name,
        },
        "tiers": {
            name: {
                "epsilon": tier.epsilon,
                "delta": tier.delta,
                "neighbours": tier.neighbours,
            }
            for name, tier in claim.tiers.items()
        },
        "label": {
            "epsilon": claim.label.epsilon,
            "delta": claim.label.delta,
            "neighbours": claim.label.neighbours,
        },
        "profiles": {
            name: {
                "sites": profile.sites,
                "epsilon": profile.epsilon,
                "delta": profile.delta,
                "tiers": dict(profile.tiers),
                "label": profile.label,
            }
            for name, profile in claim.profiles.items()
        },
    }
