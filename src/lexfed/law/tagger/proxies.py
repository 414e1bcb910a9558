# SPDX-License-Identifier: Apache-2.0
"""Strength of the association of two columns, and the proxies that it reveals.

    discrete, discrete   Cramér's V with Bergsma's bias correction [Ber13]
    number, discrete     the correlation ratio, adjusted for the number of groups
    number, number       Pearson's correlation, its absolute value

Beside each strength stands the one that chance reaches in 1 of 100,000 pairs of
independent columns: a chi-square variable of d degrees of freedom exceeds its mean by
2√(dx) + 2x with a chance of at most exp(-x) [LM00, lemma 1].

A column that is not sensitive itself is reported as a proxy of the sensitive columns of
its table with which it is associated, above `LEAST` and above chance. Proxies never
change a tier: if they did, every column of a medical table would become health data by
its correlation with age.

[Ber13] Bergsma, A bias-correction for Cramér's V and Tschuprow's T, 2013.
[LM00]  Laurent, Massart, Adaptive estimation of a quadratic functional, 2000.

Guarantees:
    A strength is between 0 and 1, and the same whichever of the two columns is asked.
    Identifiers are never reported as proxies: a key determines everything.
    No column changes its tier or its category.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from lexfed.arrays import Floats
from lexfed.law.tagger.recognise.recogniser import MISSING, MOST_VALUES
from lexfed.law.tagger.statistics import FEW, NUMBER, standardised
from lexfed.law.tagger.suggestions import DescribedColumn, Proxy, Suggestion

_X = log(100_000.0)
MOST_LEVELS = 20
FEWEST_ROWS = 30


@dataclass(frozen=True)
class Variable:
    """A column as numbers or as levels; rows without a value have none of either.

    Attributes:
        numbers: standardised values, NaN where there is none; None if discrete.
        levels: one row for each level, 1 where it occurs; None if numeric.
    """

    numbers: Floats | None = None
    levels: Floats | None = None


def variable_of(values: Sequence[str]) -> Variable | None:
    """Return a column's values for measuring; None if they tell nothing.

    Numbers of more than a dozen different values are measured as numbers. Of other
    values the most frequent count, the rest together as one; if more than half of
    the values are different, there is nothing to count.
    """
    cells = [value.strip() for value in values[:MOST_VALUES]]
    counts = Counter(cells)
    # Each different value is looked at once, however often it occurs.
    for gone in [cell for cell in counts if cell.lower() in MISSING]:
        del counts[gone]
    total = counts.total()
    if total < FEWEST_ROWS or len(counts) < 2:
        return None
    if len(counts) > FEW and all(map(NUMBER.fullmatch, counts)):
        numbers = {cell: float(cell) for cell in counts}
        return _numeric(np.array([numbers.get(cell, np.nan) for cell in cells]))
    if len(counts) > 0.5 * total:
        return None
    common = [value for value, _ in counts.most_common(MOST_LEVELS - 1)]
    place = {value: at for at, value in enumerate(common)}
    rest = len(common)
    levels = np.zeros((rest + (len(counts) > rest), len(cells)))
    for row, cell in enumerate(cells):
        if cell in counts:
            levels[place.get(cell, rest), row] = 1.0
    return Variable(levels=levels)


def _numeric(numbers: Floats) -> Variable | None:
    here = np.isfinite(numbers)
    known = standardised(numbers[here])
    if known is None:
        return None
    standard = np.full(len(numbers), np.nan)
    standard[here] = known
    return Variable(numbers=standard)


class VariableStack:
    """Variables of the same rows, stacked so that one is compared with all at once."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.discrete = [at for at, v in enumerate(variables) if v.levels is not None]
        self.numeric = [at for at, v in enumerate(variables) if v.numbers is not None]
        blocks = [v.levels for v in variables if v.levels is not None]
        rows = [v.numbers for v in variables if v.numbers is not None]
        sizes = [len(block) for block in blocks]
        self.levels = np.vstack(blocks) if blocks else np.zeros((0, 0))
        self.starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, dtype=int)
        self.block = np.repeat(np.arange(len(sizes)), sizes)
        numbers = np.vstack(rows) if rows else np.zeros((0, 0))
        self.mask = np.isfinite(numbers).astype(np.float64)
        self.numbers = np.nan_to_num(numbers, nan=0.0)
        self.squares = self.numbers**2

    def sums(self, by_level: Floats) -> Floats:
        """Return sums over the levels of each discrete variable."""
        return np.asarray(np.add.reduceat(by_level, self.starts, axis=-1))


