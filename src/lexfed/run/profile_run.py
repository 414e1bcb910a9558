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

from lexfed.audit.evidence import read_evidence
from lexfed.audit.exports import NotLogged, is_logged, log_export
from lexfed.audit.logged_files import PROFILE
from lexfed.config.importance_rules import not_paid_before
from lexfed.config.load import config_text
from lexfed.config.model import Config, EvaluationTable
from lexfed.config.open_columns import OpenConfig, load_open
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.federation.told import told_tables
from lexfed.models import cascade
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.run.coins import kept_coins
from lexfed.run.folder import STATE
from lexfed.run.opening import resume as reopen
from lexfed.run.opening import start
from lexfed.run.planning import Priced
from lexfed.run.policy import policy_of
from lexfed.run.profile_population import ProfilePopulation, load_profile_population
from lexfed.run.profile_pricing import ProfilePricing
from lexfed.run.result import RunResult
from lexfed.run.site_budgets import OwnLimits
from lexfed.run.training import OnRound, train
from lexfed.sketch.profile.columns import ProfiledColumn
from lexfed.sketch.profile.profile import Profile, build_profile

DEFAULT_PART = 0.25
"""Part of the record's budget that a profile costs unless somebody says otherwise.

Squares of Gaussian privacy add up, so the run that follows keeps about 97 % of its
epsilon, and ranges and lists of its own noise are worth more than that."""


@dataclass(frozen=True)
class PricedProfile:
    """A profile that can be bought; nothing is spent yet.

    Attributes:
        priced: its programme, and whom it is about.
        columns: what is profiled.
        left_out: declared columns of which noise would leave nothing; PERSONS if that
            is so for their keys.
    """

    priced: Priced
    columns: tuple[ProfiledColumn, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class BoughtProfile:
    """How buying ended, and what is known now."""

    result: RunResult
    profile: Profile


def default_epsilon(config: Config) -> float:
    """Return what a profile costs unless somebody says otherwise."""
    return DEFAULT_PART * config.budget.epsilon


def priced_profile(
    opened: OpenConfig, base: Path, epsilon: float, resume: Path | None = None
) -> PricedProfile:
    """Price a profile; nothing is spent.

    Args:
        opened: the configuration of the run that it is for.
        base: folder that its paths are relative to.
        epsilon: what it may cost a record. Every cap counts by the same part.
        resume: folder of the run that is continued, if one is.

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
    config = for_a_profile(opened.config)
    coins = None if resume is None else kept_coins(resume, config)
    found = load_profile_population(replace(opened, config=config), base, coins)
    return price_profile(config, found, base, epsilon)


def price_profile(
    config: Config,
    found: ProfilePopulation,
    base: Path,
    epsilon: float,
    limits: Sequence[OwnLimits] = (),
) -> PricedProfile:
    """Price a profile of a population; the data may be elsewhere.

    Args:
        config: from `for_a_profile`.
        found: whom it is about, and which columns.
        base: folder that its paths are relative to.
        epsilon: what it may cost a record.
        limits: what single sites allow at most.

    Raises:
        ConfigError: if the budget is too small to say anything.
    """
    policy = policy_of(config, base)
    pricing = ProfilePricing.of(config, found, policy.policy, limits)
    plan = pricing.useful(epsilon)
    priced = Priced(config, found.population, plan.programme, plan.budget, (), policy)
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

    Args:
        path: the configuration file.
        epsilon: what it may cost a record; None for a quarter of the budget.
        out: folder of the run that buys it.
        resume: continue a run that was interrupted.
        on_round: is told about every round.

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


def keep_profile(found: PricedProfile, folder: Path) -> Profile:
    """Write what the released tables of a finished run say, and return it.

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
        if isinstance(logged, NotLogged):
            raise RunFolderError(f"the profile is not logged: {logged.reason}")
    return profile


def _released(found: PricedProfile, folder: Path) -> Profile:
    priced = found.priced
    _, _, memory = cascade.from_bytes(read_plain(folder / STATE, MOST_OF_A_MODEL))
    told = told_tables(priced.programme, memory)
    people = float(priced.population.units)
    return build_profile(told, found.columns, priced.programme.sites, people)


def require_use(config: Config, epsilon: float) -> None:
    """Refuse a configuration that has no use for a profile, or not at this price.

    Raises:
        ConfigError: with everything that does not fit.
    """
    most = config.budget.epsilon
    wrong = [f"does not go with {what}" for what, _ in not_paid_before(config)]
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


def for_a_profile(config: Config) -> Config:
    """Return the configuration without what only training knows."""
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
