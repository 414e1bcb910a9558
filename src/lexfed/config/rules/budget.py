# SPDX-License-Identifier: Apache-2.0
"""Rules of `[budget]` and `[privacy]`, and remarks on what they allow.

Each rule keeps a guarantee from being empty or a key from being ignored. Without a
mechanism there is no guarantee to keep. Remarks are shown by `lexfed check` and stop
nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

from lexfed.config.declarations import model_columns
from lexfed.config.rules.data import COLUMNS, SOURCE, number_of_sites
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest_or, dotted, shown

ALLOCATION: KeyPath = ("budget", "allocation")
CAPS: KeyPath = ("budget", "caps")
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
        yield about(
            EPSILON,
            f": expected at least {LEAST_EPSILON:g}, got: {shown(budget.epsilon)}; no "
            "useful noise exists below that",
            "noise for this epsilon drowns any model; use for example `epsilon = 2.0`",
            MECHANISM,
        )
    if budget.epsilon > MOST_EPSILON:
        yield about(
            EPSILON,
            f": expected at most {MOST_EPSILON:g}, got: {shown(budget.epsilon)}; no "
            "protection is left above that",
            "use for example `epsilon = 2.0`, or say openly that there is no guarantee "
            'with `mechanism = "none"`',
            MECHANISM,
        )
    if budget.delta < LEAST_DELTA:
        yield about(
            DELTA,
            f": expected at least {LEAST_DELTA:g}, got: {shown(budget.delta)}; no "
            "useful noise exists below that",
            "use a delta well below one over the number of people, for example "
            "`delta = 1e-6`",
            MECHANISM,
        )


def _number_of_units(config: Config) -> tuple[int, KeyPath] | None:
    """Return the public number of units and the key that states it, if one does."""
    if config.budget.unit == "client":
        return number_of_sites(config)
    data, made = config.data, ("data", "generator")
    stated: dict[KeyPath, int | None] = {
        ("data", "units"): data.units,
        (*made, "patients"): data.generator.patients,
        (*made, "clients"): data.generator.clients,
    }
    return next(((n, path) for path, n in stated.items() if n is not None), None)


def delta_is_small(config: Config) -> Iterator[Finding]:
    """At delta = 1/n a mechanism may publish one person of n outright."""
    known = _number_of_units(config)
    if known is None or config.privacy.mechanism == "none":
        return
    units, path = known
    if config.budget.delta * units >= 1:
        whom = "site" if config.budget.unit == "client" else "person"
        yield about(
            DELTA,
            f": expected below 1/{units}, one over `{dotted(path)}`, "
            f"got: {shown(config.budget.delta)}",
            f"a delta of 1/{units} would allow publishing one whole {whom}; use for "
            f"example `delta = 1e-{len(str(units)) + 1}`",
            UNIT, MECHANISM, path,
        )  # fmt: skip


def allocation_keys_are_used(config: Config) -> Iterator[Finding]:
    """Each allocation rule has its own settings."""
    budget = config.budget
    for key, owner in {"alpha": "inverse", "multipliers": "multiplier"}.items():
        if budget.changes(key) and budget.allocation != owner:
            what = f' does nothing with `allocation = "{budget.allocation}"`'
            hint = f'remove it, or set `allocation = "{owner}"`'
            yield about(("budget", key), what, hint, ALLOCATION)
    columns = model_columns(config)
    for name in budget.importance:
        if not config.data.built_in and columns and name not in columns:
            what = f": there is no column `{name}`"
            hint = closest_or(name, columns, "remove it")
            yield about(
                ("budget", "importance", name), what, hint, (*COLUMNS, name), SOURCE
            )


def accountant_fits(config: Config) -> Iterator[Finding]:
    """Gaussian differential privacy is exact only without sampling."""
    rate = config.federation.sampling_rate
    if config.privacy.accountant == "gdp" and rate < 1:
        what = f": `gdp` needs `sampling_rate = 1`, got: {shown(rate)}"
        hint = 'use `accountant = "pld"`, or take every record in every round'
        yield about(("privacy", "accountant"), what, hint, RATE)


def sampling_is_secret(config: Config) -> Iterator[Finding]:
    """Sampling helps only against those who do not see who was sampled."""
    rate = config.federation.sampling_rate
    if config.privacy.trust == "local" and config.budget.unit == "client" and rate < 1:
        what = f': `trust = "local"` with `unit = "client"` needs 1, got: {shown(rate)}'
        hint = (
            "whoever receives a site's message knows that the site took part, so "
            "sampling sites protects nobody from them"
        )
        yield about(RATE, what, hint, UNIT, ("privacy", "trust"))


def persons_flip_one_coin(config: Config) -> Iterator[Finding]:
    """A person at several sites is sampled at each, so sampling proves nothing."""
    rate, sites = config.federation.sampling_rate, config.data.sites_per_person
    if sites > 1 and rate < 1 and config.budget.unit == "record":
        what = f": `sites_per_person = {sites}` needs 1, got: {shown(rate)}"
        hint = (
            "a person at several sites would flip a coin at each, so sampling proves "
            "nothing for the person"
        )
        yield about(RATE, what, hint, UNIT, ("data", "sites_per_person"))


def clips_have_groups(config: Config) -> Iterator[Finding]:
    """A clip per tier needs a group per tier."""
    if config.privacy.mechanism == "uniform":
        for tier, clip in config.privacy.clip:
            if tier != "default" and clip is not None:
                what = ' does nothing with `mechanism = "uniform"`'
                hint = "use `clip = { default = ... }`"
                yield about(("privacy", "clip", tier), what, hint, MECHANISM)


def ledgers_are_used(config: Config) -> Iterator[Finding]:
    """Synthetic rows and seeded noise concern no person, so nothing is spent."""
    if config.budget.ledgers is None:
        return
    if config.data.built_in:
        what = f' does nothing with `source = "{config.data.source}"`'
        hint = "remove it; ledgers are kept for data in files"
        yield about(LEDGERS, what, hint, SOURCE)
    elif config.run.test:
        what = " does nothing with `test = true`"
        hint = "remove it; a seeded run protects nobody and is not charged"
        yield about(LEDGERS, what, hint, ("run", "test"))


def not_private(config: Config) -> Iterator[Finding]:
    """Remark on the two settings that give up the guarantee on purpose."""
    if config.run.test:
        what = " is on: noise can be repeated, every output says NOT PRIVATE"
        hint = "remove `test` for a run whose results leave this machine"
        yield remark(about(("run", "test"), what, hint))
    if config.privacy.mechanism == "none":
        what = '`mechanism = "none"`: no noise, no guarantee; the budget is not used'
        yield remark(Finding(MECHANISM, what))


def caps_that_do_not_bind(config: Config) -> Iterator[Finding]:
    """Remark on a cap above what another budget allows."""
    caps, epsilon = config.budget.caps, config.budget.epsilon
    pairs = [(t, getattr(caps, t)) for t in ("special", "personal", "non_personal")]
    for number, (tier, cap) in enumerate(pairs):
        if cap is None:
            continue
        if cap > epsilon:
            what = (
                f" = {cap:g} is above `budget.epsilon` = {epsilon:g}: the whole "
                "record's budget usually binds first"
            )
            yield remark(about((*CAPS, tier), what, "", EPSILON))
        for lower, other in pairs[number + 1 :]:
            if other is not None and cap > other:
                what = (
                    f" = {cap:g} is above `budget.caps.{lower}` = {other:g}: what a "
                    f"`{lower}` column may cost binds first"
                )
                hint = (
                    f"a column of tier `{lower}` is also read by the towers above it, "
                    "so the cap of the more sensitive tier is the smaller one"
                )
                yield remark(about((*CAPS, tier), what, hint, (*CAPS, lower)))


def remark(finding: Finding) -> Finding:
    """Return the finding as a remark on what is allowed."""
    return replace(finding, note=True)


RULES = (
    budget_is_possible, delta_is_small, allocation_keys_are_used, accountant_fits,
    sampling_is_secret, persons_flip_one_coin, clips_have_groups, not_private,
    caps_that_do_not_bind,
)  # fmt: skip
