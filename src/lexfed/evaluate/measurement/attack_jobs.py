# SPDX-License-Identifier: Apache-2.0
"""Attacks and audits as jobs: what was proven beside what attackers find.

A table is judged by its worst line, and a line of attribute inference by the column and
the attack that found most. So all ends hold together with 95 %: each has its part of
the error (`joint_confidence`), as if a table had `LINES` lines that are judged.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding
from lexfed.errors import DataError, Problem
from lexfed.evaluate.attacks.attribute_inference import ATTACKS as ATTRIBUTE_ATTACKS
from lexfed.evaluate.attacks.attribute_inference import (
    InferencePeople,
    LabelledRows,
    attack_attribute,
)
from lexfed.evaluate.attacks.auc_intervals import (
    AttackResult,
    Interval,
    joint_confidence,
)
from lexfed.evaluate.attacks.gradient_inversion import attack_updates, rounds_of
from lexfed.evaluate.attacks.informed_observer import observer_result, play_games
from lexfed.evaluate.attacks.membership import SHADOWS, attack_membership
from lexfed.evaluate.attacks.product_runs import (
    Observer,
    ProductTrainer,
    observe_run,
    trade_off_of,
)
from lexfed.evaluate.attacks.target_value import TargetValue, find_target_value
from lexfed.evaluate.comparison.case import (
    Case,
    configuration,
    own_methods,
    sensitive_tier,
)
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.empirical import audit
from lexfed.evaluate.methods import MECHANISMS
from lexfed.models.losses import Loss
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.tiers import Tier

CANARIES = 5000
LINES = 20
"""Lines of one table whose intervals hold together."""

SPLITS = 10
"""Runs of the product, of people of their own, that one reconstruction attacks."""

GAMES: Mapping[Observer, int] = {"round": 40, "central": 4}
"""Of each such run; who sees everything needs few."""


def keys_of(dataset: Dataset, method: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the keys of a method: of the table's own policy, or of a mechanism."""
    own = own_methods(dataset)
    return own[method] if method in own else MECHANISMS[method]


def membership(dataset: Dataset, case: Case, method: str) -> dict[str, float]:
    """Attack membership in three ways; intervals are over models.

    `auc`, `low` and `high` are those of LiRA; the lower ends of all three attacks hold
    together with 95 %, and the highest of them is `strongest_low`.
    """
    config = configuration(dataset, case, keys_of(dataset, method))
    trainer = ProductTrainer(config, rows_of(dataset, case).population)
    threshold, lira, calibrated = attack_membership(
        trainer,
        trade_off_of(trainer.priced),
        shadows=SHADOWS,
        seed=case.seed,
        confidence=joint_confidence(3),
    )
    return {
        **_ends(lira),
        "bound": lira.bound,
        **_ends(threshold, "threshold_"),
        **_ends(calibrated, "calibrated_"),
        "strongest_low": max(one.low for one in (threshold, lira, calibrated)),
        "attempts": float(lira.n),
        "seconds": lira.seconds,
    }


def audit_claims(
    dataset: Dataset, case: Case, method: str, canaries: int = CANARIES
) -> dict[str, float]:
    """Audit every claim of a run with canaries, and count the refuted ones."""
    config = configuration(dataset, case, keys_of(dataset, method))
    population = rows_of(dataset, case).population
    audits = audit(price(config, population, dataset.folder), canaries)
    values: dict[str, float] = {}
    for one in audits:
        values |= {f"{one.claim}_claimed": one.epsilon, f"{one.claim}_found": one.lower}
    refuted = sum(one.refuted for one in audits)
    return {**values, "refuted": float(refuted), "canaries": float(canaries)}


def attribute(dataset: Dataset, case: Case, method: str) -> dict[str, float]:
    """Infer values of the most sensitive tier from a trained model.

    Every column of the tier is tried by every attack. Half of the people are members, a
    quarter teach the attacker and a quarter are outsiders. The attack is shown on the
    column where the lower end of its gain over imputation is largest; `excess` is the
    furthest that a lower end of any column and attack is above what the proof allows.

    Guarantees:
        Where no attack gains anything, all lower ends of gains of `LINES` lines are at
        most 0 together with 95 %, though the highest of each line is shown.
    """
    population = rows_of(dataset, case).population
    config = configuration(dataset, case, keys_of(dataset, method))
    trainer = ProductTrainer(config, population)
    generator = np.random.default_rng([case.seed, 0xA77B])
    group = generator.integers(0, 4, trainer.people)
    parts = group < 2, group == 2, group == 3
    blocks = [site.train for site in population.sites]
    everybody = LabelledRows(
        np.concatenate([block.inputs[:, 0] for block in blocks]),
        np.concatenate([block.targets[:, 0] for block in blocks]),
    )
    people = InferencePeople(*(everybody.of(part) for part in parts))
    model, shadow = trainer.trained(parts[0]), trainer.trained(parts[1])
    tier = sensitive_tier(dataset, case)
    columns = _columns(population.encoding, tier, people.auxiliary.inputs)
    confidence = joint_confidence(LINES * len(columns) * len(ATTRIBUTE_ATTACKS))
    proven = trade_off_of(trainer.priced, tier)
    found = [
        attack_attribute(
            model,
            Loss(trainer.priced.programme.loss),
            about,
            people,
            trade_off=proven,
            shadow=shadow,
            confidence=confidence,
        )
        for about in columns
    ]
    tried = [(one, name) for one in found for name in one.gains]
    # Who learned to leave the model aside is imputation itself, and gains nothing.
    other = [(one, name) for one, name in tried if _differs(one.gains[name])] or tried
    best, name = max(other, key=lambda pair: pair[0].gains[pair[1]].low)
    imputed, attacked = (
        next(each for each in best.attacks if each.name.endswith(f"by {which}"))
        for which in ("imputation", name)
    )
    gain, leak = best.gains[name], best.leaks[name]
    return {
        **_ends(attacked),
        "bound": attacked.bound,
        "imputation_auc": imputed.auc,
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "leak": leak.value,
        "leak_low": leak.low,
        "excess": max(one.excess for one in found),
        "columns": float(len(found)),
        "seconds": sum(each.seconds for one in found for each in one.attacks),
    }


