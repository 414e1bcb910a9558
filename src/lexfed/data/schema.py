# SPDX-License-Identifier: Apache-2.0
"""The public declaration of a table: columns, kinds, ranges, category lists.

A schema holds no data and nothing computed from data. Scaling, vocabularies and
missing flags all come from here, so preparing a column spends no privacy budget and
cannot carry one column's values into another column's slots.

Numbers go through a curve before their range is mapped to [-1, 1]: mapped linearly,
nearly all amounts and counts, which have a heavy tail, end up where a linear model
cannot tell them apart. With s the resolution, below which a curve is nearly straight,

    linear  v
    log     log1p(v / s),  s = max(low, high / 1000)
    symlog  asinh(v / s),  s = max(-low, high) / 1000
"""

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.file_format import PLAIN, FileFormat
from lexfed.data.strict_fields import fields, items, pair, text, texts, truth
from lexfed.errors import ConfigError, Problem

Transform = Literal["linear", "log", "symlog"]
Range = tuple[float, float]

WIDE_RATIO = 20.0
"""From this high/low on a range above zero spans orders of magnitude."""
WIDE_FROM_ZERO = 1000.0
"""A range from zero has no ratio; one this high is about amounts, not scores."""
RESOLUTION = 1000.0
"""Largest value over resolution, so that three decades are distinguished."""


def suggested_transform(range_: Range) -> Transform:
    """Return the transform that a public range suggests."""
    low, high = range_
    if low > 0:
        return "log" if high / low >= WIDE_RATIO else "linear"
    if low == 0:
        return "log" if high >= WIDE_FROM_ZERO else "linear"
    wide = high > 0 and max(-low, high) > WIDE_FROM_ZERO
    return "symlog" if wide else "linear"


def resolution(transform: Literal["log", "symlog"], range_: Range) -> float:
    """Return s; zero if the range is too small for the numbers of a computer."""
    low, high = range_
    if transform == "log":
        return max(low, high / RESOLUTION)
    return max(-low, high) / RESOLUTION


def forward(transform: Transform, range_: Range, values: Floats) -> Floats:
    """Return values of the range on the transformed scale; NaN stays NaN."""
    if transform == "linear":
        return values
    ratio = values / resolution(transform, range_)
    return np.asarray(np.log1p(ratio) if transform == "log" else np.arcsinh(ratio))


def backward(transform: Transform, range_: Range, places: Floats) -> Floats:
    """Return the values, inside the range, of places on the transformed scale.

    Guarantees:
        Undoes `forward` on the range, up to rounding.
        A place at or beyond an end of the range, however far, becomes that end.
    """
    if transform == "linear":
        return np.asarray(np.clip(places, *range_))
    bottom, top = transformed_range(transform, range_)
    # Clamped before the exponential as well, which would overflow.
    inside = np.clip(places, bottom, top)
    ratio = np.expm1(inside) if transform == "log" else np.sinh(inside)
    values = np.clip(ratio * resolution(transform, range_), *range_)
    # Rounding would leave the exponential of an end just short of it.
    values = np.where(inside == bottom, range_[0], values)
    return np.where(inside == top, range_[1], values)


def transformed_range(transform: Transform, range_: Range) -> Range:
    """Return both ends of the range on the transformed scale."""
    low, high = forward(transform, range_, np.array(range_, dtype=np.float64))
    return float(low), float(high)


ColumnKind = Literal["number", "category", "flag", "text"]
"""`flag` is yes/no (0/1, true/false); `text` is a key or identifier, never encoded."""
DeclaredKind = Literal["number", "category", "flag", "text", "date"]
"""Kinds that people declare; a date becomes columns of the other kinds."""
DatePart = Literal["days", "year", "month", "weekday", "hour"]
"""The parts of a date that columns hold; see `made_columns`."""
ColumnPart = Literal["days", "year", "month", "weekday", "hour", "bucket"]
"""Why a column is not in the table as it is declared, but made from one that is."""
NumberScale = Literal["auto", "linear", "log", "symlog"]
"""`auto` is one of the others, chosen from the public range."""
Task = Literal["binary", "multiclass", "regression"]

KINDS: tuple[ColumnKind, ...] = ("number", "category", "flag", "text")
SCALES: tuple[NumberScale, ...] = ("auto", "linear", "log", "symlog")
PARTS: tuple[ColumnPart, ...] = get_args(ColumnPart)
FLAG_CLASSES = ("no", "yes")


