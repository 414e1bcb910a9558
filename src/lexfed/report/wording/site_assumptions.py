# SPDX-License-Identifier: Apache-2.0
"""What distributed trust asks a reader to believe, in words of those who sign for it.

Where sites share the noise, nobody has to trust the coordinator. Instead something is
assumed about the sites, and the numbers hold only as long as it is true. No log can
show that it is, so a report says what it is, before and beside the numbers.
"""

from typing import Protocol

from lexfed.report.wording.rounding import count


class SiteAssumptions(Protocol):
    """What is assumed about sites; claims and policies state it."""

    @property
    def sites(self) -> int:
        """How many take part."""

    @property
    def colluders(self) -> int:
        """How many may work against the others."""

    @property
    def dropouts(self) -> int:
        """How many may be missing from a sum."""

    @property
    def honest(self) -> int:
        """How many honest ones are in every sum then."""


def in_short(cohort: SiteAssumptions) -> str:
    """Return the assumptions in a few words, for a line with numbers.

    Guarantees:
        They never stand without each other.
    """
    return (
        f"of {count(cohort.sites, 'site')} at most {cohort.colluders} may collude and "
        f"{cohort.dropouts} be missing, {cohort.honest} honest in every sum"
    )


def sentence(cohort: SiteAssumptions) -> str:
    """Return what a reader must know about trust if they read no more."""
    return (
        "The coordinator need not be trusted with anybody's data: each site added a "
        "part of the noise and masked its sum. Instead it must be believed that "
        f"{_colluding(cohort)}, so that every sum holds the noise of at least "
        f"{count(cohort.honest, 'honest site')}"
    )


def rows(cohort: SiteAssumptions) -> list[tuple[str, str]]:
    """Return what the guarantee assumes about sites, by name."""
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
