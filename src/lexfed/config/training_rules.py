# SPDX-License-Identifier: Apache-2.0
"""Rules that tie `[budget]`, `[privacy]`, `[federation]` and `[evaluation]` together.

A key that would be ignored is an error when it shows that somebody expects something
that will not happen. Written like `data_rules.py`.
"""

import re
from collections.abc import Iterator

from lexfed.config.data_rules import COLUMNS, SITES, SOURCE
from lexfed.config.locate import Path
from lexfed.config.model import BudgetTable, Config
from lexfed.config.translate import Finding
from lexfed.config.wording import closest, did_you_mean, dotted, listed, shown

ALLOCATION: Path = ("budget", "allocation")
DELTA: Path = ("budget", "delta")
UNIT: Path = ("budget", "unit")
MECHANISM: Path = ("privacy", "mechanism")
RATE: Path = ("federation", "sampling_rate")
MODEL: Path = ("federation", "model")
TARGET: Path = ("data", "target")

_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_WIDTHS = re.compile(r"mlp:[1-9]\d{0,5}(,[1-9]\d{0,5})*")


def _number_of_units(config: Config) -> tuple[int, Path] | None:
    """Return the public number of units and the key that states it, if one does."""
    data, generator = config.data, ("data", "generator")
    found: tuple[tuple[int | None, Path], ...]
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
        "importance": "multiplier",
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
            path: Path = ("budget", "importance", name)
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
        path: Path = ("privacy", "clip", tier)
        what = f'`{dotted(path)}` does nothing with `mechanism = "uniform"`'
        yield Finding(path, what, "use `clip = { default = ... }`", (MECHANISM,))


def local_training_needs_clients(config: Config) -> Iterator[Finding]:
    """With `unit = "record"` a round is one aggregated step."""
    federation = config.federation
    if config.budget.unit == "client":
        return
    wanted = {
        "local_steps": federation.local_steps > 1,
        "momentum": federation.momentum > 0,
        "batch_size": federation.batch_size is not None,
    }
    for key, given in wanted.items():
        if given:
            value = shown(getattr(federation, key))
            yield Finding(
                ("federation", key),
                f'`federation.{key}`: needs `unit = "client"`, got: {value} '
                'with `unit = "record"`',
                'remove it, or set `unit = "client"` under `[budget]`; with '
                '`unit = "record"` a round is one step over all sites',
                (UNIT,),
            )


def model_is_known(config: Config) -> Iterator[Finding]:
    """A model has a known name, widths, or a factory to import."""
    model = config.federation.model
    known = model in ("logistic", "linear", "cnn")
    if known or _WIDTHS.fullmatch(model):
        return
    if model.partition(":")[0] == "mlp":
        what = f"`federation.model`: expected widths after `mlp:`, got: {shown(model)}"
        yield Finding(MODEL, what, 'for example `model = "mlp:256,128,64"`')
    elif not _FACTORY.fullmatch(model):
        names = ("logistic", "linear", "mlp:256,128,64", "cnn", "module:factory")
        what = (
            f"`federation.model`: expected one of {listed(names)}, got: {shown(model)}"
        )
        near = did_you_mean(model, ("logistic", "linear", "cnn"), "")
        yield Finding(MODEL, what, near if near.startswith("did") else "")


def model_fits_target(config: Config) -> Iterator[Finding]:
    """Logistic models answer with a class, linear ones with a number."""
    target = config.data.columns.get(config.data.target or "")
    if target is None:
        return
    wants_number = target.kind == "number"
    wrong = {"logistic": wants_number, "linear": not wants_number}
    if wrong.get(config.federation.model):
        right = "linear" if wants_number else "logistic"
        name = config.data.target
        what = (
            f"`federation.model`: `{config.federation.model}` cannot predict "
            f"`{name}`, which is a {target.kind}"
        )
        also = (TARGET, (*COLUMNS, str(name)))
        yield Finding(MODEL, what, f'use `model = "{right}"`', also)


def test_rows_exist(config: Config) -> Iterator[Finding]:
    """Rows can only be declared public where there are some."""
    if config.data.public_test and config.data.test_size == 0:
        what = "`data.public_test` does nothing with `test_size = 0`"
        hint = "set `test_size`, for example to 0.2, or remove `public_test`"
        yield Finding(("data", "public_test"), what, hint, (("data", "test_size"),))


def baselines_are_distinct(config: Config) -> Iterator[Finding]:
    """Each baseline is trained once."""
    baselines = config.evaluation.baselines
    for number, name in enumerate(baselines):
        if name in baselines[:number]:
            what = f"`evaluation.baselines` names `{name}` twice"
            path: Path = ("evaluation", "baselines", number)
            yield Finding(path, what, "name each baseline once")


RULES = (
    delta_is_small,
    allocation_keys_are_used,
    accountant_fits,
    sampling_is_secret,
    persons_flip_one_coin,
    clips_have_groups,
    local_training_needs_clients,
    model_is_known,
    model_fits_target,
    test_rows_exist,
    baselines_are_distinct,
)