def _wrong(column: str, what: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(f"column `{column}`", what, hint)])


@dataclass(frozen=True)
class Column:
    """One column as declared in public, before the data are looked at.

    A declaration that contradicts itself raises `ConfigError`.

    Attributes:
        range: lowest and highest value of a number; values outside are clamped.
        values: the categories, in the order of their slots.
        scale: `log` for numbers from 0 upwards that span several orders of magnitude,
            `symlog` for such numbers of either sign, `linear` for none of it; `auto`
            decides by the range (see `resolved_scale`).
        sources: the raw columns an engineered column was made from.
        missing: whether a value may be missing.
        public_stats: centre and spread that are public knowledge, of the transformed
            values for `log` and `symlog`; without them a number is scaled by its range.
        part: what is read of a date, its only source, or `bucket` for a category that
            is told apart by buckets; None for a column that is read as it is.
    """

    name: str
    kind: ColumnKind
    range: tuple[float, float] | None = None
    values: tuple[str, ...] | None = None
    scale: NumberScale = "auto"
    sources: tuple[str, ...] = ()
    missing: bool = True
    public_stats: tuple[float, float] | None = None
    part: ColumnPart | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise _wrong(self.name, "a column needs a name")
        if self.kind not in KINDS:
            raise _wrong(self.name, f"unknown kind `{self.kind}`")
        if self.kind == "number":
            self._check_number()
        elif self.range is not None or self.public_stats is not None:
            raise _wrong(self.name, f"a {self.kind} has no `range` or `public_stats`")
        elif self.scale != "auto":
            raise _wrong(self.name, f"a {self.kind} has no `scale`")
        if self.kind == "category":
            self._check_category()
        elif self.values is not None:
            raise _wrong(self.name, f"a {self.kind} has no list of `values`")
        if self.name in self.sources:
            raise _wrong(self.name, "a column cannot be made from itself")
        if self.part is not None:
            self._check_part(self.part)

    def _check_part(self, part: ColumnPart) -> None:
        if part not in PARTS:
            raise _wrong(self.name, f"unknown part `{part}`")
        category = part in ("month", "weekday", "bucket")
        if self.kind != ("category" if category else "number"):
            raise _wrong(self.name, f"a {self.kind} is no `{part}`")
        if part != "bucket" and len(self.sources) != 1:
            raise _wrong(self.name, "a part of a date has the date as its source")

    @property
    def read_from(self) -> str:
        """The column of the table that this one is read from."""
        dated = self.part is not None and self.part != "bucket"
        return self.sources[0] if dated else self.name

    def _check_number(self) -> None:
        if self.range is None:
            hint = (
                "state the lowest and highest value that are public knowledge; "
                "a range taken from the data would leak it"
            )
            raise _wrong(self.name, "a number needs a `range`", hint)
        low, high = self.range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise _wrong(self.name, "`range` must be two finite numbers, low < high")
        if not math.isfinite(high - low):
            raise _wrong(self.name, "`range` is too wide for a number")
        if self.scale not in SCALES:
            raise _wrong(self.name, f"unknown scale `{self.scale}`")
        if self.scale == "log" and low < 0:
            raise _wrong(self.name, '`scale = "log"` needs a range from 0 upwards')
        if self.scale != "auto" and self.scale != "linear":
            bottom = top = 0.0
            if resolution(self.scale, self.range):
                bottom, top = transformed_range(self.scale, self.range)
            if bottom == top:
                raise _wrong(self.name, f"`range` is too narrow for `{self.scale}`")
        if self.public_stats is not None:
            centre, spread = self.public_stats
            if not (math.isfinite(centre) and math.isfinite(spread) and spread > 0):
                raise _wrong(self.name, "`public_stats` must be (centre, spread > 0)")

    def resolved_scale(self, target: bool = False) -> Transform:
        """Return the transform of this column's numbers, from its declaration alone.

        `auto` is what the range suggests. It is `linear` beside `public_stats`, which
        would otherwise be on an unstated scale, and for the target, whose errors
        are to count in its own units.
        """
        if self.scale != "auto":
            return self.scale
        if target or self.range is None or self.public_stats is not None:
            return "linear"
        return suggested_transform(self.range)

    def _check_category(self) -> None:
        if not self.values:
            hint = (
                "list the categories that are public knowledge; "
                "a list taken from the data would leak rare ones"
            )
            raise _wrong(self.name, "a category needs its list of `values`", hint)
        if len(set(self.values)) != len(self.values):
            raise _wrong(self.name, "`values` holds a category twice")
        if any(not value or value != value.strip() for value in self.values):
            raise _wrong(self.name, "`values` holds an empty or space-padded category")

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data, without fields left at default."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in plain and value != field.default:
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Column":
        """Return the column of a plain declaration; an unknown field is an error."""
        known = {
            "name": text, "kind": text, "range": pair, "values": texts,
            "scale": text, "sources": texts, "missing": truth, "public_stats": pair,
            "part": text,
        }  # fmt: skip
        return cls(**fields(plain, known, ("name", "kind"), "column"))


