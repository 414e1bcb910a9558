# SPDX-License-Identifier: Apache-2.0
"""Rules that tie `[budget]` and `[privacy]` together, and to what they protect.

Each rule keeps a guarantee from being empty or a key from being ignored. Without a
mechanism there is no guarantee to keep. Written like `data.py`.
"""

from collections.abc import Iterator

from lexfed.config.rules.data import COLUMNS, SITES, SOURCE
from lexfed.config.tables.budget import BudgetTable
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest, dotted, shown

ALLOCATION: KeyPath = ("budget", "allocation")
DELTA: KeyPath = ("budget", "delta")
EPSILON: KeyPath = ("budget", "epsilon")
LEDGERS: KeyPath = ("budget", "ledgers")
UNIT: KeyPath = ("budget", "unit")
MECHANISM: KeyPath = ("privacy", "mechanism")
RATE: KeyPath = ("federation", "sampling_rate")

LEAST_EPSILON = 1e-4
MOST_EPSILON = 1000.0
LEAST_DELTA = 1e-15


def budget_is_possible(config: Config) -> Iterator[Finding]:
    """Between drowning everything in noise and protecting nobody."""
    budget = config.budget
    if config.privacy.mechanism == "none":
        return
    if budget.epsilon < LEAST_EPSILON:
        yield Finding(
            EPSILON,
            f"`budget.epsilon`: expected at least {LEAST_EPSILON:g}, got: "
            f"{shown(budget.epsilon)}; no useful noise exists below that",
            "noise for this epsilon drowns any model; use for example `epsilon = 2.0`",
            (MECHANISM,),
        )
    if budget.epsilon > MOST_EPSILON:
        yield Finding(
            EPSILON,
            f"`budget.epsilon`: expected at most {MOST_EPSILON:g}, got: "
            f"{shown(budget.epsilon)}; no protection is left above that",
            "use for example `epsilon = 2.0`, or say openly that there is no guarantee "
            'with `mechanism = "none"`',
            (MECHANISM,),
        )
    if budget.delta < LEAST_DELTA:
        yield Finding(
            DELTA,
            f"`budget.delta`: expected at least {LEAST_DELTA:g}, got: "
            f"{shown(budget.delta)}; no useful noise exists below that",
            "use a delta well below one over the number of persons, for example "
            "`delta = 1e-6`",
            (MECHANISM,),
        )


def _number_of_units(config: Config) -> tuple[int, KeyPath] | None:
    """Return the public number of units and the key that states it, if one does."""
    data, generator = config.data, ("data", "generator")
    found: tuple[tuple[int | None, KeyPath], ...]
    if config.budget.unit == "client":
        sites = data.sites
        found = (
            (sites.count if sites else None, (*SITES, "count")),
            (len(sites.files or ()) or None if sites else None, (*SITES, "files")),
            (data.generator.sites, (*generator, "sites")),
        )
    else:
        found = (
            (data.units, ("data", "units")),
            (data.generator.patients, (*generator, "patients")),
            (data.generator.clients, (*generator, "clients")),
        )
    return next(((n, path) for n, path in found if n is not None), None)


def delta_is_small(config: Config) -> Iterator[Finding]:
    """At delta = 1/n a mechanism may publish one person of n outright."""
    known = _number_of_units(config)
    if known is None or config.privacy.mechanism == "none":
        return
    units, path = known
    if config.budget.delta * units >= 1:
        whom = "site" if config.budget.unit == "client" else "person"
        yield Finding(
            DELTA,
            f"`budget.delta`: expected below 1/{units}, one over `{dotted(path)}`, "
            f"got: {shown(config.budget.delta)}",
            f"a delta of 1/{units} would allow publishing one whole {whom}; use for "
            f"example `delta = 1e-{len(str(units)) + 1}`",
            (UNIT, MECHANISM, path),
        )


