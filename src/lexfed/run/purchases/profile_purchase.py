# SPDX-License-Identifier: Apache-2.0
"""Buying a profile: a run of its own, with folder, log and claim, but no model.

The run that uses it (`[data] profile = "FOLDER"`) reads its claim and takes its cost
off its own budget.

    opened = load_open(path)                           # ranges and lists may be "?"
    found  = priced_profile(opened, base, epsilon)     # nothing spent yet
    bought = buy_profile(path, epsilon, out)           # charged, released, written

A profile is planned for all columns. Where noise would hide the values of a tier whose
columns are all declared, the tier is left out, the most sensitive first, and its part
goes to the others. So are the keys of persons. Where open columns would be hidden, the
budget is too small, and the smallest one that is not is searched for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lexfed.audit.log.access import UnloggedExport, is_logged, log_export
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.log.logged_files import PROFILE
from lexfed.budget.noise_plan import Budget
from lexfed.config.examination import config_text
from lexfed.config.open_decisions import OpenConfig, load_open
from lexfed.config.rules.importance import prepayment_obstacles
from lexfed.config.tables.root import Config, EvaluationTable
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.federation.coordinator.progress import tables_so_far
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.purchase_programmes import (
    PERSONS,
    USEFUL,
    HiddenShare,
    hidden_shares,
    plan_profile,
)
from lexfed.federation.programme.sequence import Programme
from lexfed.models import towers
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.run.driver.open_run import resume as reopen
from lexfed.run.driver.open_run import start
from lexfed.run.driver.training_loop import OnRound, train
from lexfed.run.folder import STATE
from lexfed.run.intake.population import read_coins
from lexfed.run.intake.public_facts import public_facts
from lexfed.run.pricing.policy_terms import StatedBudget, choices_of, stated_budget
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.pricing.site_budgets import SiteLimits, budget_within_limits
from lexfed.run.purchases.profile_population import (
    ProfilePopulation,
    load_profile_population,
)
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

_MOST_PART = 0.99
"""A profile that took all of the budget would be of no use: nothing could follow."""
_HALVINGS = 12
"""Steps of the search: the smallest useful budget is found to below a percent."""


@dataclass(frozen=True)
class PricedProfile:
    """A profile that can be bought; nothing is spent yet.

    `left_out` are declared columns of which noise would leave nothing, PERSONS for
    their keys.
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
    `resume` is the folder of a purchase that is continued. If the budget is too small
    for any answer, the `ConfigError` has the smallest one that is not.
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
    """Price a profile of a population, whose data may be elsewhere."""
    population = found.population
    stated = stated_budget(config, population, base)
    facts = public_facts(config, population, ())
    choices = choices_of(config, stated.terms, {})
    pricing = _Pricing(config, facts, choices, stated, found.columns, tuple(limits))
    plan = pricing.plan(epsilon)
    if plan.hidden:
        raise ConfigError([pricing.too_small(epsilon, plan.hidden)])
    policy = stated.policy
    priced = PricedRun(config, population, plan.programme, plan.budget, (), policy)
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
    the folder `out`; with `resume` an interrupted one is continued. Problems of
    configuration and data are found before anything is written or spent.
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
    done again. The log names its digest, since the run that uses it reads no other.
    """
    priced = found.priced
    _, _, memory = towers.from_bytes(read_plain(folder / STATE, MOST_OF_A_MODEL))
    told = tables_so_far(priced.programme, memory)
    people = float(priced.population.units)
    profile = build_profile(told, found.columns, priced.programme.sites, people)
    content = profile.to_bytes()
    write_atomically(folder / PROFILE, content)
    evidence = read_evidence(folder)
    if not is_logged(evidence, "profile", content):
        logged = log_export(evidence, "profile", content, None)
        if isinstance(logged, UnloggedExport):
            raise RunFolderError(f"the profile is not logged: {logged.reason}")
    return profile


def require_use(config: Config, epsilon: float) -> None:
    """Refuse a configuration that has no use for a profile, or not at this price."""
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


@dataclass(frozen=True)
class _Plan:
    """A programme, its budget, and the columns of which noise would leave nothing.

    Those that are declared are `left_out`; `hidden` are tables of the others.
    """

    programme: Programme
    budget: Budget
    left_out: tuple[str, ...]
    hidden: tuple[HiddenShare, ...]


@dataclass(frozen=True)
class _Pricing:
    """Everything that pricing a profile needs, but its budget."""

    config: Config
    facts: PopulationFacts
    choices: Choices
    stated: StatedBudget
    columns: tuple[ProfiledColumn, ...]
    limits: tuple[SiteLimits, ...]

    def plan(self, epsilon: float) -> _Plan:
        """Return the plan of a budget; it may be too small."""
        budget = budget_within_limits(self.stated.purchase(epsilon), self.limits)
        left_out: tuple[str, ...] = ()
        while True:
            programme = plan_profile(
                self.facts, budget, self.choices, self.columns, left_out
            )
            shares = hidden_shares(programme, self.facts.units)
            hidden = tuple(one for one in shares if not one.useful)
            idle = self._idle(left_out, hidden)
            asked = {column.name for column in self.columns} - {*left_out, *idle}
            if not idle or not asked:
                return _Plan(programme, budget, left_out, hidden)
            left_out += idle

    def _idle(
        self, left_out: Sequence[str], hidden: Sequence[HiddenShare]
    ) -> tuple[str, ...]:
        """Return keys that are hidden, or the most sensitive columns, all declared."""
        names = {one.column for one in hidden}
        if PERSONS in names:
            return (PERSONS,)
        # A group is a tier, or the label alone.
        target = self.facts.encoding.schema.target
        groups: dict[str, list[ProfiledColumn]] = {}
        for column in self.columns:
            if column.name not in left_out:
                group = "label" if column.name == target else column.tier.label
                groups.setdefault(group, []).append(column)
        idle = [
            own
            for own in groups.values()
            if any(c.name in names for c in own) and not any(map(is_open, own))
        ]
        most = max(idle, key=lambda own: own[0].tier, default=[])
        return tuple(column.name for column in most)

    def too_small(self, epsilon: float, hidden: Sequence[HiddenShare]) -> Problem:
        """Return the problem of a budget, with the smallest that is large enough."""
        worst = max(hidden, key=lambda one: one.share)
        seen = "nothing would be seen"
        if worst.share < 1:
            percent = math.ceil(1000 * worst.share) / 10
            seen = f"only what {percent:g} % of the people have would be seen"
        what = (
            f"epsilon {epsilon:g} is too small to say anything: of `{worst.column}` "
            f"{seen}, and what {100 * USEFUL:g} % have must be"
        )
        least = self._least(epsilon)
        tier = next(c.tier for c in self.columns if c.name == worst.column)
        state = f"declare `{worst.column}` from public knowledge"
        if least is not None:
            hint = f"use `--epsilon {least:g}` or more, or {state}"
        elif tier in self.stated.whole.caps:
            hint = f"raise `budget.caps.{tier.label}` or `budget.epsilon`, or {state}"
        else:
            hint = f"raise `budget.epsilon`, or {state}"
        return Problem("profile", what, hint)

    def _least(self, low: float) -> float | None:
        """Return the smallest useful budget, rounded up; None if all is too little."""
        most = high = _MOST_PART * self.config.budget.epsilon
        if low >= high or self.plan(high).hidden:
            return None
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.plan(middle).hidden else (low, middle)
        step = 10.0 ** (math.floor(math.log10(high)) - 1)
        return min(math.ceil(high / step) * step, most)


def is_open(column: ProfiledColumn) -> bool:
    """Return True if the range or the list of a column is sought."""
    if column.kind == "number":
        return column.range is None
    return column.codes is None
