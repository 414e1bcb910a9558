# SPDX-License-Identifier: Apache-2.0
"""Columns to model inputs and back, from public declarations only.

The isolation of tiers rests on this module: no slot may depend on another column,
another row or anything computed from data, so encoding needs no budget. All sites of a
run must number slots alike. Each column owns a run of neighbouring slots:

    number    one slot: the declared range mapped to [-1, 1] after the transform of
              `scale`, or (transformed - centre) / spread for public statistics
    flag      one slot: 0 or 1, like a one-hot slot
    category  one slot per declared value: 1 for the value, else 0; a missing or
              undeclared value is 0 everywhere, so it needs no slot of its own
    missing   for numbers and flags that may be missing, one more slot: 1 where the
              value is missing (the value's own slot is then 0)

A column's missing flag belongs to the column's tier. An engineered column belongs
to the most sensitive tier among itself and everything it was made from.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lexfed.arrays import Floats, Indices
from lexfed.data.schema import Column, Schema, backward, forward, transformed_range
from lexfed.data.strict_fields import fields, mapping, texts
from lexfed.data.table import Table
from lexfed.errors import ConfigError, Problem
from lexfed.tiers import MODEL_TIERS, Tier


def scaled_values(column: Column, values: Floats, *, target: bool = False) -> Floats:
    """Return a number or flag in public units; NaN stays NaN.

    Guarantees:
        A number scaled by its range lies in [-1, 1]; a flag is unchanged.
    """
    if column.range is None:
        return values
    transform = column.resolved_scale(target)
    places = forward(transform, column.range, np.clip(values, *column.range))
    if column.public_stats is not None:
        centre, spread = column.public_stats
        return np.asarray((places - centre) / spread)
    bottom, top = transformed_range(transform, column.range)
    unit = (places - bottom) / (top - bottom)
    return np.asarray(np.clip(2.0 * unit - 1.0, -1.0, 1.0))


def unscaled_values(column: Column, values: Floats, *, target: bool = False) -> Floats:
    """Return numbers in their own units, clamped to the declared range.

    Guarantees:
        Undoes `scaled_values` of the same column and `target`, up to rounding.
    """
    if column.range is None:
        return values
    transform = column.resolved_scale(target)
    if column.public_stats is not None:
        centre, spread = column.public_stats
        places = values * spread + centre
    else:
        bottom, top = transformed_range(transform, column.range)
        places = bottom + (values + 1.0) / 2.0 * (top - bottom)
    return backward(transform, column.range, places)


def target_unit(column: Column) -> float | None:
    """Return a target's units per unit of its encoded scale; None if that varies."""
    if column.range is None or column.resolved_scale(True) != "linear":
        return None
    if column.public_stats is not None:
        return column.public_stats[1]
    low, high = column.range
    return (high - low) / 2.0


def tail(column: Column) -> float:
    """Return a feature's longer tail, from -1 to 1: a public guess of its skewness.

    A range [0, 100] gives 1, [-5, 5] gives 0, [-100, 0] gives -1. Public statistics
    centre the column, so they give 0.
    """
    if column.range is None or column.public_stats is not None:
        return 0.0
    low, high = column.range
    return min(1.0, max(-1.0, (high + low) / (high - low)))


SlotKind = Literal["number", "flag", "onehot", "missing"]


@dataclass(frozen=True)
class Slot:
    """One model input.

    Attributes:
        name: a unique name, such as `sex=female` or `age?` for a missing flag.
        levels: for a one-hot slot the number of values the column declares, else 1.
        tail: for a number as `tail` gives it, else 0.
        linear: whether a number is mapped linearly by its range.
    """

    column: str
    name: str
    kind: SlotKind
    tier: Tier
    levels: int = 1
    tail: float = 0.0
    linear: bool = False


def effective_tiers(schema: Schema, tiers: Mapping[str, Tier]) -> dict[str, Tier]:
    """Return each column's tier once engineered columns inherit from their sources.

    `tiers` has the own tier of every column, and of every source that is no column,
    which the result has as well; `ConfigError` names those that are not there.
    """
    problems: list[Problem] = []
    result: dict[str, Tier] = {}
    for name in schema.names:
        family = [name, *sorted(schema.ancestors(name))]
        untagged = [member for member in family if member not in tiers]
        for member in untagged:
            needs = "" if member == name else f", `{name}` needs it"
            tag = f'{member} = {{ tier = "...", reason = "..." }}'
            hint = f"say what it is under `[law.columns]`: {tag}"
            problems.append(Problem(f"column `{member}`", f"has no tag{needs}", hint))
        if not untagged:
            result[name] = max(tiers[member] for member in family)
            own = [each for each in family if each not in schema.names]
            result |= {each: tiers[each] for each in own}
    if problems:
        raise ConfigError(problems)
    return result