Strengths = tuple[Floats, Floats, Floats]
"""Strengths of one variable with each of many, those that chance reaches, rows."""


def cramers_v(levels: Floats, many: VariableStack) -> Strengths:
    """Return Cramér's V, bias corrected, with each discrete variable [Ber13]."""
    counts = levels @ many.levels.T
    by_row = many.sums(counts)
    by_level = counts.sum(axis=0)
    total = by_row.sum(axis=0)
    square = _over(counts * counts, by_row[:, many.block] * by_level)
    phi = many.sums(square.sum(axis=0)) - 1.0
    rows = (by_row > 0).sum(axis=0).astype(np.float64)
    columns = many.sums((by_level > 0).astype(np.float64))
    less = np.maximum(total - 1.0, 1.0)
    phi = np.maximum(0.0, phi - (rows - 1) * (columns - 1) / less)
    left, right = rows - (rows - 1) ** 2 / less, columns - (columns - 1) ** 2 / less
    scale = np.minimum(left, right) - 1.0
    chance = _chance((rows - 1) * (columns - 1), total * scale)
    return _root(_over(phi, scale)), chance, total


def correlation_ratio(levels: Floats, many: VariableStack) -> Strengths:
    """Return the adjusted correlation ratio of each numeric variable in groups."""
    sums, sizes = levels @ many.numbers.T, levels @ many.mask.T
    squares = levels.sum(axis=0) @ many.squares.T
    n = sizes.sum(axis=0)
    mean = _over(sums.sum(axis=0) ** 2, n)
    between = _over(sums**2, sizes).sum(axis=0) - mean
    return _ratio(between, squares - mean, n, (sizes > 0).sum(axis=0))


def correlation_ratio_of(numbers: Floats, many: VariableStack) -> Strengths:
    """Return the same the other way round: one numeric, many discrete variables."""
    here = np.isfinite(numbers).astype(np.float64)
    x = np.nan_to_num(numbers, nan=0.0)
    sums, sizes = many.levels @ x, many.levels @ here
    n = many.sums(sizes)
    mean = _over(many.sums(sums) ** 2, n)
    between = many.sums(_over(sums**2, sizes)) - mean
    total = many.sums(many.levels @ (x * x)) - mean
    groups = many.sums((sizes > 0).astype(np.float64))
    return _ratio(between, total, n, groups)


def _ratio(between: Floats, total: Floats, n: Floats, groups: Floats) -> Strengths:
    share = _over(between, total)
    adjusted = 1.0 - (1.0 - share) * _over(n - 1.0, n - groups)
    ratio = np.where((n > groups) & (total > 1e-12), adjusted, 0.0)
    return _root(ratio), _chance(groups - 1.0, n), n


def _chance(freedom: Floats, n: Floats) -> Floats:
    """Return the strength that chance reaches with a chance of exp(-x)."""
    excess = 2.0 * np.sqrt(_X * np.maximum(freedom, 0.0)) + 2.0 * _X
    return _root(np.where(n > 1e-9, excess / np.maximum(n, 1e-9), 1.0))


def pearson(numbers: Floats, many: VariableStack) -> Strengths:
    """Return the absolute correlation with each numeric variable."""
    here = np.isfinite(numbers).astype(np.float64)
    y = np.nan_to_num(numbers, nan=0.0)
    n = many.mask @ here
    sum_x, sum_y = many.numbers @ here, many.mask @ y
    var_x = many.squares @ here - _over(sum_x**2, n)
    var_y = many.mask @ (y * y) - _over(sum_y**2, n)
    both = many.numbers @ y - _over(sum_x * sum_y, n)
    square = _over(both * both, np.maximum(var_x * var_y, 0.0))
    return _root(square), _chance(np.ones_like(n), n), n


