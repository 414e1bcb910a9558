# SPDX-License-Identifier: Apache-2.0
"""Buying importances: a run of its own, with folder, log and claim, but no model.

The run that uses it (`importance_from = "paid:FOLDER"`) reads its claim and takes its
cost off its own budget.
"""

from dataclasses import replace
from pathlib import Path

from scipy.special import ndtri

from lexfed.budget.column_importance import remaining_budget
from lexfed.budget.importance_intervals import ERROR
from lexfed.config import Config, load
from lexfed.config.examination import config_text
from lexfed.data.people.lots import LotKeys
from lexfed.errors import ConfigError, Problem, Refused
from lexfed.federation.planning.purchase_programmes import plan_importance
from lexfed.run.driver.open_run import resume as reopen
from lexfed.run.driver.open_run import start
from lexfed.run.driver.training_loop import train
from lexfed.run.earlier_runs import profile_releases
from lexfed.run.intake.population import load_population, read_coins
from lexfed.run.intake.public_facts import public_facts
from lexfed.run.pricing.policy_terms import choices_of, stated_budget
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.run_result import RunResult

IMPORTANCE = "importance "
"""Beginning of the names of the releases that show importances."""

EXPECTED = 0.15
"""Median part of the largest signal that is expected, as for towers."""


def priced_importance(
    config: Config, base: Path, epsilon: float, coins: LotKeys | None = None
) -> PricedRun:
    """Price the release of importances; nothing is spent.

    They cost a record `epsilon` at most, and the same part of every cap. The
    configuration is that of the run that they are for; coins are those of a purchase
    that is continued.
    """
    _require_use(config, epsilon)
    # Nothing is known about importances yet, so nothing is left out.
    unknown = {"importance_from": None, "groups_from": None, "sparsity": 0.0}
    budget = config.budget.model_copy(update=unknown)
    config = config.model_copy(update={"budget": budget})
    population = load_population(config, base, coins)
    stated = stated_budget(config, population, base)
    paid = profile_releases(config, base, population.tagged)
    left = remaining_budget(stated.whole, paid, config.privacy.accountant)
    part = stated.purchase(epsilon)
    # As far as a profile has left it.
    caps = {tier: min(cap, left.caps[tier]) for tier, cap in part.caps.items()}
    own = replace(part, epsilon=min(epsilon, left.epsilon), caps=caps)
    facts = public_facts(config, population, ())
    programme = plan_importance(facts, own, choices_of(config, stated.terms, {}))
    priced = PricedRun(config, population, programme, own, (), stated.policy, paid)
    _require_signal(priced)
    return priced


def largest_signal(priced: PricedRun) -> float:
    """Return the most that any column may stand out, in what it takes to be seen.

    All people pull a column of one slot the same way: n people clipped to C have a sum
    of n C. It is told from zero more often than not if that is above the quantile of
    the noise at which intervals of all columns end. Every number in it is public.
    """
    columns = len(priced.population.encoding.columns)
    quantile = -float(ndtri(ERROR / columns / 2.0))
    seen = (
        priced.population.units * release.sampling_rate * group.clip / group.sigma
        for release, _ in priced.programme.charges()
        if release.name.startswith(IMPORTANCE)
        for group in release.groups
    )
    return max(seen, default=0.0) / quantile


def _require_signal(priced: PricedRun) -> None:
    """Refuse a purchase whose order noise alone would decide, whatever the data say."""
    largest = largest_signal(priced)
    if largest < 1.0:
        raise Refused(
            f"noise would decide the order of importances at ε = "
            f"{priced.budget.epsilon:g}: even a column that everybody pulls the same "
            "way would be hidden more often than not; nothing was spent",
            f"at this number of people `--epsilon` has to be some {1.0 / largest:.2g} "
            "times that, and several times more to order columns",
            scope="record",
        )


def buy_importance(
    path: Path, epsilon: float, out: Path, *, resume: bool = False
) -> RunResult:
    """Release importances of the columns of a configuration file.

    They cost a record `epsilon` at most; with `resume` an interrupted run is continued.
    Problems of configuration and data are found before anything is written or spent.
    """
    config, text = load(path), config_text(path)
    coins = read_coins(out, config) if resume else None
    priced = priced_importance(config, path.parent, epsilon, coins)
    opened = (reopen if resume else start)(priced, out, text, path.parent)
    return train(priced, opened)


def _require_use(config: Config, epsilon: float) -> None:
    budget = config.budget
    differing = bool(budget.classes or budget.profiles or budget.clients)
    wrong = (
        (config.privacy.mechanism == "none", '`mechanism = "none"` protects nothing'),
        (budget.unit == "client", '`unit = "client"` has no records to ask'),
        (differing, "records or sites with budgets of their own would need a share"),
        (
            not 0.0 < epsilon < budget.epsilon,
            "`--epsilon`: expected a number above 0 and below `budget.epsilon` = "
            f"{budget.epsilon:g}",
        ),
    )
    problems = [Problem("importance", what) for holds, what in wrong if holds]
    if problems:
        raise ConfigError(problems)
