# SPDX-License-Identifier: Apache-2.0
"""Searches for good settings: on public data for free, on private data for a price.

`search_public` reads no private row. Every setting is trained on the public file under
the run's own budget, with its noise, so that the setting that bears the noise best
wins. The public file may have another size than the private data; its noise per person
then differs as well.

A charged search runs on the private data:

    K drawn from a public law, in secret
    K times: draw a setting, train, buy a noised score       all within one run's part
    release the setting with the best score, and that score

The whole has the cost that `lexfed.privacy.selection` proves; the part of the budget
that one run gets is solved for. Nothing of the other runs, nor their number, may leave
`run_search`: no file, no line, no count. The time it takes tells something about K and
is outside the guarantee.

The whole cost is on disk before the first run, in the sites' lasting ledgers and in
`tune.json`, with the releases of one run under each setting, so anyone can compute it
again. If the search dies, the cost stands and nothing was released:

    {"kind": "charged", "state": "charged", "cost": {...}, "chosen": null, ...}
    {"kind": "charged", "state": "done",    "cost": {...}, "chosen": {...}, ...}
"""

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from lexfed.budget.noise_plan import Budget
from lexfed.config import Config, from_mapping
from lexfed.config.search_grid import (
    SearchGrid,
    SearchSetting,
    searched_configs,
    set_key,
)
from lexfed.data.builtin.registry import is_builtin
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, Refused, RunFolderError, system_reason
from lexfed.ledger.purse import ChargeTerms
from lexfed.models.losses import LOWER_IS_BETTER
from lexfed.privacy.selection import (
    Repetitions,
    SelectionCost,
    dominating_releases,
    selection_cost,
)
from lexfed.randomness import RandomSource
from lexfed.run.driver.rehearsal import rehearse, train_in_memory
from lexfed.run.driver.site_accounts import FOLDER, data_holders
from lexfed.run.intake.population import Population, seeded_population
from lexfed.run.intake.same_table import is_training_table
from lexfed.run.pricing.priced_run import OutsideTerms, PricedRun, price
from lexfed.run.results.metrics import evaluate, paid_metrics

REPEATS = 3
"""Trainings of each setting; their scores are averaged."""

TUNE = "tune.json"
VERSION = 1
FREE = "free: public data"
NOT_COVERED = (
    "how long the search took, which tells something about the number of its runs",
    "runs that follow it: each has a budget of its own",
)

_LEAST_PART = 1e-3
_HALVINGS = 8  # of the last factor of 2: the part is found to 0.3 %

_ON_PUBLIC = "search on public data with `--public`"


@dataclass(frozen=True)
class ScoredSetting:
    """A setting, its deciding metric, and the score.

    Of a public search the score is the mean on public rows; of a charged one it is
    noised, and NaN if the histogram was noise alone.
    """

    setting: SearchSetting
    metric: str
    score: float

    @property
    def rank(self) -> float:
        """The score, larger is better; no score comes last."""
        if math.isnan(self.score):
            return -math.inf
        return -self.score if self.metric in LOWER_IS_BETTER else self.score

    def to_json(self) -> dict[str, Any]:
        """Return the setting as the record of a search has it."""
        return {
            "setting": self.setting.to_json(),
            "metric": self.metric,
            "score": None if math.isnan(self.score) else round(self.score, 6),
        }