def _over(one: Floats, other: Floats) -> Floats:
    """Return a quotient, 0 where nothing is divided by nothing."""
    safe = np.abs(other) > 1e-12
    return np.where(safe, one / np.where(safe, other, 1.0), 0.0)


def _root(square: Floats) -> Floats:
    return np.asarray(np.sqrt(np.clip(square, 0.0, 1.0)))


@dataclass(frozen=True)
class Association:
    """The strength of one variable's association with the one at an index of many.

    `chance` is the strength that chance reaches in 1 of 100,000 pairs; `rows` is the
    number of rows where both have a value.
    """

    at: int
    measure: str
    strength: float
    chance: float
    rows: int


def associations(
    one: Variable, many: VariableStack, least: float = 0.0
) -> list[Association]:
    """Return the associations of one variable with each of many, from `least` on."""
    found: list[tuple[list[int], str, Strengths]] = []
    if one.levels is not None and many.discrete:
        found.append((many.discrete, "cramers_v", cramers_v(one.levels, many)))
    if one.levels is not None and many.numeric:
        ratio = correlation_ratio(one.levels, many)
        found.append((many.numeric, "correlation_ratio", ratio))
    if one.numbers is not None and many.discrete:
        ratio = correlation_ratio_of(one.numbers, many)
        found.append((many.discrete, "correlation_ratio", ratio))
    if one.numbers is not None and many.numeric:
        found.append((many.numeric, "pearson", pearson(one.numbers, many)))
    return [
        Association(at, measure, float(strength), float(chance), int(rows))
        for places, measure, strengths in found
        for at, strength, chance, rows in zip(places, *strengths, strict=True)
        if strength >= least
    ]


LEAST = 0.3
"""Strength from which on a column is reported as a proxy."""
MOST_PROXIES = 3
"""Reported of each column, the strongest first."""


def proxies_of(
    columns: Sequence[DescribedColumn], suggestions: Sequence[Suggestion]
) -> tuple[tuple[Proxy, ...], ...]:
    """Return, for each column, the sensitive columns of its table that it gives away.

    `suggestions` has one for each column. Values in the same place belong to the same
    row; columns of fewer values than others are left out.
    """
    tables: dict[tuple[str, int], list[int]] = {}
    for at, column in enumerate(columns):
        if column.values and suggestions[at].tier != "identifier":
            tables.setdefault((column.table, len(column.values)), []).append(at)
    found: dict[int, list[Proxy]] = {}
    for members in tables.values():
        sensitive = [at for at in members if suggestions[at].tier == "special"]
        others = [at for at in members if suggestions[at].tier != "special"]
        _of_table(columns, suggestions, sensitive, others, found)
    return tuple(
        tuple(sorted(found.get(at, ()), key=lambda p: -p.strength)[:MOST_PROXIES])
        for at in range(len(columns))
    )


def _of_table(
    columns: Sequence[DescribedColumn],
    suggestions: Sequence[Suggestion],
    sensitive: Sequence[int],
    others: Sequence[int],
    found: dict[int, list[Proxy]],
) -> None:
    pairs = [(at, variable_of(columns[at].values or ())) for at in others]
    known = [(at, variable) for at, variable in pairs if variable is not None]
    if not known or not sensitive:
        return
    many = VariableStack([variable for _, variable in known])
    for to in sensitive:
        target = variable_of(columns[to].values or ())
        if target is None:
            continue
        for one in associations(target, many, LEAST):
            if one.rows < FEWEST_ROWS or one.strength < one.chance:
                continue
            strength = round(one.strength, 2)
            category = suggestions[to].category
            proxy = Proxy(columns[to].name, category, one.measure, strength)
            found.setdefault(known[one.at][0], []).append(proxy)
