# SPDX-License-Identifier: Apache-2.0
"""Buying a profile: a run of its own, with folder, log and claim, but no model.

It is charged like every run, so what it says is verified and paid for like the rest.
The run that uses it (`[data] profile = "FOLDER"`) reads its claim and takes what it
cost off its own budget.

    opened = load_open(path)                           # ranges and lists may be "?"
    found  = priced_profile(opened, base, epsilon)     # nothing spent yet
    bought = buy_profile(path, epsilon, out)           # charged, released, written
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lexfed.audit.log.access import UnloggedExport, is_logged, log_export
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.log.logged_files import PROFILE
from lexfed.config.examination import config_text
from lexfed.config.open_decisions import OpenConfig, load_open
from lexfed.config.rules.importance import prepayment_obstacles
from lexfed.config.tables.root import Config, EvaluationTable
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.federation.coordinator.progress import tables_so_far
from lexfed.models import towers
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.run.driver.open_run import resume as reopen
from lexfed.run.driver.open_run import start
from lexfed.run.driver.training_loop import OnRound, train
from lexfed.run.folder import STATE
from lexfed.run.intake.coins import read_coins
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.pricing.site_budgets import SiteLimits
from lexfed.run.purchases.profile_population import (
    ProfilePopulation,
    load_profile_population,
)
from lexfed.run.purchases.profile_pricing import ProfilePricing
from lexfed.run.results.run_result import RunResult
from lexfed.sketch.profile.federation_profile import (
    FederationProfile,
    ProfiledColumn,
    build_profile,
)

DEFAULT_PART = 0.25
"""Part of the record's budget that a profile costs unless somebody says otherwise.

Squares of Gaussian privacy add up, so the run that follows keeps about 97 % of its
epsilon, and ranges and lists of its own noise are worth more than that."""


@dataclass(frozen=True)
class PricedProfile:
    """A profile that can be bought; nothing is spent yet.

    Attributes:
        priced: its programme and population.
        columns: that are profiled.
        left_out: declared columns of which noise would leave nothing; PERSONS if that
            is so for their keys.
    """

    priced: PricedRun
    columns: tuple[ProfiledColumn, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class BoughtProfile:
    """A finished purchase: the result of its run, and the profile."""

    result: RunResult
    profile: FederationProfile


def default_epsilon(config: Config) -> float:
    """Return the price of a profile unless somebody says otherwise."""
    return DEFAULT_PART * config.budget.epsilon


def priced_profile(
    opened: OpenConfig, base: Path, epsilon: float, resume: Path | None = None
) -> PricedProfile:
    """Price a profile; nothing is spent.

    It costs a record `epsilon` at most, and the same part of every cap. The
    configuration is that of the run that it is for, with paths relative to `base`;
    `resume` is the folder of a purchase that is continued.

    Raises:
        ConfigError: if the configuration has no use for a profile, or the budget is
            too small to say anything; with the smallest one that is not.
        DataError: with every problem of the data.
    """
    require_use(opened.config, epsilon)
    if opened.config.federation.engine == "flare":
        what = '`engine = "flare"`: the data are elsewhere'
        hint = "sites of a deployment are profiled by `lexfed deploy run --profile`"
        raise ConfigError([Problem("profile", what, hint)])
    config = profile_configuration(opened.config)
    coins = None if resume is None else read_coins(resume, config)
    found = load_profile_population(replace(opened, config=config), base, coins)
    return price_profile(config, found, base, epsilon)


def price_profile(
    config: Config,
    found: ProfilePopulation,
    base: Path,
    epsilon: float,
    limits: Sequence[SiteLimits] = (),
) -> PricedProfile:
    """Price a profile of a population; the data may be elsewhere.

    The configuration comes from `profile_configuration`.

    Raises:
        ConfigError: if the budget is too small to say anything.
    """
    pricing = ProfilePricing.of(config, found, base, limits)
    plan = pricing.useful(epsilon)
    policy = pricing.stated.policy
    priced = PricedRun(
        config, found.population, plan.programme, plan.budget, (), policy
    )
    asked = tuple(c for c in found.columns if c.name not in plan.left_out)
    return PricedProfile(priced, asked, plan.left_out)


def buy_profile(
    path: Path,
    epsilon: float | None,
    out: Path,
    *,
    resume: bool = False,
    on_round: OnRound | None = None,
) -> BoughtProfile:
    """Release a profile of the data of a configuration file.

    It costs a record `epsilon` at most, a quarter of the budget by default. The run has
    the folder `out`; with `resume` an interrupted one is continued.

    Raises:
        ConfigError, DataError: with every problem; nothing was written or spent.
        RunFolderError: if the folder cannot be used.
        Refused: if it could not be paid for.
    """
    opened, text = load_open(path), config_text(path)
    if epsilon is None:
        epsilon = default_epsilon(opened.config)
    again = out if resume else None
    found = priced_profile(opened, path.parent, epsilon, again)
    run = (reopen if resume else start)(found.priced, out, text, path.parent)
    result = train(found.priced, run, on_round)
    return BoughtProfile(result, keep_profile(found, out))


def keep_profile(found: PricedProfile, folder: Path) -> FederationProfile:
    """Write the profile that follows from the tables of a finished run, and return it.

    It follows from the released state, so it costs nothing, and after a crash it is
    done again. The log says which file it is, since the run that uses it reads no
    other.

    Raises:
        RunFolderError: if it cannot be logged.
    """
    profile = _released(found, folder)
    content = profile.to_bytes()
    write_atomically(folder / PROFILE, content)
    evidence = read_evidence(folder)
    if not is_logged(evidence, "profile", content):
        logged = log_export(evidence, "profile", content, None)
        if isinstance(logged, UnloggedExport):
            raise RunFolderError(f"the profile is not logged: {logged.reason}")
    return profile


def _released(found: PricedProfile, folder: Path) -> FederationProfile:
    priced = found.priced
    _, _, memory = towers.from_bytes(read_plain(folder / STATE, MOST_OF_A_MODEL))
    told = tables_so_far(priced.programme, memory)
    people = float(priced.population.units)
    return build_profile(told, found.columns, priced.programme.sites, people)


def require_use(config: Config, epsilon: float) -> None:
    """Refuse a configuration that has no use for a profile, or not at this price.

    Raises:
        ConfigError: with everything that does not fit.
    """
    most = config.budget.epsilon
    wrong = [f"does not go with {what}" for what, _ in prepayment_obstacles(config)]
    if config.data.profile is not None:
        wrong.append("`data.profile` names one already: what it cost is paid once")
    if (config.budget.importance_from or "").startswith("paid:"):
        wrong.append("comes before importances that are paid for: what those cost")
    if not 0.0 < epsilon < most:
        wrong.append(
            f"`--epsilon`: expected a number above 0 and below `budget.epsilon` = "
            f"{most:g}, got: {epsilon:g}"
        )
    if wrong:
        raise ConfigError([Problem("profile", what) for what in wrong])


def profile_configuration(config: Config) -> Config:
    """Return the configuration without the settings that only training has."""
    unknown: dict[str, Any] = {
        "importance": {},
        "importance_from": None,
        "groups": {},
        "groups_from": None,
        "sparsity": 0.0,
    }
    return config.model_copy(
        update={
            "budget": config.budget.model_copy(update=unknown),
            # Counts are of persons, however sites weigh in training.
            "federation": config.federation.model_copy(update={"weighting": "units"}),
            # No test row is looked at.
            "evaluation": EvaluationTable(metrics="paid"),
        }
    )
