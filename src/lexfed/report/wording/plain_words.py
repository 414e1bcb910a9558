# SPDX-License-Identifier: Apache-2.0
"""Code words of the log and of claims in plain words, the same in every document.

Where sites share the noise, nobody has to trust the coordinator. Instead something is
assumed about the sites, and the numbers hold only as long as it is true. No log can
show that it is, so a report says what it is, before and beside the numbers.
"""

from lexfed.audit.entries.opening import CohortAssumptions
from lexfed.privacy.claim.schema import Claim, CohortRecord
from lexfed.report.wording.rounding import count, delta, factor, round_up

TIERS = ("special", "personal", "non_personal")
"""Tiers that may enter a model, most sensitive first."""

UNITS = {"record": "person", "client": "site"}
NEIGHBOURS = {"add-remove": "add/remove", "replace-one": "replace-one"}

ACCOUNTANTS = {
    "pld": "PLD (privacy loss distributions)",
    "rdp": "RDP (Rényi divergences)",
    "gdp": "GDP (exact Gaussian accounting)",
}

TRUST = {
    "central": "the coordinator sees each site's exact sum and adds the noise; the "
    "guarantee is against everybody else",
    "local": "each site adds the noise before it answers; the guarantee is against "
    "everybody else, the coordinator included",
    "distributed": "each site adds a part of the noise and masks its sum; the "
    "coordinator sees noised sums of many sites and nothing of a single one, if what "
    "is assumed about the sites is true",
}

NOISES = {
    "rounded-gaussian": "Gaussian, rounded to integers",
    "skellam-shares": "in parts: each site draws integers of its own (Skellam: the "
    "difference of two Poisson numbers), charged as the Gaussian that they are no "
    "worse than",
}

MECHANISMS = {
    "cascade": "tier cascade: one part of the model per tier, least sensitive first; "
    "what is released before a tier's turn cannot depend on its columns",
    "grouped": "one sum with a clip and a noise per tier; no tier is better protected "
    "than the whole record",
    "uniform": "the same noise on everything; no tier is better protected than the "
    "whole record",
    "none": "no noise is added",
}

METRICS = {
    "outside-guarantee": "measured on test rows, which the guarantee does not cover",
    "public": "measured on test rows declared public",
    "paid": "measured under the budget, noised",
}

OUTCOMES = {
    "EVIDENCED": "evidenced",
    "PARTIAL": "partly evidenced",
    "DOCUMENT_PRESENT": "document present",
    "NOT_EVIDENCED": "not evidenced",
    "NOT_MACHINE_CHECKABLE": "not machine-checkable",
    "NOT_APPLICABLE": "not applicable",
}


SiteAssumptions = CohortRecord | CohortAssumptions
"""The assumptions about sites, as claims and policies state them."""


def tier_name(tier: str) -> str:
    """Return a tier as people write it."""
    return tier.replace("_", "-")


def scope_name(scope: str) -> str:
    """Return the name of a budget: the whole record's or a tier's."""
    return "whole record" if scope == "record" else f"{tier_name(scope)} columns"


def guarantee(claim: Claim) -> str:
    """Return the whole record's guarantee in one line, with all it depends on."""
    return (
        f"{_epsilon_and_delta(claim)} under {_relation(claim)} "
        f"by {claim.accountant.name.upper()}, "
        f"trust: {trust(claim.trust, claim.cohort)}"
    )


def guarantee_in_brief(claim: Claim) -> str:
    """Return the whole record's guarantee as a terminal has room for it."""
    return (
        f"whole record {_epsilon_and_delta(claim)}, {_relation(claim)}, "
        f"{claim.accountant.name.upper()}, trust: {claim.trust}"
    )


def _epsilon_and_delta(claim: Claim) -> str:
    numbers = f"({round_up(claim.epsilon)}, {delta(claim.delta)})"
    return f"(ε, δ) = {numbers} per {UNITS[claim.unit]}"


def _relation(claim: Claim) -> str:
    words = NEIGHBOURS[claim.neighbours]
    if claim.neighbours == "add-remove":
        # Attribute guarantees are of the replace type: this is what to compare with.
        words += f" (replace-one: {round_up(claim.label.epsilon)})"
    return words


def trust(name: str, cohort: SiteAssumptions | None) -> str:
    """Return the kind of trust, with the assumptions about sites if any."""
    return name if cohort is None else f"{name} ({in_short(cohort)})"


def meaning(epsilon: float | str, small: float | str, unit: str, relation: str) -> str:
    """Return the meaning of (epsilon, delta), without symbols.

    This is the definition of differential privacy, with the number put in: for every
    event A and neighbours D, D', P[A | D] <= exp(epsilon) P[A | D'] + delta.
    """
    whom = f"this {UNITS[unit]}'s data"
    compared = "without" if relation == "add-remove" else "with other data instead"
    return (
        "Whatever anybody concludes from what was released, it is at most "
        f"{factor(round_up(epsilon))} times as likely with {whom} as {compared}, plus "
        f"{delta(small)}"
    )


def in_short(cohort: SiteAssumptions) -> str:
    """Return the assumptions in a few words, for a line with numbers.

    Guarantees:
        They never stand without each other.
    """
    return (
        f"of {count(cohort.sites, 'site')} at most {cohort.colluders} may collude and "
        f"{cohort.dropouts} be missing, {cohort.honest} honest in every sum"
    )


def assumption_sentence(cohort: SiteAssumptions) -> str:
    """Return the sentence about trust for readers who read no more."""
    return (
        "The coordinator need not be trusted with anybody's data: each site added a "
        "part of the noise and masked its sum. Instead it must be believed that "
        f"{_colluding(cohort)}, so that every sum holds the noise of at least "
        f"{count(cohort.honest, 'honest site')}"
    )


def assumption_rows(cohort: SiteAssumptions) -> list[tuple[str, str]]:
    """Return the assumptions of the guarantee about sites, by name."""
    least = cohort.sites - cohort.dropouts
    missing = (
        "none may be missing from a round"
        if cohort.dropouts == 0
        else f"up to {cohort.dropouts} may be missing from a round"
    )
    return [
        (
            "Sites",
            f"{cohort.sites} take part; {missing}. A sum of fewer than {least} is "
            "never opened: the round is given up, and stays charged",
        ),
        (
            "Assumed",
            f"{_colluding(cohort)}. Then every sum holds the noise of at least "
            f"{count(cohort.honest, 'honest site')}, which nobody else knows; that "
            "noise alone is counted",
        ),
        ("Against whom", _against(cohort)),
        (
            "To be believed",
            "that honest sites run this software unchanged, on computers and with "
            "keys that are theirs alone, and that the assumption above is true: no log "
            "can show it. If more sites work together than assumed, the stated ε does "
            "not hold, and the coordinator might see single sites' sums",
        ),
    ]


def _colluding(cohort: SiteAssumptions) -> str:
    tells = "tells others its part of the noise or leaves it out"
    if cohort.colluders == 0:
        return f"none of the {cohort.sites} sites {tells}"
    return f"at most {cohort.colluders} of the {cohort.sites} sites {tells}"


def _against(cohort: SiteAssumptions) -> str:
    if cohort.colluders == 0:
        return (
            "the coordinator and whoever gets the model; not a site that takes part, "
            "because it knows its own part of the noise"
        )
    others = "one site" if cohort.colluders == 1 else f"{cohort.colluders} sites"
    return f"the coordinator together with any {others}, and whoever gets the model"