def reconstruction(
    dataset: Dataset, case: Case, method: str, observer: Observer
) -> dict[str, float]:
    """Reconstruct values of the most sensitive tier from the rounds of runs.

    Each of `SPLITS` runs has people of its own, and is attacked about the next column.
    `excess` is by how much the lower end is above the bound; `surest` the AUC that the
    best observer has against the person who is told apart most, and by how much that is
    above; `noise` the least that a run drew, in deviations of its plan.
    """
    played = []
    for split in range(SPLITS):
        cell = replace(case, seed=case.seed * SPLITS + split)
        keys = keys_of(dataset, method)
        priced, columns = _priced_columns(dataset, cell, keys)
        about, runs = columns[split % len(columns)], GAMES[observer]
        played.append(play_games(priced, about, observer, runs=runs, seed=cell.seed))
    found = observer_result(played, observer, joint_confidence(LINES))
    return _beside_bound(
        found,
        surest=max(games.surest for games in played),
        surest_excess=max(games.surest - games.bound for games in played),
        noise=min(games.noise for games in played),
    )


def invert_gradients(
    dataset: Dataset, case: Case, method: str, observer: Observer
) -> dict[str, float]:
    """Invert gradients of sites of two people, and read a value off the rows.

    Only rounds that sum gradients can be inverted, so the run has a step length of its
    own instead of the default rule.
    """
    rows, keys = rows_of(dataset, case), keys_of(dataset, method)
    steps = {**keys.get("federation", {}), "learning_rate": 1.0}
    priced, columns = _priced_columns(dataset, case, {**keys, "federation": steps})
    found = attack_updates(
        rounds_of(priced, observe_run(priced), observer),
        rows.population.encoding,
        columns[0],
        LabelledRows(rows.train.slots, rows.train.targets),
        seed=case.seed,
        confidence=joint_confidence(LINES),
    )
    return _beside_bound(found)


def _beside_bound(found: AttackResult, **more: float) -> dict[str, float]:
    return {
        **_ends(found),
        "bound": found.bound,
        "excess": found.low - found.bound,
        **more,
        "attempts": float(found.n),
        "seconds": found.seconds,
    }


def _ends(result: AttackResult, prefix: str = "") -> dict[str, float]:
    ends = {"auc": result.auc, "low": result.low, "high": result.high}
    return {f"{prefix}{name}": value for name, value in ends.items()}


def _differs(gain: Interval) -> bool:
    return gain.high - gain.low > 1e-9


def _priced_columns(
    dataset: Dataset, case: Case, keys: Mapping[str, Mapping[str, Any]]
) -> tuple[PricedRun, tuple[TargetValue, ...]]:
    """Return a priced run, and the columns to attack as test rows tell them apart."""
    rows = rows_of(dataset, case)
    config, tier = configuration(dataset, case, keys), sensitive_tier(dataset, case)
    columns = _columns(rows.population.encoding, tier, rows.test.slots)
    return price(config, rows.population, dataset.folder), columns


def _columns(
    encoding: Encoding, tier: Tier, auxiliary: Floats
) -> tuple[TargetValue, ...]:
    """Return the columns of a tier in which people differ."""
    found: list[TargetValue] = []
    for column in encoding.columns_of(tier):
        with suppress(DataError):  # all have the same value: nothing to infer
            found.append(find_target_value(encoding, column, auxiliary))
    if not found:
        what = "people do not differ in any column of the tier"
        raise DataError([Problem(f"tier `{tier.label}`", what, "take more rows")])
    return tuple(found)


ATTACKS: Mapping[str, Callable[[Dataset, Case, str], dict[str, float]]] = {
    "membership": membership,
    "attribute": attribute,
    "rounds": partial(reconstruction, observer="round"),
    "rounds, central": partial(reconstruction, observer="central"),
    "inversion": partial(invert_gradients, observer="round"),
    "inversion, central": partial(invert_gradients, observer="central"),
}
"""The attack for each goal."""