@dataclass(frozen=True)
class Schema:
    """All columns of a table, with the target and the keys among them.

    The keys `person` and `site` need not be among the columns: they are read as
    text and never enter a model. `written` is how tables under the schema are written.

    Raises:
        ConfigError: if a name appears twice, the target is not declared or cannot
            be one, or an engineered column is made from the target or from itself.
    """

    columns: tuple[Column, ...]
    target: str
    person: str | None = None
    site: str | None = None
    written: FileFormat = PLAIN

    def __post_init__(self) -> None:
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise _wrong(name, "declared twice")
        if self.target not in names:
            raise _wrong(self.target, "the target is not declared")
        target = self.by_name(self.target)
        if target.kind == "text":
            raise _wrong(self.target, "the target cannot be text")
        if target.part is not None:
            raise _wrong(self.target, "the target cannot be a bucket or part of a date")
        if target.kind == "category" and len(target.values or ()) < 2:
            raise _wrong(self.target, "the target needs at least two classes")
        if self.target in (self.person, self.site):
            raise _wrong(self.target, "the target cannot be the person or site key")
        if self.person is not None and self.person == self.site:
            raise _wrong(self.person, "one column cannot be both person and site key")
        for column in self.columns:
            if self.target in self.ancestors(column.name):
                raise _wrong(column.name, f"made from the target `{self.target}`")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all declared columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def keys(self) -> frozenset[str]:
        """The person and site key, where there is one."""
        return frozenset(key for key in (self.person, self.site) if key is not None)

    @property
    def task(self) -> Task:
        """The target's kind: a yes/no answer, one of several classes, or a number."""
        target = self.by_name(self.target)
        if target.kind == "number":
            return "regression"
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes in the order of their codes; none for a number."""
        target = self.by_name(self.target)
        if target.kind == "number":
            return ()
        return FLAG_CLASSES if target.kind == "flag" else target.values or ()

    def by_name(self, name: str) -> Column:
        """Return the column of that name, or raise `ConfigError` if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise _wrong(name, "not declared", "declare it under `[data.columns]`")

    def features(self, exclude: Collection[str] = ()) -> tuple[Column, ...]:
        """Return the columns for a model: no target, no key, no text, none excluded."""
        out = {self.target, *self.keys, *exclude}
        return tuple(c for c in self.columns if c.name not in out and c.kind != "text")

    def ancestors(self, name: str) -> frozenset[str]:
        """Return every column that this one was made from, however indirectly.

        Columns that are made from each other in a circle raise `ConfigError`.
        """
        declared = {column.name: column.sources for column in self.columns}
        family: set[str] = set()
        waiting = list(declared.get(name, ()))
        while waiting:
            source = waiting.pop()
            if source == name:
                raise _wrong(name, "made from itself through other columns")
            if source not in family:
                family.add(source)
                waiting.extend(declared.get(source, ()))
        return frozenset(family)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data, without a format that is plain."""
        plain: dict[str, Any] = {
            "columns": [column.to_dict() for column in self.columns],
            "target": self.target,
            "person": self.person,
            "site": self.site,
        }
        if self.written != PLAIN:
            plain["written"] = self.written.to_dict()
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Schema":
        """Return the schema of plain data; an unknown field is an error."""
        known: dict[str, Callable[[Any], Any]] = {
            "columns": items, "target": text, "person": text, "site": text,
            "written": FileFormat.from_dict,
        }  # fmt: skip
        given = fields(plain, known, ("columns", "target"), "schema")
        columns = tuple(Column.from_dict(column) for column in given.pop("columns"))
        return cls(columns=columns, **given)
