# SPDX-License-Identifier: Apache-2.0
"""Rules for budgets that differ over rounds and between sites.

Written like `data.py`.
"""

import re
from collections.abc import Iterator
from typing import Any

from lexfed.config.rules.budget import EPSILON, LEAST_EPSILON, MECHANISM, RATE, UNIT
from lexfed.config.tables.budget import PaceTable
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import dotted, shown
from lexfed.terms import SITE_NAME

CLIENTS: KeyPath = ("budget", "clients")
PACE: KeyPath = ("budget", "pace")
PROFILES: KeyPath = ("budget", "profiles")
REALISE: KeyPath = ("budget", "realise")
SCHEDULE: KeyPath = ("budget", "schedule")

_NAME = re.compile(SITE_NAME)

_OWNERS = {
    "ratio": ("geometric", "cosine", "step"),
    "drops": ("step",),
    "save": ("time-adaptive",),
    "save_until": ("time-adaptive",),
}


def pace_keys_are_used(config: Config) -> Iterator[Finding]:
    """Each schedule has its own settings."""
    name = config.budget.schedule
    for key, owners in _OWNERS.items():
        default = PaceTable.model_fields[key].default
        if getattr(config.budget.pace, key) != default and name not in owners:
            path = (*PACE, key)
            what = f'`{dotted(path)}` does nothing with `schedule = "{name}"`'
            hint = f'remove it, or set `schedule = "{owners[0]}"` under `[budget]`'
            yield Finding(path, what, hint, (SCHEDULE,))


def drops_ascend(config: Config) -> Iterator[Finding]:
    """Noise falls at one round after the other."""
    drops = config.budget.pace.drops
    if list(drops) != sorted(set(drops)):
        yield Finding(
            (*PACE, "drops"),
            "`budget.pace.drops`: expected parts of the rounds that ascend",
            "for example `drops = [0.5, 0.75]`: after half and three quarters of them",
        )


def profiles_say_something(config: Config) -> Iterator[Finding]:
    """A profile has a name for claims, a budget of its own, and a guarantee to keep."""
    for name, table in config.budget.profiles.items():
        path = (*PROFILES, name)
        if not _NAME.fullmatch(name):
            yield Finding(
                path,
                f"`{dotted(path)}`: expected a name of up to 32 letters, digits, `_`",
                "claims and logs call the profile by it",
            )
        capped = any(cap is not None for _, cap in table.caps)
        if table.epsilon is None and not capped and config.budget.clients is None:
            yield Finding(
                path,
                f"`{dotted(path)}` does nothing: it has no budget of its own",
                "give it an `epsilon`, or `caps = { special = ... }`",
            )


def profiles_save_for_something(config: Config) -> Iterator[Finding]:
    """Saving is said once: for all sites, or for those of a profile."""
    for name, table in config.budget.profiles.items():
        path = (*PROFILES, name, "save")
        if table.save is not None and config.budget.schedule == "time-adaptive":
            yield Finding(
                path,
                f'`{dotted(path)}`: with `schedule = "time-adaptive"` all sites save '
                "already",
                "remove it, or let only profiles save and remove the schedule",
                (SCHEDULE,),
            )
        if table.save_until is not None and table.save is None:
            until = (*PROFILES, name, "save_until")
            what = f"`{dotted(until)}` does nothing without `save`"
            yield Finding(until, what, "add `save = 0.5`, or remove it", (path,))


def profiles_are_stricter(config: Config) -> Iterator[Finding]:
    """`[budget]` is the most that any site spends; profiles can only spend less."""
    budget = config.budget
    for name, table in budget.profiles.items():
        yield from _looser((*PROFILES, name, "epsilon"), table.epsilon, EPSILON, config)
        for tier, cap in table.caps:
            path = (*PROFILES, name, "caps", tier)
            yield from _looser(path, cap, ("budget", "caps", tier), config)
    if budget.clients is not None:
        yield from _looser((*CLIENTS, "high"), budget.clients.high, EPSILON, config)


def _looser(
    path: KeyPath, value: float | None, above: KeyPath, config: Config
) -> Iterator[Finding]:
    stated: Any = config
    for key in above:
        stated = getattr(stated, str(key))
    if value is not None and stated is not None and value > stated:
        yield Finding(
            path,
            f"`{dotted(path)}`: expected at most {shown(stated)}, as "
            f"`{dotted(above)}`, got: {shown(value)}",
            f"a site may be stricter than the others only; raise `{dotted(above)}` if "
            "the others are to be stricter than this one, and give them a profile",
            (above,),
        )


