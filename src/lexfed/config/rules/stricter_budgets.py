# SPDX-License-Identifier: Apache-2.0
"""Rules for budgets that differ over rounds, between sites and between records.

Conditions of classes on the columns of a built-in source are compared with its schema
when the source is made (`budget.record_classes`).
"""

import re
from collections.abc import Iterator
from typing import Any

from lexfed.config.declarations import schema_of
from lexfed.config.rules.budget import EPSILON, LEAST_EPSILON, MECHANISM, RATE, UNIT
from lexfed.config.rules.data import COLUMNS, SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import dotted, shown
from lexfed.data import conditions
from lexfed.data.schema import Schema
from lexfed.errors import ConfigError
from lexfed.terms import SITE_NAME

CLASSES: KeyPath = ("budget", "classes")
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


def classes_are_told_apart(config: Config) -> Iterator[Finding]:
    """Claims name classes, so a name stands for one of them."""
    names = [one.name for one in config.budget.classes]
    for number, name in enumerate(names):
        if name in names[:number]:
            what = f": there are two classes `{name}`"
            yield about((*CLASSES, number, "name"), what, "rename one of them")


def classes_are_stricter(config: Config) -> Iterator[Finding]:
    """A class is for records that get less than the others."""
    budget = config.budget
    for number, one in enumerate(budget.classes):
        if one.epsilon >= budget.epsilon and config.privacy.mechanism != "none":
            yield about(
                (*CLASSES, number, "epsilon"),
                f": expected below `budget.epsilon` = {budget.epsilon:g}, "
                f"got: {shown(one.epsilon)}",
                "a class has a stricter budget than the other records; remove it, or "
                "lower its epsilon",
                EPSILON,
                MECHANISM,
            )


def classes_are_of_records(config: Config) -> Iterator[Finding]:
    """With `unit = "client"` a whole site is clipped, not a record."""
    if config.budget.classes and config.budget.unit == "client":
        what = ' needs `unit = "record"`, got: `"client"`'
        hint = (
            "a site's update is clipped as a whole, so single records cannot get less; "
            'remove the classes, or set `unit = "record"`'
        )
        yield about(CLASSES, what, hint, UNIT)


def conditions_can_be_read(config: Config) -> Iterator[Finding]:
    """A condition compares declared columns with values that they can have."""
    schema = _declared(config)
    for number, one in enumerate(config.budget.classes):
        try:
            condition = conditions.parse_condition(one.where)
            if schema is not None:
                conditions.check_condition(condition, schema)
        except ConfigError as error:
            [problem, *_] = error.problems
            path = (*CLASSES, number, "where")
            yield about(path, f": {problem}", problem.hint, COLUMNS, SOURCE)


def _declared(config: Config) -> Schema | None:
    if config.data.built_in or not config.data.columns:
        return None
    try:
        return schema_of(config)
    except ConfigError:
        return None  # the rules of `[data]` report it, at the key that is wrong


def pace_keys_are_used(config: Config) -> Iterator[Finding]:
    """Each schedule has its own settings."""
    name = config.budget.schedule
    for key, owners in _OWNERS.items():
        if config.budget.pace.changes(key) and name not in owners:
            what = f' does nothing with `schedule = "{name}"`'
            hint = f'remove it, or set `schedule = "{owners[0]}"` under `[budget]`'
            yield about((*PACE, key), what, hint, SCHEDULE)


def drops_ascend(config: Config) -> Iterator[Finding]:
    """Noise falls at one round after the other."""
    drops = config.budget.pace.drops
    if list(drops) != sorted(set(drops)):
        yield about(
            (*PACE, "drops"),
            ": expected parts of the rounds that ascend",
            "for example `drops = [0.5, 0.75]`: after half and three quarters of them",
        )


def profiles_say_something(config: Config) -> Iterator[Finding]:
    """A profile has a name for claims, a budget of its own, and a guarantee to keep."""
    for name, table in config.budget.profiles.items():
        path = (*PROFILES, name)
        if not _NAME.fullmatch(name):
            what = ": expected a name of up to 32 letters, digits, `_`"
            yield about(path, what, "claims and logs call the profile by it")
        capped = any(cap is not None for _, cap in table.caps)
        if table.epsilon is None and not capped and config.budget.clients is None:
            what = " does nothing: it has no budget of its own"
            hint = "give it an `epsilon`, or `caps = { special = ... }`"
            yield about(path, what, hint)


