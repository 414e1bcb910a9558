# SPDX-License-Identifier: Apache-2.0
"""A search on private data: a secret number of runs, of which only the best is known.

    K drawn from a public law, in secret
    K times: draw a setting, train, buy a noised score       all within one run's part
    release the setting with the best score, and that score

The whole has the cost that `lexfed.privacy.selection` proves; the part of the budget
that one run gets is solved for, so that record, label and tiers stay within the budget,
the caps and the policy. Nothing of the other runs may leave this module: no file, no
line, no count. The time it takes tells something about K and is outside the guarantee.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.budget.noise_plan import Budget
from lexfed.config.search_grid import SearchSetting
from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem, Refused
from lexfed.models.losses import LOWER_IS_BETTER
from lexfed.privacy.selection import Repetitions, SelectionCost, selection_cost
from lexfed.randomness import RandomSource
from lexfed.run.driver.rehearsal import train_in_memory
from lexfed.run.intake.population import Population
from lexfed.run.pricing.priced_run import OutsideTerms, PricedRun, price
from lexfed.run.results.metrics import paid_metrics

_LEAST_PART = 1e-3
_HALVINGS = 8  # of the last factor of 2: the part is found to 0.3 %


@dataclass(frozen=True)
class ChargedSearch:
    """A priced search; nothing is spent yet.

    Attributes:
        runs: one run under each setting, with its part of the budget.
        repetitions: the law of the number of runs.
        part: of the budget that one run has.
        cost: of the whole search.
    """

    settings: tuple[SearchSetting, ...]
    runs: tuple[PricedRun, ...]
    repetitions: Repetitions
    part: float
    cost: SelectionCost


@dataclass(frozen=True)
class ReleasedSetting:
    """The best run's setting and its noised score: all that is released."""

    setting: SearchSetting
    metric: str
    score: float


def plan_search(
    settings: Sequence[SearchSetting],
    configs: Sequence[Config],
    population: Population,
    repetitions: Repetitions,
    base: Path,
) -> ChargedSearch:
    """Find the part of the budget that one run may have.

    `configs` has the configuration of each setting, with paid metrics; their paths are
    relative to `base`. `repetitions` is the law of the number of runs.

    Guarantees:
        The cost of the search stays within the record's budget and every cap.

    Raises:
        ConfigError: if a configuration cannot be searched this way.
        Refused: if no part of the budget is small enough.
    """
    _require_provable(configs[0], population)
    whole = price(configs[0], population, base).budget

    def priced(part: float) -> ChargedSearch:
        own = OutsideTerms(part=part)
        runs = tuple(price(_fast(one), population, base, own) for one in configs)
        cost = selection_cost(
            [run.programme.charges() for run in runs],
            repetitions,
            delta=whole.delta,
            neighbours=whole.neighbours,
            tiers=sorted({tier for run in runs for tier in run.read_tiers}),
            sites_per_person=whole.sites_per_person,
        )
        return ChargedSearch(tuple(settings), runs, repetitions, part, cost)

    found = _first_that_fits(priced, whole)
    high = min(1.0, 2.0 * found.part)
    for _ in range(_HALVINGS):
        tried = priced(math.sqrt(found.part * high))
        if _fits(tried.cost, whole):
            found = tried
        else:
            high = tried.part
    return found


def _first_that_fits(
    priced: Callable[[float], ChargedSearch], whole: Budget
) -> ChargedSearch:
    """Halve the part of one run until the search can be paid for."""
    part = 1.0
    try:
        while part >= _LEAST_PART:
            found = priced(part)
            if _fits(found.cost, whole):
                return found
            part /= 2.0
    except Refused:
        pass  # so small a part that no noise is enough
    raise Refused(
        "this search cannot be paid for: however small the part of the budget that a "
        "run gets, the whole exceeds it",
        "search with fewer runs, or on public data with `--public`",
        scope="record",
        limit=whole.epsilon,
    )


def _fits(cost: SelectionCost, whole: Budget) -> bool:
    """Return True if a search stays within the budget and every cap.

    The label has neither, but delta must pay for the noise sampler at its epsilon.
    """
    return (
        cost.epsilon <= whole.epsilon
        and cost.label < math.inf
        and all(
            value <= whole.caps.get(tier, math.inf)
            for tier, value in cost.tiers.items()
        )
    )


def _fast(config: Config) -> Config:
    """Return the configuration with an accountant that can be asked often.

    The search is priced from the releases themselves, whoever found their noise.
    """
    if config.federation.sampling_rate == 1.0:
        return config
    privacy = config.privacy.model_copy(update={"accountant": "rdp"})
    return config.model_copy(update={"privacy": privacy})


def _require_provable(config: Config, population: Population) -> None:
    """Refuse configurations that the theorem, or our use of it, does not cover."""
    budget = config.budget
    own = "has budgets of its own, for which a search is not priced"
    reasons = {
        "`privacy.mechanism`": (config.privacy.mechanism == "none", "adds no noise"),
        "`privacy.trust`": (
            config.privacy.trust == "distributed",
            "its runs are trained in one process, which then sees every sum",
        ),
        "`adapt.guarantee`": (
            config.adapt.guarantee == "filter",
            "a filter may bound one order only, the theorem needs two",
        ),
        "`budget.classes`": (bool(budget.classes), own),
        "`budget.profiles`": (bool(budget.profiles), own),
        "`budget.clients`": (budget.clients is not None, own),
        "`budget.importance_from`": (
            bool(population.importance.paid),
            "importances were paid for before, and the two are not priced together",
        ),
        "`data.profile`": (
            config.data.profile is not None,
            "a profile was paid for before, and the two are not priced together",
        ),
    }
    problems = [
        Problem(key, f"a charged search cannot be proven: {reason}", _ON_PUBLIC)
        for key, (holds, reason) in reasons.items()
        if holds
    ]
    if problems:
        raise ConfigError(problems)


_ON_PUBLIC = "search on public data with `--public`"


def run_search(planned: ChargedSearch, source: RandomSource) -> ReleasedSetting | None:
    """Run a search whose cost is on disk; return the best, None if K was 0.

    The `source` draws K, the secret number of runs, and their settings.
    """
    best: ReleasedSetting | None = None
    for _ in range(planned.repetitions.draw(source)):
        index = _below(len(planned.runs), source)
        tried = _one(planned.runs[index], planned.settings[index])
        if best is None or _rank(tried) > _rank(best):
            best = tried
    return best


def _one(run: PricedRun, setting: SearchSetting) -> ReleasedSetting:
    """Train once and read the noised score."""
    progress = train_in_memory(run)
    metrics = paid_metrics(run, progress.memory) or {}
    for metric, score in metrics.items():
        return ReleasedSetting(setting, metric, score)
    return ReleasedSetting(setting, "", math.nan)


def _rank(chosen: ReleasedSetting) -> float:
    """Return the score, larger is better; a histogram of noise alone comes last."""
    if math.isnan(chosen.score):
        return -math.inf
    return -chosen.score if chosen.metric in LOWER_IS_BETTER else chosen.score


def _below(limit: int, source: RandomSource) -> int:
    """Draw a number below the limit, each with exactly the same chance."""
    most = 2**64 - 2**64 % limit
    while True:
        (word,) = source.words(1)
        if int(word) < most:
            return int(word) % limit
