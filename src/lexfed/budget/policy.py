# SPDX-License-Identifier: Apache-2.0
"""Budget policies: what an organisation allows, apart from what one run asks for.

A policy is a list of levels. A column is at the strictest level of its tier unless a
person puts it at another one of the same tier. A tower reads all columns of its tier at
once, so a tier follows the strictest level that occurs in it: a cap on some of its
columns is a cap on the tower that reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lexfed.budget.noise_feedback import LEAST_WEIGHT
from lexfed.errors import ConfigError, Problem
from lexfed.tiers import MODEL_TIERS, Tier


@dataclass(frozen=True)
class Level:
    """The terms of a policy for columns of one level of a tier.

    Attributes:
        weight: noise relative to other levels; the more, the less budget.
        epsilon: most attribute epsilon; None: only the record's budget binds.
        range: range of a run's own cap; None with an epsilon: the cap is fixed.
        delta: largest delta of a claim about such a column; None: any.
    """

    name: str
    tier: Tier
    weight: float
    epsilon: float | None = None
    range: tuple[float, float] | None = None
    delta: float | None = None

    @property
    def strictness(self) -> tuple[float, float]:
        """The smaller, the stricter."""
        return float("inf") if self.epsilon is None else self.epsilon, -self.weight


@dataclass(frozen=True)
class BudgetPolicy:
    """A named list of levels; every tier that a model may read has one or more."""

    name: str
    title: str
    levels: tuple[Level, ...]

    def of_tier(self, tier: Tier) -> tuple[Level, ...]:
        """Return the levels of a tier, the strictest first."""
        levels = [level for level in self.levels if level.tier is tier]
        return tuple(sorted(levels, key=lambda level: level.strictness))


@dataclass(frozen=True)
class PolicyTerms:
    """The terms of a policy for one run: caps, and the noise of tiers to each other."""

    caps: Mapping[Tier, float]
    weights: Mapping[Tier, float]

    @property
    def linear_weights(self) -> tuple[float, ...]:
        """Weights for the linear form of adaptive noise, least sensitive tier first.

        It takes weights from 0.25 to 1: the largest of the run becomes 1.
        """
        most = max(self.weights.values())
        return tuple(
            max(LEAST_WEIGHT, self.weights[tier] / most) for tier in MODEL_TIERS
        )


@dataclass(frozen=True)
class RunColumns:
    """The inputs of a run's model by tier, and the levels that people gave to columns.

    The target is the tier of the label: the largest delta counts for it too, its
    epsilon is that of the record.
    """

    inputs: Mapping[Tier, Sequence[str]]
    target: Tier
    assigned: Mapping[str, str]


def policy_terms(
    policy: BudgetPolicy, caps: Mapping[Tier, float], delta: float, run: RunColumns
) -> PolicyTerms:
    """Apply a policy to a run that asks for caps and has claims with a delta.

    All contradictions are refused together, naming policy and level.

    Guarantees:
        A cap is the policy's, or the run's own inside the range of its level.
        Delta is not above that of any level in use.
    """
    columns, assigned = run.inputs, run.assigned
    problems = list(_misplaced(policy, run))
    if problems:
        raise ConfigError(problems)
    by_name = {level.name: level for level in policy.levels}
    strictest, used = {}, []
    for tier in MODEL_TIERS:
        usual = policy.of_tier(tier)[0]
        given = (assigned.get(name) for name in columns.get(tier, ()))
        present = [by_name[name] if name else usual for name in given]
        if tier is run.target:
            used.append(usual)
        used += present
        strictest[tier] = min(present or [usual], key=lambda level: level.strictness)
    terms = dict(caps)
    for tier, level in strictest.items():
        if not columns.get(tier):
            continue
        problems += _outside(policy, level, caps.get(tier))
        if level.epsilon is not None:
            terms.setdefault(tier, level.epsilon)
    problems += _too_large(policy, delta, used)
    if problems:
        raise ConfigError(problems)
    return PolicyTerms(
        {tier: terms[tier] for tier in sorted(terms)},
        {tier: level.weight for tier, level in strictest.items()},
    )


def _misplaced(policy: BudgetPolicy, run: RunColumns) -> Iterator[Problem]:
    tiers = {name: tier for tier, names in run.inputs.items() for name in names}
    for name, level in run.assigned.items():
        tier = tiers.get(name)
        if tier is None:
            problem = f"no model input is called `{name}`"
            yield Problem("`budget.levels`", problem, "remove it")
            continue
        known = [other.name for other in policy.of_tier(tier)]
        if level not in known:
            yield Problem(
                "`budget.levels`",
                f"policy `{policy.name}` has no level `{level}` for `{name}`, whose "
                f"tier is `{tier.label}`",
                f"levels of that tier: {', '.join(f'`{other}`' for other in known)}",
            )


def _outside(
    policy: BudgetPolicy, level: Level, cap: float | None
) -> Iterator[Problem]:
    if level.epsilon is None or cap is None:
        return
    low, high = level.range or (level.epsilon, level.epsilon)
    if not low <= cap <= high:
        allowed = f"from {low:g} to {high:g}" if level.range else f"of {low:g} only"
        yield Problem(
            f"`budget.caps.{level.tier.label}`",
            f"policy `{policy.name}`, level `{level.name}`: a cap {allowed} is "
            f"allowed, got: {cap:g}",
            f"remove the cap to get the policy's {level.epsilon:g}, or ask whoever is "
            "responsible for the policy",
        )


def _too_large(
    policy: BudgetPolicy, delta: float, used: Sequence[Level]
) -> Iterator[Problem]:
    bounds = [(level.delta, level) for level in used if level.delta is not None]
    smallest, level = min(bounds, key=lambda pair: pair[0], default=(delta, None))
    if level is not None and delta > smallest:
        yield Problem(
            "`budget.delta`",
            f"policy `{policy.name}`, level `{level.name}`: a delta of at most "
            f"{smallest:g} is allowed, got: {delta:g}",
            f"use `delta = {smallest:g}`: all claims of a run have one delta, so the "
            "smallest of its levels counts",
        )