def profiles_save_for_something(config: Config) -> Iterator[Finding]:
    """Saving is stated once: for all sites, or for those of a profile."""
    for name, table in config.budget.profiles.items():
        path = (*PROFILES, name, "save")
        if table.save is not None and config.budget.schedule == "time-adaptive":
            what = ': with `schedule = "time-adaptive"` all sites save already'
            hint = "remove it, or let only profiles save and remove the schedule"
            yield about(path, what, hint, SCHEDULE)
        if table.save_until is not None and table.save is None:
            until = (*PROFILES, name, "save_until")
            hint = "add `save = 0.5`, or remove it"
            yield about(until, " does nothing without `save`", hint, path)


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
        yield about(
            path,
            f": expected at most {shown(stated)}, as `{dotted(above)}`, "
            f"got: {shown(value)}",
            f"a site may be stricter than the others only; raise `{dotted(above)}` if "
            "the others are to be stricter than this one, and give them a profile",
            above,
        )


def profiles_are_possible(config: Config) -> Iterator[Finding]:
    """Between drowning a site in noise and not counting it at all."""
    budget = config.budget
    stated: dict[KeyPath, float | None] = {
        (*PROFILES, name, "epsilon"): table.epsilon
        for name, table in budget.profiles.items()
    }
    if budget.clients is not None:
        stated[*CLIENTS, "low"] = budget.clients.low
    for path, epsilon in stated.items():
        if epsilon is not None and epsilon < LEAST_EPSILON:
            what = f": expected at least {LEAST_EPSILON:g}, got: {shown(epsilon)}"
            yield about(path, what, "a site that may say less can as well be left out")


def sites_have_one_profile(config: Config) -> Iterator[Finding]:
    """A site has one budget."""
    seen: dict[str, str] = {}
    for name, table in config.budget.profiles.items():
        for site in table.sites:
            if site in seen:
                what = f": site `{site}` is in `{seen[site]}` already"
                if seen[site] == name:
                    what = f": site `{site}` is named twice"
                hint = "a site has one budget: keep one of them"
                yield about((*PROFILES, name, "sites"), what, hint)
            seen.setdefault(site, name)


def differing_sites_have_a_guarantee(config: Config) -> Iterator[Finding]:
    """Budgets of sites need noise, and persons who are at one site."""
    budget = config.budget
    differing = [PROFILES] if budget.profiles else []
    differing += [CLIENTS] if budget.clients is not None else []
    for path in differing:
        if config.adapt.guarantee == "filter":
            what = ': needs `guarantee = "envelope"`, got: "filter"'
            hint = (
                "a filter holds sums of costs over rounds within the plan's; the sums "
                "of a stricter site are others"
            )
            yield about(path, what, hint, ("adapt", "guarantee"))
        if config.privacy.mechanism == "none":
            what = ' does nothing with `mechanism = "none"`'
            yield about(path, what, "remove it, or choose another mechanism", MECHANISM)
        elif config.data.sites_per_person > 1 and budget.unit == "record":
            yield about(
                path,
                f": needs `sites_per_person = 1`, got: {config.data.sites_per_person}",
                "a person who is also at a less strict site has no more than that "
                "site's protection",
                UNIT,
                ("data", "sites_per_person"),
            )
    if budget.realise == "sampling" and not differing:
        what = " does nothing without `[budget.profiles]`"
        yield about(REALISE, what, "remove it", PROFILES, CLIENTS)
    elif budget.realise == "sampling" and config.federation.sampling_rate == 1:
        what = ": `sampling` needs `sampling_rate` below 1, got: 1"
        hint = (
            'sites that take every record cannot take fewer; use `realise = "clip"`, '
            "or set `sampling_rate` under `[federation]`"
        )
        yield about(REALISE, what, hint, RATE)


def clients_share_a_total(config: Config) -> Iterator[Finding]:
    """Bounds the right way round, and one table that decides each epsilon."""
    clients = config.budget.clients
    if clients is None:
        return
    if clients.low > clients.high:
        low, high = shown(clients.low), shown(clients.high)
        what = f": expected at most `high`, {high}, got: {low}"
        hint = "exchange them"
        yield about((*CLIENTS, "low"), what, hint, (*CLIENTS, "high"))
    for name, table in config.budget.profiles.items():
        if table.epsilon is not None:
            what = (
                " does nothing with `[budget.clients]`, which gives every site its "
                "epsilon"
            )
            hint = "remove one of them; caps of profiles hold beside `[budget.clients]`"
            yield about((*PROFILES, name, "epsilon"), what, hint, CLIENTS)


CLASS_RULES = (
    classes_are_told_apart, classes_are_stricter, classes_are_of_records,
    conditions_can_be_read,
)  # fmt: skip
SITE_RULES = (
    pace_keys_are_used, drops_ascend, profiles_say_something,
    profiles_save_for_something, profiles_are_stricter, profiles_are_possible,
    sites_have_one_profile, differing_sites_have_a_guarantee, clients_share_a_total,
)  # fmt: skip
