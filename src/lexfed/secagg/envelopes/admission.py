# SPDX-License-Identifier: Apache-2.0
"""Conditions of every protocol here: enrolled keys, rounds in order, enough sites."""

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Identity, Roster


def check_enrolled(identity: Identity, roster: Roster) -> None:
    """Refuse to act under a name that others know by another key."""
    if roster.public(identity.name) != identity.public:
        raise SecAggError(f"`{identity.name}` is enrolled with another key")


def check_later(round_number: int, last: int) -> None:
    """Refuse a round that was met before, or that lies before one that was."""
    if round_number <= last:
        raise SecAggError(
            f"round {round_number} is over: the last one was {last}",
            "deal every round once, in their order",
        )


def check_size(found: int, least: int, what: str) -> None:
    """Refuse too few sites."""
    if found < least:
        raise SecAggError(
            f"{what} of {found} sites is too small: at least {least} are needed",
            "wait for more sites, or agree on other terms",
        )