def search_public(
    tables: Mapping[str, Any],
    grid: SearchGrid,
    file: str,
    base: Path,
    on_setting: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[ScoredSetting, ...]:
    """Try every setting on a public file and return the trials, the best first.

    `tables` are those of the configuration file, parsed; `file` has the same schema.
    `on_setting` is given the settings that were tried, and how many there are.
    """
    public = _on_public(tables, file)
    settings = grid.settings()
    configs = searched_configs(public, settings)
    _require_other_table(tables, file, base)
    population = seeded_population(_countable(public), base)
    tried = []
    for setting, config in zip(settings, configs, strict=True):
        priced = price(config, population, base)
        scores = [evaluate(priced, rehearse(priced)) for _ in range(REPEATS)]
        metric = next(iter(scores[0]))
        mean = fmean(score[metric] for score in scores)
        tried.append(ScoredSetting(setting, metric, mean))
        on_setting(len(tried), len(settings))
    return tuple(sorted(tried, key=lambda trial: trial.rank, reverse=True))


def _require_other_table(tables: Mapping[str, Any], file: str, base: Path) -> None:
    """Refuse the table of the run itself, whose rows are not public."""
    if not is_builtin(file) and is_training_table(
        from_mapping(tables), base / file, base
    ):
        raise ConfigError(
            [
                Problem(
                    "--public",
                    f"`{file}` is the table of the run itself: a search on it reads "
                    "its people's rows, unpaid",
                    "name a table that everybody may know, or pay for the search with "
                    "`--charged`",
                )
            ]
        )


def _on_public(tables: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the configuration with the public file as its data."""
    changed = copy.deepcopy(dict(tables))
    sites = changed.get("data", {}).get("sites", {})
    if "files" in sites:
        set_key(changed, ("data", "sites"), {"count": len(sites["files"])})
    set_key(changed, ("data", "source"), file)
    set_key(changed, ("evaluation", "metrics"), "public")
    return changed


def _countable(tables: Mapping[str, Any]) -> Config:
    """Return the configuration under which public persons may be counted.

    The number that private sums are divided by must be declared; that of a public file
    may be counted.
    """
    changed = copy.deepcopy(dict(tables))
    changed.get("data", {}).pop("units", None)
    set_key(changed, ("budget", "neighbours"), "replace-one")
    return from_mapping(changed)


@dataclass(frozen=True)
class ChargedSearch:
    """A priced search; nothing is spent yet.

    There is one run under each setting, with its `part` of the budget; `repetitions` is
    the law of their number, `cost` that of the whole search.
    """

    settings: tuple[SearchSetting, ...]
    runs: tuple[PricedRun, ...]
    repetitions: Repetitions
    part: float
    cost: SelectionCost


def plan_search(
    settings: Sequence[SearchSetting],
    configs: Sequence[Config],
    population: Population,
    repetitions: Repetitions,
    base: Path,
) -> ChargedSearch:
    """Find the part of the budget that one run may have.

    `configs` has the configuration of each setting, with paid metrics; their paths are
    relative to `base`. If no part of the budget is small enough the search is
    `Refused`.

    Guarantees:
        The cost of the search stays within the record's budget and every cap.
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

    The search is priced from the releases, whoever found their noise.
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


def charge_search(search: ChargedSearch, name: str, base: Path) -> int:
    """Charge the ledgers of all data holders; return their number.

    A ledger adds squares of Gaussian privacy, so a search is entered as the releases of
    a Gaussian that dominates it, all at once and before the first run: how many runs
    there are must not show, not even here. `name` is unique to this search.

    Guarantees:
        Nobody pays before every ledger has set room aside for the search; on return
        all have paid. Unused room is free again, however it ends.

    Raises:
        Refused: if a ledger has no room for the search; then nothing is spent.
        LedgerError: if a ledger cannot be used; those before it may have paid.
    """
    first = search.runs[0]
    budget = first.config.budget
    releases = dominating_releases(
        [run.programme.charges() for run in search.runs],
        search.repetitions,
        first.budget.sites_per_person,
    )
    folder = base / (budget.ledgers or FOLDER)
    # The releases are already those of a person at several sites.
    terms = ChargeTerms(name, budget.unit, budget.neighbours)
    with ExitStack() as opened:
        purses = []
        for holder in data_holders(first):
            purse = holder.ledger(folder).purse(terms)
            opened.callback(purse.close)
            purses.append(purse)
        try:
            for purse in purses:
                purse.reserve((release, 1) for release in releases)
            for purse in purses:
                for number, release in enumerate(releases, start=1):
                    purse.pay(number, release)
        finally:
            for purse in purses:
                purse.give_back()
    return len(purses)


def run_search(planned: ChargedSearch, source: RandomSource) -> ScoredSetting | None:
    """Run a search whose cost is on disk; return the best, None if K was 0."""
    best: ScoredSetting | None = None
    for _ in range(planned.repetitions.draw(source)):
        index = _below(len(planned.runs), source)
        tried = _one(planned.runs[index], planned.settings[index])
        if best is None or tried.rank > best.rank:
            best = tried
    return best


def _one(run: PricedRun, setting: SearchSetting) -> ScoredSetting:
    progress = train_in_memory(run)
    metrics = paid_metrics(run, progress.memory) or {}
    metric, score = next(iter(metrics.items()), ("", math.nan))
    return ScoredSetting(setting, metric, score)


def _below(limit: int, source: RandomSource) -> int:
    """Draw a number below the limit, each with exactly the same chance."""
    most = 2**64 - 2**64 % limit
    while True:
        (word,) = source.words(1)
        if int(word) < most:
            return int(word) % limit


def make_folder(folder: Path) -> None:
    """Make the folder of a search; one that exists is never written to."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise RunFolderError(
            f"`{folder}` exists: a search began there, and what it cost is spent",
            "another search costs again; give it a folder of its own with `--out`",
        ) from error
    except OSError as error:
        raise RunFolderError(
            f"cannot create `{folder}`: {system_reason(error)}",
            "choose another folder with `--out`",
        ) from error


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Put the record of a search on disk."""
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    write_atomically(folder / TUNE, text.encode())


def public_record(grid: SearchGrid, tried: Sequence[ScoredSetting]) -> dict[str, Any]:
    """Return the record of a search on public data."""
    return {
        "version": VERSION,
        "kind": "public",
        "state": "done",
        "cost": FREE,
        "grid": grid.to_json(),
        "trainings_per_setting": REPEATS,
        "tried": [each.to_json() for each in tried],
        "chosen": tried[0].to_json(),
    }


def charged_record(
    grid: SearchGrid, search: ChargedSearch, ledger: str | None
) -> dict[str, Any]:
    """Return the record of a search before it runs; `ledger` is its name in ledgers."""
    cost = search.cost
    law = search.repetitions
    return {
        "version": VERSION,
        "kind": "charged",
        "state": "charged",
        "cost": {
            "record": {
                "epsilon": cost.epsilon,
                "delta": cost.delta,
                "neighbours": cost.neighbours,
            },
            "label": {"epsilon": cost.label, "delta": cost.delta},
            "tiers": {
                tier.label: {"epsilon": value, "delta": cost.delta}
                for tier, value in cost.tiers.items()
            },
            "accountant": "rdp",
            "theorem": "repeat and select, arXiv:2110.03620",
        },
        "ledger": ledger,
        "repetitions": {"distribution": law.distribution, "mean": law.mean},
        "grid": grid.to_json(),
        "part_of_one_run": search.part,
        "sites_per_person": search.runs[0].budget.sites_per_person,
        "runs": [
            {
                "setting": setting.to_json(),
                "releases": [
                    {"release": release.to_json(), "count": count}
                    for release, count in run.programme.charges()
                ],
            }
            for setting, run in zip(search.settings, search.runs, strict=True)
        ],
        "not_covered": list(NOT_COVERED),
        "chosen": None,
    }


def finished_record(
    record: dict[str, Any], chosen: ScoredSetting | None
) -> dict[str, Any]:
    """Return the record with the setting found; None if the secret number was 0."""
    found = None if chosen is None else {**chosen.to_json(), "noised": True}
    return {**record, "state": "done", "chosen": found}
