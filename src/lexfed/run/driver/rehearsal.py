# SPDX-License-Identifier: Apache-2.0
"""Training in memory, for comparisons on data that need no protection.

`rehearse` charges nobody, so it is for synthetic or public data only. A charged search
(`tuning.run_search`) trains here too, after its whole cost is on disk.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from lexfed.config import Config
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.models.towers import Model
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import SecureSource
from lexfed.run.intake.population import seeded_population
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.run.results.metrics import evaluate

# Two-sided 95 % quantiles of Student's t for 1 to 9 degrees of freedom.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def rehearse(priced: PricedRun) -> Model:
    """Train the programme once and return the model."""
    return train_in_memory(priced).model


def train_in_memory(
    priced: PricedRun,
    on_round: Callable[[Progress, Ledger | None], None] = lambda _progress, _: None,
) -> Progress:
    """Train the programme once and return the released state; nothing is written.

    `on_round` gets every round's state, in which released values alone are, and the
    ledger that it is charged to; None without privacy.

    Guarantees:
        No round runs that the ledger of the run itself would refuse.
    """
    learner = Learner(priced.programme)
    source, ledger = SecureSource(), priced.ledger()
    coordinator = Coordinator(
        priced.programme, learner, ledger, lambda _: source, learner.start()
    )
    engine = Simulation(priced.programme, priced.population.sites, lambda _: source)
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        on_round(coordinator.receive(asked.query, answers).progress, ledger)
    return coordinator.progress


def compare(
    config: Config,
    mechanisms: Sequence[str],
    seeds: int,
    on_training: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[str, tuple[float, float]]:
    """Return mean and half-width of a 95 % interval of the deciding metric.

    Every mechanism is trained on the same splits with fresh noise, under the budget
    and the caps of the configuration. `on_training` is given the trainings that are
    done, and how many there are.
    """
    scores: dict[str, list[float]] = {mechanism: [] for mechanism in mechanisms}
    for seed in range(seeds):
        run = config.run.model_copy(update={"seed": seed})
        seeded = config.model_copy(update={"run": run})
        population = seeded_population(seeded, Path())
        for mechanism in mechanisms:
            privacy = config.privacy.model_copy(update={"mechanism": mechanism})
            changed = config.model_copy(update={"run": run, "privacy": privacy})
            priced = price(changed, population)
            found = evaluate(priced, rehearse(priced))
            scores[mechanism].append(next(iter(found.values())))
            done = sum(map(len, scores.values()))
            on_training(done, seeds * len(mechanisms))
    return {name: _interval(values) for name, values in scores.items()}


def _interval(values: Sequence[float]) -> tuple[float, float]:
    spread = stdev(values) / sqrt(len(values))
    quantile = _T95[len(values) - 2] if len(values) - 2 < len(_T95) else 1.96
    return fmean(values), quantile * spread