def allocation_keys_are_used(config: Config) -> Iterator[Finding]:
    """Each allocation rule has its own settings."""
    budget = config.budget
    owners = {
        "alpha": "inverse",
        "multipliers": "multiplier",
    }
    for key, owner in owners.items():
        default = BudgetTable.model_fields[key].get_default(call_default_factory=True)
        if getattr(budget, key) != default and budget.allocation != owner:
            what = (
                f'`budget.{key}` does nothing with `allocation = "{budget.allocation}"`'
            )
            hint = f'remove it, or set `allocation = "{owner}"`'
            yield Finding(("budget", key), what, hint, (ALLOCATION,))
    columns = config.data.columns
    for name in budget.importance:
        if not config.data.built_in and columns and name not in columns:
            path: KeyPath = ("budget", "importance", name)
            what = f"`{dotted(path)}`: there is no column `{name}`"
            near = closest(name, columns)
            hint = f"did you mean `{near}`?" if near else "remove it"
            yield Finding(path, what, hint, ((*COLUMNS, name), SOURCE))


def accountant_fits(config: Config) -> Iterator[Finding]:
    """Gaussian differential privacy is exact only without sampling."""
    rate = config.federation.sampling_rate
    if config.privacy.accountant == "gdp" and rate < 1:
        yield Finding(
            ("privacy", "accountant"),
            "`privacy.accountant`: `gdp` needs `sampling_rate = 1`, "
            f"got: {shown(rate)}",
            'use `accountant = "pld"`, or take every record in every round',
            (RATE,),
        )


def sampling_is_secret(config: Config) -> Iterator[Finding]:
    """Sampling helps only against those who do not see who was sampled."""
    local_clients = config.privacy.trust == "local" and config.budget.unit == "client"
    if local_clients and config.federation.sampling_rate < 1:
        yield Finding(
            RATE,
            '`federation.sampling_rate`: `trust = "local"` with `unit = "client"` '
            f"needs 1, got: {shown(config.federation.sampling_rate)}",
            "whoever receives a site's message knows that the site took part, so "
            "sampling sites protects nobody from them",
            (UNIT, ("privacy", "trust")),
        )


def persons_flip_one_coin(config: Config) -> Iterator[Finding]:
    """A person at several sites is sampled at each, so sampling proves nothing."""
    rate, sites = config.federation.sampling_rate, config.data.sites_per_person
    if sites > 1 and rate < 1 and config.budget.unit == "record":
        yield Finding(
            RATE,
            f"`federation.sampling_rate`: `sites_per_person = {sites}` needs 1, "
            f"got: {shown(rate)}",
            "a person at several sites would flip a coin at each, so sampling proves "
            "nothing for the person",
            (UNIT, ("data", "sites_per_person")),
        )


def clips_have_groups(config: Config) -> Iterator[Finding]:
    """A clip per tier needs a group per tier."""
    if config.privacy.mechanism != "uniform":
        return
    for tier, clip in config.privacy.clip:
        if tier == "default" or clip is None:
            continue
        path: KeyPath = ("privacy", "clip", tier)
        what = f'`{dotted(path)}` does nothing with `mechanism = "uniform"`'
        yield Finding(path, what, "use `clip = { default = ... }`", (MECHANISM,))


def ledgers_are_used(config: Config) -> Iterator[Finding]:
    """Made data and seeded noise are about nobody, so nothing is spent."""
    if config.budget.ledgers is None:
        return
    if config.data.built_in:
        yield Finding(
            LEDGERS,
            f'`budget.ledgers` does nothing with `source = "{config.data.source}"`',
            "remove it; ledgers are kept for data in files",
            (SOURCE,),
        )
    elif config.run.test:
        yield Finding(
            LEDGERS,
            "`budget.ledgers` does nothing with `test = true`",
            "remove it; a seeded run protects nobody and is not charged",
            (("run", "test"),),
        )


RULES = (
    budget_is_possible,
    delta_is_small,
    allocation_keys_are_used,
    accountant_fits,
    sampling_is_secret,
    persons_flip_one_coin,
    clips_have_groups,
)
