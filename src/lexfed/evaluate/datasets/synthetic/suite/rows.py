# SPDX-License-Identifier: Apache-2.0
"""Rows of a made-up table, and the truth behind them.

Cells come from correlated normals; the log-odds are a function of the cells as they are
written, so that nobody can know more about an outcome than they say. They stand beside
the declared columns (`true_1`; for three classes `true_2` too, against the first class;
for a number its mean), where no model may read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, softmax

from lexfed.arrays import Bools, Floats
from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic.ingredients import (
    FLAG,
    ColumnKeys,
    declare,
    number,
    one_of,
    shared_stream,
    site_stream,
)
from lexfed.evaluate.datasets.synthetic.suite.columns import (
    GROUP,
    ListColumn,
    MadeColumn,
    NumberColumn,
    columns_of,
)
from lexfed.evaluate.datasets.synthetic.suite.effects import NumberCurve, level_effects
from lexfed.evaluate.datasets.synthetic.suite.factors import Factors

TARGET = "outcome"
CLASSES, CLASS_SHARES = ("low", "medium", "high"), (0.5, 0.3, 0.2)
SITES = 4
_NUMBER_RANGE = 20.0
_REFERENCE = 20_000
"""Rows that set scale and offset of the log-odds; no table holds them."""
_STEPS = 60
_INTERACTION = 0.1
"""Part of the variance of the log-odds that a pair has; half for all pairs at most."""


@dataclass(frozen=True)
class Truth:
    """The truth of a table: what each column does, and how much of it.

    Attributes:
        curves: of numbers, by the place of the column.
        levels: effects of the levels of lists, by the place of the column.
        weights: [columns, outputs].
        pairs: columns that interact, with the sign of each output.
        scale, offset: of each output.
    """

    curves: Mapping[int, NumberCurve]
    levels: Mapping[int, Floats]
    weights: Floats
    pairs: tuple[tuple[int, int], ...]
    signs: Floats
    scale: Floats
    offset: Floats


@dataclass(frozen=True)
class Cells:
    """Cells of some rows: values of numbers or places in lists, and which are there."""

    values: tuple[NDArray[Any], ...]
    there: Bools


def outputs_of(factors: Factors) -> int:
    """Return how many log-odds an outcome has."""
    return len(CLASSES) - 1 if factors.outcome == "three classes" else 1


def facts(name: str, factors: Factors, rows: int) -> TableDeclaration:
    """Return the public facts about so many rows, of which a fixed part is for tests.

    Guarantees:
        They follow from the factors, never from the rows.
    """
    missing, by_tier = factors.missing > 0.0, dict[str, dict[str, ColumnKeys]]()
    for column in columns_of(factors):
        by_tier.setdefault(column.tier, {})[column.name] = column.keys(missing)
    targets: Mapping[str, ColumnKeys] = {
        "flag": FLAG,
        "three classes": one_of(*CLASSES),
        "number": number(-_NUMBER_RANGE, _NUMBER_RANGE),
    }
    by_tier["special"][TARGET] = targets[factors.outcome]
    return declare(
        name,
        rows,
        by_tier,
        title="Made up from stated factors, to judge rules for models",
        licence="made by lexfed, nothing in it exists",
        target=TARGET,
        sites={"count": SITES, "partition": "iid"},
        extra=tuple(f"true_{place + 1}" for place in range(outputs_of(factors))),
        test_size=round(1.0 - factors.rows / factors.all_rows, 6),
    )


def frame(factors: Factors, seed: int, rows: int) -> pd.DataFrame:
    """Return rows with their outcome and the truth about it.

    Guarantees:
        The same arguments give the same rows.
    """
    columns, truth = columns_of(factors), truth_of(factors, seed)
    rng = site_stream(seed, 0)
    cells = _cells(rng, columns, factors, rows)
    scores = truth.offset + truth.scale * _combined(cells, columns, truth)
    written = {
        column.name: _written(column, values, there)
        for column, values, there in zip(
            columns, cells.values, cells.there.T, strict=True
        )
    }
    written[TARGET] = _outcomes(rng, factors, scores)
    for place, score in enumerate(scores.T):
        written[f"true_{place + 1}"] = np.round(score, 6)
    return pd.DataFrame(written)


def truth_of(factors: Factors, seed: int) -> Truth:
    """Return effects and weights of a table; no size of it changes them."""
    rng, columns = shared_stream(seed), columns_of(factors)
    curves: dict[int, NumberCurve] = {}
    levels: dict[int, Floats] = {}
    for place, column in enumerate(columns):
        if isinstance(column, ListColumn):
            levels[place] = level_effects(rng, column.shares)
        else:
            curves[place] = NumberCurve.drawn(rng, factors.shape)
    active = _active(columns, factors)
    outputs = outputs_of(factors)
    weights = np.zeros((len(columns), outputs))
    for place in range(outputs):
        # Some columns say much and many say little, wherever they stand.
        falling = 1.0 / np.sqrt(np.arange(1, len(active) + 1))
        signs = rng.choice((-1.0, 1.0), len(active))
        weights[_dealt(rng, active, columns), place] = signs * falling
    every = list(combinations(active, 2))
    drawn = rng.permutation(len(every))[: factors.interactions]
    pairs = tuple(every[place] for place in drawn)
    signs = rng.choice((-1.0, 1.0), (len(pairs), outputs))
    one, none = np.ones(outputs), np.zeros(outputs)
    unscaled = Truth(curves, levels, weights, pairs, signs, one, none)
    cells = _cells(rng, columns, factors, _REFERENCE)
    scores = _combined(cells, columns, unscaled)
    scale = factors.strength / scores.std(axis=0)
    return replace(unscaled, scale=scale, offset=_offset(factors, scale * scores))


def _dealt(
    rng: np.random.Generator, active: Sequence[int], columns: Sequence[MadeColumn]
) -> list[int]:
    """Return the columns from the strongest to the weakest, tiers evenly mixed.

    So the sensitive columns have about their share of the truth, not one by luck.
    """
    found: list[tuple[float, float, int]] = []
    for sensitive in (True, False):
        own = [at for at in active if (columns[at].tier == "special") is sensitive]
        shuffled = rng.permutation(np.array(own, dtype=np.int64))
        found += [
            ((rank + 0.5) / len(own), rng.random(), int(at))
            for rank, at in enumerate(shuffled)
        ]
    return [at for _, _, at in sorted(found)]


def _active(columns: Sequence[MadeColumn], factors: Factors) -> list[int]:
    """Return the columns with an effect; one of each group of collinear numbers."""
    wanted = {"sensitive": (True,), "others": (False,), "both": (True, False)}
    found, in_tier = [], dict[str, int]()
    for place, column in enumerate(columns):
        is_proxy = False
        if isinstance(column, NumberColumn) and factors.collinearity:
            seen = in_tier.get(column.tier, 0)
            in_tier[column.tier], is_proxy = seen + 1, seen % GROUP > 0
        chosen = (column.tier == "special") in wanted[factors.signal]
        if chosen and not is_proxy:
            found.append(place)
    return found


def _cells(
    rng: np.random.Generator, columns: Sequence[MadeColumn], factors: Factors, rows: int
) -> Cells:
    latent = _latents(rng, columns, factors, rows)
    heavy = np.sqrt(rng.chisquare(2, latent.shape) / 2.0)
    rates = rng.uniform(0.0, 2.0 * factors.missing, len(columns))
    there = rng.random(latent.shape) >= rates
    values: list[NDArray[Any]] = []
    for place, column in enumerate(columns):
        if isinstance(column, ListColumn):
            ends = np.cumsum(column.shares)[:-1]
            values.append(np.searchsorted(ends, ndtr(latent[:, place])))
        elif factors.tail == "heavy":
            values.append(column.values(latent[:, place] / heavy[:, place]))
        else:
            values.append(column.values(latent[:, place]))
    return Cells(tuple(values), there)


def _latents(
    rng: np.random.Generator, columns: Sequence[MadeColumn], factors: Factors, rows: int
) -> Floats:
    """Return normals: in groups by collinearity, across tiers by proxies."""
    latent = rng.normal(size=(rows, len(columns)))
    share = factors.collinearity
    special = [
        place for place, column in enumerate(columns) if column.tier == "special"
    ]
    for tier in dict.fromkeys(column.tier for column in columns):
        numbers = [
            place
            for place, column in enumerate(columns)
            if column.tier == tier and isinstance(column, NumberColumn)
        ]
        for first in range(0, len(numbers) if share else 0, GROUP):
            group = numbers[first : first + GROUP]
            common = rng.normal(size=(rows, 1))
            own_part = np.sqrt(1.0 - share) * latent[:, group]
            latent[:, group] = np.sqrt(share) * common + own_part
        if tier != "special" and factors.proxy:
            own = np.sqrt(1.0 - factors.proxy**2)
            for number_, place in enumerate(numbers):
                shown = latent[:, special[number_ % len(special)]]
                latent[:, place] = factors.proxy * shown + own * latent[:, place]
    return latent


def _combined(cells: Cells, columns: Sequence[MadeColumn], truth: Truth) -> Floats:
    """Return the sum of effects, and of products of effects, [rows, outputs]."""
    shown = np.zeros(cells.there.shape)
    for place, (column, values) in enumerate(zip(columns, cells.values, strict=True)):
        if isinstance(column, NumberColumn):
            found = truth.curves[place].of(column.deviations(values))
        else:
            found = truth.levels[place][values]
        shown[:, place] = np.where(cells.there[:, place], found, 0.0)
    main = shown @ (truth.weights / np.linalg.norm(truth.weights, axis=0))
    if not truth.pairs:
        return np.asarray(main)
    products = np.column_stack([shown[:, a] * shown[:, b] for a, b in truth.pairs])
    part = min(0.5, _INTERACTION * len(truth.pairs))
    together = products @ truth.signs / np.sqrt(len(truth.pairs))
    return np.asarray(np.sqrt(1 - part) * main + np.sqrt(part) * together)


def _offset(factors: Factors, scores: Floats) -> Floats:
    """Return what makes classes as frequent as stated; nothing for a number."""
    offset = np.zeros(scores.shape[1])
    if factors.outcome == "number":
        return offset
    shares = (1.0 - factors.positives, factors.positives)
    wanted = np.array(shares if factors.outcome == "flag" else CLASS_SHARES)
    for _ in range(_STEPS):
        found = probabilities(offset + scores).mean(axis=0)
        step = np.log(wanted / found)
        offset = offset + step[1:] - step[0]
    return offset


def probabilities(scores: Floats) -> Floats:
    """Return the probability of every class, of log-odds against the first."""
    zeros = np.zeros((len(scores), 1))
    return np.asarray(softmax(np.hstack([zeros, scores]), axis=1))


def _outcomes(
    rng: np.random.Generator, factors: Factors, scores: Floats
) -> NDArray[Any]:
    if factors.outcome == "number":
        noisy = scores[:, 0] + rng.normal(size=len(scores))
        return np.asarray(np.clip(noisy, -_NUMBER_RANGE, _NUMBER_RANGE).round(4))
    ends = np.cumsum(probabilities(scores), axis=1)[:, :-1]
    drawn = (rng.random((len(scores), 1)) > ends).sum(axis=1)
    if factors.outcome == "flag":
        return np.asarray(drawn)
    return np.asarray(np.array(CLASSES, dtype=object)[drawn])


def _written(column: MadeColumn, values: NDArray[Any], there: Bools) -> NDArray[Any]:
    if isinstance(column, ListColumn):
        words = np.array(column.words, dtype=object)[values]
        return np.asarray(np.where(there, words, None))
    return np.asarray(np.where(there, values, np.nan))
