# SPDX-License-Identifier: Apache-2.0
"""The text of a first `lexfed.toml`: what is decided, by whom, and what is still open.

A draft that decides nothing marks each decision with `"?"`, and `lexfed check` lists
the marks that are left. Comments say where every other value came from. The texts are
in `drafts/`, with braces as `str.format` has them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lexfed.config.text.wording import dotted, quoted
from lexfed.counted_words import counted
from lexfed.data.schema import DeclaredKind
from lexfed.law.tagger.column_files import table_name
from lexfed.terms import FRAME
from lexfed.visible_text import visible

if TYPE_CHECKING:
    from lexfed.config.edits import ColumnDecision

OPEN = "?"
SPECIAL_SHARE, PERSONAL_SHARE = 0.15, 0.6
"""Caps of tiers beside the record's epsilon: 0.3 and 1.2 of 2."""
_WIDEST_NOTE = 110
_MOST_VALUES = 6
_WIDTH = 25
"""The column in which comments begin, where there is room."""


@dataclass(frozen=True)
class ColumnDraft:
    """A declared column, the source of its declaration, and the decision about it.

    Attributes:
        keys: those of the column in `[data.columns]`; one that is open is `"?"`.
        source: where the declaration comes from, in a few words.
        decision: None while it is open.
    """

    name: str
    keys: Mapping[str, Any]
    source: str = ""
    decision: "ColumnDecision | None" = None

    @property
    def declared(self) -> str:
        """The declaration as a line of TOML."""
        line = f"{dotted((self.name,))} = {plain_toml(self.keys)}"
        shown = visible(self.source)[:_WIDEST_NOTE]
        return f"{line}  # {shown}" if shown else line

    @property
    def domain(self) -> str:
        """The declaration in a few words, for people."""
        if "values" in self.keys:
            shown = ", ".join(map(visible, self.keys["values"][:_MOST_VALUES]))
            return shown + (", ..." if len(self.keys["values"]) > _MOST_VALUES else "")
        if "buckets" in self.keys:
            return counted(self.keys["buckets"], "bucket")
        ends = self.keys.get("range") or self.keys.get("period")
        if ends is None:
            kind = str(self.keys["kind"])
            return "yes or no" if kind == "flag" else kind
        low, high = (end if isinstance(end, str) else plain_toml(end) for end in ends)
        scale = f", {self.keys['scale']}" if "scale" in self.keys else ""
        return f"{low} to {high}{scale}"

    @property
    def tagged(self) -> str:
        """The decision as a line of TOML."""
        if self.decision is None:
            return f'{dotted((self.name,))} = {{ tier = "?", reason = "?" }}'
        return f"{dotted((self.name,))} = {self.decision.inline()}"


@dataclass(frozen=True)
class ConfigurationDraft:
    """A first configuration; what is None is still open.

    Attributes:
        source: the table's file as it should stand in the configuration.
        format: keys of `[data]` that say how the file is written.
        units: the public number of people, None if there is none to state.
        replace_one: the relation that makes the number of people public.
        left_out: columns that no model should read, each with the reason.
    """

    source: str
    columns: tuple[ColumnDraft, ...]
    target: str | None = None
    person: str | None = None
    rows_per_person: int = 1
    sites: Mapping[str, Any] | None = None
    units: int | None = None
    replace_one: bool = False
    epsilon: float = 2.0
    delta: float = 1e-6
    model: str = "logistic"
    format: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return the commented text of `lexfed.toml`.

        Guarantees:
            It is valid TOML and names every column once, whatever its name.
            It does not pass `lexfed check` before every `"?"` is replaced.
        """
        source = PurePath(self.source.removeprefix(FRAME))
        stem = table_name(source).partition(".")[0]
        run = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("._-")[:64] or "run"
        return _template("new").format(
            name=quoted(run),
            out=quoted(f"runs/{run}"),
            source=quoted(self.source),
            format="".join(f"{k} = {plain_toml(v)}\n" for k, v in self.format.items()),
            target=_entry("target", OPEN if self.target is None else self.target),
            person=self._person(),
            units=self._units(),
            sites=_entry("sites", OPEN if self.sites is None else self.sites),
            declared="".join(f"{column.declared}\n" for column in self.columns),
            left_out="".join(
                f"# left out: {visible(name)[:60]} ({why})\n"
                for name, why in self.left_out
            ),
            tagged="".join(f"{column.tagged}\n" for column in self.columns),
            epsilon=f"epsilon = {self.epsilon!r}".ljust(_WIDTH),
            delta=f"delta = {self.delta:g}".ljust(_WIDTH),
            neighbours=_entry(
                "neighbours", "replace-one" if self.replace_one else "add-remove"
            ),
            special=f"{self.epsilon * SPECIAL_SHARE:.3g}",
            personal=f"{self.epsilon * PERSONAL_SHARE:.3g}",
            model=_entry("model", self.model),
        )

    def _person(self) -> str:
        if self.person is None:
            return _template("no-person")
        return _template("person").format(
            person=quoted(self.person), rows=self.rows_per_person
        )

    def _units(self) -> str:
        if self.replace_one:
            return "# units = 6000".ljust(_WIDTH)
        return _entry("units", OPEN if self.units is None else self.units)


def _entry(key: str, value: Any) -> str:
    return f"{key} = {plain_toml(value)}".ljust(_WIDTH)


def plain_toml(value: Any) -> str:
    """Return a value as TOML writes it: text, truth, number, list or inline table."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{dotted((k,))} = {plain_toml(v)}" for k, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain_toml, value))}]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else repr(value)


_OPEN_KEYS = {
    "number": {"kind": "number", "range": OPEN},
    "category": {"kind": "category", "values": OPEN},
    "date": {"kind": "date", "period": OPEN},
}


def scaffold(
    source: str,
    columns: Iterable[tuple[str, DeclaredKind]],
    format: Mapping[str, Any] | None = None,
) -> str:
    """Return a `lexfed.toml` for a table in which everything is open but the kinds.

    `source` and `format` are as in `ConfigurationDraft`; `columns` has the names of the
    header, in order, with guessed kinds. Columns without a name are left out.
    """
    kinds = {column: kind for column, kind in columns if column}
    drafts = tuple(
        ColumnDraft(name, _OPEN_KEYS.get(kind, {"kind": kind}))
        for name, kind in kinds.items()
    )
    return ConfigurationDraft(source, drafts, format=format or {}).text()


def demo_config(out: str = "runs/demo", seed: int = 7) -> str:
    """Return the configuration of `lexfed demo`."""
    return _template("demo").format(out=quoted(out), seed=seed)


@cache
def _template(name: str) -> str:
    return (files("lexfed.config") / "drafts" / f"{name}.txt").read_text("utf-8")