@dataclass(frozen=True)
class Encoding:
    """The slots of a model's input, each with its column and its tier.

    Guarantees:
        Slots depend on the schema and the tiers only, never on data.
        No slot belongs to the target, a key, a text column or an identifier.
    """

    schema: Schema
    tiers: Mapping[str, Tier]
    columns: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def width(self) -> int:
        """Number of slots."""
        return len(self.slots)

    @property
    def model_tiers(self) -> tuple[Tier, ...]:
        """The tiers that own at least one slot, least sensitive first."""
        present = {slot.tier for slot in self.slots}
        return tuple(tier for tier in MODEL_TIERS if tier in present)

    def slots_of(self, tier: Tier) -> Indices:
        """Return the positions of the slots that belong to a tier."""
        owned = [i for i, slot in enumerate(self.slots) if slot.tier == tier]
        return np.array(owned, dtype=np.intp)

    def slots_of_column(self, column: str) -> Indices:
        """Return the positions of a column's slots."""
        owned = [i for i, slot in enumerate(self.slots) if slot.column == column]
        return np.array(owned, dtype=np.intp)

    def columns_of(self, tier: Tier) -> tuple[str, ...]:
        """Return the columns whose slots belong to a tier."""
        return tuple(name for name in self.columns if self.tiers[name] == tier)

    def upto(self, tier: Tier) -> "Encoding":
        """Return the encoding that leaves out every more sensitive column."""
        kept = [name for name in self.columns if self.tiers[name] <= tier]
        return build_encoding(self.schema, self.tiers, kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain data; the slots follow from it."""
        return {
            "schema": self.schema.to_dict(),
            "tiers": {name: tier.label for name, tier in self.tiers.items()},
            "columns": list(self.columns),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Encoding":
        """Return the encoding of plain data; an unknown field is an error."""
        known = {"schema": mapping, "tiers": mapping, "columns": texts}
        given = fields(plain, known, tuple(known), "encoding")
        try:
            tiers = {name: Tier.parse(label) for name, label in given["tiers"].items()}
        except ValueError as error:
            raise ConfigError([Problem("encoding", f"`tiers`: {error}")]) from error
        schema = Schema.from_dict(given["schema"])
        return build_encoding(schema, tiers, given["columns"])


def build_encoding(
    schema: Schema,
    tiers: Mapping[str, Tier],
    columns: Sequence[str] | None = None,
    exclude: Collection[str] = (),
) -> Encoding:
    """Return the encoding of a schema whose columns and their sources have tiers.

    `columns` are those to use, in this order; by default every feature that is not an
    identifier, without those to `exclude`. A column without a tier, the target, a key,
    text or an identifier raises `ConfigError`.
    """
    known = effective_tiers(schema, tiers)
    features = {column.name: column for column in schema.features(exclude)}
    if columns is None:
        columns = [name for name in features if known[name] < Tier.IDENTIFIER]
    problems = [
        Problem(f"column `{name}`", _why_not(schema, name))
        for name in columns
        if name not in features or known[name] == Tier.IDENTIFIER
    ]
    if problems:
        raise ConfigError(problems)
    slots = [slot for name in columns for slot in _slots(features[name], known[name])]
    names = [slot.name for slot in slots]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        what, hint = "two columns make it", "rename a column"
        raise ConfigError([Problem(f"slot `{name}`", what, hint) for name in twice])
    return Encoding(schema, known, tuple(columns), tuple(slots))


def _why_not(schema: Schema, name: str) -> str:
    if name == schema.target:
        return "the target cannot be a feature"
    if name in schema.keys:
        return "the person and site keys cannot be features"
    if schema.by_name(name).kind == "text":
        return "text cannot be a feature"
    return "an identifier cannot be a feature"


def _slots(column: Column, tier: Tier) -> list[Slot]:
    name = column.name
    if column.values is not None:
        levels = len(column.values)
        return [
            Slot(name, f"{name}={value}", "onehot", tier, levels)
            for value in column.values
        ]
    if column.kind == "flag":
        slots = [Slot(name, name, "flag", tier)]
    else:
        linear = column.resolved_scale() == "linear" and column.public_stats is None
        slots = [Slot(name, name, "number", tier, 1, tail(column), linear)]
    if column.missing:
        slots.append(Slot(name, f"{name}?", "missing", tier))
    return slots


def encode(encoding: Encoding, table: Table) -> Floats:
    """Return the inputs of every row: floats [rows, slots].

    Guarantees:
        Every entry is finite; without public statistics it lies in [-1, 1].
        A slot depends on its own column's value in its own row and nothing else.
    """
    matrix = np.zeros((len(table), encoding.width), dtype=np.float64)
    for name in encoding.columns:
        column = encoding.schema.by_name(name)
        owned = encoding.slots_of_column(name)
        if column.values is not None:
            codes = table.codes(name)
            known = np.flatnonzero(codes >= 0)
            matrix[known, owned[0] + codes[known]] = 1.0
            continue
        values = table.numbers(name)
        missing = np.isnan(values)
        # `where`, not a product: 0 * NaN would carry a missing value on.
        matrix[:, owned[0]] = np.where(missing, 0.0, scaled_values(column, values))
        if column.missing:
            matrix[:, owned[1]] = missing
    return matrix


def encode_target(table: Table) -> Floats:
    """Return the target of every row: class code, or a number mapped to [-1, 1]."""
    target = table.schema.by_name(table.schema.target)
    if not table.has_target:
        raise ConfigError([Problem(f"column `{target.name}`", "was not read")])
    return scaled_values(target, table.numbers(target.name), target=True)


def decode_target(schema: Schema, predictions: Floats) -> Floats:
    """Return predictions of a number on its own scale, inside its declared range."""
    return unscaled_values(schema.by_name(schema.target), predictions, target=True)