def profiles_are_possible(config: Config) -> Iterator[Finding]:
    """Between drowning a site in noise and not counting it at all."""
    stated: list[tuple[KeyPath, float | None]] = [
        ((*PROFILES, name, "epsilon"), table.epsilon)
        for name, table in config.budget.profiles.items()
    ]
    if config.budget.clients is not None:
        stated.append(((*CLIENTS, "low"), config.budget.clients.low))
    for path, epsilon in stated:
        if epsilon is not None and epsilon < LEAST_EPSILON:
            yield Finding(
                path,
                f"`{dotted(path)}`: expected at least {LEAST_EPSILON:g}, "
                f"got: {shown(epsilon)}",
                "a site that may say less can as well be left out",
            )


def sites_have_one_profile(config: Config) -> Iterator[Finding]:
    """A site has one budget."""
    seen: dict[str, str] = {}
    for name, table in config.budget.profiles.items():
        path = (*PROFILES, name, "sites")
        for site in table.sites:
            if site in seen:
                what = f"`{dotted(path)}`: site `{site}` is in `{seen[site]}` already"
                if seen[site] == name:
                    what = f"`{dotted(path)}`: site `{site}` is named twice"
                yield Finding(path, what, "a site has one budget: keep one of them")
            seen.setdefault(site, name)


def differing_sites_have_a_guarantee(config: Config) -> Iterator[Finding]:
    """Budgets of sites need noise, and persons who are at one site."""
    budget, found = config.budget, list(_differing(config))
    for path in found:
        if config.adapt.guarantee == "filter":
            yield Finding(
                path,
                f'`{dotted(path)}`: needs `guarantee = "envelope"`, got: "filter"',
                "a filter holds sums of costs over rounds within the plan's; the sums "
                "of a stricter site are others",
                (("adapt", "guarantee"),),
            )
        if config.privacy.mechanism == "none":
            what = f'`{dotted(path)}` does nothing with `mechanism = "none"`'
            hint = "remove it, or choose another mechanism"
            yield Finding(path, what, hint, (MECHANISM,))
        elif config.data.sites_per_person > 1 and budget.unit == "record":
            yield Finding(
                path,
                f"`{dotted(path)}`: needs `sites_per_person = 1`, "
                f"got: {config.data.sites_per_person}",
                "a person who is also at a less strict site has no more than that "
                "site's protection",
                (UNIT, ("data", "sites_per_person")),
            )
    if budget.realise == "sampling" and not found:
        what = "`budget.realise` does nothing without `[budget.profiles]`"
        yield Finding(REALISE, what, "remove it", (PROFILES, CLIENTS))
    elif budget.realise == "sampling" and config.federation.sampling_rate == 1:
        yield Finding(
            REALISE,
            "`budget.realise`: `sampling` needs `sampling_rate` below 1, got: 1",
            'sites that take every record cannot take fewer; use `realise = "clip"`, '
            "or set `sampling_rate` under `[federation]`",
            (RATE,),
        )


def _differing(config: Config) -> Iterator[KeyPath]:
    if config.budget.profiles:
        yield PROFILES
    if config.budget.clients is not None:
        yield CLIENTS


def clients_share_a_total(config: Config) -> Iterator[Finding]:
    """Bounds the right way round, and one table that decides each epsilon."""
    clients = config.budget.clients
    if clients is None:
        return
    if clients.low > clients.high:
        yield Finding(
            (*CLIENTS, "low"),
            f"`budget.clients.low`: expected at most `high`, {shown(clients.high)}, "
            f"got: {shown(clients.low)}",
            "exchange them",
            ((*CLIENTS, "high"),),
        )
    for name, table in config.budget.profiles.items():
        if table.epsilon is not None:
            path = (*PROFILES, name, "epsilon")
            yield Finding(
                path,
                f"`{dotted(path)}` does nothing with `[budget.clients]`, which gives "
                "every site its epsilon",
                "remove one of them; caps of profiles hold beside `[budget.clients]`",
                (CLIENTS,),
            )


RULES = (
    pace_keys_are_used,
    drops_ascend,
    profiles_say_something,
    profiles_save_for_something,
    profiles_are_stricter,
    profiles_are_possible,
    sites_have_one_profile,
    differing_sites_have_a_guarantee,
    clients_share_a_total,
)
